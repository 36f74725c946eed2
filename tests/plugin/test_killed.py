"""A campaign that is killed at any moment goes on to the verdicts that it would have had."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow

MOMENTS = 20
SUITE = """
import time

@pytest.mark.parametrize("order", [1, 2, 3])
@shop.task(
    lambda order: f"Close {order}.",
    solution=lambda order: [call("set_status", order_id=order, status="closed"), call("add_note", words=f"{order}")],
)
def test_close(changes, order):
    time.sleep(0.02)
    assert changes == [Updated("orders", order, status="closed"), Inserted("notes", text=f"{order}")]
"""
ARGUMENTS = [
    "-q",
    "-p",
    "no:cacheprovider",
    "--tb-agent=mutant:0.4",
    "--tb-attempts=10",
    "--tb-seed=7",
    "--tb-min-pass-rate=0",
]


@pytest.fixture
def start(pytester):
    def go(*more: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "pytest", *ARGUMENTS, *more]
        return subprocess.Popen(
            command,
            cwd=pytester.path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    return go


def table(folder):
    """Of every attempt: the verdict, and what was played. No attempt twice, no line that is no record."""
    found = {}
    for line in (folder / "attempts.jsonl").read_text().splitlines():
        one = json.loads(line)
        assert (one["task"], one["attempt"]) not in found
        found[one["task"], one["attempt"]] = (
            one["outcome"],
            one["detail"],
            one["try_number"],
            [(call["name"], call["arguments"]) for call in one["tool_calls"]],
        )
    return found


def test_kill_9_at_twenty_moments_and_resume_gives_the_same_verdicts(suite, start, pytester):
    suite(SUITE)
    undisturbed = start("--tb-dir=whole")
    started = time.monotonic()
    assert undisturbed.wait(timeout=120) == 0
    seconds = time.monotonic() - started
    (whole,) = (path.parent for path in pytester.path.glob("whole/*/campaign.json"))
    expected = table(whole)
    assert len(expected) == 30
    assert {"passed", "failed"} == {verdict[0] for verdict in expected.values()}

    chosen = random.Random(20)
    reached = []
    for moment in range(MOMENTS):
        name = f"killed{moment}"
        killed = start(f"--tb-dir={name}")
        # From the first record on, for before that there is nothing to go on with.
        deadline = time.monotonic() + 60
        while not any(path.stat().st_size for path in pytester.path.glob(f"{name}/*/attempts.jsonl")):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(chosen.uniform(0, seconds / 3))
        killed.kill()
        killed.wait(timeout=60)
        (folder,) = (path.parent for path in pytester.path.glob(f"{name}/*/campaign.json"))
        text = (folder / "attempts.jsonl").read_bytes()
        if moment % 2:  # as a write that was cut off leaves it
            (folder / "attempts.jsonl").write_bytes(text[: -chosen.randrange(2, 300)])
        reached.append(text.count(b"\n"))
        assert start(f"--tb-resume={folder}").wait(timeout=120) == 0
        assert table(folder) == expected
        assert json.loads((folder / "campaign.json").read_text())["finished"] is not None
    assert min(reached) < 30  # some were killed before the end
    assert len(set(reached)) > 3


@pytest.mark.parametrize("group", [False, True], ids=["first process", "all processes"])
def test_kill_9_of_a_run_with_two_workers_and_resume_gives_the_same_verdicts(suite, start, pytester, group):
    suite(SUITE)
    assert start("--tb-dir=whole", "-n0").wait(timeout=120) == 0
    (whole,) = (path.parent for path in pytester.path.glob("whole/*/campaign.json"))

    killed = start("--tb-dir=killed", "-n2")
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in pytester.path.glob("killed/*/attempts.jsonl")):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    if group:
        os.killpg(killed.pid, signal.SIGKILL)
    else:
        killed.kill()
    killed.wait(timeout=60)
    (folder,) = (path.parent for path in pytester.path.glob("killed/*/campaign.json"))
    # Workers whose first process is gone end by themselves; until then nobody else may go on.
    while (status := start(f"--tb-resume={folder}", "-n2").wait(timeout=120)) == pytest.ExitCode.USAGE_ERROR:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert status == 0
    assert table(folder) == table(whole)
    assert json.loads((folder / "campaign.json").read_text())["finished"] is not None

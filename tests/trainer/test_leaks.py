"""Fifty steps of a real run - episodes with a tool server each, checks, TRL, optimizer - in which a fifth breaks."""

from __future__ import annotations

import gc
import itertools
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from pytest_thinkingbox.backends.sqlite.lease import SqliteLease
from pytest_thinkingbox.errors import InfrastructureDown, ProviderDown
from pytest_thinkingbox.folders import MEMORY
from pytest_thinkingbox.tools import stdio
from tests.rewards.suites import forgotten
from tests.support.processes import children
from tests.trainer.recipes import write_recipe
from tests.trainer.tiny import write_world
from thinkingbox_trainer.engine import TransformersEngine
from thinkingbox_trainer.recipe import read_recipe
from thinkingbox_trainer.rollout import Rollouts
from thinkingbox_trainer.run import train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]
STEPS = 50
PROGRAM = Path(__file__).parents[1] / "tools" / "plain_server.py"
NAME = f"leaks{os.getpid()}"
"""Of the run, and so of what it keeps its databases in."""
SMALL = (
    ("group_size = 4", "group_size = 2"),
    ("accumulation = 2", "accumulation = 1"),
    ("answer = 12", "answer = 3"),
    ('refill = "group"', 'refill = "member"'),
    ("replace_uniform = true", "replace_uniform = false"),
    ("every = 1\n", "every = 50\n"),
)


@pytest.fixture
def faults(monkeypatch):
    """Every tenth generation fails, and every tenth reading of a final state, whose database is open then; in step 25
    the child that grades is killed. `remains` between two steps are noted."""
    asked, read, noted = itertools.count(1), itertools.count(6), []
    generate, full, step = TransformersEngine.generate, SqliteLease.read_changes, Rollouts.step

    async def generating(engine, ids, **given):
        if next(asked) % 10 == 0:
            raise ProviderDown("the engine is down")
        return await generate(engine, ids, **given)

    def reading(lease, *given, **named):
        if next(read) % 10 == 0:
            raise InfrastructureDown("the disk is gone")
        return full(lease, *given, **named)

    def stepping(rollouts, number, tasks=None):
        if number == STEPS // 2:
            os.kill(rollouts._suite.process_id(), signal.SIGKILL)
        if number in (STEPS // 2 - 5, STEPS - 1):
            noted.append(
                (
                    but_for_idle_threads(settled(ended=False)),
                    len(rollouts._player._pool._world.backend._leases),
                    len(rollouts._traces._kept),
                )
            )
        return step(rollouts, number, tasks)

    monkeypatch.setattr(TransformersEngine, "generate", generating)
    monkeypatch.setattr(SqliteLease, "read_changes", reading)
    monkeypatch.setattr(Rollouts, "step", stepping)
    return noted


@pytest.fixture
def servers(monkeypatch) -> list[int]:
    """The process ids of all tool servers that were started."""
    started, start = [], stdio.start_program

    async def starting(*given, **named):
        process = await start(*given, **named)
        started.append(process.pid)
        return process

    monkeypatch.setattr(stdio, "start_program", starting)
    return started


def test_fifty_steps_with_faults_and_an_optimizer_leave_nothing_behind(
    tmp_path, faults, servers, monkeypatch
):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    write_world(tmp_path)
    with_a_tool_server(tmp_path / "suite" / "shop.py")
    with forgotten(tmp_path):
        train(
            recipe(tmp_path, steps=2, output="first"), folder=tmp_path
        )  # what libraries begin once, and keep
        before = settled()
        trainer = train(recipe(tmp_path, steps=STEPS, output="out"), folder=tmp_path)
    steps = [json.loads(line) for line in (tmp_path / "out" / "steps.jsonl").read_text("utf-8").splitlines()]
    assert trainer.state.global_step == len(steps) == STEPS
    assert int(next(iter(trainer.optimizer.state.values()))["step"]) > STEPS * 0.9
    begun, invalid = (sum(step[name] for step in steps) for name in ("episodes", "episodes_invalid"))
    assert 0.15 < invalid / begun < 0.25
    assert len(servers) >= begun
    assert not any(Path(f"/proc/{process}").exists() for process in servers)
    [middle, last] = faults
    assert last == middle
    assert middle[1:] == (0, 0)  # databases, traces
    assert (middle[0]["children"], middle[0]["files"] > 0) == (before["children"] + 1, True)
    del trainer
    after = settled()
    assert after == before
    assert after["files"] == 0


def with_a_tool_server(shop: Path) -> None:
    """Beside its functions, so that every episode starts a process of its own."""
    command = [sys.executable, "-S", str(PROGRAM)]
    source = shop.read_text(encoding="utf-8")
    declared = "servers=[Server.functions([set_status, add_note, run_sql])]"
    assert source.count(declared) == 1
    shop.write_text(
        source.replace(declared, f"{declared[:-1]}, Server.stdio({command!r})]"), encoding="utf-8"
    )


def recipe(folder: Path, *, steps: int, output: str):
    changes = [
        ('name = "smoke"', f'name = "{NAME}"'),
        ("steps = 2", f"steps = {steps}"),
        ('output = "out"', f'output = "{output}"'),
    ]
    return read_recipe(write_recipe(folder, *SMALL, *changes))


def settled(*, ended: bool = True) -> dict[str, Any]:
    """What this process holds, as soon as it no longer changes; with `ended` threads and processes of ours are waited
    for, which end when they have had nothing to do for a while."""
    end, last = time.monotonic() + 20, None
    while True:
        gc.collect()
        now = remains()
        busy = ended and (now["children"] or any("thinkingbox" in one for one in now["threads"]))
        if (now == last and not busy) or time.monotonic() > end:
            return now
        last = now
        time.sleep(0.3)


def but_for_idle_threads(held: dict[str, Any]) -> dict[str, Any]:
    """Those in which steps of episodes run are there or have ended, by how long ago the last one was."""
    return {**held, "threads": [one for one in held["threads"] if one != "thinkingbox-step"]}


def remains() -> dict[str, Any]:
    mine = [Path(tempfile.gettempdir()), *MEMORY.glob(f"thinkingbox-*{NAME}*")]
    return {
        "children": len(children()),
        "open files": len(os.listdir("/proc/self/fd")),
        "files": sum(1 for folder in mine for _ in folder.rglob("*")),
        "threads": sorted({re.sub(r"[-_]?\d+$", "", one.name) for one in threading.enumerate()}),
    }

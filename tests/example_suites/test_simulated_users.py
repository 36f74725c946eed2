"""Twenty attempts of every task of the hotel, with agents and users that are models behind a real HTTP endpoint."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.desk_model import ANSWER, QUESTION, DeskModel, requests_in
from tests.support.stub_endpoint import StubEndpoint

ROOT = Path(__file__).parents[2]
SUITE = "example_suites/hotel"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("agent", "workers"),
    [
        (["--tb-api=chat"], []),
        (["--tb-api=chat"], ["-n2"]),
        (["--tb-api=responses"], []),
        (["--tb-agent=anthropic"], []),
    ],
    ids=["chat", "chat, two workers", "responses", "anthropic"],
)
def test_the_hotel_with_simulated_users(agent: list[str], workers: list[str], tmp_path: Path) -> None:
    requests = requests_in(str(ROOT / SUITE))
    tasks, attempts = len(requests), 20
    with StubEndpoint(DeskModel(requests), remember=False) as stub:
        options = [
            f"--tb-attempts={attempts}",
            "--tb-model=agent",
            "--tb-user-model=user",
            f"--tb-dir={tmp_path}",
        ]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                SUITE,
                *options,
                *agent,
                *workers,
                f"--tb-base-url={stub.url}",
                "-q",
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    print(done.stdout[-6000:], done.stderr[-2000:])
    total = tasks * attempts
    assert f"{total}/{total} passed, {total} of {total} valid" in done.stdout
    assert done.returncode == 0
    (file,) = tmp_path.glob("*/attempts.jsonl")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(records) == total
    with_user = [one for one in records if "user" in one["usage"]]
    assert len(with_user) == attempts * sum(one.user is not None for one in requests)
    for one in with_user:
        said = [message["content"] for message in one["messages"] if message["role"] == "user"]
        assert said[1:] == [ANSWER]
        assert QUESTION in [message["content"] for message in one["messages"]]
        assert one["usage"]["user"]["requests"] == 2

"""A dataset of ten tasks with a server of its own, and pytest runs on a copy of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Outcome, Run
from tests.support.stub_endpoint import Received, Reply, StubEndpoint, calls, says

DEPOT = Path(__file__).with_name("depot")
YES = says('{"reason": "It says so.", "answer": "yes"}')
NO = says('{"reason": "It does not.", "answer": "no"}')


@pytest.fixture
def depot(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that holds `dataset/`, `servers/` and `list.yaml`, to be changed at will."""
    folder = pytester.path / "depot"
    shutil.copytree(DEPOT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(folder / "servers"))
    monkeypatch.setenv("DEPOT", str(folder / "servers"))
    monkeypatch.syspath_prepend(folder / "servers")
    pytester.makeini("[pytest]\naddopts = -p no:randomly -p no:cov -p no:asyncio\n")
    return folder


@pytest.fixture
def run_depot(depot: Path, run: Run) -> Callable[..., Outcome]:
    def go(*arguments: str, **named: Any) -> Outcome:
        return run(f"--tb-dataset={depot / 'dataset'}", *arguments, **named)

    return go


def judged(stub: StubEndpoint) -> list[str]:
    return ["--tb-judge-model=j", f"--tb-judge-base-url={stub.url}"]


def acts(script: Callable[[list[dict[str, Any]]], Reply], judge: Reply = YES) -> Callable[[Received], Reply]:
    """An endpoint for a model that acts as `script` says, a model that plays users, and a judge."""

    def answer(received: Received) -> Reply:
        match received.json["model"]:
            case "judge":
                return judge
            case "user":
                return says("I am Ravi.")
        return script(received.messages)

    return answer


def models(stub: StubEndpoint) -> list[str]:
    return ["--tb-model=m", f"--tb-base-url={stub.url}", "--tb-user-model=user", "--tb-judge-model=judge"]


def steps(*replies: Reply) -> Callable[[list[dict[str, Any]]], Reply]:
    """The n-th answer after the last message of a user."""

    def script(messages: list[dict[str, Any]]) -> Reply:
        last = max(at for at, one in enumerate(messages) if one["role"] == "user")
        said = sum(one["role"] == "assistant" and bool(one.get("tool_calls")) for one in messages[last:])
        return replies[min(said, len(replies) - 1)]

    return script


def call(name: str, **arguments: Any) -> Reply:
    return calls((name, arguments))


def tool_names(received: Received) -> list[str]:
    return [one["function"]["name"] for one in received.json["tools"]]


def dumped(received: Received) -> str:
    return json.dumps(received.json)

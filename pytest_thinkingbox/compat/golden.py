"""The reference solution that some servers are told: the calls after which everything is as it should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.compat.dataset import DatasetTask
from pytest_thinkingbox.compat.files import BrokenDataset
from pytest_thinkingbox.declare.solution import Call, Say

KEY = "golden_test_case"
CALLS = "tool_interactions"


def solution_of(task: DatasetTask) -> tuple[Call | Say, ...] | None:
    """The calls of every server's `golden_test_case`, in order, and a word at the end; None where there are none."""
    steps: list[Call | Say] = []
    there = False
    for name, config in task.servers.items():
        golden = config.get(KEY)
        if golden is None:
            continue
        there = True
        calls = golden.get(CALLS, []) if isinstance(golden, Mapping) else None
        if not isinstance(calls, list):
            raise BrokenDataset(f"{task.uid}: init.{name}.{KEY}.{CALLS} must be a list of calls")
        steps += [_call(one, where=f"{task.uid}: init.{name}.{KEY}.{CALLS}") for one in calls]
    return (*steps, Say("Done. <DONE>")) if there else None


def _call(raw: Any, *, where: str) -> Call:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("tool"), str):
        raise BrokenDataset(f"{where}: {raw!r:.80} must have a tool and its parameters")
    parameters = raw.get("parameters") or {}
    if not isinstance(parameters, Mapping):
        raise BrokenDataset(f"{where}: {raw['tool']}: parameters={parameters!r:.80} must be a mapping")
    return Call(raw["tool"], dict(parameters))

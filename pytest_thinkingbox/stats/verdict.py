"""The one place that decides a campaign's exit status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_thinkingbox.records.model import AttemptRow
from pytest_thinkingbox.stats.counts import TaskCounts, count_tasks
from pytest_thinkingbox.stats.gates import Gate, GateOptions, judge_gates

ExitStatus = Literal[0, 1, 8]

HOLDS: ExitStatus = 0
VERDICT: ExitStatus = 1
BROKE: ExitStatus = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`exit_status` 0: all holds; 1: a verdict about the agent, or an ordinary test failed; 8: the campaign
    broke, not the agent.

    `reasons` say why it is not 0, one line each. `tasks` are those that count, `xfail_tasks` those apart.
    """

    exit_status: ExitStatus
    gates: tuple[Gate, ...]
    reasons: tuple[str, ...]
    tasks: tuple[TaskCounts, ...]
    xfail_tasks: tuple[TaskCounts, ...]
    invalid_tasks: tuple[str, ...]
    partial: bool


def decide(
    *,
    rows: Iterable[AttemptRow],
    requested: Mapping[str, int],
    gates: GateOptions,
    ordinary_failures: int,
    partial: bool,
) -> Verdict:
    """The verdict over all attempts.

    `rows` holds one row per attempt; `requested` maps each task that was to run to its number of attempts;
    `ordinary_failures` counts failed or broken tests that are no tasks; `partial` says that not all ran.
    """
    counts = count_tasks(rows=rows, requested=requested)
    counted = [task for task in counts if not task.xfail]
    expected_to_fail = [task for task in counts if task.xfail]
    answers = judge_gates(tasks=counts, options=gates, partial=partial)
    verdicts = [gate.line for gate in answers if gate.status == "fails"]
    broken = [gate.line for gate in answers if gate.status not in ("holds", "fails")]
    if ordinary_failures:
        verdicts.append(f"{_plural(ordinary_failures, 'ordinary test')} failed")
    for task in expected_to_fail:
        if task.xfail_strict and task.valid and not task.failed:
            verdicts.append(f"{task.task}: strict xfail, but all {task.valid} valid attempts passed")
    # A task under no gate is judged as pytest users expect, also when other tasks have gates of their own.
    ungated = [task for task in counted if not gates.any and task.min_pass_rate is None]
    failed = sum(task.failed for task in ungated)
    invalid = sum(task.invalid for task in (*ungated, *expected_to_fail))
    under_no_gate = "under no gate" if answers else "and no gate is set"
    if failed:
        verdicts.append(f"{_plural(failed, 'attempt')} failed {under_no_gate}")
    if invalid:
        broken.append(f"{_plural(invalid, 'attempt')} invalid {under_no_gate}")
    # A partial campaign has tasks that nobody reached; only those that were tried can be INVALID.
    invalid_tasks = [task for task in counts if task.is_invalid and (task.invalid or not partial)]
    for task in invalid_tasks:
        broken.append(f"{task.task}: INVALID, 0 of {task.requested} attempts valid")
    return Verdict(
        exit_status=VERDICT if verdicts else BROKE if broken else HOLDS,
        gates=tuple(answers),
        reasons=(*verdicts, *broken),
        tasks=tuple(counted),
        xfail_tasks=tuple(expected_to_fail),
        invalid_tasks=tuple(task.task for task in invalid_tasks),
        partial=partial,
    )


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

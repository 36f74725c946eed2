"""Gates: limits that a campaign must hold, answered from counts alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pytest_thinkingbox.stats.counts import TaskCounts

GateStatus = Literal["holds", "fails", "cannot tell", "not enough valid attempts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One gate's answer: `name` says what was asked, `why` gives the figures with their denominators."""

    name: str
    status: GateStatus
    why: str

    @property
    def line(self) -> str:
        return f"{self.name}: {self.status}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """The campaign's own gates. Those of single tasks come with their rows."""

    min_pass_rate: float | None = None


def judge_gates(*, tasks: Sequence[TaskCounts], options: GateOptions, partial: bool) -> list[Gate]:
    """The answers of all gates, over tasks that are not xfail."""
    gated = [task for task in tasks if not task.xfail]
    gates = []
    if options.min_pass_rate is not None:
        name = f"pass rate >= {options.min_pass_rate:g}"
        gates.append(_pass_rate(name, gated, options.min_pass_rate, partial=partial))
    for task in gated:
        if task.min_pass_rate is not None:
            name = f"pass rate of {task.task} >= {task.min_pass_rate:g}"
            gates.append(_pass_rate(name, [task], task.min_pass_rate, partial=partial))
    return gates


def _pass_rate(name: str, tasks: Sequence[TaskCounts], minimum: float, *, partial: bool) -> Gate:
    """Invalid attempts are in no rate. The gate answers only what they could not have turned round.

    Holds when the rate would reach the minimum even if every missing attempt had failed; fails when it would
    not even if all of them had passed. In between, and whenever more than half of the attempts are missing or
    a task is INVALID, there are not enough valid attempts.
    """
    passed = sum(task.passed for task in tasks)
    valid = sum(task.valid for task in tasks)
    requested = sum(task.requested for task in tasks)
    invalid_tasks = [task for task in tasks if task.is_invalid]
    if not tasks:
        return Gate(name=name, status="cannot tell", why="no task that counts was run")
    denominators = f"{passed}/{valid} passed, {valid} of {requested} valid"
    if partial:
        return Gate(name=name, status="cannot tell", why=f"the campaign is partial ({denominators})")
    if invalid_tasks or 2 * valid < requested:
        why = denominators
        if len(tasks) > 1 and invalid_tasks:
            why += f", {len(invalid_tasks)} of {len(tasks)} tasks INVALID"
        return Gate(name=name, status="not enough valid attempts", why=why)
    limit = Fraction(str(minimum))  # the number as written: 0.1 means one tenth, not the float next to it
    rate = _mean(Fraction(task.passed, task.valid) for task in tasks)
    worst = _mean(Fraction(task.passed, task.valid + task.missing) for task in tasks)
    best = _mean(Fraction(task.passed + task.missing, task.valid + task.missing) for task in tasks)
    over = f", mean over {len(tasks)} tasks" if len(tasks) > 1 else ""
    why = f"{float(rate):.3f} ({denominators}{over})"
    if worst >= limit:
        return Gate(name=name, status="holds", why=why)
    if best < limit:
        return Gate(name=name, status="fails", why=why)
    why += f"; {float(worst):.3f} if the other {requested - valid} failed, {float(best):.3f} if they passed"
    return Gate(name=name, status="not enough valid attempts", why=why)


def _mean(values: Iterable[Fraction]) -> Fraction:
    listed = list(values)
    return sum(listed, Fraction(0)) / len(listed)

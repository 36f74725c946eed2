"""Gates: limits that a campaign must hold, answered from counts alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.paired import (
    Difference,
    Pair,
    attempts_needed,
    pair_tasks,
    pass_rate_difference,
)
from pytest_thinkingbox.stats.suite import reliable

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
class Baseline:
    """What a campaign is measured against. `refusals` say why it cannot be: the two asked different questions."""

    campaign: str
    max_drop: float
    tasks: Sequence[TaskCounts] = ()
    refusals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """The campaign's own gates; shares from 0 to 1. Those of single tasks come with their rows."""

    min_pass_rate: float | None = None
    min_reliable: float | None = None
    baseline: Baseline | None = None

    @property
    def any(self) -> bool:
        """Whether every task is under a gate."""
        return (self.min_pass_rate, self.min_reliable, self.baseline) != (None, None, None)


def judge_gates(*, tasks: Sequence[TaskCounts], options: GateOptions, partial: bool) -> list[Gate]:
    """The answers of all gates, over tasks that are not xfail."""
    gated = [task for task in tasks if not task.xfail]
    gates = []
    if options.min_pass_rate is not None:
        name = f"pass rate >= {options.min_pass_rate:g}"
        gates.append(_pass_rate(name, gated, options.min_pass_rate, partial=partial))
    if options.min_reliable is not None:
        gates.append(_reliable(gated, options.min_reliable, partial=partial))
    if options.baseline is not None:
        gates.append(_drop(gated, options.baseline, partial=partial))
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


def _reliable(tasks: Sequence[TaskCounts], minimum: float, *, partial: bool) -> Gate:
    """Over all tasks, by the lower end of the range: an unsettled task is not reliable until it is settled."""
    name = f"reliably solved tasks >= {minimum:g}"
    if not tasks:
        return Gate(name=name, status="cannot tell", why="no task that counts was run")
    observed = reliable(tasks=tasks)
    spread = f"{observed.low}" if observed.low == observed.high else f"{observed.low}-{observed.high}"
    why = f"{spread} of {observed.of} passed every attempt"
    if observed.unsettled:
        why += f", {len(observed.unsettled)} unsettled"
    if partial:
        return Gate(name=name, status="cannot tell", why=f"the campaign is partial ({why})")
    limit = Fraction(str(minimum))
    if Fraction(observed.low, observed.of) >= limit:
        return Gate(name=name, status="holds", why=why)
    possible = Fraction(observed.high, observed.of) >= limit
    return Gate(name=name, status="not enough valid attempts" if possible else "fails", why=why)


def _drop(tasks: Sequence[TaskCounts], baseline: Baseline, *, partial: bool) -> Gate:
    """Whether pass@1 of these tasks dropped by more than was allowed, with 95 % confidence either way.

    Holds when the whole interval lies above the allowed drop, fails when it lies below. In between it cannot tell,
    and says how many attempts would. Missing attempts widen the interval by what they could have turned.
    """
    points = f"{100 * baseline.max_drop:g} points"
    name = f"drop of pass@1 against {baseline.campaign} <= {points}"
    if partial:
        return Gate(name=name, status="cannot tell", why="the campaign is partial")
    if baseline.refusals:
        return Gate(name=name, status="cannot tell", why=f"not comparable: {'; '.join(baseline.refusals)}")
    pairs = pair_tasks(base=baseline.tasks, new=tasks)
    found = pass_rate_difference(pairs=pairs)
    if found.difference is None or found.interval is None or found.tasks < found.of:
        why = f"{found.of - found.tasks} of {found.of} tasks INVALID" if found.of else "no task in common"
        return Gate(name=name, status="not enough valid attempts" if found.of else "cannot tell", why=why)
    low, high = found.interval
    worst, best = _turned(pairs)
    over = f"95 %, {found.tasks} task{'' if found.tasks == 1 else 's'}"
    why = f"{100 * found.difference:+.1f} points, {100 * low:+.1f} to {100 * high:+.1f} ({over})"
    limit = -baseline.max_drop
    if low - worst >= limit:
        return Gate(name=name, status="holds", why=why)
    if high + best < limit:
        return Gate(name=name, status="fails", why=why)
    if low >= limit or high < limit:
        missing = sum(pair.base.missing + pair.new.missing for pair in pairs)
        why += f"; the other {missing} attempts could turn it"
        return Gate(name=name, status="not enough valid attempts", why=why)
    return Gate(name=name, status="cannot tell", why=f"{why}; {_advice(pairs, found, baseline.max_drop)}")


def _turned(pairs: Sequence[Pair]) -> tuple[float, float]:
    """By how much the difference could be lower, and higher, had the missing attempts been valid."""
    lower = higher = 0.0
    for pair in pairs:
        for task, passing_raises in ((pair.new, True), (pair.base, False)):
            rate = task.passed / task.valid
            down = rate - task.passed / (task.valid + task.missing)
            up = (task.passed + task.missing) / (task.valid + task.missing) - rate
            lower += down if passing_raises else up
            higher += up if passing_raises else down
    return lower / len(pairs), higher / len(pairs)


def _advice(pairs: Sequence[Pair], found: Difference, drop: float) -> str:
    """How many attempts would tell: a drop of what is allowed, else the distance of what was seen to it."""
    assert found.difference is not None
    needed = attempts_needed(pairs=pairs, drop=drop)
    what = f"show a drop of {100 * drop:g} points"
    if needed is None and found.difference + drop:
        needed = attempts_needed(pairs=pairs, drop=abs(found.difference + drop))
        what = "tell this difference from that"
    if needed is None:
        return "more attempts per task would tell"
    more, both = needed
    return f"about {more:,} more attempts per task{' in both campaigns' if both else ''} would {what}"


def _mean(values: Iterable[Fraction]) -> Fraction:
    listed = list(values)
    return sum(listed, Fraction(0)) / len(listed)

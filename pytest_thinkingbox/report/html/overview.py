"""What the first page says, as text and numbers ready to be put into the template. Figures come from `stats`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from pytest_thinkingbox.records.model import AttemptRow
from pytest_thinkingbox.report.causes import failure_causes, invalid_causes
from pytest_thinkingbox.report.cost import money
from pytest_thinkingbox.report.text import escape, percent
from pytest_thinkingbox.report.words import (
    FEWEST,
    passed_every_attempt,
    plural,
    share,
    span,
    tasks_with,
    valid,
    without_no_change,
)
from pytest_thinkingbox.stats.cost import NOTICE, Cost
from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.intervals import jeffreys, new_tasks, these_tasks
from pytest_thinkingbox.stats.suite import by_tag, mean_pass_at_k, pooled, reliable
from pytest_thinkingbox.stats.verdict import Verdict

_REASONS = 3  # below a task
_CAUSES = 12  # of the campaign
_LONGEST_REASON = 160  # characters

State = Literal["p", "f", "i", "n"]
"""Passed, failed, invalid, not run."""
_STATES: dict[str, State] = {"passed": "p", "failed": "f", "invalid": "i"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of the totals; `notes` are its denominators and intervals."""

    name: str
    value: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why attempts did not pass, and how many."""

    number: int
    outcome: Literal["failed", "invalid"]
    text: str
    tasks: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """One row of the table of tasks; `at` is its place among all tasks, `percent` its rate from 0 to 100.

    `causes` are the places of its reasons among those of the campaign.
    """

    at: int
    name: str
    counts: TaskCounts
    rate: str
    percent: float | None
    cells: tuple[State, ...]
    tags: tuple[str, ...]
    notes: tuple[str, ...]
    reasons: tuple[Reason, ...]
    more: int
    causes: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGroup:
    """The tasks of one file."""

    file: str
    lines: tuple[TaskLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagLine:
    """A tag's counts; rate and interval only where there are enough tasks."""

    tag: str
    tasks: int
    passed: str
    rate: str
    percent: float | None
    interval: str


def figures_of(*, rows: Sequence[AttemptRow], verdict: Verdict, cost: Cost) -> list[Figure]:
    """The totals, those first that a person looks for first."""
    total = pooled(tasks=verdict.tasks)
    seconds = sum(row.seconds for row in rows)
    again = sum(row.tries - 1 for row in rows)
    time = [f"{seconds / len(rows):.2f} s an attempt"] if rows else []
    time.append(plural(sum(row.tool_calls for row in rows), "tool call"))
    if again:
        time.append(f"{again:,} {'try' if again == 1 else 'tries'} played again")
    return [
        _first_try(verdict.tasks),
        Figure(name="Attempts passed", value=f"{total.passed:,}/{total.valid:,}", notes=(valid(total),)),
        _every_time(verdict.tasks),
        Figure(name="Cost", value=money(cost.total), notes=_cost_notes(cost)),
        Figure(name="Time", value=f"{seconds:,.1f} s", notes=tuple(time)),
    ]


def _first_try(tasks: Sequence[TaskCounts]) -> Figure:
    first = mean_pass_at_k(tasks=tasks, k=1)
    invalid = f", {first.not_available} INVALID" if first.not_available else ""
    notes = [f"mean over {len(first.values)} of {plural(first.of, 'task')}{invalid}"]
    if (interval := these_tasks(tasks=tasks)) is not None:
        notes.append(f"95 %: {span(interval)} for these tasks")
    if len(first.values) >= FEWEST and (interval := new_tasks(values=first.values)) is not None:
        notes.append(f"95 %: {span(interval)} for new tasks")
    if text := without_no_change(tasks):
        notes.append(text)
    return Figure(name="pass@1", value=share(first.mean), notes=tuple(notes))


def _every_time(tasks: Sequence[TaskCounts]) -> Figure:
    observed = reliable(tasks=tasks)
    notes = [passed_every_attempt(observed)]
    name = "n/n"
    if len(asked := {task.requested for task in tasks}) == 1:
        n = asked.pop()
        name = f"{n}/{n}"
        if (shown := jeffreys(passed=n, valid=n)) is not None:
            notes.append(f"{name} shows a chance of {shown[0]:.3f} or more (95 %)")
    spread = f"{observed.low}" if observed.low == observed.high else f"{observed.low}-{observed.high}"
    return Figure(name=name, value=f"{spread}/{observed.of}", notes=tuple(notes))


def _cost_notes(cost: Cost) -> tuple[str, ...]:
    if not cost.ledgers:
        return ("no model was asked",)
    if not any(one.has_price for one in cost.ledgers):
        return ("no prices are known",)
    return (
        f"agent: {money(cost.per_pass)} per passed attempt",
        f"agent: {money(cost.per_reliable)} per reliable task",
        NOTICE,
    )


def groups_of(
    *, tasks: Sequence[TaskCounts], rows: Sequence[AttemptRow], causes: Sequence[Reason], first: int = 0
) -> list[TaskGroup]:
    """Tasks by file, numbered from `first`; `causes` are the most frequent reasons of the campaign."""
    places: dict[tuple[str, str], int] = {(one.outcome, one.text): at for at, one in enumerate(causes)}
    of_task: dict[str, list[AttemptRow]] = {}
    for row in rows:
        of_task.setdefault(row.task, []).append(row)
    lines = [
        (_file(task.task), _line(at, task, of_task.get(task.task, []), places))
        for at, task in enumerate(tasks, first)
    ]
    return [
        TaskGroup(file=file, lines=tuple(line for _, line in group))
        for file, group in groupby(lines, key=lambda one: one[0])
    ]


def _file(task: str) -> str:
    file, separator, _ = task.partition("::")
    return escape(file) if separator else ""


def _line(
    at: int, task: TaskCounts, rows: Sequence[AttemptRow], places: Mapping[tuple[str, str], int]
) -> TaskLine:
    states = {row.attempt: _STATES[row.outcome] for row in rows}
    last = max(states, default=0)
    reasons = _reasons(rows)
    not_run = task.missing - task.invalid
    notes = [
        f"{number} {what}" for number, what in ((task.invalid, "invalid"), (not_run, "not run")) if number > 0
    ]
    if task.no_change:
        notes.append("no change expected")
    rate = task.passed / task.valid if task.valid else None
    return TaskLine(
        at=at,
        name=escape(task.task.partition("::")[2] or task.task),
        counts=task,
        rate="INVALID" if rate is None else percent(rate),
        percent=None if rate is None else round(rate * 100, 2),
        cells=tuple(states.get(number, "n") for number in range(1, max(last, task.requested) + 1)),
        tags=tuple(escape(tag) for tag in task.tags),
        notes=tuple(notes),
        reasons=reasons[:_REASONS],
        more=sum(one.number for one in reasons[_REASONS:]),
        causes=tuple(places[key] for one in reasons if (key := (one.outcome, one.text)) in places),
    )


def _reasons(rows: Sequence[AttemptRow]) -> tuple[Reason, ...]:
    return (
        *(Reason(number=n, outcome="failed", text=_brief(text)) for n, text in failure_causes(rows)),
        *(Reason(number=n, outcome="invalid", text=_brief(text)) for n, text in invalid_causes(rows)),
    )


def _brief(text: str) -> str:
    cut = escape(text[:_LONGEST_REASON])
    return f"{cut} ({len(text) - _LONGEST_REASON:,} more characters)" if len(text) > _LONGEST_REASON else cut


def causes_of(rows: Sequence[AttemptRow]) -> tuple[list[Reason], int]:
    """The most frequent reasons of the whole campaign, and how many attempts had others."""
    where: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for reason in _reasons([row]):
            where.setdefault((reason.outcome, reason.text), set()).add(row.task)
    found = [
        Reason(
            number=one.number, outcome=one.outcome, text=one.text, tasks=len(where[(one.outcome, one.text)])
        )
        for one in sorted(_reasons(rows), key=lambda one: -one.number)
    ]
    return found[:_CAUSES], sum(one.number for one in found[_CAUSES:])


def tags_of(tasks: Sequence[TaskCounts]) -> list[TagLine]:
    """Every tag in alphabetical order."""
    lines = []
    for tag, group in by_tag(tasks=tasks).items():
        total = pooled(tasks=group)
        figure = mean_pass_at_k(tasks=group, k=1)
        enough = len(group) >= FEWEST
        interval = new_tasks(values=figure.values) if enough else None
        lines.append(
            TagLine(
                tag=escape(tag),
                tasks=len(group),
                passed=f"{total.passed:,}/{total.valid:,}",
                rate=f"{share(figure.mean)} ({tasks_with(figure)} tasks)" if enough else "",
                percent=round(figure.mean * 100, 2) if enough and figure.mean is not None else None,
                interval=span(interval) if interval else "",
            )
        )
    return lines

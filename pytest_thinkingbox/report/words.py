"""Figures in words: shares, intervals and counts, as every report prints them."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_thinkingbox.report.text import percent
from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.intervals import Interval
from pytest_thinkingbox.stats.suite import Pooled, Reliable, SuiteMean, mean_pass_at_k, pooled

FEWEST = 10
"""Tasks below which nothing is said about new tasks, and a tag gets counts only."""


def share(value: float | None) -> str:
    """Per cent with one digit; n/a for what is not known."""
    return "n/a" if value is None else percent(value, 1)


def span(interval: Interval) -> str:
    """An interval of shares, the sign once."""
    low, high = interval
    return f"{percent(low, 1).removesuffix(' %')}-{percent(high, 1)}"


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def asked_for(tasks: Sequence[TaskCounts]) -> str:
    """How many tasks and attempts a campaign was to run."""
    attempts = sorted({task.requested for task in tasks}) or [0]
    each = "-".join(str(one) for one in dict.fromkeys((attempts[0], attempts[-1])))
    return f"{plural(len(tasks), 'task')} x {each} {'attempt' if each == '1' else 'attempts'}"


def valid(total: Pooled) -> str:
    """The denominator of pooled counts: how many of the requested attempts are valid, and what became of the rest."""
    text = f"{total.valid:,} of {total.requested:,} valid"
    if total.invalid:
        text += f", {total.invalid:,} invalid"
    if (not_run := total.requested - total.valid - total.invalid) > 0:
        text += f", {not_run:,} not run"
    return text


def tasks_with(figure: SuiteMean) -> str:
    """The denominator of a mean over tasks."""
    return f"{len(figure.values)}/{figure.of}"


def passed_every_attempt(figure: Reliable) -> str:
    """Observed n/n, a range while tasks are unsettled."""
    spread = f"{figure.low}" if figure.low == figure.high else f"{figure.low}-{figure.high}"
    text = f"{spread} of {plural(figure.of, 'task')} passed every attempt"
    return f"{text}, {len(figure.unsettled)} unsettled" if figure.unsettled else text


def without_no_change(tasks: Sequence[TaskCounts]) -> str | None:
    """What `no_change` tasks did, and pass@1 without them; None where there are none, or no others."""
    apart = [task for task in tasks if task.no_change]
    if not apart or len(apart) == len(tasks):
        return None
    total = pooled(tasks=apart)
    rest = mean_pass_at_k(tasks=[task for task in tasks if not task.no_change], k=1)
    return (
        f"{plural(len(apart), 'task')} where nothing observable shows success: {total.passed}/{total.valid} passed; "
        f"pass@1 without them {share(rest.mean)} ({tasks_with(rest)} tasks)"
    )

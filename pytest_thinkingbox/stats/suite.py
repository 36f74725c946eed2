"""Figures over the tasks of a suite, each with the denominators it must be printed with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum

from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.passes import pass_at_k, pass_hat_k


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteMean:
    """A mean over tasks: `values` of the tasks that have the figure, `of` tasks in all."""

    values: tuple[float, ...]
    of: int

    @property
    def mean(self) -> float | None:
        """None (n/a) when no task has the figure."""
        return fsum(self.values) / len(self.values) if self.values else None

    @property
    def not_available(self) -> int:
        """Tasks that have too few valid attempts for the figure."""
        return self.of - len(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooled:
    """All attempts of all tasks together."""

    passed: int
    valid: int
    invalid: int
    requested: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliable:
    """Observed n/n: between `low` and `high` of `of` tasks pass all attempts; `unsettled` tasks are the gap.

    An unsettled task with a failed attempt cannot be n/n any more: it is unsettled, but widens nothing.
    """

    low: int
    high: int
    of: int
    unsettled: tuple[str, ...]


def mean_pass_at_k(*, tasks: Sequence[TaskCounts], k: int) -> SuiteMean:
    """Mean pass@k; tasks with fewer than k valid attempts are not available, k never shrinks for them."""
    return _mean(tasks, k, pass_at_k)


def mean_pass_hat_k(*, tasks: Sequence[TaskCounts], k: int) -> SuiteMean:
    """Mean pass^k; tasks with fewer than k valid attempts are not available."""
    return _mean(tasks, k, pass_hat_k)


def _mean(tasks: Sequence[TaskCounts], k: int, figure: Callable[..., float | None]) -> SuiteMean:
    values = (figure(passed=task.passed, valid=task.valid, k=k) for task in tasks)
    return SuiteMean(values=tuple(one for one in values if one is not None), of=len(tasks))


def pooled(*, tasks: Sequence[TaskCounts]) -> Pooled:
    """Counts of all attempts."""
    return Pooled(
        passed=sum(task.passed for task in tasks),
        valid=sum(task.valid for task in tasks),
        invalid=sum(task.invalid for task in tasks),
        requested=sum(task.requested for task in tasks),
    )


def reliable(*, tasks: Sequence[TaskCounts]) -> Reliable:
    """How many tasks passed every requested attempt."""
    unsettled = [task for task in tasks if not task.settled]
    low = sum(task.reliable for task in tasks)
    return Reliable(
        low=low,
        high=low + sum(not task.failed for task in unsettled),
        of=len(tasks),
        unsettled=tuple(task.task for task in unsettled),
    )


def by_tag(*, tasks: Sequence[TaskCounts]) -> dict[str, list[TaskCounts]]:
    """Tasks of each tag, tags in alphabetical order. A task is in the group of each of its tags."""
    groups: dict[str, list[TaskCounts]] = {}
    for task in tasks:
        for tag in task.tags:
            groups.setdefault(tag, []).append(task)
    return dict(sorted(groups.items()))

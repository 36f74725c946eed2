"""Attempts counted by task: what every figure is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pytest_thinkingbox.records.model import AttemptRow


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCounts:
    """One task's attempts by outcome. Attempts that never ran are in none of them."""

    task: str
    requested: int
    passed: int = 0
    failed: int = 0
    invalid: int = 0
    tags: tuple[str, ...] = ()
    no_change: bool = False
    xfail: bool = False
    xfail_strict: bool = False
    min_pass_rate: float | None = None

    @property
    def valid(self) -> int:
        """The denominator of every figure of this task."""
        return self.passed + self.failed

    @property
    def missing(self) -> int:
        """Requested attempts that say nothing: invalid, or never run."""
        return max(self.requested - self.valid, 0)

    @property
    def settled(self) -> bool:
        """Whether all requested attempts are valid, so that n/n can be observed."""
        return self.valid > 0 and self.missing == 0

    @property
    def reliable(self) -> bool:
        """Observed n/n: every requested attempt is valid and passed."""
        return self.settled and self.failed == 0

    @property
    def is_invalid(self) -> bool:
        """INVALID: not a single valid attempt."""
        return self.valid == 0


def count_tasks(*, rows: Iterable[AttemptRow], requested: Mapping[str, int]) -> list[TaskCounts]:
    """Counts of every task in `requested` or `rows`, in that order; one without a row is INVALID."""
    grouped: dict[str, list[AttemptRow]] = {task: [] for task in requested}
    for row in rows:
        grouped.setdefault(row.task, []).append(row)
    return [_count(task, of_task, requested.get(task)) for task, of_task in grouped.items()]


def _count(task: str, rows: list[AttemptRow], requested: int | None) -> TaskCounts:
    if not rows:
        assert requested is not None
        return TaskCounts(task=task, requested=requested)
    outcomes = [row.outcome for row in rows]
    first = rows[0]
    return TaskCounts(
        task=task,
        requested=first.requested if requested is None else requested,
        passed=outcomes.count("passed"),
        failed=outcomes.count("failed"),
        invalid=outcomes.count("invalid"),
        tags=first.tags,
        no_change=first.no_change,
        xfail=any(row.xfail for row in rows),
        xfail_strict=any(row.xfail and row.xfail_strict for row in rows),
        min_pass_rate=first.min_pass_rate,
    )


def judged_tasks(rows: Iterable[AttemptRow]) -> frozenset[str]:
    """Tasks whose checker asked the judge in at least one attempt."""
    return frozenset(row.task for row in rows if "judge" in row.usage and row.usage["judge"].requests)

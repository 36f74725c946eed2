"""Counts of a task from a few numbers."""

from __future__ import annotations

from typing import Any

from pytest_thinkingbox.stats.counts import TaskCounts


def task(passed: int = 0, failed: int = 0, invalid: int = 0, **named: Any) -> TaskCounts:
    named.setdefault("task", "t")
    named.setdefault("requested", passed + failed + invalid)
    return TaskCounts(passed=passed, failed=failed, invalid=invalid, **named)


def published(*, passes: int, reliable: int, once: int) -> list[TaskCounts]:
    """507 tasks x 20 with so many passes in all, tasks 20/20, and tasks that passed at least once."""
    between = once - reliable
    each, more = divmod(passes - 20 * reliable, between)
    counts = [20] * reliable + [each + 1] * more + [each] * (between - more) + [0] * (507 - once)
    return [task(count, 20 - count, task=f"t{index}") for index, count in enumerate(counts)]

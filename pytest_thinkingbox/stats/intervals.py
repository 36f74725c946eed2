"""Intervals. All are two-sided, 95 % unless said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import betaincinv

from pytest_thinkingbox.stats.counts import TaskCounts

Interval = tuple[float, float]

_RESAMPLES = 10_000
_CHUNK = 500  # resamples drawn at once: bounds the memory


def jeffreys(*, passed: float, valid: float, level: float = 0.95) -> Interval | None:
    """Interval of one task's chance to pass: quantiles of Beta(c + 1/2, n - c + 1/2).

    It reaches 0 when nothing passed and 1 when everything did. None without a valid attempt.
    """
    if valid <= 0:
        return None
    tail = (1 - level) / 2
    failed = valid - passed
    low = 0.0 if passed <= 0 else float(betaincinv(passed + 0.5, failed + 0.5, tail))
    high = 1.0 if failed <= 0 else float(betaincinv(passed + 0.5, failed + 0.5, 1 - tail))
    return low, high


def these_tasks(*, tasks: Sequence[TaskCounts], level: float = 0.95) -> Interval | None:
    """Interval of the mean pass rate over exactly these tasks: only the attempts are drawn anew.

    Tasks of unequal difficulty vary less than one coin does, so the Jeffreys interval is taken at the
    effective number of attempts: that of the coin whose variance equals that of the mean over the tasks, each
    with chance (c + 1/2) / (n + 1).
    With one task it is the task's own interval. Tasks without a valid attempt are left out; None without any.
    """
    counted = [task for task in tasks if task.valid]
    if not counted:
        return None
    passed = np.array([task.passed for task in counted], dtype=float)
    valid = np.array([task.valid for task in counted], dtype=float)
    smoothed = (passed + 0.5) / (valid + 1)
    mean = smoothed.mean()
    variance = (smoothed * (1 - smoothed) / valid).sum() / len(counted) ** 2
    # Rates measured from few attempts differ by chance alone, which looks like unequal difficulty: taken out.
    by_chance = (1 - 1 / len(counted)) * (1 / (valid + 1)).mean()
    effective = mean * (1 - mean) / variance * (1 - by_chance)
    return jeffreys(passed=float((passed / valid).mean() * effective), valid=float(effective), level=level)


def new_tasks(*, values: Sequence[float], level: float = 0.95) -> Interval | None:
    """Percentile bootstrap of a mean over tasks, for new tasks like these; `values` holds one figure per task.

    Whole tasks are drawn, since attempts of one task are not independent. The same values always give the
    same interval. None when all values are equal: such tasks do not show how much others would differ.
    """
    if len(set(values)) < 2:
        return None
    figures = np.asarray(values, dtype=float)
    random = np.random.default_rng(0)
    means = [
        figures[random.integers(0, len(figures), size=(_CHUNK, len(figures)))].mean(axis=1)
        for _ in range(_RESAMPLES // _CHUNK)
    ]
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return float(low), float(high)

"""Two campaigns over the same tasks: differences of figures, paired by task and conditional on these tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Literal

from scipy.special import bdtr, chdtri, ndtri, stdtr, stdtrit

from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.intervals import Interval, new_tasks
from pytest_thinkingbox.stats.passes import pass_at_k, pass_hat_k

_TAIL = 0.025
_Z = float(ndtri(1 - _TAIL))
_SURE = 0.95  # what "sharpened" asks of each of its two halves

Sharpening = Literal["sharpened", "consistent with sharpening"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One task in both campaigns."""

    base: TaskCounts
    new: TaskCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """New less base, over the `tasks` pairs of `of` in which both have the figure.

    `interval` is two-sided, 95 %, and says what the same tasks would show if tried again. `better` is the
    probability that the new one is the better. All are None without a pair.
    """

    tasks: int
    of: int
    base: float | None = None
    new: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    better: float | None = None
    by_task: tuple[float, ...] = ()

    @property
    def new_tasks(self) -> Interval | None:
        """What new tasks like these would show: a bootstrap over tasks, drawn when asked for."""
        return new_tasks(values=self.by_task)

    @property
    def differs(self) -> bool:
        """Whether the two are called different: the interval for these tasks leaves out 0."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


def pair_tasks(*, base: Sequence[TaskCounts], new: Sequence[TaskCounts]) -> list[Pair]:
    """The tasks that are in both and expected to pass, in the order of `base`."""
    others = {task.task: task for task in new if not task.xfail}
    return [Pair(base=task, new=others[task.task]) for task in base if task.task in others and not task.xfail]


def pass_rate_difference(*, pairs: Sequence[Pair]) -> Difference:
    """Of pass@1, the mean over tasks. Only attempts are drawn anew: within-task binomial variances add up."""
    found = [pair for pair in pairs if pair.base.valid and pair.new.valid]
    before = [pair.base.passed / pair.base.valid for pair in found]
    after = [pair.new.passed / pair.new.valid for pair in found]
    if all(pair.base.valid == pair.new.valid == 1 for pair in found):
        return _of_values(before, after, of=len(pairs))
    variances, freedom = [], []
    for pair, one, other in zip(found, before, after, strict=True):
        if min(pair.base.valid, pair.new.valid) > 1:
            variances += [_variance(pair.base), _variance(pair.new)]
            freedom += [pair.base.valid - 1, pair.new.valid - 1]
        else:  # a single attempt has no variance to measure; this is right if nothing changed
            variances.append((other - one) ** 2)
            freedom.append(1)
    most = max((max(pair.base.valid, pair.new.valid) for pair in found), default=1)
    return _summed(before, after, variances, freedom, step=1 / most, of=len(pairs))


def _variance(task: TaskCounts) -> float:
    """Of c/n, from counts: p(1-p)/(n-1), unbiased, with half a pass and half a failure added so that n/n is not 0."""
    smoothed = (task.passed + 0.5) / (task.valid + 1)
    return smoothed * (1 - smoothed) / (task.valid - 1)


def pass_at_k_difference(*, pairs: Sequence[Pair], k: int) -> Difference:
    """Of pass@k; tasks with fewer than k valid attempts in one of the campaigns are left out."""
    return _of_figure(pairs, k, pass_at_k)


def pass_hat_k_difference(*, pairs: Sequence[Pair], k: int) -> Difference:
    """Of pass^k, which is observed n/n where k attempts were asked for."""
    return _of_figure(pairs, k, pass_hat_k)


def _of_figure(pairs: Sequence[Pair], k: int, figure: Callable[..., float | None]) -> Difference:
    before, after = [], []
    for pair in pairs:
        one = figure(passed=pair.base.passed, valid=pair.base.valid, k=k)
        other = figure(passed=pair.new.passed, valid=pair.new.valid, k=k)
        if one is not None and other is not None:
            before.append(one)
            after.append(other)
    return _of_values(before, after, of=len(pairs))


def _of_values(before: Sequence[float], after: Sequence[float], *, of: int) -> Difference:
    """Figures that are yes or no for each task are counted; for others the squared differences are the variance.

    That is exact if nothing changed, and errs to the wide side where tasks changed in different ways.
    """
    if set(before) | set(after) <= {0.0, 1.0}:
        return _counted(before, after, of=of)
    variances = [(other - one) ** 2 for one, other in zip(before, after, strict=True)]
    return _summed(before, after, variances, [1] * len(variances), step=0.0, of=of)


def _counted(before: Sequence[float], after: Sequence[float], *, of: int) -> Difference:
    """Tasks gained and lost: if nothing changed, each of them is as likely the one as the other.

    The interval combines exact Poisson limits of both numbers (Garwood 1936) by the method of variance estimates
    recovery (Zou and Donner 2008): sums of unequal chances vary no more than Poisson ones. The probability is
    one less the mid-P value of the exact sign test.
    """
    tasks = len(before)
    if not tasks:
        return Difference(tasks=0, of=of)
    gained = sum(one < other for one, other in zip(before, after, strict=True))
    lost = sum(one > other for one, other in zip(before, after, strict=True))
    difference = gained - lost
    gained_low, gained_high = poisson_limits(gained)
    lost_low, lost_high = poisson_limits(lost)
    low = difference - sqrt((gained - gained_low) ** 2 + (lost_high - lost) ** 2)
    high = difference + sqrt((gained_high - gained) ** 2 + (lost - lost_low) ** 2)
    fewer = float(bdtr(gained - 1, gained + lost, 0.5)) if gained else 0.0
    at_most = float(bdtr(gained, gained + lost, 0.5))
    return _difference(
        before,
        after,
        interval=(max(low / tasks, -1.0), min(high / tasks, 1.0)),
        better=(fewer + at_most) / 2,
        of=of,
    )


def poisson_limits(count: int) -> Interval:
    """Exact two-sided 95 % limits of the mean of a Poisson count (Garwood 1936)."""
    low = 0.0 if not count else float(chdtri(2 * count, 1 - _TAIL)) / 2
    return low, float(chdtri(2 * count + 2, _TAIL)) / 2


def _summed(
    before: Sequence[float],
    after: Sequence[float],
    variances: Sequence[float],
    freedom: Sequence[int],
    *,
    step: float,
    of: int,
) -> Difference:
    """Interval of a sum of independent parts: Student's t with the degrees of freedom of Welch and Satterthwaite.

    `variances` are of parts of the sum over tasks, each measured with so many degrees of freedom; half a `step` of
    the sum is added, since counts do not vary smoothly.
    """
    tasks = len(before)
    if not tasks:
        return Difference(tasks=0, of=of)
    total = fsum(variances)
    difference = (fsum(after) - fsum(before)) / tasks
    if not total:  # nothing varied, in any task: that proves no interval, but there is none to give
        return _difference(before, after, interval=None, better=0.5, of=of)
    degrees = total**2 / fsum(one**2 / free for one, free in zip(variances, freedom, strict=True))
    error = sqrt(total) / tasks
    half = float(stdtrit(degrees, 1 - _TAIL)) * error + step / tasks / 2
    return _difference(
        before,
        after,
        interval=(max(difference - half, -1.0), min(difference + half, 1.0)),
        better=float(stdtr(degrees, difference / error)),
        of=of,
    )


def _difference(
    before: Sequence[float], after: Sequence[float], *, interval: Interval | None, better: float, of: int
) -> Difference:
    tasks = len(before)
    by_task = [other - one for one, other in zip(before, after, strict=True)]
    return Difference(
        tasks=tasks,
        of=of,
        base=fsum(before) / tasks,
        new=fsum(after) / tasks,
        difference=fsum(by_task) / tasks,
        interval=interval,
        better=better,
        by_task=tuple(by_task),
    )


def sharpening(*, at_k: Difference, every: Difference) -> Sharpening | None:
    """Whether n/n rose while pass@k fell: the agent does more reliably what it could, and can do less.

    Shown only when both halves are, each with a probability of at least 0.95.
    """
    if at_k.better is None or every.better is None or at_k.difference is None or every.difference is None:
        return None
    if every.better >= _SURE and at_k.better <= 1 - _SURE:
        return "sharpened"
    return "consistent with sharpening" if every.difference > 0 > at_k.difference else None


def attempts_needed(*, pairs: Sequence[Pair], drop: float) -> tuple[int, bool] | None:
    """How many more attempts per task would make the 95 % interval of pass@1 reach no further than `drop`.

    The flag says that both campaigns need them: more of the new one alone would never do. None when nothing more is
    needed, or when a task has too few attempts to say.
    """
    found = [pair for pair in pairs if min(pair.base.valid, pair.new.valid) > 1]
    if not found:
        return None
    allowed = (drop * len(found) / _Z) ** 2
    base = fsum(_variance(pair.base) for pair in found)
    new = fsum(_variance(pair.new) for pair in found)
    if base + new <= allowed:
        return None
    attempts = fsum(pair.new.valid for pair in found) / len(found)
    alone = allowed - base
    factor = new / alone if alone > 0 else (base + new) / allowed
    if alone > 0 and factor <= 10:
        return max(1, round(attempts * (factor - 1))), False
    return max(1, round(attempts * ((base + new) / allowed - 1))), True

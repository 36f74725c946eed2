"""Two campaigns compared, and several of them in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_thinkingbox.stats.campaign import Mismatch, Side
from pytest_thinkingbox.stats.cost import Cost
from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.paired import (
    Difference,
    Pair,
    Sharpening,
    pair_tasks,
    pass_at_k_difference,
    pass_hat_k_difference,
    pass_rate_difference,
    sharpening,
)
from pytest_thinkingbox.stats.prices import Prices
from pytest_thinkingbox.stats.suite import Pooled, by_tag, mean_pass_at_k, pooled


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The three differences over some pairs; `every` is pass^k, which is n/n where k attempts were asked for."""

    k: int
    first: Difference
    at_k: Difference
    every: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTag:
    """One tag's tasks: counts of both sides, and the difference of pass@1."""

    base: Pooled
    new: Pooled
    first: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """New against base, over the tasks of both.

    `observed` says that `every` is n/n: both asked for the same number of attempts. `gained` are tasks that are n/n
    in new only, `lost` those in base only. `allowed` are mismatches that somebody chose to overlook. `unjudged`
    are the figures without tasks that asked the judge, None when none did. Costs are of whole campaigns.
    """

    base: Side
    new: Side
    figures: Figures
    observed: bool
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    sharpening: Sharpening | None
    by_tag: dict[str, OfTag]
    judged: frozenset[str]
    unjudged: Figures | None
    base_cost: Cost
    new_cost: Cost
    allowed: tuple[Mismatch, ...]


def compare(*, base: Side, new: Side, prices: Prices, allowed: Sequence[Mismatch] = ()) -> Comparison:
    """The comparison; whether the two are comparable was decided before."""
    pairs = pair_tasks(base=base.tasks, new=new.tasks)
    k = common_k([base, new])
    every = figures_of(pairs, k=k)
    judged = base.judged | new.judged
    rest = [pair for pair in pairs if pair.base.task not in judged]
    tagged = by_tag(tasks=[pair.base for pair in pairs])
    of_task = {pair.base.task: pair for pair in pairs}
    return Comparison(
        base=base,
        new=new,
        figures=every,
        observed=all(pair.base.requested == pair.new.requested == k for pair in pairs),
        gained=tuple(pair.base.task for pair in pairs if _gained(pair.base, pair.new)),
        lost=tuple(pair.base.task for pair in pairs if _gained(pair.new, pair.base)),
        sharpening=sharpening(at_k=every.at_k, every=every.every),
        by_tag={tag: _of_tag([of_task[task.task] for task in tasks]) for tag, tasks in tagged.items()},
        judged=judged,
        unjudged=figures_of(rest, k=k) if judged else None,
        base_cost=base.cost(prices),
        new_cost=new.cost(prices),
        allowed=tuple(allowed),
    )


def _of_tag(pairs: Sequence[Pair]) -> OfTag:
    return OfTag(
        base=pooled(tasks=[pair.base for pair in pairs]),
        new=pooled(tasks=[pair.new for pair in pairs]),
        first=pass_rate_difference(pairs=pairs),
    )


def _gained(before: TaskCounts, after: TaskCounts) -> bool:
    return before.settled and not before.reliable and after.reliable


def figures_of(pairs: Sequence[Pair], *, k: int) -> Figures:
    return Figures(
        k=k,
        first=pass_rate_difference(pairs=pairs),
        at_k=pass_at_k_difference(pairs=pairs, k=k),
        every=pass_hat_k_difference(pairs=pairs, k=k),
    )


def common_k(sides: Sequence[Side]) -> int:
    """The k of pass@k and pass^k: the attempts that all campaigns asked for."""
    return max(1, min(side.attempts for side in sides))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One campaign of a leaderboard; `tasks` are those that all of them have."""

    side: Side
    tasks: tuple[TaskCounts, ...]
    cost: Cost


def leaderboard(*, sides: Sequence[Side], prices: Prices) -> list[Standing]:
    """The campaigns by pass@1 over the tasks of all, the highest first; equal ones as they were given."""
    common = set.intersection(*({task.task for task in side.tasks} for side in sides))
    standings = [
        Standing(
            side=side,
            tasks=tuple(task for task in side.tasks if task.task in common),
            cost=side.cost(prices),
        )
        for side in sides
    ]
    return sorted(standings, key=lambda one: -(mean_pass_at_k(tasks=one.tasks, k=1).mean or 0.0))

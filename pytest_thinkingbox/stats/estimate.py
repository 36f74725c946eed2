"""What a campaign is going to use, judged by one that was played."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from pytest_thinkingbox.records.model import AttemptRow, UsageRecord, add_usage
from pytest_thinkingbox.stats.cost import ROLES, price_usage
from pytest_thinkingbox.stats.prices import Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleEstimate:
    """Expected tokens of one role, and US dollars; None where the stored tokens or the price are not known."""

    role: str
    model: str | None
    input_tokens: float | None
    output_tokens: float | None
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """`measured` of the `tasks` have stored attempts, `stored` together; the others count as the mean of those.

    `seconds` is the time of all attempts one after the other.
    """

    attempts: int
    tasks: int
    measured: int
    stored: int
    roles: tuple[RoleEstimate, ...]
    seconds: float

    @property
    def cost(self) -> float | None:
        """All roles together; None as soon as one is not known."""
        known = [one.cost for one in self.roles if one.cost is not None]
        return fsum(known) if known and len(known) == len(self.roles) else None


def estimate(
    *,
    wanted: Mapping[str, int],
    rows: Sequence[AttemptRow],
    models: Mapping[str, str | None],
    prices: Prices,
) -> Estimate | None:
    """What `wanted` attempts of each task will use; None when none of the tasks has a stored attempt.

    An attempt is taken as the mean of the task's stored ones, with the invalid tries before them.
    """
    by_task: dict[str, list[AttemptRow]] = defaultdict(list)
    for row in rows:
        if row.task in wanted:
            by_task[row.task].append(row)
    if not by_task:
        return None
    weights = {task: wanted[task] / len(stored) for task, stored in by_task.items()}
    played = sum(wanted[task] for task in by_task)
    others = (
        sum(wanted.values()) / played
    )  # what the tasks without attempts make of the sum of those with some
    roles = tuple(
        _role(role, by_task, weights, others=others, model=models.get(role), prices=prices)
        for role in ROLES
        if any(row.usage[role].requests for row in _rows(by_task) if role in row.usage)
    )
    return Estimate(
        attempts=sum(wanted.values()),
        tasks=len(wanted),
        measured=len(by_task),
        stored=sum(map(len, by_task.values())),
        roles=roles,
        seconds=others
        * fsum(weights[task] * fsum(row.seconds for row in stored) for task, stored in by_task.items()),
    )


def _rows(by_task: Mapping[str, Sequence[AttemptRow]]) -> Iterable[AttemptRow]:
    return (row for stored in by_task.values() for row in stored)


def _role(
    role: str,
    by_task: Mapping[str, Sequence[AttemptRow]],
    weights: Mapping[str, float],
    *,
    others: float,
    model: str | None,
    prices: Prices,
) -> RoleEstimate:
    used = {
        task: add_usage({role: row.usage[role]} for row in stored if role in row.usage).get(
            role, UsageRecord()
        )
        for task, stored in by_task.items()
    }
    price = None if model is None else prices.get(model)

    def expected(amounts: Mapping[str, float | None]) -> float | None:
        known = {task: amount for task, amount in amounts.items() if amount is not None}
        if len(known) < len(amounts):
            return None
        return others * fsum(weights[task] * amount for task, amount in known.items())

    return RoleEstimate(
        role=role,
        model=model,
        input_tokens=expected({task: one.input_tokens if one.requests else 0 for task, one in used.items()}),
        output_tokens=expected(
            {task: one.output_tokens if one.requests else 0 for task, one in used.items()}
        ),
        cost=expected({task: price_usage(one, price) for task, one in used.items()}),
    )

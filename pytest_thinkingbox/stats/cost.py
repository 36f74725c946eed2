"""What a campaign cost: a ledger for each role, and what a success comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo, UsageRecord
from pytest_thinkingbox.stats.prices import Price, Prices, prices_from

ROLES = ("agent", "user", "judge", "control")
NOTICE = "serving index, not an invoice"
"""Prices are those of the user's table at list price: no discount, tax or idle machine is in them."""

_BLACK_BOXES = ("command:", "python:")  # they may ask a model as often as they like; nobody here sees it


def reports_itself(agent: str) -> bool:
    """Whether only the agent knows which models it asked. `agent` is the text of `--tb-agent`."""
    return agent.startswith(_BLACK_BOXES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """One role's inference, invalid tries included.

    `known` is the sum in US dollars over the attempts whose cost is known, `unknown` the number of those whose
    cost is not: the endpoint did not say its tokens, the model has no price, or - `silent` - the role asks models
    by itself and reported nothing in any attempt.
    """

    role: str
    model: str | None
    has_price: bool
    known: float
    attempts: int
    unknown: int
    silent: bool = False

    @property
    def total(self) -> float | None:
        """None (n/a) as soon as one attempt is unknown: a part of a sum is not the sum."""
        return None if self.unknown else self.known


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The ledgers of the roles that asked a model, and figures made of the agent's. In US dollars."""

    ledgers: tuple[Ledger, ...]
    passed: int
    reliable: int
    attempts: int

    @property
    def agent(self) -> float | None:
        """The agent's inference; None when unknown or when no agent asked a model."""
        return next((one.total for one in self.ledgers if one.role == "agent"), None)

    @property
    def total(self) -> float | None:
        """All roles together; None as soon as one of them is unknown."""
        totals = [one.total for one in self.ledgers]
        known = [one for one in totals if one is not None]
        return fsum(known) if known and len(known) == len(totals) else None

    @property
    def per_attempt(self) -> float | None:
        return _per(self.agent, self.attempts)

    @property
    def per_pass(self) -> float | None:
        """The agent's inference, failed and invalid attempts too, for one passed attempt."""
        return _per(self.agent, self.passed)

    @property
    def per_reliable(self) -> float | None:
        """The agent's inference for one task that passed every attempt; None when there is none."""
        return _per(self.agent, self.reliable)


def _per(total: float | None, number: int) -> float | None:
    return None if total is None or not number else total / number


def cost_of(
    *, rows: Sequence[AttemptRow], models: Mapping[str, str | None], agent: str, prices: Prices, reliable: int
) -> Cost:
    """`models` names the model of each role, `reliable` counts the tasks that passed every attempt."""
    ledgers = []
    for role in ROLES:
        used = [row.usage[role] for row in rows if role in row.usage and row.usage[role].requests]
        model = models.get(role)
        if role == "agent" and reports_itself(agent):
            if rows:
                ledgers.append(_ledger(role, model, used, prices, silent=len(rows) - len(used)))
        elif used:
            ledgers.append(_ledger(role, model, used, prices))
    passed = sum(row.outcome == "passed" for row in rows if not row.xfail)
    return Cost(ledgers=tuple(ledgers), passed=passed, reliable=reliable, attempts=len(rows))


def _ledger(
    role: str, model: str | None, used: Sequence[UsageRecord], prices: Prices, *, silent: int = 0
) -> Ledger:
    price = prices.get(model) if model is not None else None
    amounts = [price_usage(one, price) for one in used]
    known = [one for one in amounts if one is not None]
    return Ledger(
        role=role,
        model=model,
        has_price=price is not None,
        known=fsum(known),
        attempts=len(used) + silent,
        unknown=len(amounts) - len(known) + silent,
        silent=not used,
    )


def price_usage(usage: UsageRecord, price: Price | None) -> float | None:
    """US dollars; None when the price or the tokens are not known, 0 when nothing was asked."""
    if not usage.requests:
        return 0.0
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    return price.of(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens or 0,
    )


def models_of(info: CampaignInfo) -> dict[str, str | None]:
    """Who acts as which role, as the campaign was asked for."""
    return role_models(model=info.model, options=info.options)


def role_models(*, model: str | None, options: Mapping[str, Any]) -> dict[str, str | None]:
    """User and judge are played by the acting model unless another one was named."""
    return {
        "agent": model,
        "user": options.get("user_model") or model,
        "judge": options.get("judge_model") or model,
        "control": model,  # the requests that tell a slow provider from a slow agent
    }


def stored_prices(info: CampaignInfo, *, where: str) -> dict[str, Price]:
    """The prices that the campaign was run with. Raises BrokenPrices, which begins with `where`."""
    return prices_from(info.options.get("prices") or {}, where=where)


def used_prices(prices: Prices, models: Iterable[str | None]) -> dict[str, dict[str, float | None]]:
    """The part of a table that belongs into a campaign's description, as plain data."""
    return {
        name: prices[name].as_data() for name in dict.fromkeys(models) if name is not None and name in prices
    }

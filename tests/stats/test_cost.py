from __future__ import annotations

from typing import Any

import pytest

from pytest_thinkingbox.records.model import AttemptRow, UsageRecord
from pytest_thinkingbox.stats.cost import Cost, cost_of, models_of, used_prices
from pytest_thinkingbox.stats.prices import Price
from tests.records.builders import info, rows

PRICES = {"m": Price(input=1.0, cached_input=0.1, output=10.0), "cheap": Price(input=0.5, output=1.0)}


def used(input_tokens: int | None, output_tokens: int | None = 0, **named: Any) -> UsageRecord:
    return UsageRecord(requests=1, input_tokens=input_tokens, output_tokens=output_tokens, **named)


def cost(found: list[AttemptRow], *, model: str | None = "m", agent: str = "openai", **named: Any) -> Cost:
    models = {"agent": model, "user": "cheap", "judge": "cheap"} | named.pop("models", {})
    return cost_of(rows=found, models=models, agent=agent, prices=PRICES, **{"reliable": 0} | named)


def spread(dollars: float, *, passed: int, attempts: int) -> list[AttemptRow]:
    """So many attempts whose tokens come to that sum at one dollar a million."""
    tokens = round(dollars * 1_000_000)
    each, more = divmod(tokens, attempts)
    found = []
    for number in range(attempts):
        (one,) = rows("p" if number < passed else "f", usage={"agent": used(each + (number < more))})
        found.append(one)
    return found


@pytest.mark.parametrize(
    ("dollars", "passed", "reliable", "per_pass", "per_reliable"),
    [(925.80, 5242, 38, 0.177, 24.36), (855.58, 6163, 107, 0.139, 8.00)],
)
def test_published_costs_of_a_passed_attempt_and_of_a_reliable_task(
    dollars: float, passed: int, reliable: int, per_pass: float, per_reliable: float
) -> None:
    found = cost(spread(dollars, passed=passed, attempts=10_140), reliable=reliable)
    assert found.total == pytest.approx(dollars)
    assert found.per_pass is not None
    assert found.per_reliable is not None
    assert (round(found.per_pass, 3), round(found.per_reliable, 2)) == (per_pass, per_reliable)


def test_invalid_attempts_were_paid_for_too() -> None:
    found = cost(rows("pfi", usage={"agent": used(1_000_000)}))
    assert (found.agent, found.per_attempt, found.per_pass) == (3.0, 1.0, 3.0)


def test_user_and_judge_have_ledgers_of_their_own_and_a_total() -> None:
    usage = {"agent": used(1_000_000), "user": used(1_000_000), "judge": used(0, 1_000_000)}
    found = cost(rows("p", usage=usage), reliable=1)
    assert [(one.role, one.total) for one in found.ledgers] == [("agent", 1.0), ("user", 0.5), ("judge", 1.0)]
    assert found.total == 2.5
    assert found.per_reliable == 1.0  # the agent's alone


def test_a_model_without_a_price_costs_an_unknown_sum_and_not_nothing() -> None:
    found = cost(rows("pp", usage={"agent": used(1000), "user": used(1000)}), model="new", reliable=1)
    assert [one.has_price for one in found.ledgers] == [False, True]
    assert (found.agent, found.total, found.per_pass, found.per_reliable) == (None, None, None, None)


def test_one_attempt_of_unknown_tokens_makes_the_sum_unknown() -> None:
    found = cost(
        [*rows("p", usage={"agent": used(1_000_000)}), *rows("f", usage={"agent": used(None, None)})]
    )
    (ledger,) = found.ledgers
    assert (ledger.total, ledger.known, ledger.unknown, ledger.attempts) == (None, 1.0, 1, 2)
    assert found.per_pass is None


def test_no_passed_attempt_and_no_reliable_task_have_no_cost() -> None:
    found = cost(rows("ff", usage={"agent": used(1_000_000)}))
    assert (found.per_pass, found.per_reliable, found.agent) == (None, None, 2.0)


def test_an_agent_of_somebody_else_that_reports_nothing_is_unknown() -> None:
    found = cost(rows("pp"), agent="command:python agent.py", model=None)
    assert [(one.role, one.total, one.silent) for one in found.ledgers] == [("agent", None, True)]


def test_who_asks_no_model_costs_nothing() -> None:
    found = cost(rows("pp"), agent="solution", model=None)
    assert (found.ledgers, found.total) == ((), None)


def test_the_model_of_a_role_is_the_acting_one_unless_another_was_named() -> None:
    assert models_of(info(model="a")) == {"agent": "a", "user": "a", "judge": "a", "control": "a"}
    named = info(model="a", options={"user_model": "b", "judge_model": None})
    assert models_of(named) == {"agent": "a", "user": "b", "judge": "a", "control": "a"}


def test_a_campaign_keeps_the_prices_of_its_own_models_only() -> None:
    assert used_prices(PRICES, ["m", "m", "new", None]) == {
        "m": {"input": 1.0, "cached_input": 0.1, "output": 10.0}
    }

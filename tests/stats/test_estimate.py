"""What a campaign is going to use."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_thinkingbox.records.model import AttemptRow, UsageRecord
from pytest_thinkingbox.report.estimate import estimate_texts
from pytest_thinkingbox.stats.estimate import Estimate, estimate
from pytest_thinkingbox.stats.prices import Price

PRICES = {"m": Price(input=1.0, output=10.0), "u": Price(input=0.5, output=0.5)}
MODELS = {"agent": "m", "user": "u", "judge": "m"}


def row(
    task: str, attempt: int, *, used: tuple[int | None, int | None] | None, seconds: float = 1.0, **more: Any
):
    usage = (
        {}
        if used is None
        else {"agent": UsageRecord(requests=2, input_tokens=used[0], output_tokens=used[1])}
    )
    return AttemptRow(
        task=task, attempt=attempt, requested=2, outcome="passed", usage=usage | more, seconds=seconds
    )


def found(wanted: dict[str, int], *rows: AttemptRow) -> Estimate:
    estimated = estimate(wanted=wanted, rows=rows, models=MODELS, prices=PRICES)
    assert estimated is not None
    return estimated


def test_an_attempt_is_the_mean_of_the_stored_ones_of_its_task() -> None:
    one = found(
        {"a": 20, "b": 10},
        row("a", 1, used=(1_000, 100), seconds=2.0),
        row("a", 2, used=(3_000, 300), seconds=4.0),
        row("b", 1, used=(10_000, 0), seconds=10.0),
    )
    (agent,) = one.roles
    assert (agent.input_tokens, agent.output_tokens) == (20 * 2_000 + 10 * 10_000, 20 * 200)
    assert agent.cost == pytest.approx(0.14 + 0.04)
    assert one.cost == pytest.approx(0.18)
    assert one.seconds == pytest.approx(20 * 3.0 + 10 * 10.0)
    assert (one.attempts, one.tasks, one.measured, one.stored) == (30, 2, 2, 3)


def test_a_task_that_was_never_played_is_the_mean_of_the_others() -> None:
    one = found({"a": 10, "new": 30}, row("a", 1, used=(1_000, 0), seconds=2.0), row("gone", 1, used=(9, 9)))
    assert one.roles[0].input_tokens == pytest.approx(40 * 1_000)
    assert one.seconds == pytest.approx(80.0)
    assert (one.tasks, one.measured, one.stored) == (2, 1, 1)


def test_tokens_that_nobody_said_and_models_without_a_price_are_unknown() -> None:
    unsaid = found({"a": 1, "b": 1}, row("a", 1, used=(None, 3)), row("b", 1, used=(1, 1)))
    assert (unsaid.roles[0].input_tokens, unsaid.roles[0].output_tokens, unsaid.cost) == (None, 4, None)
    unpriced = estimate(
        wanted={"a": 1}, rows=[row("a", 1, used=(1, 1))], models={"agent": "x"}, prices=PRICES
    )
    assert unpriced is not None
    assert unpriced.cost is None
    assert estimate_texts(unpriced, source="DIR", concurrency=8)[1] == "agent: 1 in, 1 out, no price for x"


def test_roles_are_added_up_and_one_that_only_some_tasks_have_counts_for_these() -> None:
    user = UsageRecord(requests=1, input_tokens=2_000_000, output_tokens=0)
    one = found({"a": 2, "b": 2}, row("a", 1, used=(0, 100_000), user=user), row("b", 1, used=(0, 100_000)))
    assert [(role.role, role.input_tokens, role.cost) for role in one.roles] == [
        ("agent", 0, pytest.approx(4.0)),
        ("user", 4_000_000, pytest.approx(2.0)),
    ]
    assert one.cost == pytest.approx(6.0)


def test_without_an_attempt_of_these_tasks_there_is_no_estimate() -> None:
    assert estimate(wanted={"a": 1}, rows=[row("b", 1, used=(1, 1))], models=MODELS, prices=PRICES) is None


def test_the_words() -> None:
    one = found({"a": 400, "new": 20}, row("a", 1, used=(1_000, 100), seconds=30.0))
    assert estimate_texts(one, source="DIR", concurrency=8) == [
        "420 attempts of 2 tasks, judged by 1 attempt of 1 of them in DIR; the other 1 are taken as the mean of these",
        "agent: 420,000 in, 42,000 out, $0.840",
        "total: $0.840, serving index, not an invoice",
        "time: 3.5 h of attempts, about 27 min with 8 at once",
    ]

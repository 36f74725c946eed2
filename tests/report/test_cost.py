from __future__ import annotations

import pytest

from pytest_thinkingbox.report.cost import cost_texts, money
from pytest_thinkingbox.stats.cost import Cost, Ledger


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (925.8, "$925.80"),
        (12345.678, "$12,345.68"),
        (24.363, "$24.36"),
        (0.17661, "$0.177"),
        (0.00042, "$0.00042"),
        (0.0, "$0.00"),
        (None, "n/a"),
    ],
)
def test_money_in_as_many_digits_as_say_something(amount: float | None, text: str) -> None:
    assert money(amount) == text


def ledger(role: str = "agent", known: float = 925.8, unknown: int = 0, **named: object) -> Ledger:
    fields = {"model": "m", "has_price": True, "attempts": 10_140} | named
    return Ledger(role=role, known=known, unknown=unknown, **fields)  # type: ignore[arg-type]


def cost(*ledgers: Ledger) -> Cost:
    return Cost(ledgers=ledgers, passed=5242, reliable=38, attempts=10_140)


def test_a_cost_says_what_it_includes_and_that_it_is_no_invoice() -> None:
    assert cost_texts(cost(ledger(), ledger("user", 12.1, model="u"))) == [
        "agent: $925.80 (model m)",
        "user: $12.10 (model u)",
        "total: $937.90",
        "agent: $0.091 per attempt, $0.177 per passed attempt, $24.36 per reliably solved task",
        "serving index, not an invoice",
    ]


def test_a_model_without_a_price_is_named() -> None:
    assert cost_texts(cost(ledger(known=0.0, unknown=10_140, has_price=False))) == [
        "agent: n/a, no price for model m"
    ]


def test_what_is_unknown_is_said_with_what_is_known() -> None:
    text, notice = cost_texts(cost(ledger(known=4.0, unknown=3)))
    assert text == "agent: n/a, tokens unknown for 3 of 10140 attempts, the others $4.00 (model m)"
    assert notice == "serving index, not an invoice"


def test_names_of_models_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in cost_texts(cost(ledger(model="\x1b[2J", has_price=False)))[0]

"""What the insurer's tools do with money, days and endorsements, and that they enforce nothing of the policy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, Row, Table, create_engine, select

from example_suites.auto_insurance import reads, writes
from example_suites.auto_insurance import schema as tables
from example_suites.auto_insurance.desk import Desk
from example_suites.auto_insurance.seed import NOW, seed
from example_suites.common.desk import Refused


@pytest.fixture(scope="module")
def filled() -> Iterator[Engine]:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        tables.metadata.create_all(connection)
        seed(connection)
    yield engine
    engine.dispose()


@pytest.fixture
def desk(filled: Engine) -> Iterator[Desk]:
    """What a test writes is rolled back."""
    with filled.connect() as connection:
        yield Desk(db=connection, now=NOW, mail_host="127.0.0.1", mail_port=9)


def row(connection: Connection, table: Table, number: int) -> Row[Any]:
    return connection.execute(select(table).where(table.c.id == number)).one()


def test_an_endorsement_changes_the_premium_each_time(desk: Desk) -> None:
    new = {"born_on": date(2003, 8, 14), "licensed_on": date(2022, 3, 3), "effective_on": date(2026, 5, 20)}
    writes.add_driver(desk, policy_id=7050, name="Tessa", premium_change=112.19, **new)
    writes.add_driver(desk, policy_id=7050, name="Tess", premium_change=112.19, **new)
    assert row(desk.db, tables.policies, 7050).premium == Decimal("1154.88")


def test_a_coverage_runs_on_standard_terms_to_the_end_of_the_policy(desk: Desk) -> None:
    writes.change_coverage(
        desk, policy_id=7042, action="add", kind="glass", effective_on=date(2026, 5, 12), premium_change=35.40
    )
    added = reads.get_policy(desk, policy_id=7042)["coverages"][-1]
    assert (added["limit_amount"], added["deductible"]) == (1500, 100)
    assert (added["first_day"], added["last_day"]) == ("2026-05-12", "2026-09-30")


def test_a_coverage_ends_on_the_day_before(desk: Desk) -> None:
    writes.change_coverage(
        desk, policy_id=7056, action="remove", kind="rental", effective_on=date(2026, 6, 1), premium_change=0
    )
    assert row(desk.db, tables.coverages, 70565).last_day == date(2026, 5, 31)


def test_nobody_but_the_policy_forbids_an_earlier_day(desk: Desk) -> None:
    writes.change_coverage(
        desk, policy_id=7042, action="add", kind="glass", effective_on=date(2026, 5, 1), premium_change=0
    )
    assert reads.get_policy(desk, policy_id=7042)["endorsements"][-1]["effective_on"] == "2026-05-01"


def test_what_is_set_off_is_not_paid_out(desk: Desk) -> None:
    draft = writes.create_payment(
        desk, claim_id=3047, coverage_id=70472, payee="customer", amount=7462.35, set_off=[5]
    )
    assert draft["to_be_paid"] == 7365.95
    assert row(desk.db, tables.instalments, 5).status == "paid"
    assert writes.release_payment(desk, payment_id=draft["id"])["paid_out"] == 7365.95


def test_a_payment_that_is_released_twice_is_paid_twice(desk: Desk) -> None:
    draft = writes.create_payment(desk, claim_id=3080, coverage_id=70806, payee="customer", amount=150)
    writes.release_payment(desk, payment_id=draft["id"])
    assert writes.release_payment(desk, payment_id=draft["id"])["paid_out"] == 300


def test_an_instalment_is_overdue_again_when_its_payment_is_void(desk: Desk) -> None:
    draft = writes.create_payment(
        desk, claim_id=3047, coverage_id=70472, payee="customer", amount=7462.35, set_off=[5]
    )
    writes.void_payment(desk, payment_id=draft["id"])
    instalment = row(desk.db, tables.instalments, 5)
    assert (instalment.status, instalment.payment_id) == ("overdue", None)


def test_a_loss_is_kept_in_utc(desk: Desk) -> None:
    new = writes.open_claim(
        desk,
        policy_id=7086,
        vehicle_id=70861,
        kind="collision",
        occurred_at=datetime.fromisoformat("2026-05-01T01:30:00-04:00"),
        description="A bollard near Syracuse",
    )
    assert row(desk.db, tables.claims, new["id"]).occurred_at == datetime(2026, 5, 1, 5, 30)


def test_a_search_finds_drivers_and_registrations_with_their_claims(desk: Desk) -> None:
    by_driver = reads.search(desk, words="omar nasser")["policies"]
    assert [(one["id"], [claim["id"] for claim in one["claims"]]) for one in by_driver] == [(7072, [3072])]
    assert [one["id"] for one in reads.search(desk, words="DKF 2086")["policies"]] == [7086, 7186]


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("set_reserve", {"claim_id": 99, "amount": 1}, "There is no claim 99"),
        ("send_letter", {"policy_id": 99, "kind": "decision", "body": "x"}, "There is no policy 99"),
        ("update_customer", {"customer_id": 1042}, "phone or email"),
        ("void_payment", {"payment_id": 8084}, "was released"),
        ("release_payment", {"payment_id": 99}, "There is no payment 99"),
        (
            "create_payment",
            {"claim_id": 3080, "coverage_id": 70806, "payee": "customer", "amount": 150, "set_off": [5]},
            "Instalment 5 is overdue and of policy 7047",
        ),
        (
            "create_payment",
            {"claim_id": 3080, "coverage_id": 70422, "payee": "shop", "amount": 1},
            "Coverage 70422 does not belong to policy 7080",
        ),
        (
            "change_coverage",
            {
                "policy_id": 7042,
                "action": "add",
                "kind": "collision",
                "effective_on": date(2026, 6, 1),
                "premium_change": 1,
            },
            "has collision already",
        ),
        (
            "change_coverage",
            {
                "policy_id": 7042,
                "action": "add",
                "kind": "glass",
                "effective_on": date(2026, 10, 1),
                "premium_change": 1,
            },
            "2026-10-01 is not one of its days",
        ),
        (
            "cancel_policy",
            {"policy_id": 7096, "last_day": date(2026, 5, 11), "reason": "car_sold", "refund": 2000},
            "it cannot change by -2000.00",
        ),
        (
            "cancel_policy",
            {"policy_id": 7086, "last_day": date(2026, 4, 11), "reason": "car_sold", "refund": 1},
            "Policy 7086 is expired",
        ),
        (
            "add_note",
            {"policy_id": 7042, "kind": "refusal", "policy_section": "9.9", "body": "x"},
            "no section 9.9",
        ),
        (
            "send_letter",
            {"policy_id": 7042, "claim_id": 3080, "kind": "decision", "body": "x"},
            "Claim 3080 is not on policy 7042",
        ),
    ],
)
def test_tools_refuse_in_words(desk: Desk, tool: str, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=re.escape(words)):
        getattr(writes, tool)(desk, **arguments)

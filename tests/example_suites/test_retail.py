"""The shop itself: what its tools do and refuse, and what its seed says that the policy's days and sums rest on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, Engine, create_engine, func, select

from example_suites.common.desk import Refused
from example_suites.retail import reads, schema, writes
from example_suites.retail.desk import Desk
from example_suites.retail.seed import NOW, rows, seed


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        schema.metadata.create_all(connection)
        seed(connection)
    yield engine
    engine.dispose()


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    """What a test writes is taken back."""
    with engine.connect() as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def desk(connection: Connection) -> Desk:
    return Desk(db=connection, now=NOW, mail_host="127.0.0.1", mail_port=9)


def _written(connection: Connection) -> dict[str, int]:
    """How many rows each table has, and the sum of what else may change."""
    counts = {
        table.name: connection.scalar(select(func.count()).select_from(table)) or 0
        for table in schema.metadata.sorted_tables
    }
    reserved = connection.scalar(select(func.sum(schema.stock.c.reserved)))
    return counts | {"reserved": int(reserved or 0)}


# ---------------------------------------- the seed


def test_totals_are_what_lines_and_shipping_cost_and_what_was_paid() -> None:
    content = rows()
    for order in content["orders"]:
        lines = [one for one in content["order_lines"] if one["order_id"] == order["id"]]
        assert sum(one["paid"] for one in lines) + order["shipping_fee"] == order["total"]
        assert all(one["quantity"] * one["unit_price"] - one["discount"] == one["paid"] > 0 for one in lines)
        paid = [one["amount"] for one in content["payments"] if one["order_id"] == order["id"]]
        assert sum(paid) == order["total"]


def test_nothing_went_back_of_a_payment_that_was_not_in_it() -> None:
    content = rows()
    for payment in content["payments"]:
        back = [one["amount"] for one in content["refunds"] if one["payment_id"] == payment["id"]]
        assert sum(back, Decimal(0)) <= payment["amount"]


@pytest.mark.parametrize(
    ("order", "zone", "delivered", "today"),
    [
        (2044, "Europe/Amsterdam", date(2026, 4, 12), date(2026, 5, 13)),
        (2065, "America/Denver", date(2026, 4, 12), date(2026, 5, 12)),
        (2047, "Pacific/Auckland", date(2026, 5, 9), date(2026, 5, 13)),
        (2050, "Europe/Berlin", date(2026, 5, 8), date(2026, 5, 13)),
    ],
)
def test_days_are_those_of_the_delivery_address(
    desk: Desk, order: int, zone: str, delivered: date, today: date
) -> None:
    assert reads.get_order(desk, order)["address"]["timezone"] == zone
    [parcel] = reads.get_shipments(desk, order)["shipments"]
    moment = datetime.fromisoformat(parcel["delivered_at"])
    assert moment.astimezone(ZoneInfo(zone)).date() == delivered
    assert NOW.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).date() == today


# ---------------------------------------- tools


def test_reading_tools_find_what_is_there_and_change_nothing(desk: Desk, connection: Connection) -> None:
    before = _written(connection)
    assert reads.get_clock(desk) == {"now": "2026-05-12T22:40:00Z", "weekday": "Tuesday"}
    found = reads.search_orders(desk, customer_name="petrova", placed_from=date(2026, 5, 1))
    assert [one["number"] for one in found["orders"]] == ["FH-2092"]
    with_mixer = reads.search_orders(desk, product_name="mixer", status="open")["orders"]
    assert [one["number"] for one in with_mixer] == ["FH-2029"]
    assert reads.search_orders(desk)["more"] is True
    order = reads.get_order(desk, 2041)
    assert [one["amount"] for one in order["payments"]] == [94.0, 132.9]
    assert order["payments"][1]["gift_card_code"] == "GC-1538-8158"
    assert [(one["payment_id"], one["amount"]) for one in order["refunds"]] == [(20411, 36.5)]
    assert reads.get_gift_card(desk, "gc-1538-8158")["status"] == "blocked"
    [parcel] = reads.get_shipments(desk, 2059)["shipments"]
    assert (parcel["order_line_ids"], parcel["exceptions"][0]["status"]) == ([20591], "open")
    assert [one["id"] for one in reads.get_aftercare(desk, 2050)["credit"]] == [9003]
    assert [one["label"] for one in reads.get_customer(desk, 12)["addresses"]] == ["home", "office", "sister"]
    assert reads.get_product(desk, 15)["price"] == 27.3
    assert reads.get_correspondence(desk, 2041) == {"messages": [], "notes": []}
    assert _written(connection) == before


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("How long may Quayline look for a parcel?", "Carrier Quayline"),
        ("the lantern stays dark", "Fen garden lantern"),
        ("espresso pot leaks, gasket", "Alder espresso pot"),
        ("can a battery be posted", "Batteries"),
    ],
)
def test_the_knowledge_base_answers(desk: Desk, question: str, title: str) -> None:
    assert reads.search_articles(desk, question)["articles"][0]["title"] == title


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        (reads.get_order, {"order_id": 99}, "There is no order 99"),
        (reads.get_gift_card, {"code": "GC-0"}, "There is no gift card GC-0"),
        (writes.set_delivery_address, {"order_id": 2026, "address_id": 11}, "is not one of the customer"),
        (writes.cancel_line, {"order_line_id": 20412}, "is cancelled already"),
        (writes.open_return, {"order_line_id": 20651, "quantity": 3, "reason": "unwanted"}, "has 2 pieces"),
        (
            writes.pay_refund,
            {"payment_id": 20412, "order_line_id": 20411, "amount": 1.0, "reason": "return"},
            "is blocked",
        ),
        (
            writes.pay_refund,
            {"payment_id": 20411, "order_line_id": 20381, "amount": 1.0, "reason": "return"},
            "belong to different orders",
        ),
        (
            writes.pay_refund,
            {"payment_id": 20411, "order_line_id": 20411, "amount": 0.005, "reason": "return"},
            "fractions of a cent",
        ),
        (writes.ship_replacement, {"shipment_id": 99, "warehouse": "RTM"}, "There is no shipment 99"),
        (writes.set_ticket_status, {"ticket_id": 1, "status": "closed"}, "There is no ticket 1"),
        (
            writes.add_note,
            {"order_id": 2026, "kind": "refusal", "policy_section": "9.9", "body": "No"},
            "no section 9.9",
        ),
    ],
)
def test_tools_refuse_in_words_and_write_nothing(
    desk: Desk, connection: Connection, tool: Any, arguments: dict[str, Any], words: str
) -> None:
    before = _written(connection)
    with pytest.raises(Refused, match=words):
        tool(desk, **arguments)
    assert _written(connection) == before


def test_each_refund_is_paid_and_fills_the_gift_card(desk: Desk) -> None:
    refund = {"payment_id": 20172, "order_line_id": 20171, "amount": 20.0, "reason": "damage"}
    for _ in range(2):
        assert writes.pay_refund(desk, **refund)["method"] == "gift_card"
    assert reads.get_gift_card(desk, "GC-3619-3429")["balance"] == 73.0
    assert [one["amount"] for one in reads.get_order(desk, 2017)["refunds"]] == [20.0, 20.0]


def test_store_credit_that_was_spent_comes_back_as_store_credit(desk: Desk, connection: Connection) -> None:
    paid = schema.payments.update().where(schema.payments.c.id == 20921).values(method="store_credit")
    connection.execute(paid)
    writes.pay_refund(desk, payment_id=20921, order_line_id=20921, amount=37.95, reason="cancellation")
    [entry] = reads.get_aftercare(desk, 2092)["credit"]
    assert (entry["customer_id"], entry["amount"], entry["currency"], entry["reason"]) == (
        6,
        37.95,
        "EUR",
        "refund",
    )


def test_a_reversal_is_the_opposite_of_its_entry(desk: Desk) -> None:
    assert writes.reverse_credit(desk, 9003)["amount"] == -9.9
    entries = reads.get_aftercare(desk, 2050)["credit"]
    assert [(one["customer_id"], one["amount"], one["reverses_id"]) for one in entries] == [
        (9, 9.9, None),
        (9, -9.9, 9003),
    ]


def test_a_replacement_reserves_what_was_in_the_parcel(desk: Desk) -> None:
    before = {one["warehouse"]: one["reserved"] for one in reads.get_product(desk, 15)["stock"]}
    made = writes.ship_replacement(desk, 20561, "RTM")
    after = {one["warehouse"]: one["reserved"] for one in reads.get_product(desk, 15)["stock"]}
    assert after == before | {"RTM": before["RTM"] + 2}
    lost, new = reads.get_shipments(desk, 2056)["shipments"]
    assert (lost["order_line_ids"], new["order_line_ids"]) == ([], [20561, 20562])
    assert (new["id"], new["tracking"], new["replaces_id"]) == (made["id"], "NP-205601-R", 20561)


def test_a_warehouse_sends_no_more_than_it_has(desk: Desk, connection: Connection) -> None:
    here = (schema.stock.c.warehouse == "RTM") & (schema.stock.c.product_id == 15)
    connection.execute(schema.stock.update().where(here).values(reserved=0, on_hand=1))
    with pytest.raises(Refused, match="Warehouse RTM has 1 of product 15 free"):
        writes.ship_replacement(desk, 20561, "RTM")


def test_an_order_without_lines_is_cancelled(desk: Desk) -> None:
    assert writes.cancel_line(desk, 20291)["lines_left"] == 1
    assert reads.get_order(desk, 2029)["status"] == "open"
    assert writes.cancel_line(desk, 20292)["lines_left"] == 0
    assert reads.get_order(desk, 2029)["status"] == "cancelled"


def test_nobody_asks_for_an_approval_but_the_policy(desk: Desk) -> None:
    done = writes.pay_refund(desk, payment_id=20141, order_line_id=20141, amount=489.0, reason="damage")
    assert done["paid"] == 489.0

"""A small hotel, and changes of its rows in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.state.claims import Changes
from pytest_thinkingbox.state.model import ReceivedMail, RowChange, Rules, SchemaDelta, StateDiff, TableInfo


def _table(name: str, columns: str, key: str = "id", generated: str = "id") -> TableInfo:
    return TableInfo(
        name=name,
        columns=tuple(columns.split()),
        key=tuple(key.split()),
        generated=frozenset(generated.split()),
    )


TABLES = {
    info.name: info
    for info in (
        _table("bookings", "id guest room status total updated_at"),
        _table("refunds", "id booking_id amount created_at"),
        _table("refund_lines", "id refund_id amount"),
        _table("rates", "hotel room price", key="hotel room", generated=""),
        _table("notes", "author body", key="", generated=""),
        _table("audit_log", "id what"),
    )
}
VOLATILE = ("*.updated_at", "refunds.created_at")
BOOKING = {
    "id": 1042,
    "guest": "Dana",
    "room": "suite",
    "status": "confirmed",
    "total": 1450,
    "updated_at": 1,
}


def insert(table: str, **row: Any) -> RowChange:
    return RowChange("insert", table, _key(table, row), None, row)


def delete(table: str, **row: Any) -> RowChange:
    return RowChange("delete", table, _key(table, row), row, None)


def update(table: str, before: Mapping[str, Any], **changed: Any) -> RowChange:
    return RowChange("update", table, _key(table, before), before, {**before, **changed})


def booking(**changed: Any) -> RowChange:
    """An update of booking 1042."""
    return update("bookings", BOOKING, **changed)


def refund(id: int = 1, amount: Any = 100, created_at: Any = 0, booking_id: int = 1042) -> RowChange:
    return insert("refunds", id=id, booking_id=booking_id, amount=amount, created_at=created_at)


def line(id: int, refund_id: int, amount: Any = 50) -> RowChange:
    return insert("refund_lines", id=id, refund_id=refund_id, amount=amount)


def log(what: str, id: int = 1) -> RowChange:
    return insert("audit_log", id=id, what=what)


DROPPED = SchemaDelta("dropped", "table", "bookings", before="CREATE TABLE bookings (id INTEGER)")


def changes(*items: RowChange | SchemaDelta, bookkeeping: tuple[str, ...] = ()) -> Changes:
    diff = StateDiff(
        rows=tuple(item for item in items if isinstance(item, RowChange)),
        schema=tuple(item for item in items if isinstance(item, SchemaDelta)),
    )
    return Changes(diff, Rules(tables=TABLES, volatile=VOLATILE, bookkeeping=frozenset(bookkeeping)))


def mail(
    *recipients: str, subject: str = "Hi", text: str = "Hello\r\n", sender: str = "agent@hotel.example"
) -> ReceivedMail:
    return ReceivedMail(sender=sender, recipients=recipients, subject=subject, text=text)


def _key(table: str, row: Mapping[str, Any]) -> tuple[Any, ...] | None:
    info = TABLES[table]
    return tuple(row[column] for column in info.key) if info.key else None

"""What every tool works with: a transaction, the clock, the way to the mail server, and words for refusals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen, MinLen
from sqlalchemy import Connection, Row, Table, select

from example_suites.hotel.money import cents
from example_suites.hotel.schema import bookings, guests, history, hotels

Id = Annotated[int, Ge(1), Le(2_147_483_647)]
Amount = Annotated[float, Ge(0), Le(9_999_999)]
Words = Annotated[str, MinLen(1), MaxLen(10_000)]
Line = Annotated[str, MinLen(1), MaxLen(200)]
ShortText = Annotated[str, MinLen(1), MaxLen(120)]


class Refused(Exception):
    """What was asked cannot be done; the text says why and is meant for the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One call's world. `db` is a transaction that is committed when the tool returns. `now` is naive UTC."""

    db: Connection
    now: datetime
    mail_host: str
    mail_port: int

    def one(self, table: Table, number: int, what: str) -> Row[Any]:
        """The row with this id. Raises Refused, saying `what` does not exist."""
        row = self.db.execute(select(table).where(table.c.id == number)).one_or_none()
        if row is None:
            raise Refused(f"There is no {what} {number}.")
        return row

    def booking(self, number: int) -> Row[Any]:
        row = self.db.execute(select(bookings).where(bookings.c.id == number)).one_or_none()
        if row is None:
            raise Refused(
                f"There is no booking {number}; search_bookings finds bookings by guest, hotel or date."
            )
        return row

    def guest(self, number: int) -> Row[Any]:
        return self.one(guests, number, "guest")

    def hotel(self, number: int) -> Row[Any]:
        return self.one(hotels, number, "hotel")

    def insert(self, table: Table, **columns: Any) -> int:
        """Insert a row and return its id."""
        key = self.db.execute(table.insert().values(**columns)).inserted_primary_key
        if key is None:
            raise TypeError(f"{table.name} has no generated key")
        return int(key[0])

    def update_booking(self, number: int, **columns: Any) -> None:
        self.db.execute(
            bookings.update().where(bookings.c.id == number).values(**columns, updated_at=self.now)
        )

    def record(
        self,
        event: str,
        *,
        booking_id: int | None = None,
        guest_id: int | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        """Every change of an existing row leaves one line in the history, which the guest can read."""
        self.insert(
            history,
            booking_id=booking_id,
            guest_id=guest_id,
            event=event,
            details=details or {},
            created_at=self.now,
        )


def money(amount: float, name: str) -> Decimal:
    """The amount as a decimal. Raises Refused when it has fractions of a cent."""
    exact = Decimal(str(amount))
    if exact != cents(exact):
        raise Refused(f"{name}={amount} has fractions of a cent: round it first.")
    return cents(exact)


def nights(first: date, last: date) -> list[date]:
    """The nights of a stay from check-in to check-out."""
    return [first + timedelta(days=day) for day in range((last - first).days)]


def plain(row: Row[Any] | dict[str, Any]) -> dict[str, Any]:
    """The row as JSON values: amounts as numbers, dates and times in ISO form, times with their UTC offset."""
    items = row.items() if isinstance(row, dict) else row._mapping.items()
    return {str(name): _plain(value) for name, value in items}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.isoformat() + "Z"
    return value.isoformat() if isinstance(value, date) else value

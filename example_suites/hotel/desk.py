"""The desk of the bookings: what there is to find, and what every change leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Row, select

from example_suites.common.desk import Desk as AnyDesk
from example_suites.common.desk import Refused
from example_suites.hotel.schema import bookings, guests, history, hotels


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk(AnyDesk):
    """The desk with what belongs to bookings."""

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


def nights(first: date, last: date) -> list[date]:
    """The nights of a stay from check-in to check-out."""
    return [first + timedelta(days=day) for day in range((last - first).days)]

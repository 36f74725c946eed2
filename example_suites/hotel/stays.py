"""What a change of class or dates would make of a booking: its room, its nights, its total."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Row, select

from example_suites.common.desk import Refused
from example_suites.hotel.desk import Desk, nights
from example_suites.hotel.money import vat_of
from example_suites.hotel.schema import RoomClass, booking_nights, rate_plans, rooms


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A booking as it would be. `nights` are rows of `booking_nights`."""

    check_in: date
    check_out: date
    room_class: str
    room_id: int
    rate_plan_id: int
    nights: list[dict[str, Any]]
    total: Decimal


def planned(
    desk: Desk,
    booking: Row[Any],
    *,
    room_class: RoomClass | None,
    check_in: date | None,
    check_out: date | None,
) -> Stay:
    """The booking after the change. Nights that stay in their class keep their price; others get today's rate.

    Raises Refused when the dates are impossible, no room is free, or the booking has no nights left.
    """
    if room_class is None and check_in is None and check_out is None:
        raise Refused("Say what is to change: room_class, check_in or check_out.")
    kept = {
        row.night: row
        for row in desk.db.execute(select(booking_nights).where(booking_nights.c.booking_id == booking.id))
    }
    if not kept:
        raise Refused(f"Booking {booking.id} is {booking.status} and has no nights to change.")
    first, last = check_in or booking.check_in, check_out or booking.check_out
    if not 1 <= (last - first).days <= 60:
        raise Refused(f"A stay has 1 to 60 nights; from {first} to {last} is {(last - first).days}.")
    old_plan = desk.one(rate_plans, booking.rate_plan_id, "rate plan")
    wanted = room_class or old_plan.room_class
    plan, room_id = old_plan, booking.room_id
    if wanted != old_plan.room_class:
        kept = {}
        plan = desk.db.execute(
            select(rate_plans).where(
                rate_plans.c.hotel_id == booking.hotel_id,
                rate_plans.c.room_class == wanted,
                rate_plans.c.code == old_plan.code,
            )
        ).one()
    free = free_rooms(desk, booking.hotel_id, wanted, first, last, besides=booking.id)
    if room_id not in free:
        if wanted == old_plan.room_class or not free:
            raise Refused(f"No {wanted} room is free for booking {booking.id} from {first} to {last}.")
        room_id = free[0]
    percent = desk.hotel(booking.hotel_id).vat_percent
    stay = []
    for night in nights(first, last):
        net = kept[night].net if night in kept else plan.net_rate
        vat = kept[night].vat if night in kept else vat_of(net, percent)
        stay.append({"booking_id": booking.id, "night": night, "room_id": room_id, "net": net, "vat": vat})
    return Stay(
        check_in=first,
        check_out=last,
        room_class=wanted,
        room_id=room_id,
        rate_plan_id=plan.id,
        nights=stay,
        total=sum((night["net"] + night["vat"] for night in stay), Decimal(0)),
    )


def free_rooms(
    desk: Desk, hotel_id: int, room_class: str, check_in: date, check_out: date, *, besides: int | None = None
) -> list[int]:
    """Rooms of the class without a night taken from check-in to check-out, lowest number first."""
    taken = select(booking_nights.c.room_id).where(
        booking_nights.c.night >= check_in, booking_nights.c.night < check_out
    )
    if besides is not None:
        taken = taken.where(booking_nights.c.booking_id != besides)
    found = (
        select(rooms.c.id)
        .where(rooms.c.hotel_id == hotel_id, rooms.c.room_class == room_class, rooms.c.id.not_in(taken))
        .order_by(rooms.c.number)
    )
    return list(desk.db.scalars(found))

"""Tools that look things up."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlalchemy import Select, select

from example_suites.common.desk import Id, Line, Refused, plain
from example_suites.common.knowledge import search
from example_suites.hotel.desk import Desk, nights
from example_suites.hotel.schema import (
    BookingStatus,
    RoomClass,
    approvals,
    booking_nights,
    bookings,
    case_notes,
    cases,
    companies,
    guests,
    history,
    hotel_periods,
    hotel_tickets,
    messages,
    payments,
    rate_plans,
    refund_lines,
    refunds,
    rooms,
)
from example_suites.hotel.stays import free_rooms, planned


def get_clock(desk: Desk) -> dict[str, Any]:
    """What time it is, in UTC. Convert it to the hotel's time zone before you judge a deadline."""
    return {"now": desk.now.isoformat() + "Z", "weekday": desk.now.strftime("%A")}


def search_bookings(
    desk: Desk,
    guest_name: Line | None = None,
    reference: Line | None = None,
    hotel_id: Id | None = None,
    status: BookingStatus | None = None,
    check_in_from: date | None = None,
    check_in_to: date | None = None,
) -> dict[str, Any]:
    """Find bookings by any of: part of the guest's name, reference, hotel, status, day of arrival. At most 20."""
    found = _summaries()
    if guest_name is not None:
        found = found.where(guests.c.name.icontains(guest_name, autoescape=True))
    if reference is not None:
        found = found.where(bookings.c.reference == reference.strip().upper())
    if hotel_id is not None:
        found = found.where(bookings.c.hotel_id == hotel_id)
    if status is not None:
        found = found.where(bookings.c.status == status)
    if check_in_from is not None:
        found = found.where(bookings.c.check_in >= check_in_from)
    if check_in_to is not None:
        found = found.where(bookings.c.check_in <= check_in_to)
    rows = desk.db.execute(found.order_by(bookings.c.check_in, bookings.c.id).limit(21)).all()
    return {"bookings": [plain(row) for row in rows[:20]], "more": len(rows) > 20}


def get_booking(desk: Desk, booking_id: Id) -> dict[str, Any]:
    """A booking with its guest, hotel, room, rate plan, nights (net and VAT), guest note and history."""
    booking = desk.booking(booking_id)
    guest = desk.guest(booking.guest_id)
    hotel = desk.hotel(booking.hotel_id)
    room = desk.one(rooms, booking.room_id, "room")
    plan = desk.one(rate_plans, booking.rate_plan_id, "rate plan")
    return plain(booking) | {
        "guest": _part(guest, "id", "name", "email", "company_id", "manager_id"),
        "hotel": _part(hotel, "id", "name", "city", "timezone", "vat_percent"),
        "room": _part(room, "id", "number", "room_class", "accessible"),
        "plan": _part(plan, "id", "code", "net_rate", "refundable", "free_cancellation_hours"),
        "nights": desk.rows(booking_nights, booking_id=booking_id),
        "history": desk.rows(history, booking_id=booking_id),
    }


def get_guest(desk: Desk, guest_id: Id) -> dict[str, Any]:
    """A guest's contact data, role, company, manager and preferences."""
    return plain(desk.guest(guest_id))


def get_company(desk: Desk, company_id: Id) -> dict[str, Any]:
    """A company with its own approval limit (null: none of its own), its managers and its travel desk."""
    company = desk.one(companies, company_id, "company")
    people = select(guests).where(guests.c.company_id == company_id, guests.c.role != "employee")
    contacts = desk.db.execute(people.order_by(guests.c.id))
    return plain(company) | {"contacts": [_part(row, "id", "name", "email", "role") for row in contacts]}


def get_hotel(desk: Desk, hotel_id: Id) -> dict[str, Any]:
    """A hotel with its time zone, VAT, manager's address, event periods and closures."""
    hotel = desk.hotel(hotel_id)
    found = select(hotel_periods).where(hotel_periods.c.hotel_id == hotel_id)
    return plain(hotel) | {
        "periods": [plain(row) for row in desk.db.execute(found.order_by(hotel_periods.c.first_night))]
    }


def list_rooms(
    desk: Desk, hotel_id: Id, check_in: date, check_out: date, room_class: RoomClass | None = None
) -> dict[str, Any]:
    """Rooms of a hotel that are free from check-in to check-out, with today's net rate of each plan."""
    desk.hotel(hotel_id)
    if not 1 <= len(nights(check_in, check_out)) <= 60:
        raise Refused(f"check_out must be 1 to 60 days after check_in; got {check_in} to {check_out}.")
    classes: list[str] = [room_class] if room_class else ["single", "standard", "superior", "suite"]
    answer = []
    for one in classes:
        rates = select(rate_plans.c.code, rate_plans.c.net_rate).where(
            rate_plans.c.hotel_id == hotel_id, rate_plans.c.room_class == one
        )
        answer.append(
            {
                "room_class": one,
                "free_room_ids": free_rooms(desk, hotel_id, one, check_in, check_out),
                "net_rates": {row.code: float(row.net_rate) for row in desk.db.execute(rates)},
            }
        )
    return {"classes": answer}


def quote_change(
    desk: Desk,
    booking_id: Id,
    room_class: RoomClass | None = None,
    check_in: date | None = None,
    check_out: date | None = None,
) -> dict[str, Any]:
    """What a change of class or dates would cost, night by night. Writes nothing."""
    booking = desk.booking(booking_id)
    stay = planned(desk, booking, room_class=room_class, check_in=check_in, check_out=check_out)
    return {
        "booking_id": booking_id,
        "currency": booking.currency,
        "room_class": stay.room_class,
        "old_total": float(booking.total),
        "new_total": float(stay.total),
        "difference": float(stay.total - booking.total),
        "old_nights": desk.rows(booking_nights, booking_id=booking_id),
        "new_nights": [plain(night) for night in stay.nights],
    }


def get_paperwork(desk: Desk, booking_id: Id) -> dict[str, Any]:
    """Payments of a booking, refunds with their lines, approvals, messages, case notes, cases with hotel tickets."""
    desk.booking(booking_id)
    tables = (payments, refunds, approvals, messages, case_notes, cases)
    answer = {table.name: desk.rows(table, booking_id=booking_id) for table in tables}
    for refund in answer["refunds"]:
        refund["lines"] = desk.rows(refund_lines, refund_id=refund["id"])
    for case in answer["cases"]:
        case["hotel_tickets"] = desk.rows(hotel_tickets, case_id=case["id"])
    return answer


def search_knowledge(desk: Desk, words: Line) -> dict[str, Any]:
    """Articles of the staff's knowledge base that hold any of these words, the best five first."""
    return {"articles": search(desk.db, words)}


def _summaries() -> Select[Any]:
    return select(
        bookings.c.id,
        bookings.c.reference,
        guests.c.name.label("guest_name"),
        bookings.c.guest_id,
        bookings.c.hotel_id,
        bookings.c.check_in,
        bookings.c.check_out,
        bookings.c.status,
        bookings.c.total,
        bookings.c.currency,
    ).join(guests, guests.c.id == bookings.c.guest_id)


def _part(row: Any, *names: str) -> dict[str, Any]:
    return plain({name: row._mapping[name] for name in names})


READS = (
    get_clock,
    search_bookings,
    get_booking,
    get_guest,
    get_company,
    get_hotel,
    list_rooms,
    quote_change,
    get_paperwork,
    search_knowledge,
)

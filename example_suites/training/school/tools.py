"""What the school's office can do. Whether it is allowed is the policy's matter."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlalchemy import Connection, Table, func, select

from example_suites.common.desk import Id, Line
from example_suites.training.parts.tools import Cents, Section, changed, found, inserted
from example_suites.training.school.schema import (
    AbsenceReason,
    FeeKind,
    LogKind,
    PlaceState,
    fee_lines,
    guardians,
    office_log,
    pupil_absences,
    pupils,
    school_trips,
    trip_places,
)


def find_pupil(db: Connection, name: Line) -> dict[str, Any]:
    """A pupil with guardians, sisters and brothers at school, absences, places on trips and fee lines."""
    pupil = db.execute(select(pupils).where(pupils.c.name == name)).mappings().one_or_none()
    if pupil is None:
        raise ValueError(f"There is no pupil named {name}.")
    siblings = select(pupils.c.id, pupils.c.name).where(
        pupils.c.family_id == pupil["family_id"], pupils.c.id != pupil["id"]
    )
    family = select(guardians.c.name, guardians.c.may_decide).where(
        guardians.c.family_id == pupil["family_id"]
    )
    return {
        **pupil,
        "guardians": [dict(one) for one in db.execute(family).mappings()],
        "siblings": [dict(one) for one in db.execute(siblings).mappings()],
        "absences": _of_pupil(db, pupil_absences, pupil["id"]),
        "trip_places": _of_pupil(db, trip_places, pupil["id"]),
        "fee_lines": _of_pupil(db, fee_lines, pupil["id"]),
    }


def find_trip(db: Connection, name: Line) -> dict[str, Any]:
    """A trip with the number of confirmed places, and who has a place or waits for one, in order."""
    trip = db.execute(select(school_trips).where(school_trips.c.name == name)).mappings().one_or_none()
    if trip is None:
        raise ValueError(f"There is no trip named {name}.")
    places = (
        select(
            trip_places.c.id, trip_places.c.pupil_id, pupils.c.name, pupils.c.free_trips, trip_places.c.state
        )
        .join(pupils)
        .where(trip_places.c.trip_id == trip["id"], trip_places.c.state != "withdrawn")
        .order_by(trip_places.c.id)
    )
    confirmed = select(func.count()).where(
        trip_places.c.trip_id == trip["id"], trip_places.c.state == "confirmed"
    )
    return {
        **trip,
        "confirmed": db.scalar(confirmed),
        "list": [dict(one) for one in db.execute(places).mappings()],
    }


def enter_absence(db: Connection, pupil_id: Id, day: date, reason: AbsenceReason) -> dict[str, Any]:
    """Enter one day on which a pupil is absent."""
    return inserted(db, pupil_absences, pupil_id=pupil_id, day=day, reason=reason)


def add_trip_place(db: Connection, trip_id: Id, pupil_id: Id, state: PlaceState) -> dict[str, Any]:
    """Put a pupil on the list of a trip. Nothing is charged by that."""
    return inserted(db, trip_places, trip_id=trip_id, pupil_id=pupil_id, state=state)


def change_trip_place(db: Connection, place_id: Id, state: PlaceState) -> dict[str, Any]:
    """Change the state of a place. Nothing is charged or refunded by that."""
    return changed(db, trip_places, place_id, "place", state=state)


def add_fee_line(db: Connection, pupil_id: Id, trip_id: Id, kind: FeeKind, cents: Cents) -> dict[str, Any]:
    """Charge a family for a pupil's trip, or give it money back."""
    found(db, school_trips, trip_id, "trip")
    return inserted(db, fee_lines, pupil_id=pupil_id, trip_id=trip_id, kind=kind, cents=cents)


def log_at_office(db: Connection, pupil_id: Id, kind: LogKind, section: Section) -> dict[str, Any]:
    """Write a line in the office log, with the section of the rules that it rests on, for example 2.2."""
    return inserted(db, office_log, pupil_id=pupil_id, kind=kind, section=section)


def _of_pupil(db: Connection, table: Table, pupil_id: int) -> list[dict[str, Any]]:
    rows = db.execute(select(table).where(table.c.pupil_id == pupil_id).order_by(table.c.id))
    return [dict(one) for one in rows.mappings()]


TOOLS = (
    find_pupil,
    find_trip,
    enter_absence,
    add_trip_place,
    change_trip_place,
    add_fee_line,
    log_at_office,
)

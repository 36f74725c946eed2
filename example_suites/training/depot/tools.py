"""What the depot's desk can do. Whether it is allowed is the policy's matter."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlalchemy import Connection, select

from example_suites.common.desk import Id, Line
from example_suites.training.depot.schema import (
    District,
    Outcome,
    customs_cases,
    delivery_rounds,
    depot_tickets,
    loss_claims,
    parcel_scans,
    parcels,
    round_places,
)
from example_suites.training.parts.tools import Cents, Section, changed, found, inserted


def trace_parcel(db: Connection, tracking: Line) -> dict[str, Any]:
    """A parcel with its scans, its round, its cases at customs, and claims for it."""
    parcel = db.execute(select(parcels).where(parcels.c.tracking == tracking)).mappings().one_or_none()
    if parcel is None:
        raise ValueError(f"There is no parcel {tracking}.")
    of_parcel = {
        "scans": select(parcel_scans.c.day, parcel_scans.c.place).where(
            parcel_scans.c.parcel_id == parcel["id"]
        ),
        "round": select(round_places.c.round_id, delivery_rounds.c.day)
        .join(delivery_rounds)
        .where(round_places.c.parcel_id == parcel["id"]),
        "customs": select(customs_cases.c.id, customs_cases.c.state).where(
            customs_cases.c.parcel_id == parcel["id"]
        ),
        "claims": select(loss_claims.c.id, loss_claims.c.cents).where(
            loss_claims.c.parcel_id == parcel["id"]
        ),
    }
    return {
        **parcel,
        **{name: [dict(one) for one in db.execute(rows).mappings()] for name, rows in of_parcel.items()},
    }


def list_rounds(db: Connection, district: District, first_day: date) -> list[dict[str, Any]]:
    """The next rounds of a district from a day on, with the places that are left."""
    rows = (
        select(delivery_rounds)
        .where(delivery_rounds.c.district == district, delivery_rounds.c.day >= first_day)
        .order_by(delivery_rounds.c.day)
        .limit(8)
    )
    return [dict(one) for one in db.execute(rows).mappings()]


def put_on_round(db: Connection, parcel_id: Id, round_id: Id) -> dict[str, Any]:
    """Give a parcel a place on a round."""
    chosen = found(db, delivery_rounds, round_id, "round")
    if not chosen.places_left:
        raise ValueError(f"Round {round_id} is full.")
    changed(db, parcels, parcel_id, "parcel", state="on_round")
    changed(db, delivery_rounds, round_id, "round", places_left=chosen.places_left - 1)
    return inserted(db, round_places, parcel_id=parcel_id, round_id=round_id)


def take_off_round(db: Connection, parcel_id: Id) -> dict[str, Any]:
    """Take a parcel off its round; its place there is free again."""
    found(db, parcels, parcel_id, "parcel")
    place = db.execute(select(round_places).where(round_places.c.parcel_id == parcel_id)).one_or_none()
    if place is None:
        raise ValueError(f"Parcel {parcel_id} is on no round.")
    left = found(db, delivery_rounds, place.round_id, "round").places_left
    db.execute(round_places.delete().where(round_places.c.id == place.id))
    changed(db, delivery_rounds, place.round_id, "round", places_left=left + 1)
    return changed(db, parcels, parcel_id, "parcel", state="at_depot")


def hold_parcel(db: Connection, parcel_id: Id, until: date) -> dict[str, Any]:
    """Keep a parcel at the counter until a day, that day included."""
    return changed(db, parcels, parcel_id, "parcel", state="held", held_until=until)


def send_parcel_back(db: Connection, parcel_id: Id) -> dict[str, Any]:
    """Send a parcel back to where it came from."""
    return changed(db, parcels, parcel_id, "parcel", state="sent_back")


def claim_loss(db: Connection, parcel_id: Id, cents: Cents) -> dict[str, Any]:
    """Write a parcel off as lost and claim an amount for it."""
    changed(db, parcels, parcel_id, "parcel", state="lost")
    return inserted(db, loss_claims, parcel_id=parcel_id, cents=cents)


def close_depot_ticket(db: Connection, ticket_id: Id, outcome: Outcome, section: Section) -> dict[str, Any]:
    """Close a ticket as done or refused, with the section of the rules that it rests on, for example 2.1."""
    return changed(db, depot_tickets, ticket_id, "ticket", state=outcome, section=section)


def park_depot_ticket(db: Connection, ticket_id: Id, section: Section) -> dict[str, Any]:
    """Put a ticket aside that cannot be closed yet, with the section of the rules that says so."""
    return changed(db, depot_tickets, ticket_id, "ticket", state="parked", section=section)


TOOLS = (
    trace_parcel,
    list_rounds,
    put_on_round,
    take_off_round,
    hold_parcel,
    send_parcel_back,
    claim_loss,
    close_depot_ticket,
    park_depot_ticket,
)

"""The tables of the depot's desk. Amounts are in cents, weights in grams."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import CheckConstraint, Column, Date, ForeignKey, Integer, MetaData, String, Table

from example_suites.common.columns import NAMES, one_of
from example_suites.training.parts.rows import key

District = Literal["north", "harbour", "hills", "old town"]
ParcelState = Literal["at_depot", "on_round", "held", "sent_back", "delivered", "lost"]
CustomsState = Literal["open", "cleared"]
TicketState = Literal["open", "done", "refused", "parked"]
Outcome = Literal["done", "refused"]

metadata = MetaData(naming_convention=NAMES)

parcels = Table(
    "parcels",
    metadata,
    key(),
    Column("tracking", String(10), nullable=False, unique=True),
    Column("recipient", String(60), nullable=False),
    Column("district", String(8), nullable=False),
    Column("grams", Integer, nullable=False),
    Column("insured_cents", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("state", String(9), nullable=False),
    Column("held_until", Date),
    one_of("district", District),
    one_of("state", ParcelState),
    CheckConstraint("grams > 0 AND attempts >= 0", name="grams"),
)

parcel_scans = Table(
    "parcel_scans",
    metadata,
    key(),
    Column("parcel_id", ForeignKey("parcels.id"), nullable=False, index=True),
    Column("day", Date, nullable=False),
    Column("place", String(40), nullable=False),
)

delivery_rounds = Table(
    "delivery_rounds",
    metadata,
    key(),
    Column("day", Date, nullable=False),
    Column("district", String(8), nullable=False),
    Column("places_left", Integer, nullable=False),
    one_of("district", District),
    CheckConstraint("places_left >= 0", name="places_left"),
)

round_places = Table(
    "round_places",
    metadata,
    key(),
    Column("round_id", ForeignKey("delivery_rounds.id"), nullable=False, index=True),
    Column("parcel_id", ForeignKey("parcels.id"), nullable=False, unique=True),
)

customs_cases = Table(
    "customs_cases",
    metadata,
    key(),
    Column("parcel_id", ForeignKey("parcels.id"), nullable=False, index=True),
    Column("state", String(7), nullable=False),
    one_of("state", CustomsState),
)

loss_claims = Table(
    "loss_claims",
    metadata,
    key(),
    Column("parcel_id", ForeignKey("parcels.id"), nullable=False, index=True),
    Column("cents", Integer, nullable=False),
    CheckConstraint("cents > 0", name="cents"),
)

depot_tickets = Table(
    "depot_tickets",
    metadata,
    key(),
    Column("parcel_id", ForeignKey("parcels.id"), nullable=False, index=True),
    Column("state", String(7), nullable=False),
    Column("section", String(3)),
    one_of("state", TicketState),
)

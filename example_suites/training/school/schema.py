"""The tables of the school's office. Amounts are in cents."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Boolean, CheckConstraint, Column, Date, ForeignKey, Integer, MetaData, String, Table
from sqlalchemy import UniqueConstraint as Unique

from example_suites.common.columns import NAMES, one_of
from example_suites.training.parts.rows import key

AbsenceReason = Literal["illness", "leave"]
PlaceState = Literal["confirmed", "waiting", "withdrawn"]
FeeKind = Literal["fee", "refund"]
LogKind = Literal["refusal", "not_entitled", "certificate_due"]

metadata = MetaData(naming_convention=NAMES)

families = Table("families", metadata, key(), Column("name", String(40), nullable=False))

pupils = Table(
    "pupils",
    metadata,
    key(),
    Column("family_id", ForeignKey("families.id"), nullable=False, index=True),
    Column("name", String(60), nullable=False, unique=True),
    Column("form", String(3), nullable=False),
    Column("free_trips", Boolean(name="free_trips"), nullable=False),
)

guardians = Table(
    "guardians",
    metadata,
    key(),
    Column("family_id", ForeignKey("families.id"), nullable=False, index=True),
    Column("name", String(60), nullable=False),
    Column("may_decide", Boolean(name="may_decide"), nullable=False),
)

pupil_absences = Table(
    "pupil_absences",
    metadata,
    key(),
    Column("pupil_id", ForeignKey("pupils.id"), nullable=False, index=True),
    Column("day", Date, nullable=False),
    Column("reason", String(7), nullable=False),
    one_of("reason", AbsenceReason),
    Unique("pupil_id", "day"),
)

school_trips = Table(
    "school_trips",
    metadata,
    key(),
    Column("name", String(60), nullable=False, unique=True),
    Column("day", Date, nullable=False),
    Column("fee_cents", Integer, nullable=False),
    Column("places", Integer, nullable=False),
    CheckConstraint("fee_cents > 0 AND places > 0", name="fee_cents"),
)

trip_places = Table(
    "trip_places",
    metadata,
    key(),
    Column("trip_id", ForeignKey("school_trips.id"), nullable=False, index=True),
    Column("pupil_id", ForeignKey("pupils.id"), nullable=False, index=True),
    Column("state", String(9), nullable=False),
    one_of("state", PlaceState),
    Unique("trip_id", "pupil_id"),
)

fee_lines = Table(
    "fee_lines",
    metadata,
    key(),
    Column("pupil_id", ForeignKey("pupils.id"), nullable=False, index=True),
    Column("trip_id", ForeignKey("school_trips.id"), nullable=False),
    Column("kind", String(6), nullable=False),
    Column("cents", Integer, nullable=False),
    one_of("kind", FeeKind),
    CheckConstraint("cents > 0", name="cents"),
)

office_log = Table(
    "office_log",
    metadata,
    key(),
    Column("pupil_id", ForeignKey("pupils.id"), nullable=False, index=True),
    Column("kind", String(15), nullable=False),
    Column("section", String(3), nullable=False),
    one_of("kind", LogKind),
)

"""The tables of the surgery's front desk. Times are local."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import CheckConstraint, Column, Date, ForeignKey, Integer, MetaData, String, Table, Text

from example_suites.common.columns import NAMES, one_of
from example_suites.training.parts.rows import key

PractitionerRole = Literal["doctor", "nurse", "physio"]
SlotState = Literal["free", "taken", "closed"]
VisitReason = Literal["consultation", "checkup", "vaccination", "physio_session"]
VisitState = Literal["booked", "cancelled", "cancelled_late", "attended", "missed"]
ReferralState = Literal["open", "used"]
EntryKind = Literal["refusal", "identity", "odd_remark", "already_booked"]

metadata = MetaData(naming_convention=NAMES)

practitioners = Table(
    "practitioners",
    metadata,
    key(),
    Column("name", String(60), nullable=False, unique=True),
    Column("role", String(6), nullable=False),
    one_of("role", PractitionerRole),
)

surgery_patients = Table(
    "surgery_patients",
    metadata,
    key(),
    Column("name", String(60), nullable=False, unique=True),
    Column("born_on", Date, nullable=False),
    Column("phone", String(20), nullable=False),
    Column("doctor_id", ForeignKey("practitioners.id"), nullable=False),
    Column("missed_visits", Integer, nullable=False),
    Column("remark", Text),
)

surgery_slots = Table(
    "surgery_slots",
    metadata,
    key(),
    Column("practitioner_id", ForeignKey("practitioners.id"), nullable=False, index=True),
    Column("day", Date, nullable=False),
    Column("starts", String(5), nullable=False),
    Column("minutes", Integer, nullable=False),
    Column("state", String(6), nullable=False),
    one_of("state", SlotState),
    CheckConstraint("minutes > 0", name="minutes"),
)

surgery_visits = Table(
    "surgery_visits",
    metadata,
    key(),
    Column("patient_id", ForeignKey("surgery_patients.id"), nullable=False, index=True),
    Column("slot_id", ForeignKey("surgery_slots.id"), nullable=False),
    Column("reason", String(14), nullable=False),
    Column("state", String(14), nullable=False),
    one_of("reason", VisitReason),
    one_of("state", VisitState),
)

referrals = Table(
    "referrals",
    metadata,
    key(),
    Column("patient_id", ForeignKey("surgery_patients.id"), nullable=False, index=True),
    Column("valid_until", Date, nullable=False),
    Column("state", String(4), nullable=False),
    one_of("state", ReferralState),
)

callback_requests = Table(
    "callback_requests",
    metadata,
    key(),
    Column("patient_id", ForeignKey("surgery_patients.id"), nullable=False, index=True),
    Column("practitioner_id", ForeignKey("practitioners.id"), nullable=False),
    Column("due_on", Date, nullable=False),
)

front_desk_entries = Table(
    "front_desk_entries",
    metadata,
    key(),
    Column("patient_id", ForeignKey("surgery_patients.id"), nullable=False, index=True),
    Column("kind", String(14), nullable=False),
    Column("section", String(3), nullable=False),
    one_of("kind", EntryKind),
)

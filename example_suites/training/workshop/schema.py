"""The tables of the workshop. Amounts are in cents."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Date,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

from example_suites.common.columns import NAMES, one_of
from example_suites.training.parts.rows import key

JobState = Literal["received", "waiting_parts", "waiting_rider", "ready", "collected"]
TextTopic = Literal["ready", "limit", "parts"]
RemarkKind = Literal["done_already", "refusal"]

metadata = MetaData(naming_convention=NAMES)

riders = Table(
    "riders",
    metadata,
    key(),
    Column("name", String(60), nullable=False),
    Column("phone", String(20), nullable=False),
)

bicycles = Table(
    "bicycles",
    metadata,
    key(),
    Column("rider_id", ForeignKey("riders.id"), nullable=False, index=True),
    Column("frame_number", String(12), nullable=False, unique=True),
    Column("model", String(40), nullable=False),
    Column("warranty_until", Date, nullable=False),
)

spare_parts = Table(
    "spare_parts",
    metadata,
    key(),
    Column("code", String(8), nullable=False, unique=True),
    Column("name", String(40), nullable=False),
    Column("list_cents", Integer, nullable=False),
    Column("stock", Integer, nullable=False),
    CheckConstraint("list_cents > 0 AND stock >= 0", name="list_cents"),
)

workshop_jobs = Table(
    "workshop_jobs",
    metadata,
    key(),
    Column("bicycle_id", ForeignKey("bicycles.id"), nullable=False, index=True),
    Column("received_on", Date, nullable=False),
    Column("warranty_case", Boolean(name="warranty_case"), nullable=False),
    Column("limit_cents", Integer, nullable=False),
    Column("state", String(13), nullable=False),
    one_of("state", JobState),
)

fitted_parts = Table(
    "fitted_parts",
    metadata,
    key(),
    Column("job_id", ForeignKey("workshop_jobs.id"), nullable=False, index=True),
    Column("part_id", ForeignKey("spare_parts.id"), nullable=False),
    Column("quantity", Integer, nullable=False),
    Column("cents", Integer, nullable=False),
    UniqueConstraint("job_id", "part_id"),
    CheckConstraint("quantity > 0 AND cents >= 0", name="quantity"),
)

bench_work = Table(
    "bench_work",
    metadata,
    key(),
    Column("job_id", ForeignKey("workshop_jobs.id"), nullable=False, index=True),
    Column("minutes", Integer, nullable=False),
    Column("cents", Integer, nullable=False),
    CheckConstraint("minutes > 0 AND cents >= 0", name="minutes"),
)

part_orders = Table(
    "part_orders",
    metadata,
    key(),
    Column("job_id", ForeignKey("workshop_jobs.id"), nullable=False, index=True),
    Column("part_id", ForeignKey("spare_parts.id"), nullable=False),
    Column("quantity", Integer, nullable=False),
    CheckConstraint("quantity > 0", name="quantity"),
)

job_messages = Table(
    "job_messages",
    metadata,
    key(),
    Column("job_id", ForeignKey("workshop_jobs.id"), nullable=False, index=True),
    Column("kind", String(12), nullable=False, comment="a topic of a text to the rider, or a kind of remark"),
    Column("cents", Integer),
    one_of("kind", Literal["ready", "limit", "parts", "done_already", "refusal"]),
)

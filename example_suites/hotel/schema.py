"""The tables of the booking desk, portable to SQLite, PostgreSQL and MariaDB.

Times are naive UTC, whole seconds. Amounts have two decimals. Dates are local to the hotel.
"""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from example_suites.common.columns import NAMES, Money, created_at, one_of
from example_suites.common.knowledge import articles_table

RoomClass = Literal["single", "standard", "superior", "suite"]
PlanCode = Literal["FLEX", "CORP", "SAVER"]
BookingStatus = Literal["confirmed", "checked_in", "checked_out", "cancelled", "no_show"]
CancelReason = Literal["guest_request", "hotel_closure"]
ApprovalKind = Literal["downgrade", "upgrade", "cancellation"]
ApprovalStatus = Literal["pending", "approved", "declined"]
Decision = Literal["approved", "declined"]
RefundReason = Literal["downgrade", "cancellation", "early_departure", "hotel_closure"]
RefundStatus = Literal["draft", "confirmed", "void"]
LineKind = Literal["night", "fee"]
Topic = Literal["booking", "refund", "status"]
CaseStatus = Literal["open", "waiting", "closed"]
TicketKind = Literal["lost_property", "billing", "maintenance"]
TicketStatus = Literal["open", "resolved"]
NoteKind = Literal["refusal", "correction", "suspicious_text"]
PeriodKind = Literal["event", "closure"]
Role = Literal["employee", "manager", "travel_desk"]

metadata = MetaData(naming_convention=NAMES)


def _booking(*, nullable: bool = False) -> Column[Any]:
    return Column("booking_id", ForeignKey("bookings.id"), nullable=nullable, index=True)


companies = Table(
    "companies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("code", String(12), nullable=False, unique=True),
    Column("name", String(80), nullable=False),
    Column("invoice_email", String(120), nullable=False),
    Column("approval_limit", Money(), comment="replaces the general limit; empty means the general one"),
    CheckConstraint("approval_limit >= 0", name="approval_limit"),
)

guests = Table(
    "guests",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("company_id", ForeignKey("companies.id"), nullable=False, index=True),
    Column("manager_id", ForeignKey("guests.id")),
    Column("name", String(80), nullable=False),
    Column("email", String(120), nullable=False, unique=True),
    Column("phone", String(30)),
    Column("role", String(12), nullable=False),
    Column("active", Boolean(name="active"), nullable=False),
    Column("preferences", JSON, nullable=False),
    one_of("role", Role),
)

hotels = Table(
    "hotels",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(60), nullable=False, unique=True),
    Column("city", String(40), nullable=False),
    Column("timezone", String(40), nullable=False),
    Column("currency", String(3), nullable=False),
    Column("vat_percent", Money(), nullable=False),
    Column("manager_email", String(120), nullable=False),
    CheckConstraint("vat_percent >= 0 AND vat_percent < 100", name="vat_percent"),
)

rooms = Table(
    "rooms",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hotel_id", ForeignKey("hotels.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("room_class", String(10), nullable=False),
    Column("accessible", Boolean(name="accessible"), nullable=False),
    UniqueConstraint("hotel_id", "number"),
    one_of("room_class", RoomClass),
)

rate_plans = Table(
    "rate_plans",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hotel_id", ForeignKey("hotels.id"), nullable=False),
    Column("room_class", String(10), nullable=False),
    Column("code", String(6), nullable=False),
    Column("net_rate", Money(), nullable=False),
    Column("refundable", Boolean(name="refundable"), nullable=False),
    Column("free_cancellation_hours", Integer, nullable=False),
    UniqueConstraint("hotel_id", "room_class", "code"),
    one_of("room_class", RoomClass),
    one_of("code", PlanCode),
    CheckConstraint("net_rate > 0", name="net_rate"),
)

hotel_periods = Table(
    "hotel_periods",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hotel_id", ForeignKey("hotels.id"), nullable=False, index=True),
    Column("kind", String(8), nullable=False),
    Column("name", String(60), nullable=False),
    Column("first_night", Date, nullable=False),
    Column("last_night", Date, nullable=False),
    one_of("kind", PeriodKind),
    CheckConstraint("last_night >= first_night", name="nights"),
)

bookings = Table(
    "bookings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("reference", String(12), nullable=False, unique=True),
    Column("guest_id", ForeignKey("guests.id"), nullable=False, index=True),
    Column("hotel_id", ForeignKey("hotels.id"), nullable=False),
    Column("room_id", ForeignKey("rooms.id"), nullable=False),
    Column("rate_plan_id", ForeignKey("rate_plans.id"), nullable=False),
    Column("check_in", Date, nullable=False),
    Column("check_out", Date, nullable=False),
    Column("status", String(12), nullable=False),
    Column("cancel_reason", String(20)),
    Column("total", Money(), nullable=False, comment="all nights with VAT"),
    Column("currency", String(3), nullable=False),
    Column("expected_arrival", DateTime, comment="UTC"),
    Column("guest_note", Text, comment="written by the guest"),
    created_at(),
    Column("updated_at", DateTime, nullable=False),
    one_of("status", BookingStatus),
    one_of("cancel_reason", CancelReason),
    CheckConstraint("check_out > check_in", name="dates"),
    CheckConstraint("total >= 0", name="total"),
)

booking_nights = Table(
    "booking_nights",
    metadata,
    Column("booking_id", ForeignKey("bookings.id"), primary_key=True, autoincrement=False),
    Column("night", Date, primary_key=True),
    Column("room_id", ForeignKey("rooms.id"), nullable=False),
    Column("net", Money(), nullable=False),
    Column("vat", Money(), nullable=False),
    UniqueConstraint("room_id", "night"),
    CheckConstraint("net >= 0 AND vat >= 0", name="amounts"),
)

payments = Table(
    "payments",
    metadata,
    Column("id", Integer, primary_key=True),
    _booking(),
    Column("amount", Money(), nullable=False),
    Column("method", String(8), nullable=False),
    Column("reference", String(20), nullable=False, unique=True),
    Column("paid_at", DateTime, nullable=False),
    created_at(),
    one_of("method", Literal["card", "invoice"]),
    CheckConstraint("amount > 0", name="amount"),
)

refunds = Table(
    "refunds",
    metadata,
    Column("id", Integer, primary_key=True),
    _booking(),
    Column("payment_id", ForeignKey("payments.id"), nullable=False),
    Column("reason", String(20), nullable=False),
    Column("status", String(10), nullable=False),
    Column("paid_out", Money(), nullable=False),
    created_at(),
    one_of("reason", RefundReason),
    one_of("status", RefundStatus),
    CheckConstraint("paid_out >= 0", name="paid_out"),
)

refund_lines = Table(
    "refund_lines",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("refund_id", ForeignKey("refunds.id"), nullable=False, index=True),
    Column("kind", String(8), nullable=False),
    Column("night", Date, comment="empty for fees"),
    Column("net", Money(), nullable=False),
    Column("vat", Money(), nullable=False),
    one_of("kind", LineKind),
    CheckConstraint("(kind = 'night') = (night IS NOT NULL)", name="night"),
    CheckConstraint("net > 0 AND vat >= 0", name="amounts"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", Integer, primary_key=True),
    _booking(),
    Column("kind", String(14), nullable=False),
    Column("amount", Money(), nullable=False),
    Column("approver_id", ForeignKey("guests.id"), nullable=False),
    Column("status", String(10), nullable=False),
    Column("decided_by", ForeignKey("guests.id")),
    Column("decided_at", DateTime),
    Column("requested_at", DateTime, nullable=False),
    one_of("kind", ApprovalKind),
    one_of("status", ApprovalStatus),
    CheckConstraint("amount > 0", name="amount"),
    CheckConstraint("(status = 'pending') = (decided_by IS NULL)", name="decided"),
)

messages = Table(
    "messages",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("guest_id", ForeignKey("guests.id"), nullable=False, index=True),
    _booking(),
    Column("topic", String(10), nullable=False),
    Column("body", Text, nullable=False),
    created_at(),
    one_of("topic", Topic),
)

case_notes = Table(
    "case_notes",
    metadata,
    Column("id", Integer, primary_key=True),
    _booking(),
    Column("kind", String(16), nullable=False),
    Column("policy_section", String(5), nullable=False),
    Column("body", Text, nullable=False),
    created_at(),
    one_of("kind", NoteKind),
)

cases = Table(
    "cases",
    metadata,
    Column("id", Integer, primary_key=True),
    _booking(),
    Column("subject", String(80), nullable=False),
    Column("status", String(8), nullable=False),
    Column("check_on", Date, comment="when the desk looks again at a case that waits"),
    created_at(),
    one_of("status", CaseStatus),
    CheckConstraint("(status = 'waiting') = (check_on IS NOT NULL)", name="check_on"),
)

hotel_tickets = Table(
    "hotel_tickets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("case_id", ForeignKey("cases.id"), nullable=False, index=True),
    Column("kind", String(14), nullable=False),
    Column("status", String(8), nullable=False),
    Column("report", Text, nullable=False, comment="written by the hotel"),
    created_at(),
    one_of("kind", TicketKind),
    one_of("status", TicketStatus),
)

history = Table(
    "history",
    metadata,
    Column("id", Integer, primary_key=True),
    _booking(nullable=True),
    Column("guest_id", ForeignKey("guests.id"), index=True),
    Column("event", String(20), nullable=False),
    Column("details", JSON, nullable=False),
    created_at(),
    CheckConstraint("booking_id IS NOT NULL OR guest_id IS NOT NULL", name="subject"),
)

articles = articles_table(metadata)

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("tool", String(40), nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("refused", Boolean(name="refused"), nullable=False),
    created_at(),
)

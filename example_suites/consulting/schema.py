"""The tables of the back office, portable to SQLite, PostgreSQL and MariaDB.

Times are naive UTC, whole seconds. Amounts and hours have two decimals. Days are local to an office.
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

Grade = Literal["analyst", "consultant", "manager", "partner", "finance"]
EngagementStatus = Literal["active", "on_hold", "closed"]
StatementKind = Literal["original", "change_order"]
StatementStatus = Literal["draft", "sent", "signed"]
AssignmentStatus = Literal["confirmed", "released"]
TimesheetStatus = Literal["open", "submitted", "approved"]
Category = Literal["travel", "hotel", "meal", "other"]
ExpenseStatus = Literal["submitted", "approved", "paid", "rejected"]
DocumentKind = Literal["invoice", "credit_note"]
DocumentStatus = Literal["draft", "issued", "paid", "void"]
LineKind = Literal["time", "discount"]
ApprovalKind = Literal["discount", "late_time", "change_order", "wall_waiver"]
ApprovalStatus = Literal["pending", "approved", "declined"]
Decision = Literal["approved", "declined"]
LeaveKind = Literal["annual", "sick"]
LeaveStatus = Literal["requested", "approved", "cancelled"]
TicketStatus = Literal["open", "waiting", "done", "refused"]
Answer = Literal["waiting", "done", "refused"]
NoteKind = Literal["refusal", "correction", "suspicious_text", "outage"]

metadata = MetaData(naming_convention=NAMES)


def _key(target: str, *, nullable: bool = False) -> Column[Any]:
    """A foreign key that is named after what it refers to."""
    singular = {"people": "person", "engagements": "engagement", "clients": "client", "tickets": "ticket"}
    return Column(f"{singular[target]}_id", ForeignKey(f"{target}.id"), nullable=nullable, index=True)


offices = Table(
    "offices",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("city", String(40), nullable=False, unique=True),
    Column("country", String(2), nullable=False),
    Column("timezone", String(40), nullable=False),
    Column("currency", String(3), nullable=False),
    Column("tax_percent", Money(), nullable=False),
    CheckConstraint("tax_percent >= 0 AND tax_percent < 100", name="tax_percent"),
)

people = Table(
    "people",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("office_id", ForeignKey("offices.id"), nullable=False, index=True),
    Column("manager_id", ForeignKey("people.id")),
    Column("name", String(80), nullable=False),
    Column("email", String(120), nullable=False, unique=True),
    Column("grade", String(10), nullable=False),
    Column("leave_days_left", Integer, nullable=False),
    Column("active", Boolean(name="active"), nullable=False),
    one_of("grade", Grade),
    CheckConstraint("leave_days_left >= 0", name="leave_days_left"),
)

skills = Table(
    "skills",
    metadata,
    Column("person_id", ForeignKey("people.id"), primary_key=True, autoincrement=False),
    Column("skill", String(30), primary_key=True),
    Column("level", Integer, nullable=False),
    CheckConstraint("level BETWEEN 1 AND 5", name="level"),
)

clients = Table(
    "clients",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("code", String(12), nullable=False, unique=True),
    Column("name", String(80), nullable=False),
    Column("country", String(2), nullable=False),
    Column("currency", String(3), nullable=False),
    Column("billing_contact", String(80), nullable=False),
    Column("billing_email", String(120), nullable=False),
    Column("payment_days", Integer, nullable=False),
    CheckConstraint("payment_days > 0", name="payment_days"),
)

walls = Table(
    "walls",
    metadata,
    Column("id", Integer, primary_key=True),
    _key("people"),
    _key("clients"),
    Column("reason", String(120), nullable=False),
    Column("last_day", Date, nullable=False),
    UniqueConstraint("person_id", "client_id"),
)

engagements = Table(
    "engagements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("reference", String(12), nullable=False, unique=True),
    _key("clients"),
    Column("office_id", ForeignKey("offices.id"), nullable=False),
    Column("lead_partner_id", ForeignKey("people.id"), nullable=False),
    Column("manager_id", ForeignKey("people.id"), nullable=False),
    Column("name", String(80), nullable=False),
    Column("status", String(10), nullable=False),
    Column("first_day", Date, nullable=False),
    Column("last_day", Date, nullable=False),
    one_of("status", EngagementStatus),
    CheckConstraint("last_day >= first_day", name="days"),
)

statements_of_work = Table(
    "statements_of_work",
    metadata,
    Column("id", Integer, primary_key=True),
    _key("engagements"),
    Column("kind", String(12), nullable=False),
    Column("budget", Money(), nullable=False, comment="of a change order: what it adds"),
    Column("expenses_billable", Boolean(name="expenses_billable"), nullable=False),
    Column("status", String(8), nullable=False),
    Column("signed_on", Date),
    created_at(),
    one_of("kind", StatementKind),
    one_of("status", StatementStatus),
    CheckConstraint("budget > 0", name="budget"),
    CheckConstraint("(status = 'signed') = (signed_on IS NOT NULL)", name="signed"),
)

rates = Table(
    "rates",
    metadata,
    Column("engagement_id", ForeignKey("engagements.id"), primary_key=True, autoincrement=False),
    Column("grade", String(10), primary_key=True),
    Column("first_day", Date, primary_key=True),
    Column("hourly_rate", Money(), nullable=False),
    one_of("grade", Grade),
    CheckConstraint("hourly_rate > 0", name="hourly_rate"),
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", Integer, primary_key=True),
    _key("engagements"),
    _key("people"),
    Column("percent", Integer, nullable=False),
    Column("first_day", Date, nullable=False),
    Column("last_day", Date, nullable=False),
    Column("status", String(10), nullable=False),
    created_at(),
    one_of("status", AssignmentStatus),
    CheckConstraint("percent BETWEEN 1 AND 100", name="percent"),
    CheckConstraint("last_day >= first_day", name="days"),
)

timesheets = Table(
    "timesheets",
    metadata,
    Column("id", Integer, primary_key=True),
    _key("people"),
    Column("week_start", Date, nullable=False, comment="a Monday"),
    Column("status", String(10), nullable=False),
    Column("submitted_at", DateTime),
    UniqueConstraint("person_id", "week_start"),
    one_of("status", TimesheetStatus),
    CheckConstraint("(status = 'open') = (submitted_at IS NULL)", name="submitted"),
)

invoices = Table(
    "invoices",
    metadata,
    Column("id", Integer, primary_key=True),
    _key("engagements"),
    Column("kind", String(12), nullable=False),
    Column("credits_id", ForeignKey("invoices.id"), comment="the invoice that a credit note is for"),
    Column("status", String(8), nullable=False),
    Column("net", Money(), nullable=False),
    Column("tax", Money(), nullable=False),
    Column("total", Money(), nullable=False),
    Column("issued_on", Date),
    Column("due_on", Date),
    Column("times_issued", Integer, nullable=False),
    created_at(),
    one_of("kind", DocumentKind),
    one_of("status", DocumentStatus),
    CheckConstraint("(kind = 'credit_note') = (credits_id IS NOT NULL)", name="credits"),
    CheckConstraint("(issued_on IS NULL) = (due_on IS NULL)", name="dates"),
    CheckConstraint("due_on >= issued_on", name="due"),
)

invoice_lines = Table(
    "invoice_lines",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("invoice_id", ForeignKey("invoices.id"), nullable=False, index=True),
    Column("kind", String(10), nullable=False),
    _key("people", nullable=True),
    Column("quantity", Money(), nullable=False),
    Column("unit_price", Money(), nullable=False),
    Column("tax_percent", Money(), nullable=False),
    Column("net", Money(), nullable=False, comment="of a discount: below zero"),
    Column("tax", Money(), nullable=False),
    one_of("kind", LineKind),
    CheckConstraint("(kind = 'time') = (person_id IS NOT NULL)", name="person"),
    CheckConstraint("quantity > 0 AND unit_price > 0", name="amounts"),
)

time_entries = Table(
    "time_entries",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("timesheet_id", ForeignKey("timesheets.id"), nullable=False, index=True),
    _key("engagements"),
    Column("work_day", Date, nullable=False),
    Column("hours", Money(), nullable=False),
    Column("billable", Boolean(name="billable"), nullable=False),
    Column("invoice_id", ForeignKey("invoices.id"), index=True),
    UniqueConstraint("timesheet_id", "engagement_id", "work_day"),
    CheckConstraint("hours > 0 AND hours <= 24", name="hours"),
)

expenses = Table(
    "expenses",
    metadata,
    Column("id", Integer, primary_key=True),
    _key("people"),
    _key("engagements"),
    Column("spent_on", Date, nullable=False),
    Column("category", String(8), nullable=False),
    Column("amount", Money(), nullable=False),
    Column("currency", String(3), nullable=False),
    Column("home_amount", Money(), nullable=False, comment="in the currency of the person's office"),
    Column("billable", Boolean(name="billable"), nullable=False),
    Column("receipt", String(80), comment="the file, below booked/"),
    Column("status", String(10), nullable=False),
    created_at(),
    one_of("category", Category),
    one_of("status", ExpenseStatus),
    CheckConstraint("amount > 0 AND home_amount >= 0", name="amounts"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", Integer, primary_key=True),
    _key("engagements"),
    Column("kind", String(14), nullable=False),
    Column("amount", Money(), nullable=False, comment="a sum, or hours"),
    Column("approver_id", ForeignKey("people.id"), nullable=False),
    Column("status", String(10), nullable=False),
    Column("decided_by", ForeignKey("people.id")),
    Column("decided_at", DateTime),
    Column("requested_at", DateTime, nullable=False),
    one_of("kind", ApprovalKind),
    one_of("status", ApprovalStatus),
    CheckConstraint("amount > 0", name="amount"),
    CheckConstraint("(status = 'pending') = (decided_by IS NULL)", name="decided"),
)

absences = Table(
    "absences",
    metadata,
    Column("id", Integer, primary_key=True),
    _key("people"),
    Column("kind", String(8), nullable=False),
    Column("first_day", Date, nullable=False),
    Column("last_day", Date, nullable=False),
    Column("days", Integer, nullable=False, comment="working days"),
    Column("status", String(10), nullable=False),
    created_at(),
    one_of("kind", LeaveKind),
    one_of("status", LeaveStatus),
    CheckConstraint("last_day >= first_day", name="order"),
    CheckConstraint("days > 0", name="days"),
)

tickets = Table(
    "tickets",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("sender", String(120), nullable=False, comment="the address it came from"),
    Column("subject", String(120), nullable=False),
    Column("status", String(8), nullable=False),
    Column("external_reference", String(20)),
    Column("external_status", String(20)),
    created_at(),
    Column("updated_at", DateTime, nullable=False),
    one_of("status", TicketStatus),
    CheckConstraint("(external_reference IS NULL) = (external_status IS NULL)", name="external"),
)

ticket_notes = Table(
    "ticket_notes",
    metadata,
    Column("id", Integer, primary_key=True),
    _key("tickets"),
    Column("kind", String(16), nullable=False),
    Column("policy_section", String(5)),
    Column("body", Text, nullable=False),
    created_at(),
    one_of("kind", Literal["answer", "refusal", "correction", "suspicious_text", "outage"]),
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

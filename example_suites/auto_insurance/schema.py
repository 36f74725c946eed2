"""The tables of the insurer, portable to SQLite, PostgreSQL and MariaDB.

Times are naive UTC, whole seconds. Amounts are dollars with two decimals. Dates are local to where the car is kept,
which is the policy's time zone. Policy 7042 is written LM-7042 in texts, claim 3042 CL-3042.
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

Role = Literal["handler", "manager"]
Product = Literal["basic", "standard", "plus"]
PolicyStatus = Literal["active", "expired", "cancelled"]
CancelReason = Literal["customer_request", "car_sold"]
CoverageKind = Literal["liability", "collision", "comprehensive", "glass", "rental", "towing"]
CoverageAction = Literal["add", "remove"]
EndorsementKind = Literal["add_coverage", "remove_coverage", "add_driver", "cancellation"]
InstalmentStatus = Literal["open", "paid", "overdue"]
ClaimKind = Literal["collision", "weather", "vandalism", "theft", "glass", "towing"]
ClaimStatus = Literal["open", "closed", "denied", "withdrawn"]
AppraisalStatus = Literal["requested", "received", "disputed"]
Payee = Literal["customer", "shop"]
PaymentStatus = Literal["draft", "released", "void"]
ApprovalStatus = Literal["pending", "approved", "declined"]
Decision = Literal["approved", "declined"]
RecoveryStatus = Literal["open", "settled", "abandoned"]
DocumentKind = Literal["police_report", "photos", "invoice", "proof_of_sale"]
DocumentStatus = Literal["requested", "received"]
LetterKind = Literal["confirmation", "decision", "information"]
NoteKind = Literal["refusal", "correction", "suspicious_text", "open_point"]

metadata = MetaData(naming_convention=NAMES)


def _policy(*, nullable: bool = False) -> Column[Any]:
    return Column("policy_id", ForeignKey("policies.id"), nullable=nullable, index=True)


def _claim(*, nullable: bool = False) -> Column[Any]:
    return Column("claim_id", ForeignKey("claims.id"), nullable=nullable, index=True)


staff = Table(
    "staff",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("manager_id", ForeignKey("staff.id")),
    Column("name", String(80), nullable=False),
    Column("email", String(120), nullable=False, unique=True),
    Column("role", String(8), nullable=False),
    Column("timezone", String(40), comment="where the cars of a handler's claims are kept"),
    Column("settlement_limit", Money(), nullable=False),
    Column("active", Boolean(name="active"), nullable=False),
    one_of("role", Role),
    CheckConstraint("settlement_limit >= 0", name="settlement_limit"),
)

customers = Table(
    "customers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(80), nullable=False),
    Column("email", String(120), nullable=False, unique=True),
    Column("phone", String(30)),
    Column("city", String(40), nullable=False),
    Column("preferences", JSON, nullable=False),
)

policies = Table(
    "policies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("customer_id", ForeignKey("customers.id"), nullable=False, index=True),
    Column("product", String(8), nullable=False),
    Column("status", String(9), nullable=False),
    Column("first_day", Date, nullable=False),
    Column("last_day", Date, nullable=False, comment="covered until its midnight"),
    Column("timezone", String(40), nullable=False),
    Column("premium", Money(), nullable=False, comment="of the whole term, with all endorsements"),
    Column("cancel_reason", String(16)),
    created_at(),
    Column("updated_at", DateTime, nullable=False),
    one_of("product", Product),
    one_of("status", PolicyStatus),
    one_of("cancel_reason", CancelReason),
    CheckConstraint("last_day >= first_day", name="days"),
    CheckConstraint("premium >= 0", name="premium"),
)

vehicles = Table(
    "vehicles",
    metadata,
    Column("id", Integer, primary_key=True),
    _policy(),
    Column("registration", String(10), nullable=False),
    Column("model", String(40), nullable=False),
    Column("built", Integer, nullable=False),
    UniqueConstraint("policy_id", "registration"),
)

drivers = Table(
    "drivers",
    metadata,
    Column("id", Integer, primary_key=True),
    _policy(),
    Column("name", String(80), nullable=False),
    Column("born_on", Date, nullable=False),
    Column("licensed_on", Date, nullable=False),
    UniqueConstraint("policy_id", "name", "born_on"),
    CheckConstraint("licensed_on > born_on", name="licensed_on"),
)

coverages = Table(
    "coverages",
    metadata,
    Column("id", Integer, primary_key=True),
    _policy(),
    Column("kind", String(13), nullable=False),
    Column("limit_amount", Money(), nullable=False),
    Column("deductible", Money(), nullable=False),
    Column("first_day", Date, nullable=False),
    Column("last_day", Date, nullable=False),
    one_of("kind", CoverageKind),
    CheckConstraint("last_day >= first_day", name="days"),
    CheckConstraint("limit_amount > 0 AND deductible >= 0", name="amounts"),
)

endorsements = Table(
    "endorsements",
    metadata,
    Column("id", Integer, primary_key=True),
    _policy(),
    Column("kind", String(16), nullable=False),
    Column("effective_on", Date, nullable=False),
    Column("premium_change", Money(), nullable=False),
    Column("details", JSON, nullable=False),
    created_at(),
    one_of("kind", EndorsementKind),
)

claims = Table(
    "claims",
    metadata,
    Column("id", Integer, primary_key=True),
    _policy(),
    Column("vehicle_id", ForeignKey("vehicles.id"), nullable=False),
    Column("driver_id", ForeignKey("drivers.id"), comment="empty when nobody drove"),
    Column("handler_id", ForeignKey("staff.id"), comment="empty: the service desk itself"),
    Column("kind", String(10), nullable=False),
    Column("status", String(9), nullable=False),
    Column("occurred_at", DateTime, nullable=False, comment="UTC"),
    Column("description", Text, nullable=False, comment="as it was reported"),
    Column("own_fault_percent", Integer),
    Column("reserve", Money(), comment="what is put by; empty: not set yet"),
    Column("other_party", JSON, comment="driver, insurer and the insurer's address"),
    created_at(),
    one_of("kind", ClaimKind),
    one_of("status", ClaimStatus),
    CheckConstraint("own_fault_percent BETWEEN 0 AND 100", name="own_fault_percent"),
    CheckConstraint("reserve >= 0", name="reserve"),
)

assignments = Table(
    "assignments",
    metadata,
    Column("id", Integer, primary_key=True),
    _claim(),
    Column("staff_id", ForeignKey("staff.id"), nullable=False),
    created_at(),
)

shops = Table(
    "shops",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(60), nullable=False, unique=True),
    Column("city", String(40), nullable=False),
    Column("network", Boolean(name="network"), nullable=False),
    Column("email", String(120), nullable=False),
)

appraisals = Table(
    "appraisals",
    metadata,
    Column("id", Integer, primary_key=True),
    _claim(),
    Column("shop_id", ForeignKey("shops.id"), nullable=False),
    Column("status", String(9), nullable=False),
    Column("amount", Money()),
    Column("report", Text, comment="written by the shop"),
    created_at(),
    one_of("status", AppraisalStatus),
    CheckConstraint("(status = 'requested') = (amount IS NULL)", name="amount"),
)

payments = Table(
    "payments",
    metadata,
    Column("id", Integer, primary_key=True),
    _claim(),
    Column("coverage_id", ForeignKey("coverages.id"), nullable=False),
    Column("payee", String(8), nullable=False),
    Column("amount", Money(), nullable=False, comment="what is due, without what is set off"),
    Column("paid_out", Money(), nullable=False),
    Column("status", String(8), nullable=False),
    created_at(),
    one_of("payee", Payee),
    one_of("status", PaymentStatus),
    CheckConstraint("amount > 0 AND paid_out >= 0", name="amounts"),
)

instalments = Table(
    "instalments",
    metadata,
    Column("id", Integer, primary_key=True),
    _policy(),
    Column("due_on", Date, nullable=False),
    Column("amount", Money(), nullable=False),
    Column("status", String(7), nullable=False),
    Column("payment_id", ForeignKey("payments.id"), comment="set off against this payment"),
    UniqueConstraint("policy_id", "due_on"),
    one_of("status", InstalmentStatus),
    CheckConstraint("amount > 0", name="amount"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", Integer, primary_key=True),
    _claim(),
    Column("amount", Money(), nullable=False),
    Column("approver_id", ForeignKey("staff.id"), nullable=False),
    Column("status", String(8), nullable=False),
    Column("decided_by", ForeignKey("staff.id")),
    Column("decided_at", DateTime),
    Column("requested_at", DateTime, nullable=False),
    one_of("status", ApprovalStatus),
    CheckConstraint("amount > 0", name="amount"),
    CheckConstraint("(status = 'pending') = (decided_by IS NULL)", name="decided"),
)

recoveries = Table(
    "recoveries",
    metadata,
    Column("id", Integer, primary_key=True),
    _claim(),
    Column("insurer", String(80), nullable=False),
    Column("demanded", Money(), nullable=False),
    Column("recovered", Money(), nullable=False),
    Column("status", String(9), nullable=False),
    created_at(),
    one_of("status", RecoveryStatus),
    CheckConstraint("demanded > 0 AND recovered >= 0", name="amounts"),
)

documents = Table(
    "documents",
    metadata,
    Column("id", Integer, primary_key=True),
    _policy(),
    _claim(nullable=True),
    Column("kind", String(13), nullable=False),
    Column("status", String(9), nullable=False),
    created_at(),
    one_of("kind", DocumentKind),
    one_of("status", DocumentStatus),
)

letters = Table(
    "letters",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("customer_id", ForeignKey("customers.id"), nullable=False, index=True),
    _policy(),
    _claim(nullable=True),
    Column("kind", String(12), nullable=False),
    Column("body", Text, nullable=False),
    created_at(),
    one_of("kind", LetterKind),
)

notes = Table(
    "notes",
    metadata,
    Column("id", Integer, primary_key=True),
    _policy(),
    _claim(nullable=True),
    Column("kind", String(15), nullable=False),
    Column("policy_section", String(5), nullable=False),
    Column("body", Text, nullable=False),
    created_at(),
    one_of("kind", NoteKind),
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

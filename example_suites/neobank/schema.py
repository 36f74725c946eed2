"""The tables of the customer desk of a bank, portable to SQLite, PostgreSQL and MariaDB.

Times are naive UTC, whole seconds; dates are days of the bank, which is in Dublin. An amount on an account is positive
when it belongs to the account's holder: a balance is the sum of an account's postings.
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
)

from example_suites.common.columns import NAMES, Money, created_at, one_of
from example_suites.common.knowledge import articles_table

Plan = Literal["basic", "plus", "business"]
Approver = Literal["team_lead", "risk", "compliance"]
KycKind = Literal["onboarding", "address", "source_of_funds"]
KycStatus = Literal["open", "approved", "rejected"]
AccountKind = Literal["current", "savings", "internal"]
AccountStatus = Literal["open", "frozen", "closed"]
EntryKind = Literal["transfer", "card", "fee", "fee_waiver", "exchange", "provisional_credit", "interest"]
CardStatus = Literal["active", "frozen", "lost", "stolen", "expired", "ordered"]
AuthorizationStatus = Literal["pending", "captured", "voided", "declined"]
Method = Literal["chip", "contactless", "online"]
HoldStatus = Literal["active", "released"]
DisputeReason = Literal["fraud", "not_received", "duplicate", "wrong_amount"]
DisputeStatus = Literal["open", "won", "lost", "withdrawn"]
ChargebackStage = Literal["filed", "representment", "closed"]
TransferStatus = Literal["scheduled", "sent", "returned", "cancelled"]
OrderStatus = Literal["active", "paused", "ended"]
LimitKind = Literal["transfer_daily", "card_daily", "cash_daily"]
FeeKind = Literal["overdraft", "foreign_use", "replacement", "express", "monthly"]
FeeStatus = Literal["charged", "waived"]
WaiverReason = Literal["goodwill", "bank_error", "hardship"]
ApprovalKind = Literal["limit", "transfer", "fee_waiver"]
ApprovalStatus = Literal["pending", "approved", "declined"]
Decision = Literal["approved", "declined"]
TicketStatus = Literal["open", "waiting", "solved"]
NoteKind = Literal["refusal", "correction", "suspicious_text", "handover"]
TicketEntryKind = Literal["question", "answer", "refusal", "correction", "suspicious_text", "handover"]
Currency = Literal["EUR", "GBP", "USD"]

metadata = MetaData(naming_convention=NAMES)


def _number() -> Column[Any]:
    return Column("id", Integer, primary_key=True)


def _of(name: str, table: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, ForeignKey(f"{table}.id"), nullable=nullable, index=True)


def _currency() -> Column[Any]:
    return Column("currency", String(3), nullable=False)


customers = Table(
    "customers",
    metadata,
    _number(),
    Column("name", String(80), nullable=False),
    Column("email", String(120), nullable=False, unique=True),
    Column("phone", String(30), nullable=False),
    Column("country", String(2), nullable=False),
    Column("timezone", String(40), nullable=False),
    Column("plan", String(10), nullable=False),
    Column("customer_since", Date, nullable=False),
    one_of("plan", Plan),
)

kyc_cases = Table(
    "kyc_cases",
    metadata,
    _number(),
    _of("customer_id", "customers"),
    Column("kind", String(16), nullable=False),
    Column("status", String(10), nullable=False),
    Column("due_on", Date, nullable=False, comment="last day on which the customer can answer"),
    created_at(),
    one_of("kind", KycKind),
    one_of("status", KycStatus),
)

accounts = Table(
    "accounts",
    metadata,
    _number(),
    _of("customer_id", "customers", nullable=True),
    _of("co_holder_id", "customers", nullable=True),
    Column("iban", String(24), nullable=False, unique=True),
    Column("name", String(40), nullable=False),
    Column("kind", String(10), nullable=False),
    _currency(),
    Column("status", String(8), nullable=False),
    Column("overdraft_limit", Money(), nullable=False),
    one_of("kind", AccountKind),
    one_of("currency", Currency),
    one_of("status", AccountStatus),
    CheckConstraint("(kind = 'internal') = (customer_id IS NULL)", name="holder"),
    CheckConstraint("overdraft_limit >= 0", name="overdraft_limit"),
)

journal = Table(
    "journal",
    metadata,
    _number(),
    Column("kind", String(20), nullable=False),
    Column("memo", String(200), nullable=False),
    Column("booked_on", Date, nullable=False),
    created_at(),
    one_of("kind", EntryKind),
)

postings = Table(
    "postings",
    metadata,
    _number(),
    _of("journal_id", "journal"),
    _of("account_id", "accounts"),
    Column("amount", Money(), nullable=False),
    CheckConstraint("amount <> 0", name="amount"),
)

cards = Table(
    "cards",
    metadata,
    _number(),
    _of("account_id", "accounts"),
    Column("last4", String(4), nullable=False),
    Column("token", String(20), nullable=False, unique=True, comment="the card's name at the processor"),
    Column("status", String(8), nullable=False),
    _of("replaces_id", "cards", nullable=True),
    Column("valid_until", Date, nullable=False),
    created_at(),
    one_of("status", CardStatus),
)

authorizations = Table(
    "authorizations",
    metadata,
    _number(),
    _of("card_id", "cards"),
    Column("merchant", String(60), nullable=False),
    Column("merchant_country", String(2), nullable=False),
    Column("amount", Money(), nullable=False, comment="in the merchant's currency"),
    Column("merchant_currency", String(3), nullable=False),
    Column("billed", Money(), nullable=False, comment="in the currency of the card's account"),
    Column("method", String(12), nullable=False),
    Column("status", String(10), nullable=False),
    _of("journal_id", "journal", nullable=True),
    Column("authorized_at", DateTime, nullable=False),
    one_of("method", Method),
    one_of("status", AuthorizationStatus),
    CheckConstraint("(status = 'captured') = (journal_id IS NOT NULL)", name="captured"),
    CheckConstraint("amount > 0 AND billed > 0", name="amounts"),
)

holds = Table(
    "holds",
    metadata,
    _number(),
    _of("account_id", "accounts"),
    Column("authorization_id", ForeignKey("authorizations.id"), nullable=False, unique=True),
    Column("amount", Money(), nullable=False),
    Column("status", String(8), nullable=False),
    Column("placed_at", DateTime, nullable=False),
    Column("released_at", DateTime),
    one_of("status", HoldStatus),
    CheckConstraint("amount > 0", name="amount"),
    CheckConstraint("(status = 'released') = (released_at IS NOT NULL)", name="released"),
)

disputes = Table(
    "disputes",
    metadata,
    _number(),
    _of("authorization_id", "authorizations"),
    Column("reason", String(14), nullable=False),
    Column("amount", Money(), nullable=False, comment="in the currency of the card's account"),
    Column("status", String(10), nullable=False),
    created_at(),
    one_of("reason", DisputeReason),
    one_of("status", DisputeStatus),
    CheckConstraint("amount > 0", name="amount"),
)

chargebacks = Table(
    "chargebacks",
    metadata,
    _number(),
    _of("dispute_id", "disputes"),
    Column("stage", String(14), nullable=False),
    Column("respond_by", Date, nullable=False, comment="the merchant's last day to answer"),
    created_at(),
    one_of("stage", ChargebackStage),
)

transfers = Table(
    "transfers",
    metadata,
    _number(),
    _of("account_id", "accounts"),
    Column("beneficiary", String(80), nullable=False),
    Column("iban", String(24), nullable=False),
    Column("amount", Money(), nullable=False),
    Column("memo", String(140), nullable=False),
    Column("status", String(10), nullable=False),
    Column("execute_on", Date, nullable=False),
    _of("journal_id", "journal", nullable=True),
    created_at(),
    one_of("status", TransferStatus),
    CheckConstraint("amount > 0", name="amount"),
    CheckConstraint("(status IN ('sent', 'returned')) = (journal_id IS NOT NULL)", name="booked"),
)

standing_orders = Table(
    "standing_orders",
    metadata,
    _number(),
    _of("account_id", "accounts"),
    Column("beneficiary", String(80), nullable=False),
    Column("iban", String(24), nullable=False),
    Column("amount", Money(), nullable=False),
    Column("next_on", Date, nullable=False),
    Column("status", String(8), nullable=False),
    one_of("status", OrderStatus),
    CheckConstraint("amount > 0", name="amount"),
)

limits = Table(
    "limits",
    metadata,
    Column("customer_id", ForeignKey("customers.id"), primary_key=True, autoincrement=False),
    Column("kind", String(16), primary_key=True),
    Column("amount", Money(), nullable=False),
    one_of("kind", LimitKind),
    CheckConstraint("amount >= 0", name="amount"),
)

fees = Table(
    "fees",
    metadata,
    _number(),
    _of("account_id", "accounts"),
    Column("kind", String(12), nullable=False),
    Column("amount", Money(), nullable=False),
    Column("status", String(8), nullable=False),
    Column("waived", Money(), nullable=False, comment="what went back"),
    Column("waiver_reason", String(10)),
    Column("waived_on", Date),
    _of("journal_id", "journal"),
    _of("authorization_id", "authorizations", nullable=True),
    Column("charged_on", Date, nullable=False),
    one_of("kind", FeeKind),
    one_of("status", FeeStatus),
    one_of("waiver_reason", WaiverReason),
    CheckConstraint("amount > 0 AND waived >= 0", name="amounts"),
    CheckConstraint("(status = 'waived') = (waiver_reason IS NOT NULL)", name="waived"),
)

fx_rates = Table(
    "fx_rates",
    metadata,
    Column("base", String(3), primary_key=True),
    Column("quote", String(3), primary_key=True),
    Column("valid_on", Date, primary_key=True),
    Column("millionths", Integer, nullable=False, comment="of the quote currency for one unit of the base"),
    one_of("base", Currency),
    one_of("quote", Currency),
    CheckConstraint("base <> quote AND millionths > 0", name="rate"),
)

approvals = Table(
    "approvals",
    metadata,
    _number(),
    _of("ticket_id", "tickets"),
    Column("kind", String(12), nullable=False),
    Column("amount", Money(), nullable=False),
    Column("approver", String(12), nullable=False),
    Column("status", String(10), nullable=False),
    Column("decided_by", String(12)),
    Column("decided_at", DateTime),
    Column("requested_at", DateTime, nullable=False),
    one_of("kind", ApprovalKind),
    one_of("approver", Approver),
    one_of("decided_by", Approver),
    one_of("status", ApprovalStatus),
    CheckConstraint("amount > 0", name="amount"),
    CheckConstraint("(status = 'pending') = (decided_by IS NULL)", name="decided"),
)

tickets = Table(
    "tickets",
    metadata,
    _number(),
    Column("reference", String(10), nullable=False, unique=True),
    _of("customer_id", "customers"),
    Column("subject", String(120), nullable=False),
    Column("status", String(8), nullable=False),
    created_at(),
    one_of("status", TicketStatus),
)

ticket_entries = Table(
    "ticket_entries",
    metadata,
    _number(),
    _of("ticket_id", "tickets"),
    Column("kind", String(16), nullable=False),
    Column("policy_section", String(5), comment="of a note: what it rests on"),
    Column("body", Text, nullable=False),
    created_at(),
    one_of("kind", TicketEntryKind),
    CheckConstraint("(kind IN ('question', 'answer')) = (policy_section IS NULL)", name="policy_section"),
)

articles = articles_table(metadata)

audit_log = Table(
    "audit_log",
    metadata,
    _number(),
    Column("tool", String(40), nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("refused", Boolean(name="refused"), nullable=False),
    created_at(),
)

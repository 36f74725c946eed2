"""The tables of the shop, portable to SQLite, PostgreSQL and MariaDB.

Times are naive UTC, whole seconds. Amounts have two decimals, are in the currency of their order and hold all taxes.
Dates are local to the delivery address.
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

Tier = Literal["standard", "plus"]
Currency = Literal["EUR", "USD", "GBP", "NZD"]
Category = Literal["kitchen", "lighting", "garden", "furniture", "textiles"]
Warehouse = Literal["RTM", "CMH", "AKL"]
OrderStatus = Literal["open", "completed", "cancelled"]
LineStatus = Literal["ordered", "shipped", "delivered", "cancelled"]
Method = Literal["card", "wallet", "gift_card", "store_credit"]
Carrier = Literal["northpost", "quayline", "tramontane"]
ShipmentStatus = Literal["preparing", "in_transit", "exception", "delivered", "lost"]
ExceptionKind = Literal["missing", "damaged", "address", "customs"]
ExceptionStatus = Literal["open", "confirmed_lost", "delivered_after_all"]
ReturnReason = Literal["unwanted", "wrong_item", "damaged"]
ReturnStatus = Literal["requested", "received", "cancelled"]
Condition = Literal["sealed", "opened", "damaged"]
RefundReason = Literal["return", "cancellation", "price_drop", "damage", "lost", "warranty"]
CreditReason = Literal["late_delivery", "refund", "reversal", "spent"]
CardStatus = Literal["active", "blocked", "expired"]
Fault = Literal["no_light", "does_not_start", "leaks", "broken_part", "stain"]
Remedy = Literal["replacement", "refund", "spare_part"]
ApprovalKind = Literal["refund_without_return", "goodwill"]
ApprovalStatus = Literal["pending", "approved", "declined"]
TicketStatus = Literal["open", "waiting", "closed"]
NoteKind = Literal["refusal", "correction", "suspicious_text", "outage"]
Topic = Literal["order", "refund", "return", "warranty", "status"]

metadata = MetaData(naming_convention=NAMES)


def _order(*, nullable: bool = False) -> Column[Any]:
    return Column("order_id", ForeignKey("orders.id"), nullable=nullable, index=True)


def _customer() -> Column[Any]:
    return Column("customer_id", ForeignKey("customers.id"), nullable=False, index=True)


def _line(*, nullable: bool = False) -> Column[Any]:
    return Column("order_line_id", ForeignKey("order_lines.id"), nullable=nullable, index=True)


customers = Table(
    "customers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(80), nullable=False),
    Column("email", String(120), nullable=False, unique=True),
    Column("phone", String(30)),
    Column("tier", String(8), nullable=False),
    Column("preferences", JSON, nullable=False),
    created_at(),
    one_of("tier", Tier),
)

addresses = Table(
    "addresses",
    metadata,
    Column("id", Integer, primary_key=True),
    _customer(),
    Column("label", String(20), nullable=False),
    Column("street", String(80), nullable=False),
    Column("city", String(40), nullable=False),
    Column("postcode", String(12), nullable=False),
    Column("country", String(2), nullable=False),
    Column("timezone", String(40), nullable=False),
    UniqueConstraint("customer_id", "label"),
)

products = Table(
    "products",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("sku", String(12), nullable=False, unique=True),
    Column("name", String(60), nullable=False),
    Column("category", String(10), nullable=False),
    Column("price", Money(), nullable=False, comment="today's, the same number in every currency"),
    Column("warranty_months", Integer, nullable=False),
    Column("clearance", Boolean(name="clearance"), nullable=False),
    Column("electrical", Boolean(name="electrical"), nullable=False),
    Column("bulky", Boolean(name="bulky"), nullable=False),
    one_of("category", Category),
    CheckConstraint("price > 0", name="price"),
    CheckConstraint("warranty_months >= 0", name="warranty_months"),
)

stock = Table(
    "stock",
    metadata,
    Column("warehouse", String(3), primary_key=True),
    Column("product_id", ForeignKey("products.id"), primary_key=True, autoincrement=False),
    Column("on_hand", Integer, nullable=False),
    Column("reserved", Integer, nullable=False),
    one_of("warehouse", Warehouse),
    CheckConstraint("reserved >= 0 AND reserved <= on_hand", name="reserved"),
)

orders = Table(
    "orders",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("number", String(12), nullable=False, unique=True),
    _customer(),
    Column("address_id", ForeignKey("addresses.id"), nullable=False),
    Column("status", String(10), nullable=False),
    Column("currency", String(3), nullable=False),
    Column("shipping_fee", Money(), nullable=False),
    Column("total", Money(), nullable=False, comment="lines and shipping fee as ordered"),
    Column("promised_on", Date, nullable=False),
    Column("customer_note", Text, comment="written by the customer"),
    Column("placed_at", DateTime, nullable=False),
    Column("updated_at", DateTime, nullable=False),
    one_of("status", OrderStatus),
    one_of("currency", Currency),
    CheckConstraint("shipping_fee >= 0 AND total >= shipping_fee", name="total"),
)

shipments = Table(
    "shipments",
    metadata,
    Column("id", Integer, primary_key=True),
    _order(),
    Column("warehouse", String(3), nullable=False),
    Column("carrier", String(10), nullable=False),
    Column("tracking", String(16), nullable=False, unique=True),
    Column("status", String(10), nullable=False),
    Column("replaces_id", ForeignKey("shipments.id")),
    Column("shipped_at", DateTime),
    Column("delivered_at", DateTime),
    created_at(),
    one_of("warehouse", Warehouse),
    one_of("carrier", Carrier),
    one_of("status", ShipmentStatus),
    CheckConstraint("delivered_at IS NULL OR delivered_at >= shipped_at", name="delivered_at"),
)

order_lines = Table(
    "order_lines",
    metadata,
    Column("id", Integer, primary_key=True),
    _order(),
    Column("product_id", ForeignKey("products.id"), nullable=False),
    Column("shipment_id", ForeignKey("shipments.id"), comment="empty until it is packed"),
    Column("quantity", Integer, nullable=False),
    Column("unit_price", Money(), nullable=False),
    Column("discount", Money(), nullable=False, comment="of the whole line"),
    Column("paid", Money(), nullable=False, comment="quantity x unit_price - discount"),
    Column("status", String(10), nullable=False),
    UniqueConstraint("order_id", "product_id"),
    one_of("status", LineStatus),
    CheckConstraint("quantity > 0 AND unit_price > 0", name="quantity"),
    CheckConstraint("discount >= 0 AND paid >= 0", name="paid"),
)

carrier_exceptions = Table(
    "carrier_exceptions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("shipment_id", ForeignKey("shipments.id"), nullable=False, index=True),
    Column("kind", String(10), nullable=False),
    Column("status", String(20), nullable=False),
    Column("carrier_text", Text, nullable=False, comment="written by the carrier"),
    Column("opened_at", DateTime, nullable=False),
    Column("resolved_at", DateTime),
    one_of("kind", ExceptionKind),
    one_of("status", ExceptionStatus),
    CheckConstraint("(status = 'open') = (resolved_at IS NULL)", name="resolved_at"),
)

gift_cards = Table(
    "gift_cards",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("code", String(14), nullable=False, unique=True),
    Column("currency", String(3), nullable=False),
    Column("balance", Money(), nullable=False),
    Column("status", String(8), nullable=False),
    Column("valid_until", Date, nullable=False),
    created_at(),
    one_of("currency", Currency),
    one_of("status", CardStatus),
    CheckConstraint("balance >= 0", name="balance"),
)

payments = Table(
    "payments",
    metadata,
    Column("id", Integer, primary_key=True),
    _order(),
    Column("method", String(12), nullable=False),
    Column("gift_card_id", ForeignKey("gift_cards.id")),
    Column("amount", Money(), nullable=False),
    Column("reference", String(20), nullable=False, unique=True),
    Column("captured_at", DateTime, nullable=False),
    one_of("method", Method),
    CheckConstraint("(method = 'gift_card') = (gift_card_id IS NOT NULL)", name="gift_card_id"),
    CheckConstraint("amount > 0", name="amount"),
)

returns = Table(
    "returns",
    metadata,
    Column("id", Integer, primary_key=True),
    _line(),
    Column("quantity", Integer, nullable=False),
    Column("reason", String(10), nullable=False),
    Column("status", String(10), nullable=False),
    Column("condition_found", String(8), comment="what the warehouse found"),
    Column("received_at", DateTime),
    created_at(),
    one_of("reason", ReturnReason),
    one_of("status", ReturnStatus),
    one_of("condition_found", Condition),
    CheckConstraint("quantity > 0", name="quantity"),
    CheckConstraint("(status = 'received') = (received_at IS NOT NULL)", name="received_at"),
)

refunds = Table(
    "refunds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("payment_id", ForeignKey("payments.id"), nullable=False, index=True),
    _line(nullable=True),
    Column("reason", String(14), nullable=False),
    Column("amount", Money(), nullable=False),
    created_at(),
    one_of("reason", RefundReason),
    CheckConstraint("amount > 0", name="amount"),
)

credit_entries = Table(
    "credit_entries",
    metadata,
    Column("id", Integer, primary_key=True),
    _customer(),
    _order(nullable=True),
    Column("reverses_id", ForeignKey("credit_entries.id")),
    Column("reason", String(14), nullable=False),
    Column("currency", String(3), nullable=False),
    Column("amount", Money(), nullable=False, comment="negative: spent or reversed"),
    created_at(),
    one_of("reason", CreditReason),
    one_of("currency", Currency),
    CheckConstraint("amount <> 0", name="amount"),
)

warranty_claims = Table(
    "warranty_claims",
    metadata,
    Column("id", Integer, primary_key=True),
    _line(),
    Column("fault", String(14), nullable=False),
    Column("remedy", String(12), nullable=False),
    Column("item_comes_back", Boolean(name="item_comes_back"), nullable=False),
    created_at(),
    one_of("fault", Fault),
    one_of("remedy", Remedy),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", Integer, primary_key=True),
    _order(),
    Column("kind", String(22), nullable=False),
    Column("amount", Money(), nullable=False),
    Column("status", String(10), nullable=False),
    Column("decided_at", DateTime),
    Column("requested_at", DateTime, nullable=False),
    one_of("kind", ApprovalKind),
    one_of("status", ApprovalStatus),
    CheckConstraint("amount > 0", name="amount"),
    CheckConstraint("(status = 'pending') = (decided_at IS NULL)", name="decided_at"),
)

tickets = Table(
    "tickets",
    metadata,
    Column("id", Integer, primary_key=True),
    _order(),
    Column("subject", String(120), nullable=False),
    Column("status", String(8), nullable=False),
    created_at(),
    Column("updated_at", DateTime, nullable=False),
    one_of("status", TicketStatus),
)

notes = Table(
    "notes",
    metadata,
    Column("id", Integer, primary_key=True),
    _order(),
    Column("kind", String(16), nullable=False),
    Column("policy_section", String(5), nullable=False),
    Column("body", Text, nullable=False),
    created_at(),
    one_of("kind", NoteKind),
)

messages = Table(
    "messages",
    metadata,
    Column("id", Integer, primary_key=True),
    _order(),
    Column("topic", String(10), nullable=False),
    Column("body", Text, nullable=False),
    created_at(),
    one_of("topic", Topic),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("tool", String(40), nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("refused", Boolean(name="refused"), nullable=False),
    created_at(),
)

articles = articles_table(metadata)

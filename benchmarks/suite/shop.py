"""A small shop: the schema, seed and tools that the benchmarks play with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    ForeignKey,
    Integer,
    MetaData,
    Numeric,
    String,
    Table,
    func,
    select,
)

metadata = MetaData()
customers = Table(
    "customers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(80), nullable=False),
    Column("email", String(120), nullable=False, unique=True),
    Column("credit", Numeric(10, 2), nullable=False),
)
products = Table(
    "products",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(80), nullable=False),
    Column("price", Numeric(10, 2), nullable=False),
    Column("stock", Integer, nullable=False),
)
orders = Table(
    "orders",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("customer_id", ForeignKey("customers.id"), nullable=False, index=True),
    Column("status", String(20), nullable=False),
    Column("ordered_at", DateTime, nullable=False),
)
lines = Table(
    "order_lines",
    metadata,
    Column("order_id", ForeignKey("orders.id"), primary_key=True),
    Column("product_id", ForeignKey("products.id"), primary_key=True),
    Column("quantity", Integer, nullable=False),
    Column("price", Numeric(10, 2), nullable=False),
)
refunds = Table(
    "refunds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("order_id", ForeignKey("orders.id"), nullable=False),
    Column("amount", Numeric(10, 2), nullable=False),
    Column("reason", String(200), nullable=False),
)
notes = Table(
    "notes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("order_id", ForeignKey("orders.id"), nullable=False),
    Column("body", String(2000), nullable=False),
)


def seed(connection: Connection) -> None:
    """50 customers, 40 products, 200 orders of three lines."""
    connection.execute(
        customers.insert(),
        [
            {"id": n, "name": f"Customer {n}", "email": f"c{n}@shop.example", "credit": 0}
            for n in range(1, 51)
        ],
    )
    connection.execute(
        products.insert(),
        [{"id": n, "name": f"Product {n}", "price": n + 0.5, "stock": 100} for n in range(1, 41)],
    )
    placed = datetime(2026, 3, 1, 12)
    connection.execute(
        orders.insert(),
        [
            {"id": n, "customer_id": n % 50 + 1, "status": "delivered", "ordered_at": placed}
            for n in range(1, 201)
        ],
    )
    connection.execute(
        lines.insert(),
        [
            {"order_id": n, "product_id": (n + k * 7) % 40 + 1, "quantity": k + 1, "price": 10 + k}
            for n in range(1, 201)
            for k in range(3)
        ],
    )


def find_orders(connection: Connection, customer_id: int) -> dict[str, Any]:
    """The orders of a customer."""
    found = connection.execute(
        select(orders.c.id, orders.c.status).where(orders.c.customer_id == customer_id).order_by(orders.c.id)
    )
    return {"orders": [dict(row._mapping) for row in found]}


def get_order(connection: Connection, order_id: int) -> dict[str, Any]:
    """One order with its lines and its total."""
    order = connection.execute(select(orders).where(orders.c.id == order_id)).one()
    its_lines = connection.execute(
        select(products.c.name, lines.c.product_id, lines.c.quantity, lines.c.price)
        .join_from(lines, products)
        .where(lines.c.order_id == order_id)
        .order_by(lines.c.product_id)
    ).all()
    return {
        "id": order.id,
        "customer_id": order.customer_id,
        "status": order.status,
        "lines": [dict(row._mapping) | {"price": float(row.price)} for row in its_lines],
        "total": float(sum(row.quantity * row.price for row in its_lines)),
    }


def get_customer(connection: Connection, customer_id: int) -> dict[str, Any]:
    """A customer's name, address and credit."""
    row = connection.execute(select(customers).where(customers.c.id == customer_id)).one()
    return {"id": row.id, "name": row.name, "email": row.email, "credit": float(row.credit)}


def refund_order(connection: Connection, order_id: int, amount: float, reason: str) -> dict[str, Any]:
    """Return money for an order: it is marked, and the customer's credit grows."""
    order = connection.execute(select(orders).where(orders.c.id == order_id)).one()
    made = connection.execute(refunds.insert().values(order_id=order_id, amount=amount, reason=reason))
    connection.execute(orders.update().where(orders.c.id == order_id).values(status="refunded"))
    connection.execute(
        customers.update()
        .where(customers.c.id == order.customer_id)
        .values(credit=customers.c.credit + amount)
    )
    key = made.inserted_primary_key
    return {"refund_id": None if key is None else key[0]}


def add_note(connection: Connection, order_id: int, body: str) -> dict[str, Any]:
    """Write a note on an order."""
    connection.execute(notes.insert().values(order_id=order_id, body=body))
    count = connection.scalar(select(func.count()).select_from(notes).where(notes.c.order_id == order_id))
    return {"notes": count}


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("find_orders", {"customer_id": 8}),
    ("get_order", {"order_id": 57}),
    ("get_customer", {"customer_id": 8}),
    ("refund_order", {"order_id": 57, "amount": 12.5, "reason": "broken"}),
    ("add_note", {"order_id": 57, "body": "12.50 refunded: arrived broken"}),
]
"""The five tool calls of one attempt, by name and arguments."""

TOOLS = [find_orders, get_order, get_customer, refund_order, add_note]

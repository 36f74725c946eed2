"""A small shop: the schema, seed and tools that the benchmarks play with.

The tools are plain SQL: what a tool itself costs is the author's, and would hide what the attempt around it costs.
"""

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
    found = connection.exec_driver_sql(
        "SELECT id, status FROM orders WHERE customer_id = ? ORDER BY id", (customer_id,)
    )
    return {"orders": [{"id": row[0], "status": row[1]} for row in found]}


def get_order(connection: Connection, order_id: int) -> dict[str, Any]:
    """One order with its lines and its total."""
    customer_id, status = connection.exec_driver_sql(
        "SELECT customer_id, status FROM orders WHERE id = ?", (order_id,)
    ).one()
    lines = connection.exec_driver_sql(
        "SELECT product_id, name, quantity, order_lines.price FROM order_lines "
        "JOIN products ON products.id = product_id WHERE order_id = ? ORDER BY product_id",
        (order_id,),
    ).all()
    return {
        "id": order_id,
        "customer_id": customer_id,
        "status": status,
        "lines": [
            {"product_id": product, "name": name, "quantity": quantity, "price": price}
            for product, name, quantity, price in lines
        ],
        "total": sum(quantity * price for _, _, quantity, price in lines),
    }


def get_customer(connection: Connection, customer_id: int) -> dict[str, Any]:
    """A customer's name, address and credit."""
    name, email, credit = connection.exec_driver_sql(
        "SELECT name, email, credit FROM customers WHERE id = ?", (customer_id,)
    ).one()
    return {"id": customer_id, "name": name, "email": email, "credit": credit}


def refund_order(connection: Connection, order_id: int, amount: float, reason: str) -> dict[str, Any]:
    """Return money for an order: it is marked, and the customer's credit grows."""
    customer_id = connection.exec_driver_sql(
        "UPDATE orders SET status = 'refunded' WHERE id = ? RETURNING customer_id", (order_id,)
    ).scalar_one()
    refund_id = connection.exec_driver_sql(
        "INSERT INTO refunds (order_id, amount, reason) VALUES (?, ?, ?) RETURNING id",
        (order_id, amount, reason),
    ).scalar_one()
    connection.exec_driver_sql("UPDATE customers SET credit = credit + ? WHERE id = ?", (amount, customer_id))
    return {"refund_id": refund_id}


def add_note(connection: Connection, order_id: int, body: str) -> dict[str, Any]:
    """Write a note on an order."""
    connection.exec_driver_sql("INSERT INTO notes (order_id, body) VALUES (?, ?)", (order_id, body))
    count = connection.exec_driver_sql(
        "SELECT count(*) FROM notes WHERE order_id = ?", (order_id,)
    ).scalar_one()
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

"""Orders behind a server that knows nothing but SQL: `ORDERS_SERVER` names its program."""

from __future__ import annotations

import os

from sqlalchemy import Column, Connection, Integer, MetaData, Numeric, String, Table, insert

from pytest_thinkingbox import Database, Environment, Server

metadata = MetaData()
orders = Table(
    "orders",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("customer", String(80), nullable=False),
    Column("status", String(20), nullable=False),
    Column("total", Numeric(10, 2), nullable=False),
)
notes = Table(
    "notes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("order_id", Integer, nullable=False),
    Column("text", String(200), nullable=False),
)


def seed(connection: Connection) -> None:
    names = ["Dana Ortiz", "Zoë Kowalska", "Amir Haddad"]
    connection.execute(
        insert(orders),
        [
            {"id": number, "customer": name, "status": "open", "total": 10 * number}
            for number, name in enumerate(names, start=1)
        ],
    )


order_desk = Environment(
    name="orders",
    database=Database(schema=metadata, seed=seed),
    servers=[Server.stdio([os.environ["ORDERS_SERVER"], "--db-path", "{database_path}"])],
    instructions="Work on the orders with SQL.",
    mail=False,
)

"""Environments made of statements, and what attempts do to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import Connection, make_url

from pytest_thinkingbox.backends.base import Lease
from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.state.model import StateDiff

SHOP = (
    "CREATE TABLE orders (id serial PRIMARY KEY, status text NOT NULL, total numeric(10, 2))",
    "CREATE TABLE lines (id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders ON DELETE CASCADE)",
    "INSERT INTO orders (status, total) VALUES ('open', 10), ('open', 20.5)",
    "INSERT INTO lines VALUES (1, 1), (2, 1)",
)


def environment_of(*statements: str, **database: Any) -> Environment:
    """An environment whose schema and rows are these statements."""

    def schema(connection: Connection) -> None:
        cursor = connection.connection.cursor()
        for statement in statements:
            cursor.execute(statement)  # without parameters, so that % is only a character
        cursor.close()

    return Environment(name="world", database=Database(schema=schema, **database), servers=[])


@contextmanager
def raw(lease: Lease, **options: Any) -> Iterator[psycopg.Connection[Any]]:
    """A connection that the lease knows nothing of, as a tool server would have."""
    url = make_url(lease.url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=options.pop("autocommit", True), **options) as connection:
        yield connection


def changes_after(backend: PostgresBackend, environment: Environment, *statements: str) -> StateDiff:
    """What an audited read finds after an outside connection executed these statements."""

    def write(connection: psycopg.Connection[Any]) -> None:
        for statement in statements:
            connection.execute(statement)

    return changes_of(backend, environment, write)


def changes_of(
    backend: PostgresBackend, environment: Environment, write: Callable[[psycopg.Connection[Any]], None]
) -> StateDiff:
    lease = backend.acquire(environment, None, attempt_id="a")
    try:
        with raw(lease) as connection:
            write(connection)
        lease.cut()
        return lease.read_changes(audit=True)
    finally:
        lease.release()

"""Environments made of statements, and what attempts do to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest
from sqlalchemy import Connection, make_url

from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.backends.mysql.lease import MySQLLease
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.state.model import StateDiff

SHOP = (
    "CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, status VARCHAR(20) NOT NULL, total DECIMAL(10, 2))",
    "CREATE TABLE `lines` (id INT PRIMARY KEY, order_id INT NOT NULL,"
    " FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE)",
    "INSERT INTO orders (status, total) VALUES ('open', 10), ('open', 20.5)",
    "INSERT INTO `lines` VALUES (1, 1), (2, 1)",
)


BOTH = ("mariadb", pytest.param("mysql", marks=pytest.mark.slow))
only_mariadb = pytest.mark.parametrize("server", BOTH[:1], indirect=True)
only_mysql = pytest.mark.parametrize("server", BOTH[1:], indirect=True)


def environment_of(*statements: str, **database: Any) -> Environment:
    """An environment whose schema and rows are these statements."""

    def schema(connection: Connection) -> None:
        cursor = connection.connection.cursor()
        for statement in statements:
            cursor.execute(statement)  # without arguments, so that % is only a character
        cursor.close()

    return Environment(name="world", database=Database(schema=schema, **database), servers=[])


def need_version(backend: MySQLBackend, *version: int) -> None:
    """For what MySQL has only since a version."""
    found = tuple(map(int, backend._server.version.split("-")[0].split(".")))
    if found < version:
        pytest.skip(f"needs MySQL {'.'.join(map(str, version))}")


def connect(url: str, database: str | None = None, **options: Any) -> pymysql.Connection:
    found = make_url(url)
    return pymysql.connect(
        host=found.host,
        port=found.port or 3306,
        user=found.username,
        password=str(found.password),
        database=database or found.database,
        autocommit=options.pop("autocommit", True),
        **options,
    )


@contextmanager
def raw(lease: MySQLLease, **options: Any) -> Iterator[pymysql.Connection]:
    """A connection that the lease knows nothing of, as a tool server would have."""
    connection = connect(lease.url, **options)
    try:
        yield connection
    finally:
        if connection.open:
            connection.close()


def execute(connection: pymysql.Connection, statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def changes_after(backend: MySQLBackend, environment: Environment, *statements: str) -> StateDiff:
    """What is read after an outside connection of the attempt executed these statements."""

    def write(lease: MySQLLease) -> None:
        with raw(lease) as connection:
            for statement in statements:
                execute(connection, statement)

    return changes_of(backend, environment, write)


def changes_by_admin(
    backend: MySQLBackend, environment: Environment, server: str, *statements: str
) -> StateDiff:
    """The same by an administrator, who may do what no attempt may."""

    def write(lease: MySQLLease) -> None:
        connection = connect(server, lease.database)
        for statement in statements:
            execute(connection, statement)
        connection.close()

    return changes_of(backend, environment, write)


def changes_of(
    backend: MySQLBackend, environment: Environment, write: Callable[[MySQLLease], None]
) -> StateDiff:
    lease = backend.acquire(environment, None, attempt_id="a")
    try:
        write(lease)
        lease.cut()
        return lease.read_changes(audit=True)
    finally:
        lease.release()

"""A PostgreSQL server for a benchmark: the one that `--url` names, else one in a container, else the embedded one."""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from pytest_thinkingbox import Database, Environment
from pytest_thinkingbox.backends import local_server
from pytest_thinkingbox.backends.server.claims import Claim
from pytest_thinkingbox.backends.server.plan import ServerPlan

IMAGE = os.environ.get("THINKINGBOX_POSTGRES_IMAGE", "postgres:15-local")
MARIADB_IMAGE = os.environ.get("THINKINGBOX_MARIADB_IMAGE", "mariadb:10.11-local")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--url", help="a PostgreSQL server for tests and its superuser, postgresql+psycopg://..."
    )


def has_docker(image: str = IMAGE) -> bool:
    docker = shutil.which("docker")
    return (
        docker is not None
        and not subprocess.run([docker, "image", "inspect", image], capture_output=True).returncode
    )


@contextmanager
def server(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    with started(IMAGE if has_docker() else "postgres-embedded") as own:
        yield own


@contextmanager
def started(backend: str) -> Iterator[str]:
    """The URL of a server of our own, which ends with the block."""
    name = f"benchmark-{secrets.token_hex(4)}"
    own = local_server(ServerPlan.make(backend, campaign=name))
    claim = Claim(f"thinkingbox-{name}")
    try:
        yield own.ensure(image=None, options={}, say=lambda line: print(line, file=sys.stderr))
    finally:
        own.stop()
        claim.release()


def seed_of(rows: int, *, width: int, ddl: bool = False) -> Environment:
    """A table of `rows` rows of about `width` bytes, and a few small ones, as a real seed has."""

    def schema(connection: Connection) -> None:
        if connection.dialect.name != "postgresql":
            _fill(connection, rows, width)
            return
        connection.exec_driver_sql(
            "CREATE TABLE bookings (id int PRIMARY KEY, guest int, note text, total numeric)"
        )
        connection.exec_driver_sql("ALTER TABLE bookings ALTER note SET STORAGE PLAIN")
        connection.exec_driver_sql(
            f"INSERT INTO bookings SELECT i, mod(i, 97), repeat(md5(i::text), {max(1, width // 32)}), i"
            f" FROM generate_series(1, {rows}) i"
        )
        for name in ("guests", "rooms", "rates"):
            connection.exec_driver_sql(f"CREATE TABLE {name} (id int PRIMARY KEY, name text)")
            connection.exec_driver_sql(
                f"INSERT INTO {name} SELECT i, '{name} ' || i FROM generate_series(1, 100) i"
            )

    return Environment(name="benchmark", database=Database(schema=schema, ddl=ddl), servers=[])


def _fill(connection: Connection, rows: int, width: int) -> None:
    """The same tables on SQLite and on MariaDB."""
    repeated = (
        f"replace(hex(zeroblob({max(1, width // 2)})), '00', char(97 + i % 26) || char(97 + i / 26 % 26))"
        if connection.dialect.name == "sqlite"
        else f"REPEAT(MD5(i), {max(1, width // 32)})"
    )
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql("SET SESSION max_recursive_iterations = 100000000")
    connection.exec_driver_sql(
        "CREATE TABLE bookings (id INTEGER PRIMARY KEY, guest INTEGER, note TEXT, total NUMERIC(12, 2))"
    )
    _insert(connection, numbers.format(rows), "bookings", f"i, i - i / 97 * 97, {repeated}, i")
    for name in ("guests", "rooms", "rates"):
        connection.exec_driver_sql(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT)")
        _insert(connection, numbers.format(100), name, "i, 'one of them'")


def _insert(connection: Connection, numbers: str, table: str, selected: str) -> None:
    before, after = (numbers, "") if connection.dialect.name == "sqlite" else ("", numbers)
    connection.exec_driver_sql(f"{before}INSERT INTO {table} {after}SELECT {selected} FROM n")

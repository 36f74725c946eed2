"""A file of SQLite as an application with SQLAlchemy would have written it, for schemas of every kind of server."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Computed,
    Connection,
    Date,
    DateTime,
    Enum,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Uuid,
    create_engine,
    insert,
    text,
)

from pytest_thinkingbox.backends.base import Backend
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.errors import ConfigurationError

metadata = MetaData()
parents = Table(
    "parents", metadata, Column("id", Integer, primary_key=True), Column("boss", ForeignKey("parents.id"))
)
kinds = Table(
    "kinds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("parent", ForeignKey("parents.id")),
    Column("two words %", String(20)),
    Column("total", Numeric(10, 2)),
    Column("ratio", Float),
    Column("open", Boolean),
    Column("day", Date),
    Column("at", DateTime),
    Column("moment", DateTime(timezone=True)),
    Column("raw", LargeBinary),
    Column("data", JSON),
    Column("mood", Enum("sad", "happy", name="mood")),
    Column("token", Uuid),
    Column("twice", Integer, Computed("parent * 2", persisted=True)),
)

ROW: dict[str, Any] = {
    "id": 7,
    "parent": 1,
    "two words %": "ü€ 'x'",
    "total": Decimal("20.50"),
    "ratio": 0.1,
    "open": True,
    "day": date(2026, 1, 2),
    "at": datetime(2026, 1, 2, 3, 4, 5),
    "moment": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    "raw": b"\x00\xff",
    "data": {"a": [1, None]},
    "mood": "sad",
    "token": UUID(int=1),
}


def write(path: Path) -> Path:
    """Two parents that each other's boss is, in an order that no foreign key allows, and two rows of all kinds."""
    engine = create_engine(f"sqlite:///{path}")
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(parents), [{"id": 1, "boss": 2}, {"id": 2, "boss": 1}])
        connection.execute(insert(kinds), [ROW])
        connection.execute(insert(kinds), [{"id": 9}])
    engine.dispose()
    return path


def environment(seed: Path | None, *, schema: Any = metadata, triggers: tuple[str, ...] = ()) -> Environment:
    def made(connection: Connection) -> None:
        schema.create_all(connection)
        for trigger in triggers:
            connection.execute(text(trigger))

    source = schema if isinstance(schema, Path) else made
    return Environment(name="file", database=Database(schema=source, seed=seed), servers=[])


def rows(backend: Backend, loaded: Environment, table: str = "kinds") -> list[dict[str, Any]]:
    lease = backend.acquire(loaded, None, attempt_id="a")
    try:
        lease.cut()
        return [dict(one) for one in lease.rows(table, {})]
    finally:
        lease.release()


def broken(path: Path, how: str) -> Path:
    """A file that loads only in part."""
    write(path)
    if how == "cut off":
        path.write_bytes(path.read_bytes()[:-5000])
        return path
    connection = sqlite3.connect(path)
    connection.executescript(
        {
            "a table too many": "CREATE TABLE more (id INTEGER)",
            "a column too many": "ALTER TABLE kinds ADD more",
            "no such value": "UPDATE kinds SET day = 'soon' WHERE id = 7",
            "too long": "UPDATE kinds SET [two words %] = 'much more than twenty characters' WHERE id = 7",
            "no parent": "UPDATE kinds SET parent = 99",
            "twice": "DROP TABLE kinds; CREATE TABLE kinds (id); INSERT INTO kinds VALUES (1), (1)",
        }[how]
    )
    connection.close()
    return path


BROKEN = [
    ("cut off", r"is no whole database of SQLite"),
    ("a table too many", r"it has a table 'more', which the schema does not make; it makes: kinds, parents"),
    ("a column too many", r"kinds has a column 'more', which the schema does not make"),
    ("no parent", r"loads only in part"),
    ("twice", r"kinds"),
]
BROKEN_ON_SERVERS = [
    *BROKEN,
    ("no such value", r"seed .*: kinds\.day: 'soon' does not fit: Invalid isoformat string"),
    ("too long", r"kinds: .*too long"),
]


def check_refused(backend: Backend, path: Path, how: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        backend.prepare(environment(broken(path, how)))

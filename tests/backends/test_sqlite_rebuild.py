"""The final state of an attempt, made again from its stored changes."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import (
    JSON,
    Column,
    Connection,
    DateTime,
    Integer,
    MetaData,
    Numeric,
    Table,
    Uuid,
    insert,
    text,
)

from pytest_thinkingbox.backends.base import NotInRecord
from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.state.codec import decode_diff, encode_diff
from pytest_thinkingbox.state.model import RowChange, StateDiff
from pytest_thinkingbox.state.values import canonical_row

from .sqlite_worlds import World, changes_after, environment_of, execute_all, raw, worlds


def stored(diff: StateDiff) -> StateDiff:
    """As it comes back from a record."""
    return decode_diff(json.loads(json.dumps(encode_diff(diff))))


def rebuilt(backend: SqliteBackend, environment: Environment, diff: StateDiff) -> Any:
    lease = backend.acquire(environment, None, attempt_id="again")
    lease.rebuild(stored(diff))
    lease.cut()
    return lease


def check(backend: SqliteBackend, environment: Environment, *statements: str) -> StateDiff:
    """Play these statements, make the state again from the changes, and compare."""
    diff = changes_after(backend, environment, *statements)
    lease = rebuilt(backend, environment, diff)
    try:
        assert lease.read_changes(audit=True) == diff
    finally:
        lease.release()
    return diff


SHOP = environment_of(
    "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, n NUMERIC(10, 2) CHECK (n < 100))",
    "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2.5), (3, 'c', NULL)",
    "CREATE TABLE child (id INTEGER PRIMARY KEY, t REFERENCES t ON DELETE CASCADE, twice AS (t * 2))",
    "INSERT INTO child (t) VALUES (1), (2)",
    "CREATE TABLE log (line TEXT)",
    "CREATE TRIGGER logs AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (old.u || new.u); END",
    "CREATE INDEX by_n ON t (n)",
    "CREATE VIEW v AS SELECT u FROM t",
)


@pytest.mark.parametrize(
    "statements",
    [
        (),
        ("UPDATE t SET n = 9.99 WHERE id = 2",),
        ("DELETE FROM t WHERE id = 1",),
        ("UPDATE t SET u = CASE id WHEN 1 THEN 'x' ELSE u END", "UPDATE t SET u = 'a' WHERE id = 2"),
        ("INSERT INTO log VALUES ('s'), ('s'), (NULL), (CAST(x'ff61' AS TEXT))", "UPDATE child SET t = 2"),
        ("DROP TRIGGER logs", "UPDATE t SET u = 'z' WHERE id = 3", "CREATE INDEX more ON t (u, n)"),
        ("DROP VIEW v", "CREATE VIEW v AS SELECT n FROM t", "DROP INDEX by_n", "PRAGMA user_version = 7"),
        ("DROP TABLE child",),
        ("CREATE TRIGGER mine AFTER INSERT ON log BEGIN DELETE FROM t; END",),
    ],
)
def test_changes_make_the_same_state_again(backend: SqliteBackend, statements: tuple[str, ...]) -> None:
    check(backend, SHOP, *statements)


def test_two_rows_that_exchanged_a_unique_value(backend: SqliteBackend) -> None:
    diff = check(
        backend,
        SHOP,
        "UPDATE t SET u = 'x' WHERE id = 1",
        "UPDATE t SET u = 'a' WHERE id = 2",
        "UPDATE t SET u = 'b' WHERE id = 1",
    )
    assert [change.after["u"] for change in diff.rows if change.table == "t" and change.after] == ["b", "a"]


def test_an_updated_row_keeps_its_place_and_what_did_not_change_its_bytes(backend: SqliteBackend) -> None:
    environment = environment_of(
        "CREATE TABLE t (at DATETIME, n)",
        "INSERT INTO t VALUES ('2026-01-02T03:04', 1), ('2026-01-03 00:00:00', 2)",
    )
    diff = changes_after(backend, environment, "DELETE FROM t WHERE n = 2", "INSERT INTO t VALUES (NULL, 3)")
    lease = rebuilt(backend, environment, diff)
    assert lease.connect_after().execute(text("SELECT at, n FROM t")).fetchall() == [
        ("2026-01-02T03:04", 1),
        (None, 3),
    ]
    lease.release()


def test_values_are_stored_as_the_types_of_the_metadata_store_them(backend: SqliteBackend) -> None:
    metadata = MetaData()
    table = Table(
        "t",
        metadata,
        Column("id", Integer, primary_key=True),
        Column("at", DateTime),
        Column("total", Numeric(10, 2)),
        Column("key", Uuid),
        Column("data", JSON),
    )
    environment = Environment(name="world", database=Database(schema=metadata), servers=[])
    row = {
        "id": 1,
        "at": datetime(2026, 1, 2, 3, 4, 5),
        "total": Decimal("25.10"),
        "key": UUID(int=7),
        "data": {"a": [1, None]},
    }

    def write(connection: Connection) -> None:
        connection.execute(insert(table), row)

    lease = backend.acquire(environment, None, attempt_id="a")
    with lease.engine.begin() as connection:
        write(connection)
    lease.cut()
    diff = lease.read_changes(audit=True)
    query = text("SELECT *, typeof(total) FROM t")
    as_played = lease.connect_after().execute(query).fetchall()
    lease.release()
    again = rebuilt(backend, environment, diff)
    assert again.connect_after().execute(query).fetchall() == as_played
    assert as_played[0][1:4] == ("2026-01-02 03:04:05.000000", 25.1, UUID(int=7).hex)
    again.release()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE TABLE mine (x)", "table mine was created"),
        ("ALTER TABLE log ADD COLUMN more", "table log was altered"),
    ],
)
def test_what_a_record_does_not_hold_is_said(backend: SqliteBackend, statement: str, reason: str) -> None:
    diff = changes_after(backend, SHOP, statement)
    with pytest.raises(NotInRecord, match=reason):
        rebuilt(backend, SHOP, diff)


def test_changes_of_another_seed_do_not_fit(backend: SqliteBackend) -> None:
    change = RowChange("delete", "log", None, {"line": "never there"}, None)
    with pytest.raises(NotInRecord, match=r"log: the seed has no row \{'line': 'never there'\}"):
        rebuilt(backend, SHOP, StateDiff(rows=(change,)))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds())
def test_random_changes_make_the_same_rows_again(tmp_path: Path, world: World) -> None:
    backend = SqliteBackend(label="test", directory=tmp_path)
    try:
        environment = world.environment()
        lease = backend.acquire(environment, None, attempt_id="a")
        with raw(lease) as connection:
            execute_all(connection, world.writes)
        lease.cut()
        diff = lease.read_changes(audit=True)
        rows = {shape.name: dump(lease, shape.name) for shape in world.shapes}
        lease.release()
        again = rebuilt(backend, environment, diff)
        assert again.read_changes(audit=True) == diff
        assert {shape.name: dump(again, shape.name) for shape in world.shapes} == rows
        again.release()
    finally:
        backend.close()


def dump(lease: Any, table: str) -> list[Any]:
    return sorted((canonical_row(row) for row in lease.rows(table, {})), key=repr)


def test_a_kept_database_is_the_final_state(backend: SqliteBackend, tmp_path: Path) -> None:
    lease = backend.acquire(SHOP, None, attempt_id="a")
    with raw(lease) as connection:
        connection.execute("UPDATE t SET u = 'kept' WHERE id = 1")
    lease.cut()
    kept = lease.keep(tmp_path / "try1")
    lease.release()
    assert kept == tmp_path / "try1.sqlite"
    connection = sqlite3.connect(kept)
    assert connection.execute("SELECT u FROM t ORDER BY id").fetchall() == [("kept",), ("b",), ("c",)]
    connection.close()

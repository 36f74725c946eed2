"""The fast ways to read changes say what full comparison says, always."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from pytest_thinkingbox.backends.base import AuditMismatch
from pytest_thinkingbox.backends.sqlite import SqliteBackend, quick
from pytest_thinkingbox.backends.sqlite.compare import full_candidates, read_diff
from pytest_thinkingbox.backends.sqlite.net import Candidates, Comparison
from pytest_thinkingbox.backends.sqlite.quick import join_candidates
from pytest_thinkingbox.declare import Database, Environment

from .sqlite_worlds import World, changes_after, environment_of, execute_all, raw, worlds

PROPERTY = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
THOROUGH = settings(PROPERTY, max_examples=300)


def check_world(directory: Path, world: World) -> None:
    backend = SqliteBackend(label="p", directory=directory)
    try:
        environment = world.environment()
        for _ in range(2):  # the second attempt may get what the first gave back
            lease = backend.acquire(environment, None, attempt_id="a")
            with raw(lease) as connection:
                with suppress(sqlite3.OperationalError):  # an overlay stays in WAL mode
                    connection.execute(f"PRAGMA journal_mode = {world.journal}").fetchall()
                execute_all(connection, world.writes)
            lease.cut()
            diff = lease.read_changes(audit=True)
            event(f"{min(len(diff.rows), 3)} changes")
            judge, catalog = lease._judge, lease.template.catalog
            assert judge is not None
            assert read_diff(judge, catalog, join_candidates) == read_diff(judge, catalog, full_candidates)
            lease.release()
    finally:
        backend.close()


@PROPERTY
@given(world=worlds())
def test_fast_equals_full_always(tmp_path_factory: pytest.TempPathFactory, placed: str, world: World) -> None:
    check_world(tmp_path_factory.getbasetemp(), world)


@pytest.mark.slow
@THOROUGH
@given(world=worlds())
def test_fast_equals_full_in_many_worlds(
    tmp_path_factory: pytest.TempPathFactory, placed: str, world: World
) -> None:
    check_world(tmp_path_factory.getbasetemp(), world)


# ---------------------------------------- trees of several levels

_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "


def forest(rows: int, pragma: str = "PRAGMA page_size = 512") -> Environment:
    """Tables whose trees have three levels, for their pages are tiny."""

    def schema(connection: Connection) -> None:
        for statement in (
            pragma,
            "CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT)",
            "CREATE TABLE b (k TEXT PRIMARY KEY, v)",
            "CREATE TABLE c (v)",
            "CREATE TABLE d (k INTEGER, v, PRIMARY KEY (v, k)) WITHOUT ROWID",
            "CREATE TABLE empty (id INTEGER PRIMARY KEY, v)",
            "CREATE INDEX i ON a (v)",
            _NUMBERS.format(rows)
            + "INSERT INTO a SELECT i * 3, substr('abcdefghijklmnopqrstuvwxyz', i % 20) FROM n",
            _NUMBERS.format(rows // 3) + "INSERT INTO b SELECT 'key' || i, i % 7 FROM n",
            _NUMBERS.format(rows // 3) + "INSERT INTO c SELECT i % 50 FROM n",
            _NUMBERS.format(rows // 9) + "INSERT INTO d SELECT i, i % 5 FROM n",
            "INSERT INTO a VALUES (-5, replace(hex(zeroblob(2000)), '0', 'long'))",
            "DELETE FROM c WHERE rowid % 11 = 0",
        ):
            connection.exec_driver_sql(statement)

    return Environment(name="forest", database=Database(schema=schema), servers=[])


def _edits(rows: int) -> st.SearchStrategy[str]:
    at = st.integers(-5, rows * 3 + 5)
    width = st.sampled_from([1, 1, 2, 10, 100, 3000])
    length = st.sampled_from([1, 5, 30, 400, 3000])
    table = st.sampled_from(["a", "b", "c"])
    return st.one_of(
        st.builds("UPDATE {} SET v = v || 'x' WHERE rowid BETWEEN {} AND {} + 1".format, table, at, at),
        st.builds(
            "UPDATE a SET v = hex(zeroblob({1})) WHERE id >= {0} AND id < {0} + {2}".format, at, length, width
        ),
        st.builds("DELETE FROM {0} WHERE rowid >= {1} AND rowid < {1} + {2}".format, table, at, width),
        st.builds(
            "INSERT OR REPLACE INTO a SELECT {} + i, {} || '' FROM n WHERE i <= {}".format, at, at, width
        ).map((_NUMBERS.format(3000)).__add__),
        st.builds("REPLACE INTO b SELECT 'key' || ({} + i), i FROM n WHERE i <= {}".format, at, width).map(
            (_NUMBERS.format(300)).__add__
        ),
        st.builds("INSERT INTO c VALUES ({})".format, at),
        st.builds("UPDATE a SET v = substr(v, 1, 7000) || '{}' WHERE id = -5".format, at),
        st.builds("UPDATE a SET id = id + 1 WHERE id = {}".format, at),
        st.builds("INSERT OR IGNORE INTO d VALUES ({}, 'new')".format, at),
        st.builds("DELETE FROM d WHERE k = {}".format, at),
        st.builds("INSERT INTO empty (v) VALUES ({})".format, at),
        st.sampled_from(
            [
                "DELETE FROM a",
                "DELETE FROM c",
                "VACUUM",
                "ALTER TABLE a ADD COLUMN w DEFAULT 1",
                "CREATE TABLE IF NOT EXISTS other AS SELECT * FROM a LIMIT 200",
                "DROP TABLE IF EXISTS other",
                "DROP TABLE c",
                "CREATE TABLE IF NOT EXISTS c (v)",
                "CREATE INDEX IF NOT EXISTS j ON a (v, id)",
                "DROP INDEX IF EXISTS i",
                "PRAGMA wal_checkpoint(TRUNCATE)",
                "PRAGMA journal_mode = WAL",
                "PRAGMA journal_mode = DELETE",
                "BEGIN; COMMIT",
            ]
        ),
    )


@pytest.fixture(scope="module")
def forests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SqliteBackend, Environment]]:
    backend = SqliteBackend(label="forest", directory=tmp_path_factory.mktemp("forest"))
    yield backend, forest(3000)
    backend.close()


def check_forest(backend: SqliteBackend, environment: Environment, edits: list[str]) -> None:
    lease = backend.acquire(environment, None, attempt_id="a")
    try:
        with raw(lease, timeout=0) as connection:
            for edit in edits:
                with suppress(
                    sqlite3.IntegrityError, sqlite3.OperationalError
                ):  # after what an earlier edit did
                    connection.executescript(edit)
        lease.cut()
        lease.read_changes(audit=True)
    finally:
        lease.release()


@PROPERTY
@given(edits=st.lists(_edits(3000), min_size=1, max_size=5))
def test_fast_equals_full_in_deep_trees(forests: Any, placed: str, edits: list[str]) -> None:
    check_forest(*forests, edits)


@pytest.mark.slow
@THOROUGH
@given(edits=st.lists(_edits(3000), min_size=1, max_size=9))
def test_fast_equals_full_in_many_deep_trees(forests: Any, placed: str, edits: list[str]) -> None:
    check_forest(*forests, edits)


# ---------------------------------------- that they are fast ways at all


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tables that were joined rather than compared by pages."""
    joined: list[str] = []

    def join(connection: sqlite3.Connection, comparison: Comparison) -> Candidates:
        joined.append(comparison.table)
        return join_candidates(connection, comparison)

    monkeypatch.setattr(quick, "join_candidates", join)
    return joined


@pytest.mark.parametrize(
    ("statement", "joined"),
    [
        ("UPDATE a SET v = 'new' WHERE id = 900", []),
        ("DELETE FROM b WHERE k = 'key7'", []),
        ("INSERT INTO c SELECT v FROM c", []),
        ("DELETE FROM a WHERE id BETWEEN 1 AND 400", []),
        ("UPDATE d SET k = -1 WHERE k = 7", ["d"]),
        ("UPDATE a SET v = substr(v, 1, 7999) || '!' WHERE id = -5", ["a"]),
        ("ALTER TABLE b ADD COLUMN w", ["b"]),
    ],
)
def test_only_tables_that_pages_cannot_tell_are_joined(
    backend: SqliteBackend, placed: str, joins: list[str], statement: str, joined: list[str]
) -> None:
    changes_after(backend, forest(2000), statement)
    assert joins == joined


def test_a_file_with_auto_vacuum_is_joined(backend: SqliteBackend, placed: str) -> None:
    environment = forest(500, "PRAGMA auto_vacuum = FULL")
    assert len(changes_after(backend, environment, "DELETE FROM a WHERE id = 30").rows) == 1


def test_another_page_size_is_joined(backend: SqliteBackend) -> None:
    edits = ("PRAGMA page_size = 4096", "VACUUM", "DELETE FROM a WHERE id = 30")
    assert len(changes_after(backend, forest(500), *edits).rows) == 1


def test_an_audit_finds_what_the_fast_path_misses(
    backend: SqliteBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    blind: Callable[..., Candidates] = lambda self, connection, comparison: Candidates(gone=[], come=[])  # noqa: E731
    monkeypatch.setattr(quick.PageCandidates, "__call__", blind)
    environment = environment_of("CREATE TABLE t (x)")
    with pytest.raises(AuditMismatch, match="full comparison"):
        changes_after(backend, environment, "INSERT INTO t VALUES (1)")

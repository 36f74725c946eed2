"""What counts as a change, and how it reads."""

from __future__ import annotations

import os
import shutil
import sqlite3
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import JSON, Column, DateTime, Integer, Interval, MetaData, String, Table, TypeDecorator, Uuid

from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.state.model import RowChange, SchemaDelta

from .sqlite_worlds import changes_after, environment_of, raw

pytestmark = pytest.mark.usefixtures("placed")

HOTEL = environment_of(
    "CREATE TABLE Bookings (id INTEGER PRIMARY KEY AUTOINCREMENT, room TEXT, total NUMERIC(10, 2), paid BOOLEAN)",
    "INSERT INTO Bookings VALUES (1042, 'suite', 1450, 0), (1043, 'single', 80.5, 1)",
    "CREATE TABLE rooms (code TEXT PRIMARY KEY NOT NULL, beds INTEGER) WITHOUT ROWID",
    "INSERT INTO rooms VALUES ('suite', 2)",
    "CREATE TABLE log (line TEXT, n)",
    "INSERT INTO log VALUES ('a', 1), ('a', 1), ('b', 2)",
)


def test_an_attempt_that_does_nothing_changes_nothing(backend: SqliteBackend) -> None:
    diff = changes_after(backend, HOTEL)
    assert (diff.rows, diff.schema) == ((), ())


def test_t9_one_changed_row_names_table_key_and_whole_row(backend: SqliteBackend) -> None:
    [change] = changes_after(backend, HOTEL, "UPDATE bookings SET total = 980 WHERE id = 1042").rows
    assert change == RowChange(
        "update",
        "Bookings",
        (1042,),
        {"id": 1042, "room": "suite", "total": Decimal(1450), "paid": False},
        {"id": 1042, "room": "suite", "total": Decimal(980), "paid": False},
    )


def test_replace_with_the_same_key_is_an_update(backend: SqliteBackend) -> None:
    [change] = changes_after(backend, HOTEL, "INSERT OR REPLACE INTO rooms VALUES ('suite', 3)").rows
    assert (change.kind, change.key, change.after) == ("update", ("suite",), {"code": "suite", "beds": 3})


def test_replace_that_pushes_out_another_row_shows_both(backend: SqliteBackend) -> None:
    environment = environment_of(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, u UNIQUE)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')"
    )
    diff = changes_after(backend, environment, "REPLACE INTO t VALUES (2, 'a')")
    assert [(change.kind, change.key) for change in diff.rows] == [("delete", (1,)), ("update", (2,))]


def test_a_changed_primary_key_is_a_delete_and_an_insert(backend: SqliteBackend) -> None:
    diff = changes_after(backend, HOTEL, "UPDATE rooms SET code = 'Suite'")
    assert [(change.kind, change.key) for change in diff.rows] == [
        ("insert", ("Suite",)),
        ("delete", ("suite",)),
    ]


def test_what_was_written_and_reverted_is_no_change(backend: SqliteBackend) -> None:
    diff = changes_after(
        backend,
        HOTEL,
        "UPDATE bookings SET room = 'x'",
        "DELETE FROM log",
        "INSERT INTO log VALUES ('b', 2), ('a', 1), ('a', 1)",
        "UPDATE bookings SET room = CASE id WHEN 1042 THEN 'suite' ELSE 'single' END",
        "DROP TABLE rooms",
        "CREATE TABLE rooms (code TEXT PRIMARY KEY NOT NULL, beds INTEGER) WITHOUT ROWID",
        "INSERT INTO rooms VALUES ('suite', 2)",
    )
    assert (diff.rows, diff.schema) == ((), ())


def test_a_table_without_a_key_is_compared_as_a_multiset(backend: SqliteBackend) -> None:
    diff = changes_after(
        backend, HOTEL, "DELETE FROM log WHERE rowid = 1", "UPDATE log SET n = 3 WHERE line = 'b'"
    )
    assert diff.rows == (
        RowChange("delete", "log", None, {"line": "a", "n": 1}, None),
        RowChange("delete", "log", None, {"line": "b", "n": 2}, None),
        RowChange("insert", "log", None, None, {"line": "b", "n": 3}),
    )


@pytest.mark.parametrize(
    ("declared", "old", "new"),
    [
        ("NUMERIC(10, 2)", "25", "'25.00'"),
        ("REAL", "25", "25.0"),
        ("", "25", "25.0"),
        ("JSON", """'{"a": 1, "b": [2]}'""", """'{"b":[2],"a":1}'"""),
        ("DATETIME", "'2024-05-01 12:00:00+02:00'", "'2024-05-01T10:00:00Z'"),
        ("DATETIME", "'2024-05-01 12:00:00'", "'2024-05-01T12:00:00.000000'"),
        ("TEXT", "NULL", "NULL"),
    ],
)
def test_t10_equal_values_are_no_change(backend: SqliteBackend, declared: str, old: str, new: str) -> None:
    environment = environment_of(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})", f"INSERT INTO t VALUES (1, {old})"
    )
    diff = changes_after(backend, environment, "DELETE FROM t", f"INSERT INTO t VALUES (1, {new})")
    assert diff.rows == ()


@pytest.mark.parametrize(
    ("declared", "old", "new"),
    [
        ("", "1", "'1'"),
        ("", "'a'", "x'61'"),
        ("TEXT COLLATE NOCASE", "'a'", "'A'"),
        ("TEXT COLLATE RTRIM", "'a'", "'a '"),
        ("TEXT", "''", "NULL"),
        ("", "9007199254740992.0", "9007199254740993"),
        ("INTEGER", "9223372036854775806", "9223372036854775807"),
        ("TEXT", "CAST(x'ff' AS TEXT)", "CAST(x'fe' AS TEXT)"),
        ("TEXT", "'a'", "'a' || char(0) || 'b'"),
        ("JSON", "'[1, 2]'", "'[2, 1]'"),
        ("NUMERIC(10, 2)", "0.1", "0.10000000000000002"),
    ],
)
def test_unequal_values_are_a_change(backend: SqliteBackend, declared: str, old: str, new: str) -> None:
    environment = environment_of(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})", f"INSERT INTO t VALUES (1, {old})"
    )
    [change] = changes_after(backend, environment, f"UPDATE t SET v = {new}").rows
    assert change.kind == "update"


def test_only_rows_that_moved_are_no_change(backend: SqliteBackend) -> None:
    diff = changes_after(backend, HOTEL, "VACUUM", "REINDEX", "ANALYZE")
    assert (diff.rows, diff.schema) == ((), ())


def test_used_up_sequence_values_are_no_change(backend: SqliteBackend) -> None:
    insert = "INSERT INTO bookings (room) VALUES ('x')"
    diff = changes_after(backend, HOTEL, insert, insert, "DELETE FROM bookings WHERE id > 1043")
    assert (diff.rows, diff.schema) == ((), ())


def test_the_sequence_starts_again_in_the_next_attempt(backend: SqliteBackend) -> None:
    for _ in range(2):
        [change] = changes_after(backend, HOTEL, "INSERT INTO bookings (room) VALUES ('x')").rows
        assert change.key == (1044,)


def test_composite_keys_come_in_key_order(backend: SqliteBackend) -> None:
    environment = environment_of("CREATE TABLE t (a TEXT, b INTEGER, c, PRIMARY KEY (b, a))")
    [change] = changes_after(backend, environment, "INSERT INTO t VALUES ('x', 7, NULL)").rows
    assert change.key == (7, "x")


def test_rows_with_null_in_the_key_may_share_it(backend: SqliteBackend) -> None:
    environment = environment_of(
        "CREATE TABLE t (k TEXT PRIMARY KEY, v)", "INSERT INTO t VALUES (NULL, 1), (NULL, 2), ('x', 3)"
    )
    diff = changes_after(backend, environment, "UPDATE t SET v = v + 10")
    assert [(change.kind, change.key, (change.after or change.before)["v"]) for change in diff.rows] == [
        ("delete", (None,), 1),
        ("delete", (None,), 2),
        ("insert", (None,), 11),
        ("insert", (None,), 12),
        ("update", ("x",), 13),
    ]


@pytest.mark.parametrize("storage", ["VIRTUAL", "STORED"])
def test_generated_columns_are_read_and_named_as_such(backend: SqliteBackend, storage: str) -> None:
    environment = environment_of(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, a INT, b INT GENERATED ALWAYS AS (a * 2) {storage})",
        "INSERT INTO t VALUES (1, 4)",
    )
    lease = backend.acquire(environment, None, attempt_id="a")
    assert lease.rules.tables["t"].generated == {"id", "b"}
    [change] = changes_after(backend, environment, "UPDATE t SET a = 5").rows
    assert (change.before, change.after) == ({"id": 1, "a": 4, "b": 8}, {"id": 1, "a": 5, "b": 10})


def test_only_an_alias_of_the_rowid_is_a_generated_key(backend: SqliteBackend) -> None:
    environment = environment_of(
        "CREATE TABLE alias (id INTEGER PRIMARY KEY)",
        "CREATE TABLE quirk (id INTEGER PRIMARY KEY DESC)",
        "CREATE TABLE short (id INT PRIMARY KEY)",
        "CREATE TABLE flat (id INTEGER PRIMARY KEY) WITHOUT ROWID",
    )
    tables = backend.acquire(environment, None, attempt_id="a").rules.tables
    assert {name for name, info in tables.items() if info.generated} == {"alias"}


def test_a_change_deep_in_a_long_text_is_found(backend: SqliteBackend) -> None:
    environment = environment_of(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v)",
        "INSERT INTO t VALUES (1, replace(hex(zeroblob(90000)), '0', 'x'))",
    )
    [change] = changes_after(backend, environment, "UPDATE t SET v = substr(v, 1, 179999) || 'y'").rows
    assert (len(change.before["v"]), change.before["v"][-1], change.after["v"][-1]) == (180_000, "x", "y")


def test_strict_tables_and_expression_indexes_are_read_like_others(backend: SqliteBackend) -> None:
    environment = environment_of(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v ANY) STRICT",
        "CREATE UNIQUE INDEX i ON t (lower(v)) WHERE v IS NOT NULL",
        "INSERT INTO t VALUES (1, 'A')",
    )
    [change] = changes_after(backend, environment, "UPDATE t SET v = 'a'").rows
    assert (change.before, change.after) == ({"id": 1, "v": "A"}, {"id": 1, "v": "a"})


def test_full_text_tables_are_compared_by_their_content(backend: SqliteBackend) -> None:
    environment = environment_of(
        "CREATE VIRTUAL TABLE notes USING fts5(title, body)",
        "INSERT INTO notes VALUES ('a', 'red'), ('b', 'blue')",
    )
    assert list(backend.acquire(environment, None, attempt_id="a").rules.tables) == ["notes"]
    diff = changes_after(backend, environment, "UPDATE notes SET body = 'green' WHERE title = 'b'")
    assert diff.rows == (
        RowChange("delete", "notes", None, {"title": "b", "body": "blue"}, None),
        RowChange("insert", "notes", None, None, {"title": "b", "body": "green"}),
    )
    assert diff.schema == ()
    optimized = changes_after(backend, environment, "INSERT INTO notes(notes) VALUES ('optimize')")
    assert (optimized.rows, optimized.schema) == ((), ())


def test_a_full_text_table_of_the_agent_is_one_created_table(backend: SqliteBackend) -> None:
    diff = changes_after(backend, HOTEL, "CREATE VIRTUAL TABLE f USING fts5(x)", "INSERT INTO f VALUES ('y')")
    assert diff.schema == (
        SchemaDelta("created", "table", "f", after="CREATE VIRTUAL TABLE f USING fts5(x)"),
    )


def test_temporary_and_attached_tables_are_no_change(backend: SqliteBackend, tmp_path: Path) -> None:
    diff = changes_after(
        backend,
        HOTEL,
        "CREATE TEMP TABLE log (x)",
        "INSERT INTO log VALUES (1)",
        f"ATTACH '{tmp_path / 'other.sqlite'}' AS other",
        "CREATE TABLE other.bookings (id INTEGER PRIMARY KEY)",
        "INSERT INTO other.bookings VALUES (1)",
        "CREATE TEMP TRIGGER t AFTER INSERT ON main.log BEGIN DELETE FROM log; END",
    )
    assert (diff.rows, diff.schema) == ((), ())


@pytest.mark.parametrize("mode", ["wal", "truncate", "persist", "memory", "off", "delete"])
def test_the_agent_may_switch_the_journal_mode(backend: SqliteBackend, placed: str, mode: str) -> None:
    if placed == "overlay" and mode != "wal":  # an overlay stays in WAL mode, and says so
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            changes_after(backend, HOTEL, "PRAGMA busy_timeout = 0", f"PRAGMA journal_mode = {mode}")
        return
    diff = changes_after(backend, HOTEL, f"PRAGMA journal_mode = {mode}", "DELETE FROM rooms")
    assert ([change.kind for change in diff.rows], diff.schema) == (["delete"], ())


# ---------------------------------------- the schema


def test_t8_dropped_created_and_altered_objects_are_named(backend: SqliteBackend) -> None:
    diff = changes_after(
        backend,
        HOTEL,
        "DROP TABLE log",
        "CREATE TABLE mine (x)",
        "INSERT INTO mine VALUES (1)",
        "CREATE INDEX slow ON Bookings (room)",
        "CREATE VIEW all_rooms AS SELECT * FROM rooms",
        "CREATE TRIGGER evil AFTER UPDATE ON rooms BEGIN DELETE FROM bookings; END",
        "ALTER TABLE rooms ADD COLUMN view TEXT",
    )
    assert diff.rows == ()
    assert [(delta.action, delta.type, delta.name) for delta in diff.schema] == [
        ("dropped", "table", "log"),
        ("created", "table", "mine"),
        ("altered", "table", "rooms"),
        ("created", "index", "slow"),
        ("created", "trigger", "evil"),
        ("created", "view", "all_rooms"),
    ]
    assert diff.schema[0].before == "CREATE TABLE log (line TEXT, n)"
    assert diff.schema[3].after == "CREATE INDEX slow ON Bookings (room)"


def test_t8_the_next_attempt_is_clean(backend: SqliteBackend) -> None:
    changes_after(
        backend,
        HOTEL,
        "DROP TABLE log",
        "CREATE TRIGGER evil AFTER UPDATE ON rooms BEGIN DELETE FROM bookings; END",
        "INSERT INTO bookings (room) VALUES ('x')",
        "PRAGMA user_version = 9",
        "PRAGMA journal_mode = WAL",
    )
    diff = changes_after(backend, HOTEL, "UPDATE rooms SET beds = 2")
    assert (diff.rows, diff.schema) == ((), ())


def test_a_table_with_another_column_is_compared_by_those_that_it_kept(backend: SqliteBackend) -> None:
    diff = changes_after(
        backend,
        HOTEL,
        "ALTER TABLE bookings DROP COLUMN paid",
        "UPDATE bookings SET room = 'x' WHERE id = 1043",
    )
    [change] = diff.rows
    assert change.after == {"id": 1043, "room": "x", "total": Decimal("80.5")}
    assert [(delta.action, delta.name) for delta in diff.schema] == [("altered", "Bookings")]


def test_a_table_that_was_made_again_with_another_key_is_compared_as_one_without(
    backend: SqliteBackend,
) -> None:
    diff = changes_after(
        backend,
        HOTEL,
        "DROP TABLE rooms",
        "CREATE TABLE rooms (code TEXT, beds)",
        "INSERT INTO rooms VALUES ('suite', 3)",
    )
    assert [(change.kind, change.key) for change in diff.rows] == [("delete", None), ("insert", None)]
    assert [(delta.action, delta.name) for delta in diff.schema] == [("altered", "rooms")]


def test_a_table_that_became_a_view_is_dropped(backend: SqliteBackend) -> None:
    diff = changes_after(backend, HOTEL, "DROP TABLE log", "CREATE VIEW log AS SELECT 1")
    assert [(delta.action, delta.type, delta.name) for delta in diff.schema] == [
        ("dropped", "table", "log"),
        ("created", "view", "log"),
    ]


def test_numbers_in_the_file_header_are_part_of_the_schema(backend: SqliteBackend) -> None:
    diff = changes_after(backend, HOTEL, "PRAGMA user_version = 3", "PRAGMA application_id = 77")
    assert diff.schema == (
        SchemaDelta("altered", "pragma", "application_id", before="0", after="77"),
        SchemaDelta("altered", "pragma", "user_version", before="0", after="3"),
    )


def test_a_hand_edited_schema_is_named(backend: SqliteBackend) -> None:
    diff = changes_after(
        backend,
        HOTEL,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'line TEXT', 'line BLOB') WHERE name = 'log'",
    )
    assert [(delta.action, delta.name) for delta in diff.schema] == [("altered", "log")]


def test_a_file_that_is_no_database_any_more_is_the_agents_doing(backend: SqliteBackend) -> None:
    lease = backend.acquire(HOTEL, None, attempt_id="a")
    path = lease.url.removeprefix("sqlite:///")
    with open(path, "r+b") as file:
        file.write(b"no database at all " * 100)
    lease.cut()
    [delta] = lease.read_changes(audit=True).schema
    assert (delta.action, delta.type, delta.after) == ("altered", "file", "file is not a database")


def test_a_deleted_file_is_every_table_dropped(backend: SqliteBackend) -> None:
    lease = backend.acquire(HOTEL, None, attempt_id="a")
    os.unlink(lease.url.removeprefix("sqlite:///"))
    lease.cut()
    diff = lease.read_changes(audit=True)
    assert [(delta.action, delta.name) for delta in diff.schema] == [
        ("dropped", "Bookings"),
        ("dropped", "log"),
        ("dropped", "rooms"),
    ]


def test_a_file_that_was_replaced_by_another_is_read_as_it_is(backend: SqliteBackend, tmp_path: Path) -> None:
    lease = backend.acquire(HOTEL, None, attempt_id="a")
    path = lease.url.removeprefix("sqlite:///")
    shutil.copyfile(path, tmp_path / "copy")
    connection = sqlite3.connect(tmp_path / "copy")
    connection.execute("DELETE FROM rooms")
    connection.commit()
    connection.close()
    shutil.copyfile(tmp_path / "copy", f"{path}.new")
    os.replace(f"{path}.new", path)
    lease.cut()
    assert [change.table for change in lease.read_changes(audit=True).rows] == ["rooms"]


def test_a_database_in_another_encoding_is_one_change_of_the_schema(backend: SqliteBackend) -> None:
    lease = backend.acquire(HOTEL, None, attempt_id="a")
    os.unlink(lease.url.removeprefix("sqlite:///"))
    with raw(lease) as connection:
        connection.execute("PRAGMA encoding = 'UTF-16le'")
        connection.execute("CREATE TABLE rooms (x)")
    lease.cut()
    [delta] = lease.read_changes(audit=True).schema
    assert (delta.action, delta.type) == ("altered", "file")
    assert "encoding" in delta.after


def test_functions_and_collations_that_only_the_agent_has(backend: SqliteBackend) -> None:
    lease = backend.acquire(HOTEL, None, attempt_id="a")
    with raw(lease) as connection:
        connection.create_function("own", 1, lambda value: value, deterministic=True)
        connection.create_collation("own", lambda a, b: (a > b) - (a < b))
        connection.execute("CREATE INDEX i ON rooms (own(beds))")
        connection.execute("CREATE INDEX j ON log (line COLLATE own, n)")
        connection.execute("ALTER TABLE log ADD COLUMN more AS (own(n))")
        connection.execute("UPDATE log SET n = 5 WHERE line = 'b'")
    lease.cut()
    diff = lease.read_changes(audit=True)
    assert [(delta.action, delta.name) for delta in diff.schema] == [
        ("altered", "log"),
        ("created", "i"),
        ("created", "j"),
    ]
    assert [(change.kind, change.table) for change in diff.rows] == [("delete", "log"), ("insert", "log")]


def test_a_state_that_cannot_be_read_is_the_agents_doing(backend: SqliteBackend) -> None:
    """A table that was made again with a collation of the agent's own in its key."""
    lease = backend.acquire(HOTEL, None, attempt_id="a")
    with raw(lease) as connection:
        connection.create_collation("own", lambda a, b: (a > b) - (a < b))
        connection.execute("DROP TABLE rooms")
        connection.execute(
            "CREATE TABLE rooms (code TEXT COLLATE own PRIMARY KEY NOT NULL, beds INTEGER) WITHOUT ROWID"
        )
    lease.cut()
    diff = lease.read_changes(audit=True)
    assert [(delta.action, delta.type, delta.name) for delta in diff.schema] == [
        ("altered", "file", "main"),
        ("altered", "table", "rooms"),
    ]


def test_utf_16_files_are_read_like_others(backend: SqliteBackend) -> None:
    environment = environment_of(
        "PRAGMA encoding = 'UTF-16le'",
        "CREATE TABLE t (k TEXT PRIMARY KEY, v)",
        "INSERT INTO t VALUES ('größe', 1)",
    )
    [change] = changes_after(backend, environment, "UPDATE t SET v = '🏨'").rows
    assert (change.key, change.after) == (("größe",), {"k": "größe", "v": "🏨"})


@pytest.mark.parametrize("options", ["content=''", "content='log', content_rowid='rowid'", "CONTENT = log"])
def test_a_full_text_index_of_another_table_has_no_rows_of_its_own(
    backend: SqliteBackend, options: str
) -> None:
    environment = environment_of(
        "CREATE TABLE log (line)", f"CREATE VIRTUAL TABLE f USING fts5(line, {options})"
    )
    assert list(backend.acquire(environment, None, attempt_id="a").rules.tables) == ["log"]
    diff = changes_after(
        backend, environment, "INSERT INTO log VALUES ('x')", "INSERT INTO f(rowid, line) VALUES (1, 'x')"
    )
    assert [(change.kind, change.table) for change in diff.rows] == [("insert", "log")]
    dropped = changes_after(backend, environment, "DROP TABLE f")
    assert [(delta.action, delta.name) for delta in dropped.schema] == [("dropped", "f")]


# ---------------------------------------- values


class Cents(TypeDecorator[Decimal]):
    impl = Integer
    cache_ok = True


TYPED = MetaData()
Table(
    "typed",
    TYPED,
    Column("id", Integer, primary_key=True),
    Column("token", Uuid),
    Column("wait", Interval),
    Column("at", DateTime),
    Column("data", JSON),
    Column("price", Cents),
    Column("name", String),
)


def test_values_are_python_values_of_the_columns_type(backend: SqliteBackend) -> None:
    environment = environment_of(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, at TIMESTAMP WITH TIME ZONE, ok BOOL, p DECIMAL(8,2), j JSON)"
    )
    diff = changes_after(
        backend,
        environment,
        "INSERT INTO t VALUES (1, '2024-02-29', '2024-02-29 10:00:00+00:00', 1, 0.1, '{\"a\": [1]}')",
        "INSERT INTO t VALUES (2, 'soon', 'later', 2, 'much', '{')",
        "INSERT INTO t VALUES (3, 20240229, 5, NULL, 7, x'00')",
    )
    assert [change.after for change in diff.rows] == [
        {
            "id": 1,
            "d": date(2024, 2, 29),
            "at": datetime(2024, 2, 29, 10, tzinfo=UTC),
            "ok": True,
            "p": Decimal("0.1"),
            "j": {"a": [1]},
        },
        {"id": 2, "d": "soon", "at": "later", "ok": 2, "p": "much", "j": "{"},
        {"id": 3, "d": 20240229, "at": 5, "ok": None, "p": Decimal(7), "j": b"\0"},
    ]
    assert diff.rows[0].after["ok"] is True


def test_metadata_tells_types_that_the_file_does_not(backend: SqliteBackend) -> None:
    environment = Environment(name="typed", database=Database(schema=TYPED), servers=[])
    token = UUID("12345678-1234-5678-1234-567812345678")
    [change] = changes_after(
        backend,
        environment,
        f"INSERT INTO typed VALUES (1, '{token.hex}', '1970-01-01 00:10:00.000000', NULL, 'null', 250, 'x')",
    ).rows
    assert change.after == {
        "id": 1,
        "token": token,
        "wait": timedelta(minutes=10),
        "at": None,
        "data": None,
        "price": 250,
        "name": "x",
    }


def test_text_that_is_not_utf8_survives(backend: SqliteBackend) -> None:
    [change] = changes_after(backend, HOTEL, "INSERT INTO log VALUES (CAST(x'41ff42' AS TEXT), 1)").rows
    assert change.after["line"].encode("utf-8", "surrogateescape") == b"A\xffB"

"""Templates: schema, seed, start states, and what is wrong with them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, ForeignKey, Integer, MetaData, String, Table, insert, text
from sqlalchemy.exc import OperationalError

from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ConfigurationError

from . import sqlite_files
from .sqlite_worlds import changes_after, raw

METADATA = MetaData()
PARENTS = Table("parents", METADATA, Column("id", Integer, primary_key=True), Column("name", String))
CHILDREN = Table(
    "children", METADATA, Column("id", Integer, primary_key=True), Column("p", ForeignKey("parents.id"))
)


def environment(tmp_path: Path, schema: object, seed: object = None, **more: object) -> Environment:
    """Strings are the content of .sql files."""
    sources = []
    for name, source in (("schema.sql", schema), ("seed.sql", seed)):
        if isinstance(source, str):
            (tmp_path / name).write_text(source, encoding="utf-8")
            source = tmp_path / name
        sources.append(source)
    return Environment(name="env", database=Database(schema=sources[0], seed=sources[1], **more), servers=[])


def rows(
    backend: SqliteBackend, environment: Environment, table: str, start: StartState | None = None
) -> list:
    lease = backend.acquire(environment, start, attempt_id="a")
    lease.cut()
    found = [tuple(row.values()) for row in lease.rows(table, {})]
    lease.release()
    return found


def test_metadata_and_a_seed_function(backend: SqliteBackend, tmp_path: Path) -> None:
    def seed(connection: Connection) -> None:
        connection.execute(insert(PARENTS), [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"}])

    assert rows(backend, environment(tmp_path, METADATA, seed), "parents") == [(1, "Ada"), (2, "Bo")]


def test_sql_files_with_everything_that_has_a_semicolon(backend: SqliteBackend, tmp_path: Path) -> None:
    schema = """
        -- a comment; with a semicolon
        CREATE TABLE t (a TEXT DEFAULT 'x;y', "b;c" TEXT); /* another; one */
        CREATE TRIGGER tr AFTER INSERT ON t BEGIN
            UPDATE t SET a = 'it''s;' WHERE a IS NULL;
            SELECT 1;
        END;
        ;
        """
    seed = "BEGIN; INSERT INTO t VALUES (NULL, '[;]'); INSERT INTO t VALUES ('-- no; comment', NULL); COMMIT"
    assert rows(backend, environment(tmp_path, schema, seed), "t") == [
        ("it's;", "[;]"),
        ("-- no; comment", None),
    ]


def test_a_schema_function_that_commits_itself(backend: SqliteBackend, tmp_path: Path) -> None:
    def schema(connection: Connection) -> None:
        METADATA.create_all(connection)
        connection.commit()
        connection.execute(insert(PARENTS), {"id": 5, "name": "Cy"})

    assert rows(backend, environment(tmp_path, schema), "parents") == [(5, "Cy")]


def test_a_seed_that_goes_past_sqlalchemy(backend: SqliteBackend, tmp_path: Path) -> None:
    def seed(connection: Connection) -> None:
        connection.connection.driver_connection.execute("INSERT INTO parents VALUES (7, 'Di')")

    assert rows(backend, environment(tmp_path, METADATA, seed), "parents") == [(7, "Di")]


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        (
            "INSERT INTO parents VALUES (1, 'a');\n\nINSERT INTO parents VALUES (1, 'b');",
            r"seed\.sql, line 3: UNIQUE",
        ),
        (
            "INSERT INTO parents VALUES (1, 'a');\nINSERT INTO parents VALUES (2, 'b",
            r"line 2: ends in the middle",
        ),
        ("INSERT INTO parents VALUES (1, 'a');\nINSERT INTO", r"line 2: incomplete input"),
        (
            "INSERT INTO nowhere VALUES (1)",
            r"line 1: no such table: nowhere: INSERT INTO nowhere VALUES \(1\)",
        ),
        ("INSERT INTO children VALUES (1, 99)", r"line 1: FOREIGN KEY constraint failed"),
        ("BEGIN;\nINSERT INTO parents VALUES (1, 'a');", r"never committed"),
        (
            "PRAGMA foreign_keys = OFF; INSERT INTO children VALUES (3, 99);",
            r"children rowid 3 has no row in parents",
        ),
    ],
)
def test_t37_a_seed_file_that_loads_only_in_part_is_named(
    backend: SqliteBackend, tmp_path: Path, seed: str, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        backend.prepare(environment(tmp_path, METADATA, seed))
    assert str(tmp_path / "seed.sql") in str(caught.value)


def test_t37_a_seed_function_that_raises_is_named(backend: SqliteBackend, tmp_path: Path) -> None:
    def seed(connection: Connection) -> None:
        connection.execute(insert(PARENTS), {"id": 1})
        raise KeyError("rooms")

    with pytest.raises(ConfigurationError, match=r"seed .*seed.*test_sqlite_build\.py.*KeyError: 'rooms'"):
        backend.prepare(environment(tmp_path, METADATA, seed))


@pytest.mark.parametrize("schema", ["", "SELECT 1;", "CREATE VIEW v AS SELECT 1;"])
def test_a_schema_without_a_table_is_refused(backend: SqliteBackend, tmp_path: Path, schema: str) -> None:
    with pytest.raises(ConfigurationError, match="makes no table"):
        backend.prepare(environment(tmp_path, schema))


def test_a_file_that_is_no_text_is_refused(backend: SqliteBackend, tmp_path: Path) -> None:
    (tmp_path / "s.sql").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        backend.prepare(environment(tmp_path, tmp_path / "s.sql"))


def test_volatile_and_bookkeeping_names_must_match(backend: SqliteBackend, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"volatile='\*\.updated_at' matches no column"):
        backend.prepare(environment(tmp_path, METADATA, volatile=["*.updated_at"]))
    with pytest.raises(ConfigurationError, match="bookkeeping='audit' is no table"):
        backend.prepare(environment(tmp_path, METADATA, bookkeeping=["audit"]))


def test_the_template_is_built_once(backend: SqliteBackend, tmp_path: Path) -> None:
    built = []

    def schema(connection: Connection) -> None:
        METADATA.create_all(connection)
        built.append(threading.get_ident())

    shared = environment(tmp_path, schema)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: backend.acquire(shared, None, attempt_id=str(number)), range(16)))
    assert len(built) == 1


def test_t27_the_template_has_an_open_connection(backend: SqliteBackend, tmp_path: Path) -> None:
    """A seed that leaves a connection of its own open, with work that it never commits, harms nobody."""
    left: list[Connection] = []

    def seed(connection: Connection) -> None:
        connection.execute(insert(PARENTS), {"id": 1, "name": "seed"})
        connection.commit()
        other = connection.engine.connect()
        assert other.execute(text("SELECT count(*) FROM parents")).scalar() == 1
        left.append(other)

    shared = environment(tmp_path, METADATA, seed)
    for _ in range(2):
        diff = changes_after(backend, shared, "UPDATE parents SET name = 'agent'")
        assert [change.before["name"] for change in diff.rows if change.before] == ["seed"]
        with pytest.raises(OperationalError, match="readonly database"):
            left[0].execute(insert(PARENTS), {"id": 2, "name": "late"})
    left[0].close()
    assert rows(backend, shared, "parents") == [(1, "seed")]


def test_t37_work_that_a_seed_never_commits_is_refused(backend: SqliteBackend, tmp_path: Path) -> None:
    left: list[Connection] = []

    def seed(connection: Connection) -> None:
        left.append(connection.engine.connect())
        left[0].execute(insert(PARENTS), {"id": 1, "name": "never committed"})

    with pytest.raises(ConfigurationError, match="leaves a transaction open: commit and close"):
        backend.prepare(environment(tmp_path, METADATA, seed))
    left[0].close()


# ---------------------------------------- start states


def start(key: str, run: Path | Callable[..., None], **parameters: object) -> StartState:
    return StartState(key=key, run=run, parameters=parameters)


def add_parent(connection: Connection, name: str) -> None:
    connection.execute(insert(PARENTS), {"id": 10, "name": name})


def test_what_a_start_state_wrote_is_no_change(backend: SqliteBackend, tmp_path: Path) -> None:
    lease = backend.acquire(
        environment(tmp_path, METADATA), start("a", add_parent, name="start"), attempt_id="a"
    )
    with raw(lease) as connection:
        connection.execute("UPDATE parents SET name = 'agent' WHERE id = 10")
    lease.cut()
    [change] = lease.read_changes(audit=True).rows
    assert (change.kind, change.before, change.after) == (
        "update",
        {"id": 10, "name": "start"},
        {"id": 10, "name": "agent"},
    )
    with lease.connect_before() as before:
        assert before.execute(text("SELECT name FROM parents")).scalars().all() == ["start"]


def test_a_start_state_runs_once_for_its_key(backend: SqliteBackend, tmp_path: Path) -> None:
    calls = []

    def run(connection: Connection, name: str) -> None:
        calls.append(name)
        add_parent(connection, name)

    shared = environment(tmp_path, METADATA)
    found = [rows(backend, shared, "parents", start(name, run, name=name)) for name in ("x", "y", "x")]
    assert found == [[(10, "x")], [(10, "y")], [(10, "x")]]
    assert calls == ["x", "y"]
    assert rows(backend, shared, "parents") == []


def test_a_start_state_may_be_a_sql_file(backend: SqliteBackend, tmp_path: Path) -> None:
    (tmp_path / "start.sql").write_text("INSERT INTO parents VALUES (3, 'file');")
    found = rows(backend, environment(tmp_path, METADATA), "parents", start("f", tmp_path / "start.sql"))
    assert found == [(3, "file")]


def test_a_start_state_enforces_foreign_keys(backend: SqliteBackend, tmp_path: Path) -> None:
    (tmp_path / "start.sql").write_text("INSERT INTO children VALUES (1, 5);")
    with pytest.raises(ConfigurationError, match=r"start .*start\.sql, line 1: FOREIGN KEY"):
        backend.acquire(environment(tmp_path, METADATA), start("f", tmp_path / "start.sql"), attempt_id="a")


def test_a_start_state_may_bring_tables(backend: SqliteBackend, tmp_path: Path) -> None:
    (tmp_path / "start.sql").write_text("CREATE TABLE extra (x);")
    lease = backend.acquire(
        environment(tmp_path, METADATA), start("f", tmp_path / "start.sql"), attempt_id="a"
    )
    assert "extra" in lease.rules.tables
    lease.cut()
    assert lease.read_changes(audit=True).schema == ()


# ---------------------------------------- the hash


def test_the_hash_is_that_of_the_content(tmp_path: Path) -> None:
    def seed_of(order: list[int], name: str = "x") -> Callable[[Connection], None]:
        def seed(connection: Connection) -> None:
            for number in order:
                connection.execute(insert(PARENTS), {"id": number, "name": name})

        return seed

    hashes = []
    for seed in (seed_of([1, 2]), seed_of([2, 1]), seed_of([1]), seed_of([1, 2], "y")):
        backend = SqliteBackend(label="hash", directory=tmp_path)
        hashes.append(backend.seed_hash(environment(tmp_path, METADATA, seed)))
        backend.close()
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3
    assert len(hashes[0]) == 64


def test_volatile_values_are_not_in_the_hash(tmp_path: Path) -> None:
    hashes = set()
    for moment in ("2024-01-01", "2025-01-01"):
        backend = SqliteBackend(label="hash", directory=tmp_path)
        sql = f"CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT); INSERT INTO t VALUES (1, '{moment}');"
        hashes.add(backend.seed_hash(environment(tmp_path, sql, volatile=["t.at"])))
        backend.close()
    assert len(hashes) == 1


def test_a_file_of_sqlite_is_a_schema_with_its_rows(backend: SqliteBackend, tmp_path: Path) -> None:
    loaded = sqlite_files.environment(None, schema=sqlite_files.write(tmp_path / "seed.db"))
    first, second = sqlite_files.rows(backend, loaded)
    assert (first["two words %"], first["raw"], first["twice"]) == ("ü€ 'x'", b"\x00\xff", 2)
    assert second["id"] == 9


def test_rows_of_a_file_of_sqlite_fill_the_schema_and_no_trigger_adds_to_them(
    backend: SqliteBackend, tmp_path: Path
) -> None:
    loud = ("CREATE TRIGGER loud AFTER INSERT ON parents BEGIN UPDATE parents SET boss = NULL; END",)
    loaded = sqlite_files.environment(sqlite_files.write(tmp_path / "seed.db"), triggers=loud)
    assert [one["id"] for one in sqlite_files.rows(backend, loaded)] == [7, 9]
    assert sqlite_files.rows(backend, loaded, "parents") == [{"id": 1, "boss": 2}, {"id": 2, "boss": 1}]


@pytest.mark.parametrize(("how", "said"), sqlite_files.BROKEN)
def test_t37_a_file_of_sqlite_that_loads_only_in_part_is_refused(
    backend: SqliteBackend, tmp_path: Path, how: str, said: str
) -> None:
    sqlite_files.check_refused(backend, tmp_path / "seed.sqlite", how, said)

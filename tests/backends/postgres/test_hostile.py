"""A hostile agent with an SQL tool: what it tries, and that it gets nothing."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url, text

from pytest_thinkingbox.backends.base import AuditMismatch
from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.backends.postgres.lease import PostgresLease
from pytest_thinkingbox.backends.postgres.roles import CONNECTION_LIMIT
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.state.model import StateDiff
from tests.backends.pools import settle
from tests.support.servers import POSTGRES_IMAGE, has_image, started

from .worlds import SHOP, environment_of, raw

ENVIRONMENT = environment_of(
    *SHOP,
    "CREATE FUNCTION of_owner() RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT current_user::text'",
)


@pytest.fixture(scope="module")
def shared(server: str) -> Iterator[PostgresBackend]:
    made = PostgresBackend(server, label=f"hostile-{secrets.token_hex(4)}")
    yield made
    made.close()


@pytest.fixture
def lease(shared: PostgresBackend) -> Iterator[PostgresLease]:
    made = shared.acquire(ENVIRONMENT, None, attempt_id="a")
    yield made
    made.release()


REFUSED = [
    # the grader's log
    "SELECT * FROM thinkingbox_log.ddl",
    "DELETE FROM thinkingbox_log.whole",
    "DROP SCHEMA thinkingbox_log CASCADE",
    "ALTER FUNCTION thinkingbox_log.whole() RENAME TO nothing",
    "SELECT thinkingbox_log.whole()",
    "ALTER TABLE orders DISABLE TRIGGER ALL",
    "ALTER TABLE orders DISABLE TRIGGER thinkingbox_row",
    "DROP TRIGGER thinkingbox_row ON orders",
    "DROP EVENT TRIGGER thinkingbox_ddl",
    "SET session_replication_role = replica",
    "CREATE EVENT TRIGGER mine ON ddl_command_start EXECUTE FUNCTION thinkingbox_log.ddl()",
    # more than rows
    "DROP TABLE lines",
    "TRUNCATE lines",
    "ALTER TABLE orders ADD COLUMN mine int",
    "CREATE TABLE mine (a int)",
    "CREATE TEMPORARY TABLE orders (a int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE EXTENSION dblink",
    "SELECT setval('orders_id_seq', 1000)",
    "ALTER SEQUENCE orders_id_seq RESTART",
    "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE; ALTER TABLE orders RENAME TO mine",
    # other roles and databases
    "CREATE ROLE mine",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "ALTER ROLE CURRENT_USER CONNECTION LIMIT 1000",
    "SET ROLE postgres",
    "SET ROLE pg_read_all_data",
    "SET SESSION AUTHORIZATION postgres",
    "CREATE DATABASE mine",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename <> current_user AND usename IS NOT NULL",
    "ALTER SYSTEM SET fsync = on",
    "SELECT pg_reload_conf()",
    "SELECT pg_stat_reset()",
    "SET temp_file_limit = -1",
    "SELECT count(pg_advisory_lock(one)) FROM generate_series(1, 2000000) AS one",
    "SELECT pg_try_advisory_xact_lock_shared(1, 2)",
    # the machine
    "SELECT pg_read_file('/etc/passwd')",
    "COPY orders TO PROGRAM 'id'",
    "COPY orders (status) FROM '/etc/passwd'",
    "SELECT lo_import('/etc/passwd')",
    "BEGIN; PREPARE TRANSACTION 'later'",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_t36_refused(lease: PostgresLease, statement: str) -> None:
    with raw(lease) as connection, pytest.raises(psycopg.Error) as caught:
        connection.execute(statement)
    assert caught.value.sqlstate in ("42501", "0A000", "55000", "2BP01", "42883"), caught.value
    lease.cut()
    assert lease.read_changes(audit=True) == StateDiff()


@pytest.mark.parametrize(
    "statement",
    [
        "GRANT ALL ON orders TO PUBLIC",
        "REVOKE ALL ON orders FROM CURRENT_USER",
        "DROP OWNED BY CURRENT_USER",
        "ALTER ROLE CURRENT_USER PASSWORD 'mine'",
        "ALTER ROLE CURRENT_USER SET search_path = nowhere",
        "ALTER ROLE CURRENT_USER IN DATABASE {database} SET search_path = nowhere",
        "SELECT nextval('orders_id_seq') FROM generate_series(1, 100)",
        "LISTEN everything; NOTIFY everything",
    ],
)
def test_without_effect(shared: PostgresBackend, lease: PostgresLease, statement: str) -> None:
    with raw(lease) as connection:
        connection.execute(statement.format(database=lease.database))
    lease.cut()
    assert lease.read_changes(audit=True) == StateDiff()
    following = shared.acquire(ENVIRONMENT, None, attempt_id="b")
    with following.engine.begin() as after:
        assert after.execute(text("INSERT INTO orders (status) VALUES ('x') RETURNING id")).scalar() == 3
    following.release()


def test_what_is_granted_by_default_is_a_change_of_the_schema(lease: PostgresLease) -> None:
    with raw(lease) as connection:
        connection.execute("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC")
    lease.cut()
    assert [(one.action, one.type) for one in lease.read_changes(audit=True).schema] == [
        ("created", "default privileges")
    ]


@pytest.fixture
def comes_with() -> tuple[str, ...]:
    """Databases of a server of the campaign's own that are there before it."""
    return () if "THINKINGBOX_POSTGRES_URL" in os.environ else ("postgres", "template1")


def test_t36_no_other_database_lets_it_in(
    shared: PostgresBackend, lease: PostgresLease, comes_with: tuple[str, ...]
) -> None:
    other = shared.acquire(ENVIRONMENT, None, attempt_id="b")
    for database in (other.database, lease.template.name, lease.template.reference, *comes_with):
        url = make_url(lease.url).set(drivername="postgresql", database=database)
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url.render_as_string(hide_password=False)).close()
    other.release()


def test_the_owner_of_the_tables_is_no_superuser(lease: PostgresLease) -> None:
    with raw(lease) as connection:
        assert connection.execute("SELECT of_owner()").fetchone() == (shared_owner(lease),)
        assert connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = of_owner()").fetchone() == (
            False,
        )


def shared_owner(lease: PostgresLease) -> str:
    return lease.login.name.rpartition("_a_")[0] + "_r_owner"


def test_it_gets_a_few_connections_only(lease: PostgresLease) -> None:
    url = make_url(lease.url).set(drivername="postgresql").render_as_string(hide_password=False)
    held = [psycopg.connect(url) for _ in range(CONNECTION_LIMIT)]
    with pytest.raises(psycopg.OperationalError, match="too many connections for role"):
        psycopg.connect(url).close()
    lease.cut()
    for one in held:
        one.close()


def test_its_statements_have_a_limit_of_time(lease: PostgresLease) -> None:
    with raw(lease) as connection:
        assert connection.execute("SHOW statement_timeout").fetchone() == ("1min",)


def test_a_lock_that_the_agent_holds_does_not_hold_up_the_verdict(lease: PostgresLease) -> None:
    with raw(lease, autocommit=False) as connection:
        connection.execute("SELECT * FROM orders FOR UPDATE")
        connection.execute("LOCK TABLE lines IN ROW EXCLUSIVE MODE")
        started = time.monotonic()
        lease.cut()
        assert lease.read_changes(audit=True) == StateDiff()
        assert time.monotonic() - started < 5
        connection.close()


@pytest.fixture
def narrow() -> Iterator[str]:
    """A server with fewer connections than attempts want."""
    backend = POSTGRES_IMAGE if has_image(POSTGRES_IMAGE) else "postgres-embedded"
    with started(backend, options={"max_connections": "40"}) as url:
        yield url


def sessions(connection: psycopg.Connection[Any]) -> int:
    """Those that `max_connections` counts."""
    row = connection.execute("SELECT sum(numbackends) FROM pg_stat_database").fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.slow
def test_t28_64_attempts_at_once_fit_into_the_connections_of_the_server(narrow: str) -> None:
    backend = PostgresBackend(narrow, label=f"many-{secrets.token_hex(4)}", processes=1)
    most = 0

    def attempt(number: int) -> int:
        nonlocal most
        lease = backend.acquire(ENVIRONMENT, None, attempt_id=str(number))
        with ExitStack() as stack:  # all that its agent may take
            held = [stack.enter_context(raw(lease)) for _ in range(CONNECTION_LIMIT)]
            for one in held:
                stack.callback(one.close)
            most = max(most, sessions(held[0]))
            held[-1].execute("UPDATE orders SET total = %s WHERE id = 1", [1000 + number])
            lease.cut()
        [change] = lease.read_changes(audit=False).rows
        lease.release()
        assert change.after is not None
        return int(change.after["total"])

    with ThreadPoolExecutor(64) as threads:
        assert list(threads.map(attempt, range(64))) == [1000 + number for number in range(64)]
    assert 2 * CONNECTION_LIMIT < most <= 40
    backend.close()


@pytest.mark.slow
def test_more_start_states_than_the_server_takes_connections_fit_into_them() -> None:
    backend_name = POSTGRES_IMAGE if has_image(POSTGRES_IMAGE) else "postgres-embedded"
    with started(backend_name, options={"max_connections": "30"}) as url:
        backend = PostgresBackend(url, label=f"starts-{secrets.token_hex(4)}", processes=1)

        def attempt(number: int) -> int:
            def start(connection: Any) -> None:
                connection.execute(text("UPDATE orders SET total = :n WHERE id = 2"), {"n": number})

            state = StartState(key=str(number), run=start, parameters={})
            lease = backend.acquire(ENVIRONMENT, state, attempt_id=str(number))
            with raw(lease) as connection:
                connection.execute("UPDATE orders SET total = total + 1 WHERE id = 2")
            lease.cut()
            [change] = lease.read_changes(audit=True).rows
            lease.release()
            assert change.after is not None
            return int(change.after["total"])

        with ThreadPoolExecutor(20) as threads:
            assert list(threads.map(attempt, range(20))) == [number + 1 for number in range(20)]
        settle(backend._pool)
        with backend._server.connect() as connection:
            assert sessions(connection) <= 16
        backend.close()


@pytest.fixture(scope="module")
def with_ddl(shared: PostgresBackend) -> Iterator[PostgresLease]:
    """Of an environment whose agents may change the schema; nothing that it tries here is committed."""
    environment = environment_of(*SHOP, "CREATE EXTENSION IF NOT EXISTS plpgsql", ddl=True)
    made = shared.acquire(environment, None, attempt_id="d")
    yield made
    made.release()


REFUSED_WITH_DDL = [
    "SELECT * FROM thinkingbox_log.ddl",
    "DROP SCHEMA thinkingbox_log CASCADE",
    "CREATE TABLE thinkingbox_log.mine (a int)",
    "ALTER EVENT TRIGGER thinkingbox_ddl DISABLE",
    "DROP EVENT TRIGGER thinkingbox_ddl",
    "SET session_replication_role = replica",
    "DROP SCHEMA public CASCADE",
    "ALTER DATABASE {template} ALLOW_CONNECTIONS true",
    "ALTER DATABASE {template} OWNER TO CURRENT_USER",
    "DROP DATABASE {template}",
    "DROP DATABASE {reference}",
    "CREATE DATABASE mine",
    "ALTER DATABASE {database} CONNECTION LIMIT 100",
    "CREATE ROLE mine",
    "ALTER ROLE {role} CONNECTION LIMIT 100",
    "ALTER ROLE {role} SET temp_file_limit = '100GB'",
    "GRANT pg_read_all_data TO CURRENT_USER",
    "SELECT pg_advisory_lock(1)",
    "GRANT EXECUTE ON FUNCTION pg_advisory_lock(bigint) TO PUBLIC",
    "SET SESSION AUTHORIZATION postgres",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'",
    "COPY orders TO PROGRAM 'id'",
    "CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'libc', 'abs'",
]


@pytest.mark.parametrize("role", ["as it logs in", "SET ROLE NONE"])
@pytest.mark.parametrize("statement", REFUSED_WITH_DDL)
def test_t36_ddl_reaches_nothing_but_the_schema(with_ddl: PostgresLease, statement: str, role: str) -> None:
    filled = statement.format(
        template=with_ddl.template.name,
        reference=with_ddl.template.reference,
        database=with_ddl.database,
        role=with_ddl.login.name,
    )
    with raw(with_ddl) as connection:
        if role == "SET ROLE NONE":
            connection.execute(role)
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(filled)
        assert isinstance(
            caught.value,
            psycopg.errors.InsufficientPrivilege
            | psycopg.errors.ObjectNotInPrerequisiteState
            | psycopg.errors.ObjectInUse,
        )


def test_t36_a_role_with_ddl_can_connect_nowhere_else(
    shared: PostgresBackend, with_ddl: PostgresLease, comes_with: tuple[str, ...]
) -> None:
    other = shared.acquire(ENVIRONMENT, None, attempt_id="e")
    template = with_ddl.template
    for database in (other.database, template.name, template.reference, *comes_with):
        url = make_url(with_ddl.url).set(drivername="postgresql", database=database)
        with pytest.raises(psycopg.OperationalError, match=r"permission denied|not currently accepting"):
            psycopg.connect(url.render_as_string(hide_password=False))
    other.release()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP OWNED BY CURRENT_USER",
        "ALTER ROLE CURRENT_USER PASSWORD 'mine'",
        "ALTER ROLE CURRENT_USER SET default_transaction_read_only = on",
        "ALTER ROLE CURRENT_USER IN DATABASE {other} SET default_transaction_read_only = on",
        "ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC",
    ],
)
def test_t36_what_an_agent_does_as_the_owner_reaches_no_other_attempt(
    shared: PostgresBackend, statement: str
) -> None:
    environment = environment_of(*SHOP, ddl=True)
    hostile, other = (shared.acquire(environment, None, attempt_id=name) for name in "ab")
    with raw(hostile) as connection:
        connection.execute(statement.format(other=other.database))
    hostile.cut()
    hostile.read_changes(audit=True)
    hostile.release()
    following = shared.acquire(environment, None, attempt_id="c")
    for lease in (other, following):
        with raw(lease) as connection:
            connection.execute("CREATE SCHEMA fresh")
            connection.execute("CREATE TEMPORARY TABLE mine (a int)")
            connection.execute("ALTER TABLE lines ADD COLUMN price int")
            connection.execute("INSERT INTO orders (status) VALUES ('x')")
        lease.cut()
        changes = lease.read_changes(audit=True)
        assert [change.key for change in changes.rows] == [(3,)]
        assert len(changes.schema) == 2, changes.schema
        lease.release()


def test_a_large_object_is_not_there_for_the_next_attempt(shared: PostgresBackend) -> None:
    hostile = shared.acquire(ENVIRONMENT, None, attempt_id="a")
    with raw(hostile) as connection:
        connection.execute("SELECT lo_from_bytea(0, 'hello')")
    hostile.cut()
    assert len(hostile.read_changes(audit=True).schema) == 1
    hostile.release()
    for _ in range(4):
        following = shared.acquire(ENVIRONMENT, None, attempt_id="b")
        with raw(following) as connection:
            assert connection.execute("SELECT count(*) FROM pg_largeobject_metadata").fetchone() == (0,)
        following.release()


def test_an_audit_finds_what_the_log_did_not_see(shared: PostgresBackend, server: str) -> None:
    """As nobody but the administrator can write."""
    lease = shared.acquire(ENVIRONMENT, None, attempt_id="a")
    with lease._server.connect(lease.database) as connection:
        connection.execute("ALTER TABLE orders DISABLE TRIGGER thinkingbox_row")
        connection.execute("UPDATE orders SET status = 'mine' WHERE id = 2")
        connection.execute("ALTER TABLE orders ENABLE ALWAYS TRIGGER thinkingbox_row")
        connection.execute("DELETE FROM thinkingbox_log.ddl")
    lease.cut()
    assert lease.read_changes(audit=False) == StateDiff()
    with pytest.raises(AuditMismatch, match=r"full comparison: .*'mine'"):
        lease.read_changes(audit=True)
    lease.release()

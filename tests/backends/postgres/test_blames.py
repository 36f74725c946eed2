"""Whose fault it is that a statement or a connection failed: the agent's, or the server's."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import create_engine, make_url, text

from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.backends.postgres import lease as leases
from pytest_thinkingbox.backends.postgres.lease import PostgresLease
from pytest_thinkingbox.backends.postgres.log import read_written
from pytest_thinkingbox.backends.postgres.roles import CONNECTION_LIMIT
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.state.model import StateDiff
from pytest_thinkingbox.tools.failures import DatabaseWatch
from tests.support.sql_tool import play

from .conftest import Make
from .worlds import SHOP, environment_of, raw

ENVIRONMENT = environment_of(*SHOP)
WITH_DDL = environment_of(*SHOP, ddl=True)
END_IT = "SELECT pg_terminate_backend(pg_backend_pid())"


@pytest.fixture(scope="module")
def shared(server: str) -> Iterator[PostgresBackend]:
    made = PostgresBackend(server, label=f"blames-{secrets.token_hex(4)}")
    yield made
    made.close()


@pytest.fixture
def lease(shared: PostgresBackend) -> Iterator[PostgresLease]:
    made = shared.acquire(ENVIRONMENT, None, attempt_id="a")
    yield made
    made.release()


def judged(lease: PostgresLease) -> StateDiff:
    lease.cut()
    return lease.read_changes(audit=True)


def test_a_session_that_the_agent_ends_is_replaced_by_another_one(lease: PostgresLease) -> None:
    ended, after = play(lease, [END_IT, "SELECT count(*) FROM orders"])
    assert ended.error
    assert "terminating connection" in ended.text
    assert (after.text, after.error) == ("[(2,)]", False)
    assert judged(lease) == StateDiff()


LOCKED_OUT = {
    "its password": "ALTER ROLE CURRENT_USER PASSWORD 'mine'",
    "no password": "ALTER ROLE CURRENT_USER PASSWORD NULL",
    "a library that is not there": "ALTER ROLE CURRENT_USER SET local_preload_libraries = 'nowhere'",
    "the same in its database only": (
        "ALTER ROLE CURRENT_USER IN DATABASE {database} SET local_preload_libraries = 'nowhere'"
    ),
}


@pytest.mark.parametrize("statement", LOCKED_OUT.values(), ids=LOCKED_OUT.keys())
def test_an_agent_that_locks_itself_out_is_told_so_and_judged(lease: PostgresLease, statement: str) -> None:
    done, ended, *after = play(
        lease,
        [
            statement.format(database=lease.database),
            END_IT,
            *["INSERT INTO orders (status) VALUES ('x')"] * 2,
        ],
    )
    assert not done.error, done.text
    assert ended.error
    assert [one.error for one in after] == [True, True], after
    assert lease.login.password not in str(after)
    assert judged(lease) == StateDiff()


def test_an_agent_that_takes_all_its_connections_is_told_so(lease: PostgresLease) -> None:
    url = make_url(lease.url).set(drivername="postgresql").render_as_string(hide_password=False)
    held = [psycopg.connect(url) for _ in range(CONNECTION_LIMIT)]
    [output] = play(lease, ["SELECT 1"])
    assert output.error
    assert "too many connections for role" in output.text
    for one in held:
        one.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DO $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$",
        "DO $$ BEGIN RAISE EXCEPTION 'gone' USING ERRCODE = 'admin_shutdown'; END $$",
        "DO $$ BEGIN RAISE EXCEPTION 'gone' USING ERRCODE = 'connection_failure'; END $$",
        "DO $$ BEGIN RAISE io_error; END $$",
        "DO $$ BEGIN BEGIN RAISE disk_full; EXCEPTION WHEN OTHERS THEN RAISE; END; END $$",
        "SELECT 'could not extend file: No space left on device'::int",
        "SELECT pg_sleep(1) FROM set_config('statement_timeout', '100', false)",
    ],
)
def test_an_error_that_says_outage_is_none_when_the_agent_raised_it(
    lease: PostgresLease, statement: str
) -> None:
    raised, after = play(lease, [statement, "SELECT 1"])
    assert raised.error == ("pg_sleep" not in statement)
    assert not after.error
    assert judged(lease) == StateDiff()


def test_a_function_of_the_agent_that_says_outage_is_none(shared: PostgresBackend) -> None:
    lease = shared.acquire(WITH_DDL, None, attempt_id="d")
    made, raised = play(
        lease,
        [
            "CREATE FUNCTION full_disk() RETURNS int LANGUAGE plpgsql AS"
            " 'BEGIN EXECUTE ''DO $x$ BEGIN RAISE disk_full; END $x$''; RETURN 1; END'",
            "SELECT full_disk()",
        ],
    )
    assert not made.error
    assert raised.error
    lease.release()


def test_sessions_that_all_end_are_an_outage(make: Make, admin: psycopg.Connection[object]) -> None:
    backend = make()
    lease = backend.acquire(ENVIRONMENT, None, attempt_id="a")
    play(lease, ["SELECT 1"])
    end_all(admin, backend, lease)
    with pytest.raises(InfrastructureDown, match="the database died while sql ran"):
        play(lease, ["SELECT 1"])
    lease.release()


def end_all(admin: psycopg.Connection[object], backend: PostgresBackend, lease: PostgresLease) -> None:
    admin.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE application_name = %s OR usename = %s",
        [f"thinkingbox {backend._campaign.part}", lease.login.name],
    )


def test_a_connection_that_the_server_refuses_for_no_fault_of_the_agent_is_an_outage(
    lease: PostgresLease, admin: psycopg.Connection[object]
) -> None:
    admin.execute(f'ALTER DATABASE "{lease.database}" ALLOW_CONNECTIONS false')
    with pytest.raises(InfrastructureDown, match="not currently accepting connections"):
        play(lease, ["SELECT 1"])
    admin.execute(f'ALTER DATABASE "{lease.database}" ALLOW_CONNECTIONS true')


def test_a_role_that_somebody_shut_out_is_an_outage(
    lease: PostgresLease, admin: psycopg.Connection[object]
) -> None:
    said = f'no pg_hba.conf entry for host "10.0.0.1", user "{lease.login.name}", database "{lease.database}"'
    assert not lease._locked_itself_out(said)
    admin.execute(f"ALTER ROLE {lease.login.name} NOLOGIN")
    with pytest.raises(InfrastructureDown, match="is not permitted to log in"):
        play(lease, ["SELECT 1"])


def test_what_the_campaign_gives_a_role_is_no_reason_to_be_locked_out(shared: PostgresBackend) -> None:
    for environment in (ENVIRONMENT, WITH_DDL):
        lease = shared.acquire(environment, None, attempt_id="a")
        assert not lease._locked_itself_out("too many clients already")
        with raw(lease) as connection:
            connection.execute("SET ROLE NONE")
            connection.execute("ALTER ROLE SESSION_USER SET local_preload_libraries = 'nowhere'")
        assert lease._locked_itself_out("too many clients already")
        lease.release()


@pytest.mark.parametrize("ended", ["a session", "all sessions"])
def test_an_engine_of_the_tools_own_is_judged_by_the_same_rule(
    make: Make, admin: psycopg.Connection[object], ended: str
) -> None:
    """A tool that connects by itself is seen only by what it raises."""
    backend = make()
    lease = backend.acquire(ENVIRONMENT, None, attempt_id="a")
    watch = DatabaseWatch(lease.blames)
    own = create_engine(lease.url)
    with own.connect() as connection:
        connection.execute(text("SELECT 1"))
        if ended == "all sessions":
            end_all(admin, backend, lease)
        try:
            connection.execute(text(END_IT))
        except Exception as error:  # noqa: BLE001 - whatever it is, the watch is to see it
            watch.saw(error)
    assert (watch.dead is not None) is (ended == "all sessions")
    own.dispose()
    lease.release()


@pytest.fixture
def with_ddl(shared: PostgresBackend) -> Iterator[PostgresLease]:
    made = shared.acquire(WITH_DDL, None, attempt_id="d")
    play(made, ["UPDATE orders SET total = 1 WHERE id = 1", "ALTER TABLE lines ADD COLUMN price int"])
    yield made
    made.release()


ENDED = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"


def test_a_session_that_waited_and_was_ended_meanwhile_is_replaced(
    shared: PostgresBackend, with_ddl: PostgresLease, admin: psycopg.Connection[object]
) -> None:
    shared._idle.keep(with_ddl.template.reference, with_ddl.template.connect())
    ended = admin.execute(ENDED + " WHERE datname = %s", [with_ddl.template.reference]).fetchone()
    assert ended == (1,)
    found = judged(with_ddl)
    assert [(one.table, one.key) for one in found.rows] == [("orders", (1,))]
    assert "rows" not in [one.name for one in found.schema]


@pytest.mark.parametrize("whose", ["of the seed", "of the catalogs", "of the rows"])
def test_a_session_of_ours_that_ends_before_it_reads_is_an_outage(
    with_ddl: PostgresLease,
    admin: psycopg.Connection[object],
    monkeypatch: pytest.MonkeyPatch,
    whose: str,
) -> None:
    assert with_ddl._own_reader is not None
    reader = with_ddl._own_reader.name
    condition, values = {
        "of the seed": ("datname = %s", [with_ddl.template.reference]),
        "of the catalogs": ("datname = %s AND usename <> %s", [with_ddl.database, reader]),
        "of the rows": ("datname = %s AND usename = %s", [with_ddl.database, reader]),
    }[whose]

    def ended_afterwards(*arguments: object) -> object:
        found = read_written(*arguments)  # type: ignore[arg-type]
        assert admin.execute(f"{ENDED} WHERE {condition}", values).fetchone() == (1,)
        return found

    with_ddl.cut()
    monkeypatch.setattr(leases, "read_written", ended_afterwards)
    with pytest.raises(InfrastructureDown, match="cannot be reached"):
        with_ddl.read_changes(audit=False)
    monkeypatch.undo()
    assert [(one.table, one.key) for one in with_ddl.read_changes(audit=True).rows] == [("orders", (1,))]


def test_a_session_of_a_checker_that_ends_between_two_statements_is_an_outage(
    with_ddl: PostgresLease, admin: psycopg.Connection[object]
) -> None:
    with_ddl.cut()
    assert with_ddl._own_reader is not None
    query = text("SELECT count(*) FROM orders")
    with with_ddl.connect_after() as connection:
        assert connection.execute(query).scalar() == 2
        assert len(with_ddl.rows("orders", {})) == 2
        ended = admin.execute(ENDED + " WHERE usename = %s", [with_ddl._own_reader.name]).fetchone()
        assert ended == (2,)
        with pytest.raises(InfrastructureDown, match="the session of a checker was ended"):
            connection.execute(query)
        assert len(with_ddl.rows("orders", {})) == 2


def test_what_an_agent_sets_for_the_time_between_two_statements_of_a_checker_is_taken_back(
    with_ddl: PostgresLease,
) -> None:
    play(
        with_ddl,
        [
            "CREATE VIEW v AS SELECT set_config('idle_session_timeout', '300', false) AS a,"
            " set_config('idle_in_transaction_session_timeout', '300', false) AS b"
        ],
    )
    with_ddl.cut()
    with with_ddl.connect_after() as connection:
        assert connection.execute(text("SELECT * FROM v")).all() == [("300ms", "300ms")]
        time.sleep(0.6)
        assert connection.execute(text("SELECT count(*) FROM orders")).scalar() == 2

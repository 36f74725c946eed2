"""Whose fault it is that a statement or a connection failed: the agent's, or the server's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pymysql
import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import DBAPIError

from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.backends.mysql import lease as module
from pytest_thinkingbox.backends.mysql.lease import MySQLLease
from pytest_thinkingbox.backends.mysql.users import CONNECTION_LIMIT
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.state.model import StateDiff
from pytest_thinkingbox.tools.failures import DatabaseWatch
from tests.support.sql_tool import play

from .conftest import Make
from .worlds import SHOP, connect, environment_of, execute, only_mariadb

ENVIRONMENT = environment_of(*SHOP)
WITH_DDL = environment_of(*SHOP, ddl=True)
END_IT = "KILL CONNECTION_ID()"


@pytest.fixture
def lease(shared: MySQLBackend) -> Iterator[MySQLLease]:
    made = shared.acquire(ENVIRONMENT, None, attempt_id="a")
    yield made
    made.release()


def judged(lease: MySQLLease) -> StateDiff:
    lease.cut()
    return lease.read_changes(audit=True)


def test_a_session_that_the_agent_ends_is_replaced_by_another_one(lease: MySQLLease) -> None:
    ended, _, after = play(lease, [END_IT, "SELECT 1", "SELECT count(*) FROM orders"])
    assert ended.error
    assert (after.text, after.error) == ("[(2,)]", False)
    assert judged(lease) == StateDiff()


def test_a_session_that_the_agent_lets_run_out_is_no_outage(lease: MySQLLease) -> None:
    watch = DatabaseWatch(lease.blames)
    with watch.on(lease.engine), lease.engine.connect() as connection:
        connection.execute(text("SET SESSION wait_timeout = 1"))
        time.sleep(2.5)
        with pytest.raises(Exception, match=r"2006|2013|4031|gone away|Lost"):
            connection.execute(text("SELECT 1"))
    assert watch.dead is None


def test_an_agent_that_changes_its_password_is_told_so_and_judged(lease: MySQLLease) -> None:
    password = "PASSWORD('Mine-2026')" if lease._server.kind == "MariaDB" else "'Mine-2026'"
    done, ended = play(lease, [f"SET PASSWORD = {password}", END_IT])
    # MySQL remembers the old one until somebody comes with the new one.
    connect(make_url(lease.url).set(password="Mine-2026").render_as_string(hide_password=False)).close()
    after = play(lease, ["INSERT INTO orders (status) VALUES ('x')"] * 2)
    assert not done.error, done.text
    assert ended.error
    assert [one.error for one in after] == [True, True], after
    assert lease.login.password not in str(after)
    assert judged(lease) == StateDiff()


def test_an_agent_that_takes_all_its_connections_is_told_so(lease: MySQLLease) -> None:
    held = [connect(lease.url) for _ in range(CONNECTION_LIMIT)]
    [output] = play(lease, ["SELECT 1"])
    assert output.error
    assert "max_user_connections" in output.text
    for one in held:
        one.close()


def test_an_agent_that_drops_its_database_is_told_so_and_judged(shared: MySQLBackend) -> None:
    lease = shared.acquire(WITH_DDL, None, attempt_id="d")
    done, _, after = play(lease, [f"DROP DATABASE {lease.database}", END_IT, "SELECT 1"])
    assert not done.error, done.text
    assert after.error
    assert {(one.action, one.type) for one in judged(lease).schema} >= {("dropped", "table")}
    lease.release()


@pytest.mark.parametrize(
    ("number", "outage"), [(1040, True), (1045, False), (1203, False), (1275, False), (2013, False)]
)
def test_who_cannot_connect_to_a_server_that_is_well_did_it_to_himself(
    lease: MySQLLease, number: int, outage: bool
) -> None:
    error = pymysql.OperationalError(number, "said while connecting")
    assert lease.blames(error, connecting=True, lost=False) is outage


def test_who_cannot_connect_where_the_administrator_cannot_either_met_an_outage(
    lease: MySQLLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(database: str | None = None) -> pymysql.Connection:
        raise pymysql.OperationalError(2003, "nobody answers")

    monkeypatch.setattr(lease._server, "connect", refuse)
    assert lease.blames(pymysql.OperationalError(2013, "lost"), connecting=True, lost=False)


@only_mariadb
def test_an_agent_whose_session_ends_its_others_while_they_connect_is_told_so_and_judged(
    lease: MySQLLease,
) -> None:
    loop = (
        "BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; LOOP"
        " FOR one IN (SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID())"
        " DO EXECUTE IMMEDIATE CONCAT('KILL ', one.ID); END FOR; END LOOP; END"
    )
    outputs = play(lease, [loop, *["SELECT 1"] * 20], seconds=1)
    assert any(one.error for one in outputs[1:])
    assert judged(lease) == StateDiff()


@only_mariadb
def test_an_agent_whose_password_is_of_a_kind_that_nobody_takes_is_told_so_and_judged(
    lease: MySQLLease,
) -> None:
    done, _, after = play(lease, ["SET PASSWORD = OLD_PASSWORD('mine')", END_IT, "SELECT 1"])
    assert not done.error, done.text
    assert after.error
    assert judged(lease) == StateDiff()


@pytest.mark.parametrize(
    "statement",
    [
        "XA START 'mine'",
        "SET character_set_results = utf16",
        "SET SESSION TRANSACTION READ ONLY",
        "SET NAMES latin1",
    ],
)
def test_a_session_that_the_agent_made_useless_is_no_outage(lease: MySQLLease, statement: str) -> None:
    play(lease, [statement, "SELECT 1", "UPDATE orders SET status = status"])
    assert judged(lease) == StateDiff()


@pytest.mark.parametrize(
    "statement",
    [
        "SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = 'The table ''orders'' is full', MYSQL_ERRNO = 1114",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'No space left on device', MYSQL_ERRNO = 1021",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'gone', MYSQL_ERRNO = 2006",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'gone', MYSQL_ERRNO = 2013",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'shutdown', MYSQL_ERRNO = 1053",
        "SIGNAL SQLSTATE '08004' SET MESSAGE_TEXT = 'too many', MYSQL_ERRNO = 1040",
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'memory', MYSQL_ERRNO = 1037",
        "INSERT INTO orders (status, total) VALUES ('x', 'the table ''orders'' is full')",
    ],
)
def test_an_error_that_says_outage_is_none_when_the_agent_raised_it(
    lease: MySQLLease, statement: str
) -> None:
    raised, *after = play(lease, [statement, "SELECT 1", "SELECT 2"])
    assert raised.error, raised
    assert not after[-1].error, after
    assert judged(lease) == StateDiff()


def test_sessions_that_all_end_are_an_outage(make: Make, admin: pymysql.Connection) -> None:
    backend = make()
    lease = backend.acquire(ENVIRONMENT, None, attempt_id="a")
    watch = DatabaseWatch(lease.blames)
    with watch.on(lease.engine), lease.engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        end_all(admin, backend, lease)
        with pytest.raises(Exception, match=r"2006|2013|gone away|Lost|killed"):
            connection.execute(text("SELECT 1"))
    assert watch.dead is not None
    with pytest.raises(InfrastructureDown):
        lease.cut()
    lease.release()


def end_all(admin: pymysql.Connection, backend: MySQLBackend, lease: MySQLLease) -> None:
    keeper = backend._server._keeper.thread_id()
    sessions = execute(
        admin, f"SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '{lease.login.name}'"
    )
    for session in (keeper, *(one for (one,) in sessions)):
        execute(admin, f"KILL CONNECTION {session}")


@pytest.mark.parametrize("ended", ["a session", "all sessions"])
def test_an_engine_of_the_tools_own_is_judged_by_the_same_rule(
    make: Make, admin: pymysql.Connection, ended: str
) -> None:
    """A tool that connects by itself is seen only by what it raises."""
    backend = make()
    lease = backend.acquire(ENVIRONMENT, None, attempt_id="a")
    watch = DatabaseWatch(lease.blames)
    own = create_engine(lease.url)
    try:
        with own.connect() as connection:
            connection.execute(text("SELECT 1"))
            if ended == "all sessions":
                end_all(admin, backend, lease)
            connection.execute(text(END_IT))
            connection.execute(text("SELECT 1"))
    except Exception as error:  # noqa: BLE001 - whatever it is, the watch is to see it
        watch.saw(error)
    assert (watch.dead is not None) is (ended == "all sessions")
    own.dispose()
    lease.release()


def seen_of_an_own_engine(lease: MySQLLease, statement: str) -> str | None:
    """Of a tool that connects by itself, and executes this."""
    watch = DatabaseWatch(lease.blames)
    own = create_engine(lease.url)
    try:
        with own.connect() as connection:
            connection.exec_driver_sql(statement)
    except DBAPIError as error:
        watch.saw(error)
    else:
        raise AssertionError("nothing failed")
    own.dispose()
    return watch.dead


def test_a_full_server_is_an_outage_for_an_engine_of_the_tools_own(
    lease: MySQLLease, admin: pymysql.Connection
) -> None:
    [(most,)] = execute(admin, "SELECT @@GLOBAL.max_connections")
    held = []
    execute(admin, "SET GLOBAL max_connections = 10")
    try:
        with suppress(pymysql.OperationalError):  # the one for which there is no connection left
            while True:
                held.append(connect(lease._server.url.render_as_string(hide_password=False)))
        assert seen_of_an_own_engine(lease, "SELECT 1") == "(1040, 'Too many connections')"
    finally:
        execute(admin, f"SET GLOBAL max_connections = {most}")
        for one in held:
            one.close()


def test_what_its_user_may_not_is_no_outage_for_an_engine_of_the_tools_own(lease: MySQLLease) -> None:
    held = [connect(lease.url) for _ in range(CONNECTION_LIMIT)]
    assert seen_of_an_own_engine(lease, "SELECT 1") is None
    for one in held:
        one.close()
    too_many = "SIGNAL SQLSTATE '08004' SET MESSAGE_TEXT = 'Too many connections', MYSQL_ERRNO = 1040"
    assert seen_of_an_own_engine(lease, too_many) is None


@only_mariadb
def test_a_server_that_can_write_has_room(shared: MySQLBackend) -> None:
    assert shared._server.has_room()
    assert execute(connect(shared._url), f"SHOW TABLES IN {shared._server.home} LIKE 'room%'") == []


NO_SPACE = {
    "a temporary table": pymysql.OperationalError(
        1021, "Disk got full writing '.' (Errcode: 28 \"No space\")"
    ),
    "an engine": pymysql.OperationalError(
        1030, "Got error 28 - 'No space left on device' from storage engine"
    ),
    "MariaDB's engine": pymysql.OperationalError(
        1030, 'Got error 28 "No space left" from storage engine Aria'
    ),
    "a file": pymysql.InternalError(3, "Error writing file '/tmp/MYfd=26' (OS errno 28 - No space left)"),
    "MariaDB's file": pymysql.OperationalError(
        1026, "Error writing file './t' (errno: 28 \"No space left\")"
    ),
}


@pytest.mark.parametrize("what", NO_SPACE)
@pytest.mark.parametrize("environment", [ENVIRONMENT, WITH_DDL], ids=["rows", "ddl"])
@only_mariadb
def test_a_disk_that_is_full_while_the_end_is_read_is_an_outage(
    shared: MySQLBackend, monkeypatch: pytest.MonkeyPatch, environment: Environment, what: str
) -> None:
    lease = shared.acquire(environment, None, attempt_id="a")
    lease.cut()
    monkeypatch.setattr(module, "full_changes", raising(NO_SPACE[what]))
    with pytest.raises(InfrastructureDown, match=r"cannot be reached: (Disk|Got|Error)"):
        lease.read_changes(audit=True)
    lease.release()


@pytest.mark.parametrize("room", [True, False])
@only_mariadb
def test_what_cannot_be_read_is_the_agents_doing_only_where_the_server_has_room(
    shared: MySQLBackend, monkeypatch: pytest.MonkeyPatch, room: bool
) -> None:
    lease = shared.acquire(WITH_DDL, None, attempt_id="a")
    lease.cut()
    monkeypatch.setattr(module, "full_changes", raising(pymysql.OperationalError(1030, "Got error 168")))
    monkeypatch.setattr(lease._server, "has_room", lambda: room)
    if room:
        found = {(one.type, one.name) for one in lease.read_changes(audit=True).schema}
        assert found == {("reading of table", "orders"), ("reading of table", "lines")}
    else:
        with pytest.raises(InfrastructureDown, match="no disk left"):
            lease.read_changes(audit=True)
    lease.release()


@pytest.mark.parametrize("what", NO_SPACE)
@pytest.mark.parametrize("room", [True, False])
@only_mariadb
def test_who_says_that_a_disk_is_full_is_believed_where_there_is_no_room(
    lease: MySQLLease, monkeypatch: pytest.MonkeyPatch, what: str, room: bool
) -> None:
    monkeypatch.setattr(lease._server, "has_room", lambda: room)
    assert lease.blames(NO_SPACE[what], connecting=False, lost=False) is not room


def raising(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail

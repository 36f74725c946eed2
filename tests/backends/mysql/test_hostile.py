"""A hostile agent with an SQL tool: what it tries, and that it gets nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pymysql
import pytest
from pymysql.constants import COMMAND
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from pytest_thinkingbox.backends import sweep_server
from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.backends.mysql.lease import MySQLLease
from pytest_thinkingbox.backends.mysql.users import CONNECTION_LIMIT
from pytest_thinkingbox.state.model import StateDiff

from .conftest import Make
from .worlds import (
    SHOP,
    changes_after,
    connect,
    environment_of,
    execute,
    need_version,
    only_mariadb,
    only_mysql,
    raw,
)

ENVIRONMENT = environment_of(
    *SHOP,
    "CREATE TRIGGER seen BEFORE UPDATE ON orders FOR EACH ROW SET NEW.total = NEW.total",
    "CREATE PROCEDURE anything(statement TEXT) BEGIN SET @it = statement; PREPARE it FROM @it; EXECUTE it; END",
)


@pytest.fixture
def lease(shared: MySQLBackend) -> Iterator[MySQLLease]:
    made = shared.acquire(ENVIRONMENT, None, attempt_id="a")
    yield made
    made.release()


REFUSED = [
    # more than rows
    "DROP TABLE `lines`",
    "TRUNCATE `lines`",
    "ALTER TABLE orders ADD COLUMN mine INT",
    "ALTER TABLE orders AUTO_INCREMENT = 1000",
    "CREATE TABLE mine (a INT)",
    "CREATE TEMPORARY TABLE mine (a INT)",
    "CREATE INDEX mine ON orders (status)",
    "CREATE VIEW mine AS SELECT 1",
    "DROP TRIGGER seen",
    "CREATE TRIGGER mine AFTER INSERT ON orders FOR EACH ROW SET @x = 1",
    "CREATE PROCEDURE mine() SELECT 1",
    "ALTER PROCEDURE anything SQL SECURITY INVOKER",
    "DROP PROCEDURE anything",
    "CREATE EVENT mine ON SCHEDULE EVERY 1 SECOND DO DELETE FROM orders",
    "LOCK TABLES orders WRITE",
    "RENAME TABLE orders TO mine",
    # other users and databases
    "CREATE USER mine",
    "CREATE DATABASE mine",
    "CREATE DATABASE tb_mine_t_1",
    "USE mysql",
    "SELECT * FROM mysql.user",
    "SELECT * FROM {template}.orders",
    "UPDATE {template}.orders SET status = 'mine'",
    "INSERT INTO {home}.templates VALUES ('mine')",
    "SELECT * FROM {other}.orders",
    "DROP DATABASE {other}",
    "GRANT ALL ON *.* TO CURRENT_USER",
    "ALTER USER CURRENT_USER WITH MAX_USER_CONNECTIONS 1000",
    "KILL {admin}",
    "SET GLOBAL max_connections = 1",
    "SET GLOBAL event_scheduler = ON",
    "SET SESSION sql_log_bin = 0",
    "FLUSH TABLES WITH READ LOCK",
    "FLUSH PRIVILEGES",
    "SHUTDOWN",
    # the machine
    "SELECT * FROM orders INTO OUTFILE '/tmp/mine'",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE orders (status)",
    "INSTALL PLUGIN mine SONAME 'mine.so'",
    # by what the author's code may do
    "CALL anything('SELECT * FROM mysql.user')",
    "CALL anything('CREATE DATABASE mine')",
    "CALL anything('UPDATE {template}.orders SET status = 1')",
    "CALL anything('DELETE FROM {other}.orders')",
    "CALL anything('GRANT ALL ON *.* TO CURRENT_USER')",
]


REFUSED_BY_MYSQL = [
    "SET PERSIST max_connections = 1",
    "SET PERSIST_ONLY max_connections = 1",
    "INSTALL COMPONENT 'file://component_query_attributes'",
    "CREATE ROLE mine",
    "GRANT root TO CURRENT_USER",
    "ALTER USER CURRENT_USER() ACCOUNT UNLOCK",
    "ALTER USER CURRENT_USER() IDENTIFIED BY 'mine' RETAIN CURRENT PASSWORD",
    "CREATE RESOURCE GROUP mine TYPE = USER",
    "LOCK INSTANCE FOR BACKUP",
    "ALTER INSTANCE DISABLE INNODB REDO_LOG",
    "CLONE LOCAL DATA DIRECTORY = '/tmp/mine'",
    "CREATE TABLESPACE mine ADD DATAFILE 'mine.ibd'",
    "RESTART",
    "ALTER DATABASE READ ONLY = 1",
    "SELECT * FROM performance_schema.threads",
    "SELECT * FROM performance_schema.events_statements_history",
    "SELECT * FROM sys.session",
    "CALL sys.ps_setup_enable_consumer('statements')",
]


@pytest.fixture(scope="module")
def attacked(shared: MySQLBackend) -> Iterator[tuple[MySQLLease, MySQLLease]]:
    """The attempt that tries it all, one statement a test, and another one at the same time; neither is changed."""
    leases = tuple(shared.acquire(ENVIRONMENT, None, attempt_id=name) for name in "ab")
    yield leases[0], leases[1]
    for lease in leases:
        lease.cut()
        assert lease.read_changes(audit=True) == StateDiff()
        lease.release()


@pytest.mark.parametrize("statement", REFUSED)
def test_t36_refused(shared: MySQLBackend, attacked: tuple[MySQLLease, MySQLLease], statement: str) -> None:
    lease, other = attacked
    written = statement.format(
        template=lease._template.name,
        home=shared._server.home,
        other=other.database,
        admin=shared._server._keeper.thread_id(),
    )
    with (
        raw(lease) as connection,
        pytest.raises(pymysql.Error, match=r"denied|need|\(1410|privilege|not owner"),
    ):
        execute(connection, written)
    assert shared._server.alive()


@pytest.mark.parametrize("statement", REFUSED_BY_MYSQL)
@only_mysql
def test_t36_refused_by_mysql(
    shared: MySQLBackend, attacked: tuple[MySQLLease, MySQLLease], statement: str
) -> None:
    need_version(shared, 8, 0, 22)
    with raw(attacked[0]) as connection, pytest.raises(pymysql.Error, match=r"denied|need"):
        execute(connection, statement)
    assert shared._server.alive()


def test_a_file_of_the_machine_of_the_tools_is_not_sent(lease: MySQLLease) -> None:
    with raw(lease) as connection, pytest.raises(pymysql.Error):
        execute(connection, "LOAD DATA LOCAL INFILE '/etc/hostname' INTO TABLE orders (status)")


@pytest.mark.parametrize("name", ["mine", "other"])
def test_no_other_database_is_seen(shared: MySQLBackend, lease: MySQLLease, name: str) -> None:
    other = shared.acquire(ENVIRONMENT, None, attempt_id=name)
    with raw(lease) as connection:
        found = {one for (one,) in execute(connection, "SHOW DATABASES")}
        sessions = {one[1] for one in execute(connection, "SHOW PROCESSLIST")}
    assert found <= {lease.database, "information_schema", "performance_schema"}
    assert sessions == {lease.login.name}
    other.release()


@pytest.mark.parametrize(
    "statement",
    [
        "SET PASSWORD = ''",
        "SELECT GET_LOCK('anything', 0)",
        "SET SESSION foreign_key_checks = 0",
        "SET SESSION autocommit = 0",
        "SET NAMES latin1",
        "SET @mine = 1",
        "XA START 'mine'",
        "BEGIN",
    ],
)
def test_without_effect(shared: MySQLBackend, lease: MySQLLease, statement: str) -> None:
    with raw(lease) as connection:
        try:
            execute(connection, statement)
        except pymysql.Error as error:
            assert statement.startswith("SET PASSWORD"), error  # noqa: PT017 - policies differ
    lease.cut()
    assert lease.read_changes(audit=True) == StateDiff()
    following = shared.acquire(ENVIRONMENT, None, attempt_id="b")
    with following.engine.begin() as after:
        assert after.execute(text("INSERT INTO orders (status) VALUES ('x')")).lastrowid == 3
    following.release()


def test_t36_an_idle_transaction_with_locks_does_not_outlive_the_cut(lease: MySQLLease) -> None:
    with raw(lease, autocommit=False) as connection:
        execute(connection, "DELETE FROM `lines`")
        execute(connection, "SELECT GET_LOCK('anything', 0)")
        lease.cut()
        assert lease.read_changes(audit=True) == StateDiff()
        started = time.monotonic()
        lease.release()
        assert time.monotonic() - started < 5


def hang(kind: str, more: str = "0") -> str:
    """For some seconds, in which the server does not look whether the session was ended."""
    size = 110_000 if kind == "MariaDB" else 15_000  # at a time that grows with its square
    return f"LOCATE(CONCAT(REPEAT('a', {size}), 'b'), REPEAT('a', {2 * size} + {more}))"


@only_mariadb
def test_a_session_that_does_not_end_is_judged_and_holds_nobody_up(
    server: str, make: Make, admin: pymysql.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_thinkingbox.backends.mysql.lease._CUT_SECONDS", 0.5)
    monkeypatch.setattr("pytest_thinkingbox.backends.mysql.server.WAIT_SECONDS", 1)
    backend = make()
    lease = backend.acquire(ENVIRONMENT, None, attempt_id="a")
    connection = connect(lease.url)
    execute(connection, "UPDATE orders SET total = 5")
    execute(connection, "BEGIN")
    execute(connection, "UPDATE orders SET status = 'mine'")
    connection._execute_command(COMMAND.COM_QUERY, f"SELECT {hang(backend._server.kind)}")
    time.sleep(0.2)
    started = time.monotonic()
    lease.cut()
    assert [dict(one.after or {})["status"] for one in lease.read_changes(audit=True).rows] == [
        "open",
        "open",
    ]
    lease.release()
    backend.close()
    assert time.monotonic() - started < 8
    here = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{lease.login.name}'"
    assert execute(admin, here) == [(1,)], "it ended too early to prove anything"
    assert execute(admin, f"SHOW DATABASES LIKE '{lease.database}'")
    while execute(admin, here) != [(0,)]:
        time.sleep(0.1)
    assert lease.database in sweep_server(server)
    connection._force_close()


UNREADABLE = {
    "a view of itself": (
        "view",
        "a",
        [
            "CREATE TABLE a (x INT)",
            "CREATE VIEW b AS SELECT * FROM a",
            "CREATE VIEW a2 AS SELECT * FROM b",
            "DROP TABLE a",
            "RENAME TABLE a2 TO a",
        ],
    ),
    "a table of others that it cannot join": (
        "table",
        "orders",
        [
            "SET foreign_key_checks = 0",
            "RENAME TABLE orders TO o",
            "CREATE TABLE orders (id INT, status VARCHAR(20), total DECIMAL(10, 2)) ENGINE=MERGE UNION=(o)",
        ],
    ),
    "half a character": (
        "table",
        "orders",
        ["ALTER TABLE orders CONVERT TO CHARACTER SET ucs2", "UPDATE orders SET status = _ucs2 0xd800"],
    ),
}
COMPUTED = environment_of(
    *SHOP,
    "CREATE TABLE t (id INT PRIMARY KEY, n INT, status VARCHAR(20))",
    "INSERT INTO t VALUES (1, 2, 'x')",
    ddl=True,
)
OF_MYSQL = {
    "BIGINT AS (n * 9223372036854775807) VIRTUAL": "out of range",
    "JSON AS (JSON_EXTRACT(CONCAT('x', n), '$.a')) VIRTUAL": "Invalid JSON",
}


def readings(diff: StateDiff) -> list[tuple[str, str]]:
    return [(one.type, one.name) for one in diff.schema if (one.after or "").startswith("not possible: ")]


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_an_agent_makes_unreadable_is_a_change_of_the_schema(shared: MySQLBackend, what: str) -> None:
    kind, name, statements = UNREADABLE[what]
    diff = changes_after(
        shared, environment_of(*SHOP, ddl=True), "DELETE FROM `lines` WHERE id = 1", *statements
    )
    assert (f"reading of {kind}", name) in readings(diff)
    assert {one for _, one in readings(diff)} <= {name, "b"}
    assert ("lines", (1,)) in [(one.table, one.key) for one in diff.rows]


def test_rows_are_read_beside_a_view_that_cannot_be_read(shared: MySQLBackend) -> None:
    lease = shared.acquire(environment_of(*SHOP, ddl=True), None, attempt_id="a")
    with raw(lease) as connection:
        for statement in UNREADABLE["a view of itself"][2]:
            execute(connection, statement)
    lease.cut()
    assert lease.rows("lines", {"id": 1}) == [{"id": 1, "order_id": 1}]
    lease.release()


@pytest.mark.parametrize("column", OF_MYSQL)
@only_mysql
def test_a_column_that_cannot_be_computed_is_a_change_of_the_schema(
    shared: MySQLBackend, column: str
) -> None:
    diff = changes_after(
        shared,
        COMPUTED,
        "DELETE FROM `lines` WHERE id = 1",
        "SET sql_mode = ''",
        "ALTER TABLE t DROP COLUMN status",
        f"ALTER TABLE t ADD COLUMN status {column}",
    )
    assert readings(diff) == [("reading of table", "t")]
    assert OF_MYSQL[column] in str(diff.schema)
    assert [(one.table, one.key) for one in diff.rows] == [("lines", (1,))]


def test_a_column_that_takes_for_ever_is_a_change_of_the_schema_and_holds_nobody_up(
    make: Make, admin: pymysql.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_thinkingbox.backends.mysql.server.READ_SECONDS", 2)
    monkeypatch.setattr("pytest_thinkingbox.backends.mysql.engines.READ_SECONDS", 1)
    monkeypatch.setattr("pytest_thinkingbox.backends.mysql.server.WAIT_SECONDS", 1)
    backend = make()
    lease = backend.acquire(COMPUTED, None, attempt_id="a")
    with raw(lease) as connection:
        execute(connection, "DELETE FROM `lines` WHERE id = 1")
        execute(connection, "ALTER TABLE t DROP COLUMN status")
        slow = hang(backend._server.kind, "n")
        execute(connection, f"ALTER TABLE t ADD COLUMN status INT AS ({slow}) VIRTUAL")
    lease.cut()
    started = time.monotonic()
    diff = lease.read_changes(audit=True)
    assert readings(diff) == [("reading of table", "t")]
    assert [(one.table, one.key) for one in diff.rows] == [("lines", (1,))]
    with lease.connect_after() as after, pytest.raises(DBAPIError, match=r"Lost connection|timed out"):
        after.exec_driver_sql("SELECT status FROM t")
    lease.release()
    backend.close()
    assert time.monotonic() - started < 14
    while execute(admin, f"SELECT 1 FROM information_schema.PROCESSLIST WHERE DB = '{lease.database}'"):
        time.sleep(0.1)


def test_an_error_of_reading_what_no_agent_can_define_is_raised(
    lease: MySQLLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease.cut()

    def fail(*_: object, **__: object) -> None:
        raise pymysql.DataError(1690, "out of range")

    monkeypatch.setattr("pytest_thinkingbox.backends.mysql.lease.full_changes", fail)
    with pytest.raises(pymysql.DataError, match="out of range"):
        lease.read_changes(audit=True)


def test_connections_are_limited(lease: MySQLLease) -> None:
    opened = [connect(lease.url) for _ in range(CONNECTION_LIMIT)]
    with pytest.raises(pymysql.Error, match="max_user_connections"):
        connect(lease.url)
    for connection in opened:
        connection.close()


@only_mariadb
def test_statements_are_limited(lease: MySQLLease, shared: MySQLBackend) -> None:
    with raw(lease) as connection:
        [(limit,)] = execute(connection, "SELECT @@SESSION.max_statement_time")
    assert float(limit) == 60
    with lease.engine.connect() as connection:
        connection.execute(text("SET max_statement_time = 0.2"))
        started = time.monotonic()
        with pytest.raises(DBAPIError, match="max_statement_time"):
            connection.execute(text("SELECT SLEEP(20)"))
        assert time.monotonic() - started < 5
        assert connection.execute(text("SELECT 1")).scalar() == 1


@only_mysql
def test_queries_of_tools_in_this_process_are_limited(lease: MySQLLease, shared: MySQLBackend) -> None:
    with lease.engine.connect() as connection:
        assert connection.execute(text("SELECT @@SESSION.max_execution_time")).scalar() == 60_000
        connection.execute(text("SET max_execution_time = 200"))
        started = time.monotonic()
        assert connection.execute(text("SELECT SLEEP(20)")).scalar() == 1  # it was interrupted
        assert time.monotonic() - started < 5


def test_its_password_is_in_no_text_of_the_server(lease: MySQLLease) -> None:
    with raw(lease) as connection, pytest.raises(pymysql.Error) as caught:
        execute(connection, "SELECT * FROM mysql.user")
    assert lease.login.password not in str(caught.value)

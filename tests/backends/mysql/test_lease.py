"""One attempt's database on MariaDB or MySQL: isolation, the cut, reading, giving back."""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from decimal import Decimal
from typing import Any

import pymysql
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError

from pytest_thinkingbox.backends import sweep_server
from pytest_thinkingbox.backends.base import NotInRecord
from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.backends.mysql.compare import full_changes
from pytest_thinkingbox.backends.mysql.lease import MySQLLease
from pytest_thinkingbox.backends.mysql.template import Template
from pytest_thinkingbox.backends.mysql.users import CONNECTION_LIMIT
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ConfigurationError, ReadOnlyState, UnknownName
from pytest_thinkingbox.state.model import RowChange, StateDiff
from tests.backends.pools import settle

from .conftest import Make
from .worlds import SHOP, changes_after, environment_of, execute, need_version, only_mariadb, only_mysql, raw

SHOP_ENVIRONMENT = environment_of(*SHOP)


@pytest.fixture
def lease(shared: MySQLBackend) -> Iterator[MySQLLease]:
    made = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    yield made
    made.release()


def names(connection: pymysql.Connection, backend: MySQLBackend) -> list[str]:
    """Databases and users of the campaign."""
    like = f"tb\\_{backend._campaign.part}\\_%"
    return [
        name
        for (name,) in execute(
            connection,
            f"SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE '{like}'"
            f" UNION ALL SELECT User FROM mysql.user WHERE User LIKE '{like}'",
        )
    ]


def test_t7_the_second_attempt_sees_the_seed(shared: MySQLBackend) -> None:
    for _ in range(2):
        lease = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
        with lease.engine.begin() as connection:
            assert connection.execute(text("SELECT status FROM orders")).scalars().all() == ["open", "open"]
            key = connection.execute(text("INSERT INTO orders (status) VALUES ('new')")).lastrowid
            assert key == 3  # and not what the attempt before left of the counter
            connection.execute(text("UPDATE orders SET status = 'paid' WHERE id < 3"))
        lease.cut()
        changes = lease.read_changes(audit=True).rows
        assert [(one.kind, one.key) for one in changes] == [
            ("update", (1,)),
            ("update", (2,)),
            ("insert", (3,)),
        ]
        lease.release()


def test_a_used_up_counter_is_no_change_and_is_as_in_the_seed_again(shared: MySQLBackend) -> None:
    diff = changes_after(
        shared,
        SHOP_ENVIRONMENT,
        "INSERT INTO orders (id, status) VALUES (900, 'new')",
        "DELETE FROM orders WHERE id = 900",
    )
    assert diff == StateDiff()
    [change] = changes_after(shared, SHOP_ENVIRONMENT, "INSERT INTO orders (status) VALUES ('x')").rows
    assert change.key == (3,)


def test_a_counter_that_is_beyond_the_rows_of_the_seed_stays_so(shared: MySQLBackend) -> None:
    environment = environment_of(
        *SHOP, "DELETE FROM orders WHERE id = 2", "ALTER TABLE orders AUTO_INCREMENT = 70"
    )
    [change] = changes_after(shared, environment, "INSERT INTO orders (status) VALUES ('x')").rows
    assert change.key == (70,)


def test_attempts_at_the_same_time_do_not_see_each_other(shared: MySQLBackend) -> None:
    leases = [shared.acquire(SHOP_ENVIRONMENT, None, attempt_id=str(number)) for number in range(3)]
    for number, lease in enumerate(leases):
        with lease.engine.begin() as connection:
            connection.execute(text("UPDATE orders SET total = :n WHERE id = 1"), {"n": 100 + number})
    for number, lease in enumerate(leases):
        lease.cut()
        [change] = lease.read_changes(audit=True).rows
        assert change.after is not None
        assert change.after["total"] == Decimal(100 + number)
        lease.release()


def test_nothing_written_is_no_change(lease: MySQLLease) -> None:
    lease.cut()
    assert lease.read_changes(audit=True) == StateDiff()


def test_a_cascade_is_read(lease: MySQLLease) -> None:
    with lease.engine.begin() as connection:
        connection.execute(text("DELETE FROM orders WHERE id = 1"))
    lease.cut()
    changes = lease.read_changes(audit=True).rows
    assert [(one.kind, one.table, one.key) for one in changes] == [
        ("delete", "lines", (1,)),
        ("delete", "lines", (2,)),
        ("delete", "orders", (1,)),
    ]


def test_uncommitted_work_is_no_change_and_the_cut_poisons_the_engine(lease: MySQLLease) -> None:
    held = lease.engine.connect()
    held.execute(text("DELETE FROM `lines`"))
    lease.cut()
    with pytest.raises(OperationalError):
        held.execute(text("DELETE FROM `lines`"))
    held.invalidate()
    held.close()
    with pytest.raises(OperationalError, match="the attempt has ended"):
        lease.engine.connect()
    assert lease.read_changes(audit=True).rows == ()


def test_the_cut_ends_a_session_that_sleeps_in_another_program(lease: MySQLLease) -> None:
    started, errors = threading.Event(), []

    def program() -> None:
        try:
            with raw(lease, autocommit=False) as connection:
                execute(connection, "DELETE FROM `lines`")
                started.set()
                execute(connection, "SELECT SLEEP(50)")
        except pymysql.Error as error:
            errors.append(error)

    thread = threading.Thread(target=program)
    thread.start()
    started.wait(10)
    lease.cut()
    thread.join(5)
    assert not thread.is_alive()
    assert len(errors) == 1
    assert lease.read_changes(audit=True).rows == ()


def test_t52_nobody_connects_after_the_cut(lease: MySQLLease) -> None:
    lease.cut()
    with pytest.raises(pymysql.OperationalError, match=r"locked|Access denied"), raw(lease):
        pass


def test_t47_opened_used_and_read_in_three_threads(shared: MySQLBackend) -> None:
    found: list[Any] = []

    def in_thread(step: Any) -> None:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join(20)

    in_thread(lambda: found.append(shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")))
    lease = found[0]

    def use() -> None:
        with lease.engine.begin() as connection:
            connection.execute(text("DELETE FROM `lines` WHERE id = 2"))

    def read() -> None:
        lease.cut()
        found.append(lease.read_changes(audit=True))

    in_thread(use)
    in_thread(read)
    assert [one.key for one in found[1].rows] == [(2,)]
    lease.release()


def test_checkers_read_both_states_and_write_neither(lease: MySQLLease) -> None:
    with lease.engine.begin() as connection:
        connection.execute(text("UPDATE orders SET total = 99 WHERE id = 1"))
    lease.cut()
    lease.read_changes(audit=False)
    query = text("SELECT total FROM orders WHERE id = 1")
    with lease.connect_after() as after, lease.connect_before() as before:
        assert (before.execute(query).scalar(), after.execute(query).scalar()) == (Decimal(10), Decimal(99))
        for connection in (after, before):
            for statement in (
                "DELETE FROM orders",
                "CREATE TABLE t (a INT)",
                "CREATE TEMPORARY TABLE t (a INT)",
                "DROP TABLE `lines`",
                "CREATE DATABASE other",
            ):
                with pytest.raises(ReadOnlyState, match="a checker may only read"):
                    connection.execute(text(statement))
            with pytest.raises(ProgrammingError):
                connection.execute(text("SELECT nonsense FROM nowhere"))
            assert connection.execute(query).scalar() is not None


def test_a_session_that_ends_while_the_server_lives_is_no_outage(lease: MySQLLease) -> None:
    """An agent can leave a view behind that ends the session of whoever reads it."""
    lease.cut()
    connection = lease.connect_after()
    with pytest.raises(DBAPIError):
        connection.execute(text("KILL CONNECTION_ID()"))
    connection.invalidate()
    connection.close()


def test_ctrl_c_in_a_statement_of_a_checker_is_ctrl_c(lease: MySQLLease) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    lease.cut()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        connection = lease.connect_after()
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            connection.execute(text("SELECT SLEEP(20)"))
        connection.close()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_rows_of_the_final_state(lease: MySQLLease) -> None:
    lease.cut()
    assert lease.rows("orders", {"total": 20.5}) == [{"id": 2, "status": "open", "total": Decimal("20.50")}]
    assert [row["id"] for row in lease.rows("orders", {"status": "open"})] == [1, 2]
    assert lease.rows("orders", {"status": "OPEN"}) == []
    assert [row["id"] for row in lease.rows("orders", {"id": 2})] == [2]
    with pytest.raises(UnknownName, match="'order' is no table of the final state; there are: lines, orders"):
        lease.rows("order", {})
    with pytest.raises(UnknownName, match="orders has no column 'state'; it has: id, status, total"):
        lease.rows("orders", {"state": "open"})


def test_before_is_seed_and_start(shared: MySQLBackend) -> None:
    def start(connection: Any, order: int) -> None:
        connection.execute(text("INSERT INTO orders VALUES (:id, 'started', 1)"), {"id": order})

    state = StartState(key="start", run=start, parameters={"order": 50})
    lease = shared.acquire(SHOP_ENVIRONMENT, state, attempt_id="a")
    with lease.engine.begin() as connection:
        connection.execute(text("UPDATE orders SET status = 'agent' WHERE id = 50"))
    lease.cut()
    [change] = lease.read_changes(audit=True).rows
    assert (change.kind, change.key, change.before) == (
        "update", (50,), {"id": 50, "status": "started", "total": Decimal("1.00")},
    )  # fmt: skip
    with lease.connect_before() as before:
        assert before.execute(text("SELECT status FROM orders WHERE id = 50")).scalar() == "started"
    lease.release()


def test_a_start_that_fails_is_a_configuration_error(shared: MySQLBackend) -> None:
    def start(connection: Any) -> None:
        connection.execute(text("INSERT INTO orders VALUES (1, 'twice', 1)"))

    with pytest.raises(ConfigurationError, match=r"start .* does not load: IntegrityError"):
        shared.acquire(SHOP_ENVIRONMENT, StartState(key="bad", run=start, parameters={}), attempt_id="a")


def test_the_final_state_is_made_again_from_its_changes(shared: MySQLBackend) -> None:
    environment = environment_of(
        *SHOP,
        "CREATE TABLE things (a INT, b JSON, c DATETIME(3), d FLOAT, e BIT(5), f TIME, g VARBINARY(9),"
        " h INT GENERATED ALWAYS AS (a + 1) STORED)",
        """INSERT INTO things (a, b, c, d, e, f, g) VALUES
            (1, '{"x": 1}', '2026-01-01 02:00:00.5', 0.1, b'101', '-30:00:01', x'00ff'),
            (1, '{"x": 1}', '2026-01-01 02:00:00.5', 0.1, b'101', '-30:00:01', x'00ff')""",
        "CREATE TRIGGER told AFTER INSERT ON orders FOR EACH ROW INSERT INTO things (a) VALUES (NEW.id)",
    )
    first = shared.acquire(environment, None, attempt_id="a")
    with first.engine.begin() as connection:
        connection.execute(text("DELETE FROM orders WHERE id = 1"))
        connection.execute(text("INSERT INTO orders (status, total) VALUES ('it''s \\\\ %', NULL)"))
        connection.execute(text("UPDATE things SET b = '[null, 0.1]', c = NULL"))
    first.cut()
    diff = first.read_changes(audit=True)
    assert len(diff.rows) == 9
    first.release()
    again = shared.acquire(environment, None, attempt_id="b")
    again.rebuild(diff)
    again.cut()
    assert again.read_changes(audit=True) == diff
    again.release()


def test_changes_of_another_seed_are_not_made(lease: MySQLLease) -> None:
    gone = RowChange("delete", "orders", (9,), {"id": 9, "status": "x", "total": None}, None)
    with pytest.raises(NotInRecord, match="the seed has no row"):
        lease.rebuild(StateDiff(rows=(gone,)))


def test_the_url_holds_a_random_password_and_names_the_campaign(shared: MySQLBackend) -> None:
    one = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    other = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    assert one.login.name != other.login.name
    assert one.login.password != other.login.password
    assert len(one.login.password) == 32
    assert one.login.name.startswith(f"tb_{shared._campaign.part}_a_")
    assert one.url.startswith(f"mysql+pymysql://{one.login.name}:")
    one.release()
    other.release()


def test_the_seed_hash_is_the_same_in_every_campaign_and_changes_with_a_row(make: Make) -> None:
    one, other = make(), make()
    assert one.seed_hash(SHOP_ENVIRONMENT) == other.seed_hash(SHOP_ENVIRONMENT)
    changed = environment_of(*SHOP, "UPDATE orders SET total = 11 WHERE id = 1")
    assert one.seed_hash(changed) != one.seed_hash(SHOP_ENVIRONMENT)


def test_a_released_attempt_leaves_nothing(make: Make, admin: pymysql.Connection) -> None:
    backend = make()
    backend.prepare(SHOP_ENVIRONMENT)
    before = names(admin, backend)
    lease = backend.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    assert len(names(admin, backend)) == len(before) + 2
    lease.release()
    settle(backend._pool)
    assert names(admin, backend) == before


def test_databases_are_made_ahead_of_an_environment_that_is_used_again(
    make: Make, admin: pymysql.Connection
) -> None:
    """With code too, whose owner has rights on the database that was made for it."""
    backend = make()
    told = "CREATE TRIGGER told BEFORE INSERT ON orders FOR EACH ROW SET NEW.status = 'told'"
    environment = environment_of(*SHOP, told)
    made = []
    for _ in range(4):
        lease = backend.acquire(environment, None, attempt_id="a")
        made.append(lease.database)
        with raw(lease) as connection:
            assert execute(connection, "SELECT COUNT(*) FROM orders") == [(2,)]
            execute(connection, "INSERT INTO orders (status) VALUES ('new')")
        lease.cut()
        [change] = lease.read_changes(audit=True).rows
        assert change.after is not None
        assert change.after["status"] == "told"
        lease.release()
        settle(backend._pool)
    waiting = {one.database for one in backend._pool._ready[backend._template(environment, None)]}
    assert len(set(made)) == 4
    assert len(waiting) == 2
    backend.close()
    assert names(admin, backend) == []


@only_mysql
def test_an_agent_that_makes_its_database_read_only_altered_it_and_it_is_dropped_all_the_same(
    make: Make, admin: pymysql.Connection
) -> None:
    """Else no later campaign could clear the server up."""
    backend = make()
    need_version(backend, 8, 0, 22)
    lease = backend.acquire(environment_of(*SHOP, ddl=True), None, attempt_id="a")
    with raw(lease) as connection:
        execute(connection, "ALTER DATABASE READ ONLY = 1")
    lease.cut()
    diff = lease.read_changes(audit=True)
    assert [(one.action, one.type, one.name) for one in diff.schema] == [("altered", "database", "defaults")]
    assert diff.rows == ()
    lease.release()
    settle(backend._pool)
    assert lease.database not in names(admin, backend)


@only_mysql
def test_a_schema_that_makes_its_database_read_only_is_refused(shared: MySQLBackend) -> None:
    need_version(shared, 8, 0, 22)
    with pytest.raises(ConfigurationError, match="its schema makes the database read-only"):
        shared.prepare(environment_of(*SHOP, "ALTER DATABASE READ ONLY = 1"))


def test_what_a_copy_takes_up_is_what_its_rows_do(shared: MySQLBackend) -> None:
    environment = environment_of(
        "CREATE TABLE wide (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(1000))",
        f"INSERT INTO wide (what) VALUES {', '.join(['(REPEAT(1, 1000))'] * 1000)}",
        "INSERT INTO wide (what) SELECT what FROM wide",
    )
    shared.prepare(environment)
    assert 2_000_000 < shared._template(environment, None).size < 8_000_000


def test_closing_removes_databases_and_users(make: Make, admin: pymysql.Connection) -> None:
    backend = make()
    backend.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    assert len(names(admin, backend)) == 5
    backend.close()
    backend.close()
    assert names(admin, backend) == []


def test_the_first_process_to_end_leaves_the_others_theirs(make: Make, admin: pymysql.Connection) -> None:
    label = f"two-{secrets.token_hex(4)}"
    one, other = make(label=label), make(label=label)
    one.prepare(SHOP_ENVIRONMENT)
    lease = other.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    one.close()
    with lease.engine.begin() as connection:
        connection.execute(text("DELETE FROM `lines`"))
    lease.cut()
    assert len(lease.read_changes(audit=True).rows) == 2
    other.close()
    assert names(admin, other) == []


def test_t29_another_campaign_on_the_same_server_is_left_alone(make: Make) -> None:
    one = make()
    lease = one.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    other = make()  # sweeps when it starts
    other.prepare(SHOP_ENVIRONMENT)
    other.close()
    lease.cut()
    assert lease.read_changes(audit=True).rows == ()
    lease.release()


def killed(make: Make, admin: pymysql.Connection) -> MySQLBackend:
    """A campaign whose process ended in the middle of an attempt."""
    dead = make()
    dead.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    for (session,) in execute(
        admin, f"SELECT ID FROM information_schema.PROCESSLIST WHERE DB = '{dead._server.home}'"
    ):
        execute(admin, f"KILL CONNECTION {session}")
    assert len(names(admin, dead)) == 5
    return dead


def test_t30_what_a_dead_campaign_left_is_swept_by_the_next(make: Make, admin: pymysql.Connection) -> None:
    dead = killed(make, admin)
    make()
    assert names(admin, dead) == []


def test_t30_what_a_dead_campaign_left_is_removed_by_hand(
    make: Make, admin: pymysql.Connection, server: str
) -> None:
    alive = make()
    alive.prepare(SHOP_ENVIRONMENT)
    dead = killed(make, admin)
    assert len(sweep_server(server)) == 3
    assert names(admin, dead) == []
    assert len(names(admin, alive)) == 3


def test_a_database_and_a_user_of_somebody_else_with_a_name_like_ours_are_left_alone(
    make: Make, admin: pymysql.Connection
) -> None:
    theirs = f"tb_sales{secrets.token_hex(3)}_t_2024"
    execute(admin, f"CREATE DATABASE {theirs}")
    execute(admin, f"CREATE USER {theirs}")
    try:
        make()
        assert execute(admin, f"SHOW DATABASES LIKE '{theirs}'")
        assert execute(admin, f"SELECT User FROM mysql.user WHERE User = '{theirs}'")
    finally:
        execute(admin, f"DROP DATABASE {theirs}")
        execute(admin, f"DROP USER {theirs}")


def test_a_timestamp_is_one_instant_whatever_the_zone_of_the_session(shared: MySQLBackend) -> None:
    environment = environment_of(
        "CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP NULL)",
        "INSERT INTO t VALUES (1, '2026-01-01 12:00:00')",
    )
    diff = changes_after(
        shared, environment, "SET time_zone = '+05:00'", "UPDATE t SET at = '2026-01-01 17:00:00'"
    )
    assert diff == StateDiff()
    [change] = changes_after(
        shared, environment, "SET time_zone = '+05:00'", "UPDATE t SET at = '2026-06-01'"
    ).rows
    assert change.after is not None
    assert change.after["at"] == datetime(2026, 5, 31, 19)


@pytest.fixture
def narrow(admin: pymysql.Connection) -> Iterator[int]:
    """How many connections the server takes now: fewer than attempts want."""
    [(before,)] = execute(admin, "SELECT @@GLOBAL.max_connections")
    execute(admin, "SET GLOBAL max_connections = 50")
    yield 50
    execute(admin, f"SET GLOBAL max_connections = {before}")


@pytest.mark.slow
def test_t28_64_attempts_at_once_fit_into_the_connections_of_the_server(
    make: Make, admin: pymysql.Connection, narrow: int
) -> None:
    backend = make()
    most = 0

    def attempt(number: int) -> int:
        nonlocal most
        lease = backend.acquire(SHOP_ENVIRONMENT, None, attempt_id=str(number))
        with ExitStack() as stack:  # all that its agent may take
            held = [stack.enter_context(raw(lease)) for _ in range(CONNECTION_LIMIT)]
            [(_, sessions)] = execute(held[0], "SHOW GLOBAL STATUS LIKE 'Threads_connected'")
            most = max(most, int(sessions))
            execute(held[-1], f"UPDATE orders SET total = {1000 + number} WHERE id = 1")
            lease.cut()
        [change] = lease.read_changes(audit=False).rows
        lease.release()
        assert change.after is not None
        return int(change.after["total"])

    with ThreadPoolExecutor(64) as threads:
        assert list(threads.map(attempt, range(64))) == [1000 + number for number in range(64)]
    assert 2 * CONNECTION_LIMIT < most <= narrow


def test_a_server_that_ends_all_sessions_before_the_template_is_made_is_begun_again(
    make: Make, admin: pymysql.Connection
) -> None:
    backend = make()
    for (session,) in execute(
        admin, "SELECT ID FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID()"
    ):
        if session == backend._server._keeper.thread_id():
            execute(admin, f"KILL CONNECTION {session}")
    assert not backend._server.alive()
    assert backend.seed_hash(SHOP_ENVIRONMENT) == make().seed_hash(SHOP_ENVIRONMENT)
    assert backend._server.alive()


def test_a_server_that_dies_with_a_template_before_its_seed_was_looked_at_is_begun_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = make()
    backend.prepare(SHOP_ENVIRONMENT)
    died = []

    def digest(template: Template) -> str:
        if not died:
            died.append(template)
            backend._server.close()
            raise pymysql.err.OperationalError(2013, "Lost connection to server during query")
        return real(template)

    real = backend._digest
    monkeypatch.setattr(backend, "_digest", digest)
    assert backend.seed_hash(SHOP_ENVIRONMENT) == make().seed_hash(SHOP_ENVIRONMENT)
    assert backend._server.alive()
    assert backend._template(SHOP_ENVIRONMENT, None) not in died


@only_mariadb
def test_a_large_seed_that_no_agent_could_define_is_read_for_as_long_as_it_takes(
    shared: MySQLBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(hashing: Any, connection: pymysql.Connection, *arguments: Any, **more: Any) -> list[RowChange]:
        execute(connection, "SELECT SLEEP(1.5)")
        return full_changes(hashing, connection, *arguments, **more)

    for where in ("server", "engines"):
        monkeypatch.setattr(f"pytest_thinkingbox.backends.mysql.{where}.READ_SECONDS", 1)
    monkeypatch.setattr("pytest_thinkingbox.backends.mysql.lease.full_changes", slow)
    row = {"id": 2, "status": "open", "total": Decimal("20.50")}
    change = RowChange("update", "orders", (2,), row, row | {"status": "paid"})
    lease = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    lease.rebuild(StateDiff(rows=(change,)))
    lease.cut()
    assert lease.read_changes(audit=True) == StateDiff(rows=(change,))
    for connection in (lease.connect_after(), lease.connect_before()):
        with connection:
            assert connection.execute(text("SELECT SLEEP(1.5)")).scalar() == 0
    lease.release()

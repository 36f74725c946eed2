"""One attempt's database on PostgreSQL: isolation, the cut, reading, giving back."""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError

from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.backends.postgres import server as servers
from pytest_thinkingbox.backends.postgres.lease import PostgresLease
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown, ReadOnlyState, UnknownName
from pytest_thinkingbox.state.model import StateDiff
from tests.support.servers import POSTGRES_IMAGE, has_image, started

from .conftest import Make
from .worlds import SHOP, environment_of, raw

SHOP_ENVIRONMENT = environment_of(*SHOP)


@pytest.fixture(scope="module")
def shared(server: str) -> Iterator[PostgresBackend]:
    """One backend for tests that leave nothing but released leases."""
    made = PostgresBackend(server, label=f"lease-{secrets.token_hex(4)}")
    yield made
    made.close()


@pytest.fixture
def lease(shared: PostgresBackend) -> Iterator[PostgresLease]:
    made = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    yield made
    made.release()


def names(connection: psycopg.Connection[Any], backend: PostgresBackend) -> list[str]:
    """Databases and roles of the campaign."""
    like = f"tb\\_{backend._campaign.part}\\_%"
    return [
        name
        for (name,) in connection.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE %s"
            " UNION ALL SELECT rolname FROM pg_roles WHERE rolname LIKE %s ORDER BY 1",
            [like, like],
        ).fetchall()
    ]


def test_t7_the_second_attempt_sees_the_seed(shared: PostgresBackend) -> None:
    for _ in range(3):
        lease = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
        with lease.engine.begin() as connection:
            assert connection.execute(text("SELECT status FROM orders")).scalars().all() == ["open", "open"]
            key = connection.execute(text("INSERT INTO orders (status) VALUES ('new') RETURNING id")).scalar()
            assert key == 3
            connection.execute(text("UPDATE orders SET status = 'paid' WHERE id < 3"))
        lease.cut()
        changes = lease.read_changes(audit=True).rows
        assert [(one.kind, one.key) for one in changes] == [
            ("update", (1,)),
            ("update", (2,)),
            ("insert", (3,)),
        ]
        lease.release()


def test_attempts_at_the_same_time_do_not_see_each_other(shared: PostgresBackend) -> None:
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


def test_nothing_written_is_no_change(lease: PostgresLease) -> None:
    lease.cut()
    diff = lease.read_changes(audit=True)
    assert (diff.rows, diff.schema) == ((), ())


def test_a_cascade_is_read(lease: PostgresLease) -> None:
    with lease.engine.begin() as connection:
        connection.execute(text("DELETE FROM orders WHERE id = 1"))
    lease.cut()
    changes = lease.read_changes(audit=True).rows
    assert [(one.kind, one.table, one.key) for one in changes] == [
        ("delete", "lines", (1,)),
        ("delete", "lines", (2,)),
        ("delete", "orders", (1,)),
    ]


def test_uncommitted_work_is_no_change_and_the_cut_poisons_the_engine(lease: PostgresLease) -> None:
    held = lease.engine.connect()
    held.execute(text("DELETE FROM lines"))
    lease.cut()
    with pytest.raises(OperationalError):
        held.execute(text("DELETE FROM lines"))
    held.invalidate()
    held.close()
    with pytest.raises(OperationalError, match="the attempt has ended"):
        lease.engine.connect()
    assert lease.read_changes(audit=True).rows == ()


def test_the_cut_ends_a_session_that_sleeps_in_another_program(lease: PostgresLease) -> None:
    started, errors = threading.Event(), []

    def program() -> None:
        try:
            with raw(lease, autocommit=False) as connection:
                connection.execute("DELETE FROM lines")
                started.set()
                connection.execute("SELECT pg_sleep(60)")
        except psycopg.OperationalError as error:
            errors.append(str(error))

    thread = threading.Thread(target=program)
    thread.start()
    started.wait(10)
    lease.cut()
    thread.join(5)
    assert not thread.is_alive()
    assert "terminating connection" in errors[0]
    assert lease.read_changes(audit=True).rows == ()


def test_t52_nobody_connects_after_the_cut(lease: PostgresLease) -> None:
    lease.cut()
    with (
        pytest.raises(psycopg.OperationalError, match=r"not permitted to log in|permission denied"),
        raw(lease),
    ):
        pass


def test_t47_opened_used_and_read_in_three_threads(shared: PostgresBackend) -> None:
    found: list[Any] = []

    def in_thread(step: Any) -> None:
        thread = threading.Thread(target=step)
        thread.start()
        thread.join(20)

    in_thread(lambda: found.append(shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")))
    lease = found[0]

    def use() -> None:
        with lease.engine.begin() as connection:
            connection.execute(text("DELETE FROM lines WHERE id = 2"))

    def read() -> None:
        lease.cut()
        found.append(lease.read_changes(audit=True))

    in_thread(use)
    in_thread(read)
    assert [one.key for one in found[1].rows] == [(2,)]
    lease.release()


def test_checkers_read_both_states_and_write_neither(lease: PostgresLease) -> None:
    with lease.engine.begin() as connection:
        connection.execute(text("UPDATE orders SET total = 99 WHERE id = 1"))
    lease.cut()
    lease.read_changes(audit=False)
    query = text("SELECT total FROM orders WHERE id = 1")
    with lease.connect_after() as after, lease.connect_before() as before:
        assert (before.execute(query).scalar(), after.execute(query).scalar()) == (Decimal(10), Decimal(99))
        for connection in (after, before):
            with pytest.raises(ReadOnlyState):
                connection.execute(text("DELETE FROM orders"))
            with pytest.raises(ReadOnlyState):
                connection.execute(text("CREATE TEMPORARY TABLE t (a int)"))
            with pytest.raises(ProgrammingError):
                connection.execute(text("SELECT nonsense"))
            assert connection.execute(query).scalar() is not None


def test_a_session_that_ends_while_the_server_lives_is_no_outage(lease: PostgresLease) -> None:
    """An agent can leave a view behind that ends the session of whoever reads it."""
    lease.cut()
    connection = lease.connect_after()
    with pytest.raises(DBAPIError):
        connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
    connection.invalidate()
    connection.close()


def watches() -> list[threading.Timer]:
    """Those that still wait for a statement of a checker."""
    timers = [one for one in threading.enumerate() if isinstance(one, threading.Timer)]
    return [one for one in timers if not one.finished.is_set()]


SLEEP = "SELECT pg_sleep(20)"


@contextmanager
def once_it_sleeps(admin: psycopg.Connection[Any], act: Callable[[], object]) -> Iterator[None]:
    """While the block waits for `SLEEP`, which is not before the server says so."""
    asleep = f"SELECT 1 FROM pg_stat_activity WHERE query = '{SLEEP}' AND wait_event = 'PgSleep'"

    def wait_and_act() -> None:
        while not admin.execute(asleep).fetchall():
            time.sleep(0.05)
        act()

    acting = threading.Thread(target=wait_and_act)
    acting.start()
    yield
    acting.join()


class TimeLimit(BaseException):
    """As those of pytest are, which plugins raise out of a signal."""


@pytest.mark.parametrize("raised", [KeyboardInterrupt, TimeLimit])
@pytest.mark.parametrize("ddl", [False, True])
def test_ctrl_c_in_a_statement_of_a_checker_is_ctrl_c(
    shared: PostgresBackend, admin: psycopg.Connection[Any], ddl: bool, raised: type[BaseException]
) -> None:
    def interrupt(*_: object) -> None:
        raise raised

    lease = shared.acquire(environment_of(*SHOP, ddl=ddl), None, attempt_id="a")
    lease.cut()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        connection = lease.connect_after()
        with once_it_sleeps(admin, lambda: os.kill(os.getpid(), signal.SIGALRM)), pytest.raises(raised):
            connection.execute(text(SLEEP))
        assert watches() == []
        connection.close()
    finally:
        signal.signal(signal.SIGALRM, before)
        lease.release()


def test_nobody_watches_a_statement_that_an_outage_ended(make: Make, admin: psycopg.Connection[Any]) -> None:
    backend = make()
    lease = backend.acquire(environment_of(*SHOP, ddl=True), None, attempt_id="a")
    lease.cut()
    reader = lease._own_reader
    assert reader is not None
    ours = [f"thinkingbox {backend._campaign.part}", reader.name]
    end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s OR usename = %s"
    connection = lease.connect_after()
    with once_it_sleeps(admin, lambda: admin.execute(end, ours)), pytest.raises(InfrastructureDown):
        connection.execute(text(SLEEP))
    assert watches() == []
    connection.close()


def test_rows_of_the_final_state(lease: PostgresLease) -> None:
    lease.cut()
    assert lease.rows("orders", {"total": 20.5}) == [{"id": 2, "status": "open", "total": Decimal("20.50")}]
    assert [row["id"] for row in lease.rows("orders", {"status": "open"})] == [1, 2]
    assert lease.rows("orders", {"id": 7}) == []
    with pytest.raises(UnknownName, match="'order' is no table of the final state; there are: lines, orders"):
        lease.rows("order", {})
    with pytest.raises(UnknownName, match="orders has no column 'state'; it has: id, status, total"):
        lease.rows("orders", {"state": "open"})


def test_before_is_seed_and_start(shared: PostgresBackend) -> None:
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


def test_the_final_state_is_made_again_from_its_changes(shared: PostgresBackend) -> None:
    environment = environment_of(
        *SHOP,
        "CREATE TABLE things (a int, b jsonb, c timestamptz[], d numeric, e int GENERATED ALWAYS AS (a + 1) STORED)",
        """INSERT INTO things SELECT 1, '{"x": 1}', '{2026-01-01 00:00+02}', 1.50 FROM generate_series(1, 2)""",
    )
    first = shared.acquire(environment, None, attempt_id="a")
    with first.engine.begin() as connection:
        connection.execute(text("DELETE FROM orders WHERE id = 1"))
        connection.execute(text("INSERT INTO orders (status, total) VALUES ('new', NULL)"))
        connection.execute(text("UPDATE things SET b = '[null, 0.1]', c = NULL"))
    first.cut()
    diff = first.read_changes(audit=True)
    assert len(diff.rows) == 8
    first.release()
    again = shared.acquire(environment, None, attempt_id="b")
    again.rebuild(diff)
    again.cut()
    assert again.read_changes(audit=True) == diff
    again.release()


def test_a_start_that_fails_is_a_configuration_error(shared: PostgresBackend) -> None:
    def start(connection: Any) -> None:
        connection.execute(text("INSERT INTO orders VALUES (1, 'twice', 1)"))

    with pytest.raises(ConfigurationError, match=r"start .* does not load: IntegrityError"):
        shared.acquire(SHOP_ENVIRONMENT, StartState(key="bad", run=start, parameters={}), attempt_id="a")


def test_the_url_holds_a_random_password_and_names_the_campaign(shared: PostgresBackend) -> None:
    one = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    other = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    assert one.login.name != other.login.name
    assert one.login.password != other.login.password
    assert len(one.login.password) == 32
    assert one.login.name.startswith(f"tb_{shared._campaign.part}_a_")
    assert one.url.startswith(f"postgresql+psycopg://{one.login.name}:")
    one.release()
    other.release()


def test_the_seed_hash_is_the_same_in_every_campaign_and_changes_with_a_row(make: Make) -> None:
    one, other = make(), make()
    assert one.seed_hash(SHOP_ENVIRONMENT) == other.seed_hash(SHOP_ENVIRONMENT)
    changed = environment_of(*SHOP, "UPDATE orders SET total = 11 WHERE id = 1")
    assert one.seed_hash(changed) != one.seed_hash(SHOP_ENVIRONMENT)


def test_closing_removes_databases_and_roles(make: Make, admin: psycopg.Connection[Any]) -> None:
    backend = make()
    backend.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    assert len(names(admin, backend)) == 7
    backend.close()
    backend.close()
    assert names(admin, backend) == []


def test_the_first_process_to_end_leaves_the_others_theirs(
    make: Make, admin: psycopg.Connection[Any]
) -> None:
    label = f"two-{secrets.token_hex(4)}"
    one, other = make(label=label), make(label=label)
    one.prepare(SHOP_ENVIRONMENT)
    lease = other.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    one.close()
    with lease.engine.begin() as connection:
        connection.execute(text("DELETE FROM lines"))
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


def test_t30_what_a_dead_campaign_left_is_swept_by_the_next(
    make: Make, admin: psycopg.Connection[Any]
) -> None:
    dead = make()
    dead.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    admin.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s",
        [f"thinkingbox {dead._campaign.part}"],
    )
    assert names(admin, dead) != []
    make()
    assert names(admin, dead) == []


@pytest.mark.slow
def test_a_session_that_nothing_interrupts_keeps_no_other_run_from_starting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(servers, "_DROP_SECONDS", 1.0)
    name = POSTGRES_IMAGE if has_image(POSTGRES_IMAGE) else "postgres-embedded"
    with started(name) as url:
        backend = PostgresBackend(url, label=f"stuck-{secrets.token_hex(4)}")
        stuck = backend.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
        with raw(stuck) as connection:
            connection.pgconn.send_query(
                b"SELECT length(btrim(repeat('a', 150000), repeat('b', 150000) || 'a'))"
            )
            time.sleep(0.2)
            backend.close()
            following = PostgresBackend(url, label=f"next-{secrets.token_hex(4)}")
            with following._server.connect() as admin:
                left = names(admin, backend)
            assert stuck.database in left
            assert f"tb_{backend._campaign.part}_r_agents" in left
            following.close()
            connection.close()


@pytest.mark.slow
def test_unlogged_tables_of_a_seed_outlive_a_crash_of_the_server() -> None:
    environment = environment_of(
        *SHOP,
        "CREATE UNLOGGED TABLE a_child (id serial PRIMARY KEY)",
        "CREATE UNLOGGED TABLE parents (id int PRIMARY KEY)",
        "ALTER TABLE a_child ADD of int REFERENCES parents",
        "INSERT INTO parents VALUES (1), (2)",
        "INSERT INTO a_child (of) VALUES (1), (2), (2)",
    )
    name = POSTGRES_IMAGE if has_image(POSTGRES_IMAGE) else "postgres-embedded"
    with started(name) as url:
        backend = PostgresBackend(url, label=f"crash-{secrets.token_hex(4)}")
        backend.prepare(environment)
        with backend._server.connect() as connection, suppress(psycopg.OperationalError):
            connection.execute("CHECKPOINT")
            connection.execute(f"COPY (SELECT) TO PROGRAM 'kill -9 {connection.info.backend_pid}'")
        deadline = time.monotonic() + 30
        while True:
            try:
                lease = backend.acquire(environment, None, attempt_id="a")
                break
            except InfrastructureDown:
                assert time.monotonic() < deadline
                time.sleep(0.2)
        with raw(lease) as connection:
            counted = connection.execute(
                "SELECT (SELECT count(*) FROM a_child), (SELECT count(*) FROM parents), nextval('a_child_id_seq')"
            )
            assert counted.fetchone() == (3, 2, 4)
        lease.cut()
        assert lease.read_changes(audit=True) == StateDiff()
        lease.release()
        backend.close()


def test_a_database_and_a_role_of_somebody_else_with_a_name_like_ours_are_left_alone(
    make: Make, admin: psycopg.Connection[Any]
) -> None:
    theirs = f"tb_sales{secrets.token_hex(3)}_t_2024"
    admin.execute(f"CREATE DATABASE {theirs}")
    admin.execute(f"CREATE ROLE {theirs}")
    try:
        make()
        there = "SELECT datname FROM pg_database UNION ALL SELECT rolname FROM pg_roles"
        assert admin.execute(there).fetchall().count((theirs,)) == 2
    finally:
        admin.execute(f"DROP DATABASE {theirs}")
        admin.execute(f"DROP ROLE {theirs}")


def test_a_final_state_is_kept_as_sql_that_a_seed_can_be_loaded_from(
    shared: PostgresBackend, embedded: None, tmp_path: Path
) -> None:
    lease = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    with lease.engine.begin() as connection:
        connection.execute(text("INSERT INTO orders (status, total) VALUES ('it''s % \\\\new', 7)"))
        connection.execute(text("DELETE FROM lines"))
    lease.cut()
    lease.read_changes(audit=True)
    kept = lease.keep(tmp_path / "test_close-1")
    rows = lease.rows("orders", {})
    lease.release()
    assert kept == tmp_path / "test_close-1.sql"
    again = shared.acquire(
        Environment(name="kept", database=Database(schema=kept), servers=[]), None, attempt_id="b"
    )
    again.cut()
    assert again.rows("orders", {}) == rows
    assert len(rows) == 3
    assert again.rows("lines", {}) == []
    again.release()
    following = shared.acquire(SHOP_ENVIRONMENT, None, attempt_id="c")
    following.cut()
    assert following.read_changes(audit=True).rows == ()
    following.release()


def test_clones_stay_within_a_quarter_of_what_is_free_on_the_server(make: Make) -> None:
    backend = make()
    free = backend._server.free_bytes()
    assert free is not None
    assert backend._space.budget is not None
    assert abs(backend._space.budget - free // 4) < 200_000_000
    template = backend._template(SHOP_ENVIRONMENT, None)
    assert 5_000_000 < template.size < 20_000_000
    backend._space.budget = backend._space._ahead = template.size * 3 // 2
    first = backend.acquire(SHOP_ENVIRONMENT, None, attempt_id="a")
    threading.Timer(0.3, first.release).start()
    started = time.monotonic()
    second = backend.acquire(SHOP_ENVIRONMENT, None, attempt_id="b")
    assert 0.2 < time.monotonic() - started < 4
    assert backend._pool._ready[template] == []
    second.release()

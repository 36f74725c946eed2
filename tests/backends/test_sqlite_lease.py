"""One attempt's database: isolation, the cut, reading, giving back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from pytest_thinkingbox.backends.base import Lease
from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.errors import InfrastructureDown, ReadOnlyState, UnknownName

from .sqlite_worlds import changes_after, environment_of, raw

pytestmark = pytest.mark.usefixtures("placed")

SHOP = environment_of(
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, total NUMERIC(10, 2))",
    "CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders (id))",
    "CREATE INDEX by_status ON orders (status)",
    "INSERT INTO orders VALUES (1, 'open', 10), (2, 'open', 20.5)",
    "INSERT INTO lines VALUES (1, 1)",
)


@pytest.fixture
def lease(backend: SqliteBackend) -> Lease:
    return backend.acquire(SHOP, None, attempt_id="a")


def outside(lease: Lease, program: str) -> subprocess.Popen[str]:
    """A process with an open connection `c` that has run this program and waits until it is killed."""
    source = f"import sqlite3, sys, time\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n{program}\n"
    source += "print('ready', flush=True)\nsys.stdin.read()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", source, lease.url.removeprefix("sqlite:///")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_t7_the_second_attempt_sees_the_seed(backend: SqliteBackend) -> None:
    for _ in range(2):
        lease = backend.acquire(SHOP, None, attempt_id="a")
        with lease.engine.begin() as connection:
            assert connection.execute(text("SELECT status FROM orders")).scalars().all() == ["open", "open"]
            connection.execute(text("UPDATE orders SET status = 'paid'"))
        lease.cut()
        assert [change.key for change in lease.read_changes(audit=True).rows] == [(1,), (2,)]
        lease.release()


def test_attempts_at_the_same_time_do_not_see_each_other(backend: SqliteBackend) -> None:
    leases = [backend.acquire(SHOP, None, attempt_id=str(number)) for number in range(4)]
    for number, lease in enumerate(leases):
        with lease.engine.begin() as connection:
            connection.execute(text("UPDATE orders SET total = :n WHERE id = 1"), {"n": 100 + number})
    for number, lease in enumerate(leases):
        lease.cut()
        [change] = lease.read_changes(audit=True).rows
        assert change.after is not None
        assert change.after["total"] == 100 + number


def test_foreign_keys_are_on_for_in_process_tools(lease: Lease) -> None:
    with pytest.raises(Exception, match="FOREIGN KEY constraint failed"), lease.engine.begin() as connection:
        connection.execute(text("DELETE FROM orders WHERE id = 1"))


def test_uncommitted_work_is_no_change(lease: Lease) -> None:
    connection = lease.engine.connect()
    connection.execute(text("DELETE FROM lines"))
    lease.cut()
    assert lease.read_changes(audit=True).rows == ()
    connection.close()


def test_the_cut_poisons_the_engine(lease: Lease) -> None:
    held = lease.engine.connect()
    held.execute(text("SELECT 1"))
    driver = held.connection.driver_connection
    lease.cut()
    with pytest.raises(OperationalError, match="the attempt has ended"):
        lease.engine.connect()
    with pytest.raises(OperationalError, match="the attempt has ended"):
        held.execute(text("DELETE FROM lines"))
    with pytest.raises(sqlite3.OperationalError, match="the attempt has ended"):
        driver.execute("DELETE FROM lines")
    held.close()
    assert lease.read_changes(audit=True).rows == ()


def test_the_cut_interrupts_a_statement_that_runs(lease: Lease) -> None:
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    started = threading.Event()
    errors: list[Exception] = []

    def tool() -> None:
        try:
            with lease.engine.begin() as connection:
                connection.execute(text("DELETE FROM lines"))
                started.set()
                connection.execute(text(count + "SELECT count(*) FROM n"))
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    thread = threading.Thread(target=tool)
    thread.start()
    started.wait()
    time.sleep(0.05)
    before = time.monotonic()
    lease.cut()
    assert time.monotonic() - before < 2
    thread.join(5)
    assert not thread.is_alive()
    assert "interrupted" in str(errors[0])
    assert lease.read_changes(audit=True).rows == ()


@pytest.mark.parametrize("mode", ["as found", "wal"])
def test_t52_a_late_write_reaches_neither_this_verdict_nor_the_next_attempt(
    backend: SqliteBackend, lease: Lease, mode: str
) -> None:
    """A tool's thread sleeps past the cut and then writes, through a connection opened before and one after."""
    cut, released = threading.Event(), threading.Event()
    results: list[str] = []
    path = lease.url.removeprefix("sqlite:///")

    def write(connection: sqlite3.Connection, value: str) -> None:
        try:
            connection.execute("UPDATE orders SET status = ?", [value])
            results.append("written")
        except sqlite3.Error as error:
            results.append(str(error))

    def tool() -> None:
        early = sqlite3.connect(path, isolation_level=None, timeout=0)
        if mode == "wal":
            early.execute("PRAGMA journal_mode = wal")
        early.execute("UPDATE orders SET status = 'in time' WHERE id = 1")
        opened.set()
        cut.wait()
        write(early, "late, early connection")
        late = sqlite3.connect(path, isolation_level=None, timeout=0)
        write(late, "late, late connection")
        done.set()
        released.wait()
        write(early, "later still")
        write(late, "later still")
        early.close()
        late.close()

    opened, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=tool)
    thread.start()
    opened.wait()
    lease.cut()
    first = lease.read_changes(audit=True)
    cut.set()
    done.wait()
    assert results == ["database is locked", "database is locked"]
    assert [(change.key, change.after["status"]) for change in first.rows if change.after] == [
        ((1,), "in time")
    ]
    assert lease.read_changes(audit=True) == first
    assert [row["status"] for row in lease.rows("orders", {})] == ["in time", "open"]
    with lease.connect_after() as connection:
        assert connection.execute(text("SELECT status FROM orders")).scalars().all() == ["in time", "open"]
    lease.release()
    following = backend.acquire(SHOP, None, attempt_id="b")
    released.set()
    thread.join()
    following.cut()
    assert following.read_changes(audit=True).rows == ()


def test_t52_a_sleeping_thread_keeps_no_lock_through_the_engine(lease: Lease) -> None:
    holding, cut = threading.Event(), threading.Event()
    errors: list[Exception] = []

    def tool() -> None:
        with lease.engine.connect() as connection:
            connection.execute(text("UPDATE orders SET status = 'half done'"))
            holding.set()
            cut.wait()
            try:
                connection.commit()
            except Exception as error:  # noqa: BLE001
                errors.append(error)

    thread = threading.Thread(target=tool)
    thread.start()
    holding.wait()
    lease.cut()
    cut.set()
    thread.join()
    assert "the attempt has ended" in str(errors[0])
    assert lease.read_changes(audit=True).rows == ()


@pytest.mark.parametrize("mode", ["as found", "wal"])
def test_t32_a_killed_process_leaves_what_it_committed(lease: Lease, mode: str) -> None:
    process = outside(
        lease,
        f"if '{mode}' == 'wal': c.execute('PRAGMA journal_mode = wal')\nc.execute('PRAGMA cache_size = 1')\n"
        "c.execute('UPDATE orders SET status = \"paid\" WHERE id = 2')\n"
        "c.execute('BEGIN'); c.execute('DELETE FROM lines')\n"
        "c.execute('CREATE TABLE big AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
        ' SELECT i, hex(i) || "......................" FROM n\')',
    )
    end(process)
    lease.cut()
    diff = lease.read_changes(audit=True)
    assert ([change.key for change in diff.rows], diff.schema) == ([(2,)], ())


def test_t32_a_process_that_lives_on_cannot_change_the_graded_state(lease: Lease) -> None:
    process = outside(
        lease,
        "import threading\ndef late():\n    time.sleep(0.3)\n    c.execute('PRAGMA busy_timeout = 100')\n"
        "    try: c.execute('DELETE FROM orders')\n    except Exception as e: print(e, flush=True)\n"
        "c.close(); c = sqlite3.connect(sys.argv[1], isolation_level=None, check_same_thread=False)\n"
        "threading.Thread(target=late).start()",
    )
    lease.cut()
    assert process.stdout is not None
    assert process.stdout.readline() == "database is locked\n"
    assert lease.read_changes(audit=True).rows == ()
    end(process)


def test_a_process_that_never_lets_go_is_infrastructure(
    lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_thinkingbox.backends.sqlite.lease._CUT_SECONDS", 0.2)
    process = outside(lease, "c.execute('BEGIN EXCLUSIVE')")
    try:
        with pytest.raises(InfrastructureDown, match="still locked"):
            lease.cut()
    finally:
        end(process)
    lease.release()


def test_t47_opened_in_one_thread_used_in_a_second_graded_in_a_third(backend: SqliteBackend) -> None:
    def in_thread(function: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function).result()

    lease = in_thread(lambda: backend.acquire(SHOP, None, attempt_id="a"))
    held = in_thread(lambda: lease.engine.connect())

    def tool() -> None:
        held.execute(text("UPDATE orders SET status = 'paid' WHERE id = 1"))
        held.commit()

    in_thread(tool)
    in_thread(lease.cut)
    assert [change.key for change in in_thread(lambda: lease.read_changes(audit=True)).rows] == [(1,)]
    after, before = in_thread(lease.connect_after), in_thread(lease.connect_before)
    query = text("SELECT status FROM orders WHERE id = 1")
    assert in_thread(lambda: after.execute(query).scalar()) == "paid"
    assert in_thread(lambda: before.execute(query).scalar()) == "open"
    in_thread(after.close)
    in_thread(before.close)
    in_thread(held.close)
    in_thread(lease.release)


# ---------------------------------------- reading


@pytest.mark.parametrize("which", ["connect_after", "connect_before"])
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO orders VALUES (9, 'x', 1)",
        "UPDATE orders SET status = 'x'",
        "DELETE FROM orders",
        "DROP TABLE orders",
        "CREATE TABLE t (x)",
        "CREATE TEMP TABLE t (x)",
        "ATTACH ':memory:' AS m",
        "PRAGMA query_only = OFF",
        "PRAGMA user_version = 3",
        "PRAGMA journal_mode = WAL",
        "PRAGMA writable_schema = ON",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "VACUUM",
        "VACUUM INTO '/tmp/never'",
        "REINDEX",
        "ANALYZE",
    ],
)
def test_a_write_of_a_checker_raises_read_only_state(lease: Lease, which: str, statement: str) -> None:
    lease.cut()
    with getattr(lease, which)() as connection:
        with pytest.raises(ReadOnlyState, match="may only read"):
            connection.execute(text(statement))
        assert connection.execute(text("SELECT count(*) FROM orders")).scalar() == 2


def test_a_failed_query_poisons_nothing(lease: Lease) -> None:
    lease.cut()
    with lease.connect_after() as connection:
        with pytest.raises(OperationalError, match="no such table"):
            connection.execute(text("SELECT * FROM nowhere"))
        assert connection.execute(text("SELECT count(*) FROM orders")).scalar() == 2
        assert connection.connection.driver_connection.in_transaction is False


def test_checkers_may_read_the_schema(lease: Lease) -> None:
    from sqlalchemy import inspect

    lease.cut()
    with lease.connect_after() as connection:
        assert inspect(connection).get_table_names() == ["lines", "orders"]
        assert inspect(connection).get_foreign_keys("lines")[0]["referred_table"] == "orders"


def test_rows_compare_as_the_database_means_them(lease: Lease) -> None:
    with raw(lease) as connection:
        connection.execute("UPDATE orders SET total = 12.5 WHERE id = 2")
    lease.cut()
    assert lease.rows("ORDERS", {"Total": 12.5, "status": "open"}) == [
        {"id": 2, "status": "open", "total": 12.5}
    ]
    assert lease.rows("orders", {"id": "2"}) == []
    assert lease.rows("orders", {"total": None}) == []


def test_unknown_names_are_the_checkers_mistake(lease: Lease) -> None:
    lease.cut()
    with pytest.raises(UnknownName, match="'bookings' is no table"):
        lease.rows("bookings", {})
    with pytest.raises(UnknownName, match="orders has no column 'state'"):
        lease.rows("orders", {"state": 1})


def test_nothing_is_read_before_the_cut_or_after_the_release(lease: Lease) -> None:
    with pytest.raises(RuntimeError, match="only after cut"):
        lease.read_changes(audit=False)
    lease.cut()
    lease.release()
    with pytest.raises(RuntimeError, match="given back"):
        lease.rows("orders", {})


def test_the_release_closes_what_a_checker_left_open_and_may_be_called_twice(lease: Lease) -> None:
    lease.cut()
    connection = lease.connect_after()
    lease.release()
    lease.release()
    with pytest.raises(Exception, match="closed database"):
        connection.execute(text("SELECT 1"))
    connection.invalidate()
    connection.close()


def test_the_release_without_a_cut_ends_everything(lease: Lease) -> None:
    connection = lease.engine.connect()
    connection.execute(text("DELETE FROM lines"))
    path = Path(lease.url.removeprefix("sqlite:///"))
    lease.release()
    assert not path.exists()
    connection.close()


def test_files_disappear_with_the_backend(tmp_path: Path) -> None:
    backend = SqliteBackend(label="gone", directory=tmp_path)
    leases = [backend.acquire(SHOP, None, attempt_id="a") for _ in range(3)]
    paths = [Path(lease.url.removeprefix("sqlite:///")) for lease in leases]
    assert all(path.exists() for path in paths)
    descriptors = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    backend.close()
    backend.close()
    assert not any(path.exists() for path in paths)
    assert list(tmp_path.iterdir()) == []
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) < descriptors


def test_many_attempts_leave_no_descriptor_behind(backend: SqliteBackend) -> None:
    changes_after(backend, SHOP, "DELETE FROM lines")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        changes_after(backend, SHOP, "DELETE FROM lines")
    assert len(os.listdir("/proc/self/fd")) == before


def test_rows_come_in_the_order_of_the_key_however_they_were_written(backend: SqliteBackend) -> None:
    environment = environment_of(
        "CREATE TABLE rooms (code TEXT PRIMARY KEY, floor INTEGER)",
        "INSERT INTO rooms VALUES ('B', 1), ('C', 3), ('A', 2)",
    )
    lease = backend.acquire(environment, None, attempt_id="a")
    lease.cut()
    assert [row["code"] for row in lease.rows("rooms", {})] == ["A", "B", "C"]

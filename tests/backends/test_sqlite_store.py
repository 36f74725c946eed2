"""Where files lie, what is used again, and what must not be."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from pytest_thinkingbox.backends.base import Lease
from pytest_thinkingbox.backends.sqlite import SqliteBackend, files, store
from pytest_thinkingbox.episodes.model import StartState

from .sqlite_worlds import environment_of, raw

NUMBERS = environment_of(
    "CREATE TABLE numbers (n INTEGER PRIMARY KEY, word TEXT)",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
    "INSERT INTO numbers SELECT i, 'word ' || i FROM n",
)
OTHERS = environment_of("CREATE TABLE others (n INTEGER PRIMARY KEY)")

linux = pytest.mark.skipif(sys.platform != "linux", reason="overlays need leases and locks of Linux")


def path_of(lease: Lease) -> Path:
    return Path(lease.url.removeprefix("sqlite:///"))


def run_outside(lease: Lease, *lines: str) -> None:
    """Run a program in a process of its own; sys.argv[1] is the path of the database."""
    program = "\n".join(["import sqlite3, sys", *lines])
    subprocess.run([sys.executable, "-c", program, str(path_of(lease))], check=True, capture_output=True)


def finish(lease: Lease) -> list[tuple[object, ...] | None]:
    """Cut, read with an audit, give back; the keys that changed."""
    lease.cut()
    diff = lease.read_changes(audit=True)
    lease.release()
    return [change.key for change in diff.rows]


@pytest.fixture
def overlays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_OVERLAY_FROM", 0)


def used_again(backend: SqliteBackend, spoil: Callable[[Lease], object]) -> bool:
    """Whether the base of an attempt that ended like this serves the next one, which sees the seed either way."""
    lease = backend.acquire(NUMBERS, None, attempt_id="a")
    base = os.stat(path_of(lease))
    inode = os.open(path_of(lease), os.O_PATH)  # so that its number is not given to a new file
    spoil(lease)
    lease.release()
    following = backend.acquire(NUMBERS, None, attempt_id="b")
    again = os.stat(path_of(following)).st_ino == base.st_ino
    assert path_of(following) != path_of(lease)
    assert finish(following) == []
    os.close(inode)
    return again


@linux
@pytest.mark.usefixtures("overlays")
class TestOverlay:
    def test_a_base_serves_the_next_attempt_under_another_path(self, backend: SqliteBackend) -> None:
        def work(lease: Lease) -> None:
            with lease.engine.begin() as connection:
                connection.execute(text("DELETE FROM numbers WHERE n > 3"))
                connection.execute(text("CREATE TABLE mine (x)"))
            lease.cut()
            assert len(lease.read_changes(audit=True).rows) == 1997

        assert used_again(backend, work)

    def test_the_base_stays_as_it_was_whatever_a_process_does(self, backend: SqliteBackend) -> None:
        lease = backend.acquire(NUMBERS, None, attempt_id="a")
        before = path_of(lease).stat()
        run_outside(
            lease,
            "c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0.05)",
            "for statement in ('DELETE FROM numbers WHERE n % 2', 'PRAGMA wal_checkpoint(TRUNCATE)', 'VACUUM',",
            "                  'PRAGMA journal_mode = DELETE', 'DROP TABLE numbers', 'PRAGMA wal_checkpoint(RESTART)',",
            "                  'CREATE TABLE numbers (n)'):",
            "    try: c.execute(statement).fetchall()",
            "    except sqlite3.OperationalError as error: print(statement, error)",
        )
        after = path_of(lease).stat()
        assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
        lease.cut()
        assert [delta.name for delta in lease.read_changes(audit=True).schema] == ["numbers"]
        lease.release()
        assert finish(backend.acquire(NUMBERS, None, attempt_id="b")) == []

    def test_not_after_its_log_was_deleted(self, backend: SqliteBackend) -> None:
        """Then no guard watches over the log, and what is written reaches the base."""

        def spoil(lease: Lease) -> None:
            run_outside(
                lease,
                "import os; os.unlink(sys.argv[1] + '-wal'); os.unlink(sys.argv[1] + '-shm')",
                "c = sqlite3.connect(sys.argv[1], isolation_level=None)",
                "c.execute('DELETE FROM numbers WHERE n <= 3')",
                "assert c.execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchone()[0] == 0",
            )
            lease.cut()
            assert [change.key for change in lease.read_changes(audit=True).rows] == [(1,), (2,), (3,)]

        assert not used_again(backend, spoil)

    def test_not_after_somebody_wrote_to_the_file_itself(self, backend: SqliteBackend) -> None:
        def spoil(lease: Lease) -> None:
            lease.cut()
            descriptor = os.open(path_of(lease), os.O_RDWR)
            os.pwrite(descriptor, b"\0" * 100, 8192)
            os.close(descriptor)

        assert not used_again(backend, spoil)

    def test_not_while_a_connection_of_this_process_is_open(self, backend: SqliteBackend) -> None:
        held = []

        def spoil(lease: Lease) -> None:
            connection = sqlite3.connect(path_of(lease), isolation_level=None)
            held.append(connection)
            lease.cut()

        assert not used_again(backend, spoil)
        held[0].close()

    def test_not_while_another_process_has_it_open(self, backend: SqliteBackend) -> None:
        processes = []

        def spoil(lease: Lease) -> None:
            program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
            process = subprocess.Popen(
                [sys.executable, "-c", program, str(path_of(lease))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            assert process.stdout is not None
            process.stdout.readline()
            processes.append(process)
            lease.cut()

        try:
            assert not used_again(backend, spoil)
        finally:
            for process in processes:
                process.kill()
                process.communicate()

    def test_not_when_the_file_was_moved_away(self, backend: SqliteBackend, tmp_path: Path) -> None:
        def spoil(lease: Lease) -> None:
            path_of(lease).rename(path_of(lease).with_suffix(".away"))
            lease.cut()
            assert [delta.action for delta in lease.read_changes(audit=True).schema] == ["dropped"]

        assert not used_again(backend, spoil)

    def test_not_when_the_file_has_another_name(self, backend: SqliteBackend, tmp_path: Path) -> None:
        def spoil(lease: Lease) -> None:
            os.link(path_of(lease), path_of(lease).with_suffix(".backup"))
            lease.cut()

        assert not used_again(backend, spoil)

    def test_a_tool_thread_inside_sqlite_keeps_the_base_out_of_use(self, backend: SqliteBackend) -> None:
        inside, go_on = threading.Event(), threading.Event()
        threads = []

        def spoil(lease: Lease) -> None:
            def wait() -> int:
                inside.set()
                go_on.wait()
                return 1

            def tool() -> None:
                driver = lease.engine.raw_connection().driver_connection
                assert driver is not None
                driver.create_function("wait", 0, wait)
                try:
                    driver.execute("SELECT wait()").fetchall()
                except Exception as error:  # noqa: BLE001
                    errors.append(error)

            threads.append(threading.Thread(target=tool))
            threads[0].start()
            inside.wait()
            lease.cut()

        errors: list[Exception] = []
        assert not used_again(backend, spoil)
        go_on.set()
        threads[0].join()
        assert len(errors) == 1

    def test_bases_may_be_clones(self, backend: SqliteBackend, clones: list[Path]) -> None:
        assert used_again(backend, lambda lease: lease.cut())
        assert len(clones) == 2  # the trial, and one base for both attempts


@pytest.fixture
def clones(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A file system that can clone, as far as this package can tell."""
    made: list[Path] = []

    def clone(source: int, target: int) -> bool:
        made.append(Path(str(target)))
        files.copy_content(source, target)
        return True

    monkeypatch.setattr(files, "clone_content", clone)
    monkeypatch.setattr(store, "clone_content", clone)
    return made


def test_clones_lie_where_the_template_does(
    backend: SqliteBackend, clones: list[Path], tmp_path: Path
) -> None:
    lease = backend.acquire(NUMBERS, None, attempt_id="a")
    assert path_of(lease).is_relative_to(tmp_path)
    with raw(lease) as connection:
        connection.execute("DELETE FROM numbers WHERE n = 7")
    assert finish(lease) == [(7,)]
    assert len(clones) == 2


def test_plain_copies_lie_on_disk_and_are_read_in_full(tmp_path: Path) -> None:
    backend = SqliteBackend(label="plain", directory=tmp_path, fast=False)
    lease = backend.acquire(NUMBERS, None, attempt_id="a")
    assert path_of(lease).is_relative_to(tmp_path)
    with raw(lease) as connection:
        connection.execute("DELETE FROM numbers WHERE n = 7")
    assert finish(lease) == [(7,)]
    backend.close()


def test_attempts_in_many_threads_do_not_meet(backend: SqliteBackend, placed: str) -> None:
    def play(number: int) -> bool:
        lease = backend.acquire(NUMBERS, None, attempt_id=str(number))
        with lease.engine.begin() as connection:
            connection.execute(text("DELETE FROM numbers WHERE n % 50 = :n"), {"n": number % 50})
        return finish(lease) == [(n,) for n in range(1, 2001) if n % 50 == number % 50]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(play, range(48)))


# ---------------------------------------- budgets


@linux
def test_copies_lie_in_memory_while_they_fit(
    backend: SqliteBackend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = backend.acquire(NUMBERS, None, attempt_id="a")
    assert path_of(first).is_relative_to("/dev/shm")
    memory = backend._store._memory
    assert memory is not None
    memory.budget = memory.used
    with caplog.at_level(logging.WARNING):
        second = backend.acquire(NUMBERS, None, attempt_id="b")
    assert path_of(second).is_relative_to(tmp_path)
    assert "databases fill a quarter of the free memory" in caplog.text
    first.release()
    assert path_of(backend.acquire(NUMBERS, None, attempt_id="c")).is_relative_to("/dev/shm")


def test_without_a_memory_file_system_copies_lie_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MEMORY", tmp_path / "nowhere")
    backend = SqliteBackend(label="disk", directory=tmp_path)
    lease = backend.acquire(NUMBERS, None, attempt_id="a")
    assert path_of(lease).is_relative_to(tmp_path)
    backend.close()


def without_room(backend: SqliteBackend) -> None:
    """No further byte fits."""
    backend._store._memory = None
    backend._store._disk.budget = backend._store._disk.used


def test_a_full_disk_lowers_the_concurrency(backend: SqliteBackend, caplog: pytest.LogCaptureFixture) -> None:
    backend._store._memory = None
    first = backend.acquire(NUMBERS, None, attempt_id="a")
    without_room(backend)
    got: list[Lease] = []
    with caplog.at_level(logging.WARNING):
        thread = threading.Thread(target=lambda: got.append(backend.acquire(NUMBERS, None, attempt_id="b")))
        thread.start()
        time.sleep(0.1)
        assert got == []
        first.release()
        thread.join(5)
    assert len(got) == 1
    assert "fewer at a time" in caplog.text


def test_the_budget_is_exceeded_before_attempts_wait_for_each_other(
    backend: SqliteBackend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    backend._store._memory = None
    backend.acquire(NUMBERS, None, attempt_id="a")
    without_room(backend)
    with caplog.at_level(logging.WARNING):
        backend.acquire(NUMBERS, None, attempt_id="b")
    assert "more than a quarter of the free space" in caplog.text


@linux
@pytest.mark.usefixtures("overlays")
def test_an_idle_base_makes_room_for_another_environment(backend: SqliteBackend) -> None:
    backend._store._memory = None
    first = backend.acquire(NUMBERS, None, attempt_id="a")
    base = path_of(first)
    assert finish(first) == []
    idle = [path for path in base.parent.iterdir() if path.name.startswith("base-")]
    assert len(idle) == 1
    without_room(backend)
    backend.acquire(OTHERS, None, attempt_id="b")
    assert not idle[0].exists()


def test_start_states_that_nobody_uses_make_room(backend: SqliteBackend) -> None:
    runs = []

    def start(connection: Connection, number: int) -> None:
        runs.append(number)
        connection.execute(text("DELETE FROM numbers WHERE n = :n"), {"n": number})

    def state(number: int) -> StartState:
        return StartState(key=str(number), run=start, parameters={"number": number})

    backend.prepare(NUMBERS)
    size = backend._templates[NUMBERS, None].size
    backend._store._disk.budget = 3 * size
    held = backend.acquire(NUMBERS, state(1), attempt_id="a")
    for number in (2, 3, 2):
        assert finish(backend.acquire(NUMBERS, state(number), attempt_id="b")) == []
    assert runs == [1, 2, 3, 2]
    assert finish(held) == []
    assert sorted(key or "" for _, key in backend._templates) == ["", "1", "2"]

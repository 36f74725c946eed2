"""Turns of transactions."""

from __future__ import annotations

import threading
import time

import pytest
from sqlalchemy import text

from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.lane import LANE
from tests.backends.sqlite_worlds import environment_of
from tests.support.in_threads import SOON, threads

rooms = environment_of("CREATE TABLE rooms (id INTEGER PRIMARY KEY)", "INSERT INTO rooms VALUES (1)")


@pytest.mark.parametrize("how", ["committed", "rolled back", "read only", "failed"])
def test_a_tool_has_its_turn_until_its_transaction_ends(backend: SqliteBackend, how: str) -> None:
    lease = backend.acquire(rooms, None, attempt_id="a")
    try:
        with lease.engine.connect() as connection:
            connection.execute(text("SELECT 1" if how == "read only" else "INSERT INTO rooms VALUES (2)"))
            assert LANE._holder is not None
            if how == "committed":
                connection.commit()
                assert LANE._holder is None
            elif how == "rolled back":
                connection.rollback()
                assert LANE._holder is None
        assert LANE._holder is None
    finally:
        lease.release()
    assert LANE._holder is None


def test_an_attempt_that_ends_in_the_middle_of_a_transaction_gives_its_turn_back(
    backend: SqliteBackend,
) -> None:
    lease = backend.acquire(rooms, None, attempt_id="a")
    connection = lease.engine.connect()
    try:
        connection.execute(text("INSERT INTO rooms VALUES (2)"))
        with threads() as start:
            start(lease.cut).result(SOON)
        assert LANE._holder is None
    finally:
        lease.release()
        connection.close()


def test_an_attempt_does_not_wait_for_the_open_transaction_of_another(backend: SqliteBackend) -> None:
    slow = backend.acquire(rooms, None, attempt_id="slow")
    asleep, wake = threading.Event(), threading.Event()

    def sleeper() -> None:
        with slow.engine.begin() as connection:
            connection.execute(text("INSERT INTO rooms VALUES (2)"))
            asleep.set()
            wake.wait(SOON)

    def quick() -> float:
        started = time.monotonic()
        lease = backend.acquire(rooms, None, attempt_id="quick")
        with lease.engine.begin() as connection:
            connection.execute(text("INSERT INTO rooms VALUES (3)"))
        lease.cut()
        assert len(lease.read_changes(audit=True).rows) == 1
        lease.release()
        return time.monotonic() - started

    with threads() as start:
        sleeping = start(sleeper)
        assert asleep.wait(SOON)
        assert start(quick).result(SOON) < 2
        wake.set()
        sleeping.result(SOON)
    slow.cut()
    assert len(slow.read_changes(audit=True).rows) == 1
    slow.release()

"""Turns: one thread at a time, but nobody waits for a thread that waits itself."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import text

from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.backends.sqlite.lane import LANE, Lane, Turn
from tests.backends.sqlite_worlds import environment_of

SOON = 5.0  # seconds; far more than anything here takes


@contextmanager
def threads() -> Iterator[Callable[..., Future[Any]]]:
    """Starts functions, each in a thread of its own."""
    started = []

    def start(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(function(*arguments))
            except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
                future.set_exception(error)

        thread = threading.Thread(target=run)
        started.append(thread)
        thread.start()
        return future

    yield start
    for thread in started:
        thread.join()


def waiting(lane: Lane, number: int) -> None:
    """Return once so many threads wait for a turn."""
    deadline = time.monotonic() + SOON
    while len(lane._waiting) < number:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_one_after_the_other_in_the_order_of_arrival() -> None:
    lane = Lane(patience=60)
    passed = []

    def go(name: str) -> None:
        with lane.turn():
            passed.append(name)

    with threads() as start:
        first = lane.enter()
        for number, name in enumerate("abc", start=1):
            start(go, name)
            waiting(lane, number)
        assert passed == []
        lane.leave(first)
    assert passed == ["a", "b", "c"]


def test_never_two_at_once() -> None:
    lane = Lane(patience=60)
    inside = 0
    most = 0

    def go() -> None:
        nonlocal inside, most
        for _ in range(50):
            with lane.turn():
                inside += 1
                most = max(most, inside)
                time.sleep(random.random() / 10_000)
                inside -= 1

    with threads() as start:
        for one in [start(go) for _ in range(8)]:
            one.result(SOON)
    assert most == 1


class Guest:
    """A thread that takes a turn and keeps it until it is told to leave."""

    def __init__(self, lane: Lane) -> None:
        self.inside = threading.Event()
        self._lane = lane
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._stay)
        self._thread.start()

    def _stay(self) -> None:
        with self._lane.turn():
            self.inside.set()
            self._leave.wait(SOON)

    def leave(self) -> None:
        self._leave.set()
        self._thread.join()


def test_who_waits_takes_over_from_a_holder_that_does_not_end() -> None:
    lane = Lane(patience=0.02)
    started = time.monotonic()
    guests = [Guest(lane) for _ in range(3)]
    assert all(guest.inside.wait(SOON) for guest in guests)
    assert 0.04 <= time.monotonic() - started < 2
    for guest in guests:
        guest.leave()
    assert lane._holder is None


def test_a_holder_that_lost_the_lane_takes_it_from_nobody_when_it_ends() -> None:
    lane = Lane(patience=0.5)
    slow = Guest(lane)
    assert slow.inside.wait(SOON)
    second = Guest(lane)
    assert second.inside.wait(SOON)
    third = Guest(lane)
    waiting(lane, 1)
    slow.leave()
    assert not third.inside.is_set()
    second.leave()
    assert third.inside.wait(SOON)
    third.leave()


def test_a_turn_that_is_never_given_back_holds_up_nobody_for_long() -> None:
    lane = Lane(patience=0.02)
    lane.enter()
    passed = 0

    def go() -> None:
        nonlocal passed
        with lane.turn():
            passed += 1

    with threads() as start:
        for one in [start(go) for _ in range(20)]:
            one.result(SOON)
    assert passed == 20


def test_a_thread_does_not_wait_for_itself() -> None:
    lane = Lane(patience=60)
    with lane.turn(), lane.turn():
        pass
    with threads() as start:
        assert start(lane.enter).result(SOON) is not None


def test_a_thread_with_an_event_loop_never_waits() -> None:
    lane = Lane(patience=60)

    async def enter() -> Any:
        return lane.enter()

    with lane.turn(), threads() as start:
        assert start(asyncio.run, enter()).result(SOON) is None


def test_many_threads_with_short_patience_all_come_through() -> None:
    lane = Lane(patience=0.0005)
    passed = []

    def go(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(40):
            with lane.turn():
                time.sleep(chance.choice((0, 0, 0, 0.001)))
        passed.append(seed)

    with threads() as start:
        for one in [start(go, seed) for seed in range(12)]:
            one.result(30)
    assert sorted(passed) == list(range(12))
    assert lane._holder is None
    assert not lane._waiting


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


def test_a_turn_that_was_taken_over_before_its_thread_woke_is_still_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lane = Lane(patience=0.01)
    held = lane.enter()
    with threads() as start:

        class Late:
            """A lock that is given between the end of the wait for it and the next look."""

            def __init__(self) -> None:
                self.times = 0

            def acquire(self, timeout: float = 0) -> bool:
                self.times += 1
                if self.times == 1:
                    lane.leave(held)  # it becomes this one's
                    lane._holder = None  # and another one's, who has left since
                    time.sleep(0.02)
                return self.times != 1

            def release(self) -> None:
                """Given."""

        class LateTurn(Turn):
            def __init__(self) -> None:
                super().__init__()
                self.given: Any = Late()

        monkeypatch.setattr("pytest_thinkingbox.backends.sqlite.lane.Turn", LateTurn)
        turn = start(lane.enter).result(SOON)
    assert turn.given.times == 2

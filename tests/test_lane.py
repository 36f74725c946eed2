"""Turns: one thread at a time, but nobody waits for a thread that waits itself."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import threading
import time
from typing import Any

import pytest

from pytest_thinkingbox.lane import LANE, Lane, LaneSelector, Turn
from pytest_thinkingbox.threads import run_in_turn
from tests.support.in_threads import SOON, threads


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

        monkeypatch.setattr("pytest_thinkingbox.lane.Turn", LateTurn)
        turn = start(lane.enter).result(SOON)
    assert turn.given.times == 2


def test_small_pieces_of_work_share_a_turn_but_not_for_long() -> None:
    lane = Lane(patience=60, share=60)
    passed = []

    def go() -> None:
        with lane.turn():
            passed.append("other")

    turn = lane.go_on(None)
    with threads() as start:
        other = start(go)
        waiting(lane, 1)
        assert lane.go_on(turn) is turn
        assert passed == []
        lane._share = 0
        following = lane.go_on(turn)
        assert passed == ["other"]
        other.result(SOON)
    assert lane._holder is following
    assert following is not turn


def test_an_event_loop_has_a_turn_while_it_calls_back_and_none_while_it_waits() -> None:
    def holder() -> int | None:
        return None if LANE._holder is None else LANE._holder.thread

    async def play() -> tuple[int | None, int | None]:
        with threads() as start:  # this callback does not end before the threads do
            during = start(holder).result(SOON)
        looked = asyncio.get_running_loop().create_future()

        def look() -> None:
            time.sleep(0.1)
            loop.call_soon_threadsafe(looked.set_result, holder())

        loop = asyncio.get_running_loop()
        looking = threading.Thread(target=look)
        looking.start()
        while_waiting = await looked
        looking.join()
        return during, while_waiting

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(LaneSelector())) as runner:
        assert runner.run(play()) == (threading.get_ident(), None)
    assert LANE._holder is None


def test_a_step_has_a_turn() -> None:
    async def play() -> bool:
        return await run_in_turn(
            lambda: LANE._holder is not None and LANE._holder.thread == threading.get_ident()
        )

    assert asyncio.run(play())


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_those_behind_an_interrupted_thread_do_not_wait_for_it() -> None:
    """The holder does not end, and whoever is first in line takes over from it."""
    lane = Lane(patience=0.3)
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        lane.enter()
        held.set()
        over.wait(60)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with threads() as start:
            start(hold)
            assert held.wait(SOON)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                lane.enter()
            behind = start(lane.enter)
            try:
                assert behind.result(SOON) is not None
            finally:
                over.set()
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_waits_for_no_thread_that_it_does_not_have() -> None:
    holder = LANE.enter()
    try:
        with threads() as start:
            waits = start(LANE.enter)
            waiting(LANE, 1)
            with LANE._lock:
                child = os.fork()
                if child == 0:
                    turn = LANE.wait()
                    os._exit(0 if turn is not None else 1)
            deadline = time.monotonic() + SOON
            while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
                time.sleep(0.01)
            if ended == (0, 0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            assert ended == (child, 0)
            LANE.leave(holder)
            LANE.leave(waits.result(SOON))
    finally:
        LANE.leave(holder)


@pytest.mark.parametrize(("share", "rounds"), [(60.0, 20), (0.0, 1)])
def test_an_event_loop_with_more_to_call_back_keeps_its_turn_but_not_for_long(
    monkeypatch: pytest.MonkeyPatch, share: float, rounds: int
) -> None:
    monkeypatch.setattr(LANE, "_share", share)
    passed: list[int] = []
    played: list[int] = []

    def go() -> None:
        with LANE.turn():
            passed.append(len(played))

    async def play() -> None:
        with threads() as start:  # which ends when the other thread has
            other = start(go)
            waiting(LANE, 1)
            for number in range(20):
                played.append(number)
                await asyncio.sleep(0)
            LANE.leave(LANE._holder)
            other.result(SOON)

    monkeypatch.setattr(LANE, "_patience", 60)
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(LaneSelector())) as runner:
        runner.run(play())
    assert passed == [rounds]


def test_a_turn_that_nobody_waited_for_begins_anew() -> None:
    lane = Lane()
    turn = lane.enter()
    before = lane._began
    time.sleep(0.01)
    assert lane.go_on(turn) is turn
    assert lane._began - before >= 0.01


def test_who_waits_takes_nothing_from_a_holder_that_goes_from_piece_to_piece() -> None:
    lane = Lane(patience=1, share=60)
    passed = []

    def go() -> None:
        with lane.turn():
            passed.append("other")

    turn = lane.enter()
    with threads() as start:
        other = start(go)
        waiting(lane, 1)
        for _ in range(15):
            time.sleep(0.1)
            assert lane.go_on(turn) is turn
        assert passed == []
        lane.leave(turn)
        other.result(SOON)

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

import pytest

from pytest_thinkingbox import threads
from pytest_thinkingbox.threads import run_in_turn

SOON = 5.0  # seconds; far more than anything here takes


def run(play: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(play())


def test_the_result_comes_back() -> None:
    async def play() -> int:
        return await run_in_turn(lambda: 6 * 7)

    assert run(play) == 42


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(3), KeyboardInterrupt()])
def test_whatever_is_raised_comes_back(error: BaseException) -> None:
    def fall() -> None:
        raise error

    async def play() -> BaseException:
        try:
            await run_in_turn(fall)
        except BaseException as raised:  # noqa: BLE001 - it is what is tested
            return raised
        raise AssertionError

    assert run(play) is error


def test_a_stop_iteration_comes_back_as_what_a_future_can_hold() -> None:
    async def play() -> None:
        await run_in_turn(lambda: next(iter(())))

    with pytest.raises(RuntimeError, match=r"a step raised StopIteration\(\)"):
        run(play)


def test_quick_steps_run_in_order_in_one_thread_that_is_not_the_loops() -> None:
    seen = []

    def step(number: int) -> None:
        seen.append((number, threading.current_thread()))

    async def play() -> None:
        await asyncio.gather(*(run_in_turn(lambda n=n: step(n)) for n in range(50)))  # type: ignore[misc]

    run(play)
    assert [number for number, _ in seen] == list(range(50))
    assert len({thread for _, thread in seen}) == 1
    assert seen[0][1] is not threading.current_thread()


def test_the_context_of_the_caller_is_seen() -> None:
    name: ContextVar[str] = ContextVar("name")

    async def play() -> str:
        name.set("try3")
        return await run_in_turn(name.get)

    assert run(play) == "try3"


def test_steps_that_wait_hold_up_nobody() -> None:
    over = threading.Event()

    async def play() -> str:
        waiting = [asyncio.create_task(run_in_turn(lambda: over.wait(SOON))) for _ in range(20)]
        await asyncio.sleep(0)
        started = time.monotonic()
        result = await run_in_turn(lambda: "quick")
        assert time.monotonic() - started < 2
        over.set()
        assert await asyncio.gather(*waiting) == [True] * 20
        return result

    assert run(play) == "quick"


def test_steps_that_wait_for_each_other_meet() -> None:
    meeting = threading.Barrier(4)

    async def play() -> list[int]:
        return await asyncio.gather(*(run_in_turn(lambda: meeting.wait(SOON)) for _ in range(4)))

    assert sorted(run(play)) == [0, 1, 2, 3]


def test_who_is_cancelled_does_not_wait_for_a_step_that_has_begun() -> None:
    begun, over, ended = threading.Event(), threading.Event(), threading.Event()

    def step() -> None:
        begun.set()
        over.wait(SOON)
        ended.set()

    async def play() -> None:
        task = asyncio.create_task(run_in_turn(step))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not ended.is_set()
        over.set()
        assert await run_in_turn(lambda: ended.wait(SOON))

    run(play)


def test_a_step_that_was_cancelled_before_its_turn_never_begins() -> None:
    over = threading.Event()
    begun = []

    async def play() -> None:
        first = asyncio.create_task(run_in_turn(lambda: over.wait(SOON)))
        await asyncio.sleep(0)
        second = asyncio.create_task(run_in_turn(lambda: begun.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        over.set()
        await first
        await run_in_turn(lambda: begun.append("third"))

    run(play)
    assert begun == ["third"]


def test_a_step_that_outlives_its_loop_disturbs_nobody() -> None:
    over = threading.Event()
    thread: list[threading.Thread] = []

    def step() -> None:
        thread.append(threading.current_thread())
        over.wait(SOON)

    async def play() -> None:
        task = asyncio.create_task(run_in_turn(step))
        while not thread:
            await asyncio.sleep(0.001)
        task.cancel()

    run(play)
    over.set()
    assert run(lambda: run_in_turn(lambda: "next loop")) == "next loop"


def test_threads_without_work_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_IDLE_SECONDS", 0.05)

    async def play() -> bool:
        thread = await run_in_turn(threading.current_thread)
        thread.join(SOON)
        assert not thread.is_alive()
        again = await run_in_turn(threading.current_thread)
        return again is not thread

    assert run(play)


def test_nothing_keeps_a_loop_that_is_over() -> None:
    async def play() -> weakref.ref[asyncio.AbstractEventLoop]:
        await run_in_turn(lambda: None)
        return weakref.ref(asyncio.get_running_loop())

    loop = run(play)
    deadline = time.monotonic() + SOON
    while loop() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert loop() is None


def test_many_steps_of_all_kinds_all_come_back() -> None:
    async def play() -> list[float]:
        async def one(number: int) -> float:
            seconds = 0.02 if number % 10 == 0 else 0.0
            total = 0.0
            for _ in range(5):
                await run_in_turn(lambda: time.sleep(seconds))
                total += 1
            return total

        return await asyncio.wait_for(asyncio.gather(*(one(number) for number in range(60))), 30)

    assert run(play) == [5.0] * 60

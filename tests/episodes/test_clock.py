"""The agent's own time."""

from __future__ import annotations

import time

import anyio
import pytest

from pytest_thinkingbox.episodes.clock import AgentClock, TimeIsUp


def run(function):
    return anyio.run(function)


def test_time_that_is_up_cancels_the_body():
    async def main():
        clock = AgentClock(seconds=0.05)
        with pytest.raises(TimeIsUp), clock.running():
            await anyio.sleep(5)

    run(main)


def test_paused_time_does_not_count():
    async def main():
        clock = AgentClock(seconds=0.6)
        with clock.running():
            with clock.paused():
                await anyio.sleep(1)
            await anyio.sleep(0.02)
        return clock.left

    assert 0.05 < run(main) < 0.6


def test_time_runs_on_after_a_pause():
    async def main():
        clock = AgentClock(seconds=0.1)

        async def pause_then_work():
            with clock.paused():
                await anyio.sleep(0.2)
            await anyio.sleep(5)

        with pytest.raises(TimeIsUp), clock.running():
            await pause_then_work()

    run(main)


def test_overlapping_pauses_end_with_the_last():
    async def main():
        clock = AgentClock(seconds=0.3)

        async def pause(seconds):
            with clock.paused():
                await anyio.sleep(seconds)

        with clock.running():
            async with anyio.create_task_group() as group:
                group.start_soon(pause, 0.1)
                group.start_soon(pause, 0.8)

    run(main)


def test_what_is_left_carries_over_to_the_next_turn():
    async def main():
        clock = AgentClock(seconds=0.6)
        with clock.running():
            await anyio.sleep(0.15)
        with pytest.raises(TimeIsUp), clock.running():
            await anyio.sleep(5)

    run(main)


def test_a_body_that_ignores_its_cancellation_is_overdue():
    async def main():
        clock = AgentClock(seconds=0.05)

        async def deaf():
            with anyio.CancelScope(shield=True):
                await anyio.sleep(2)
            await anyio.sleep(0)

        async def stubborn():
            with pytest.raises(TimeIsUp), clock.running():
                await deaf()

        async with anyio.create_task_group() as group:
            group.start_soon(stubborn)
            with anyio.fail_after(1.8):
                await clock.overdue(0.1)

    run(main)


def test_time_in_which_another_attempt_blocks_the_loop_does_not_count():
    async def main():
        clock = AgentClock(seconds=0.3)

        async def block():
            await anyio.sleep(0.1)
            time.sleep(0.6)

        async with anyio.create_task_group() as group:
            group.start_soon(block)
            with clock.running():
                await anyio.sleep(0.15)
        return clock.left

    assert 0.05 < run(main) < 0.2


def test_time_runs_on_after_the_loop_was_blocked():
    async def main():
        clock = AgentClock(seconds=0.2)

        async def block_then_wait():
            time.sleep(0.4)
            await anyio.sleep(5)

        with pytest.raises(TimeIsUp), clock.running():
            await block_then_wait()

    run(main)


def test_a_blocked_loop_takes_nothing_from_a_turn_that_ends_with_it():
    async def main():
        clock = AgentClock(seconds=0.5)
        ready = anyio.Event()

        async def block():
            ready.set()
            time.sleep(0.7)

        async with anyio.create_task_group() as group:
            with clock.running():
                group.start_soon(block)
                await ready.wait()
        return clock.left

    assert run(main) > 0.1

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from pytest_thinkingbox.episodes.slots import Slots


class Hall:
    """Guests that stay until they are told to go."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.inside: list[str] = []
        self._leave: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def arrive(self, *names: str) -> None:
        for name in names:
            self._leave[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._stay(name))
            await settled()

    async def _stay(self, name: str) -> None:
        async with self.slots.place():
            self.inside.append(name)
            await self._leave[name].wait()
            self.inside.remove(name)

    async def leave(self, name: str) -> None:
        self._leave[name].set()
        await settled()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def visit(limit: int, play: Callable[[Hall], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        hall = Hall(Slots(limit))
        try:
            await play(hall)
        finally:
            for task in hall.tasks.values():
                task.cancel()
            await asyncio.gather(*hall.tasks.values(), return_exceptions=True)

    asyncio.run(run())


def test_no_more_are_inside_than_there_are_places_and_they_come_in_order() -> None:
    async def play(hall: Hall) -> None:
        await hall.arrive("a", "b", "c", "d")
        assert hall.inside == ["a", "b"]
        await hall.leave("b")
        assert hall.inside == ["a", "c"]
        await hall.leave("a")
        assert hall.inside == ["c", "d"]

    visit(2, play)


def test_nobody_enters_while_the_door_is_shut() -> None:
    async def play(hall: Hall) -> None:
        await hall.arrive("a")
        shut = asyncio.create_task(hall.slots.shut())
        await hall.arrive("b")
        assert hall.inside == ["a"]
        assert not shut.done()
        await hall.leave("a")
        assert shut.done()
        assert hall.inside == []
        await hall.slots.open()
        await settled()
        assert hall.inside == ["b"]

    visit(2, play)


def test_an_empty_house_is_shut_at_once() -> None:
    async def play(hall: Hall) -> None:
        await asyncio.wait_for(hall.slots.shut(), 1)

    visit(1, play)


def test_who_gives_up_waiting_is_passed_over() -> None:
    async def play(hall: Hall) -> None:
        await hall.arrive("a", "b", "c")
        hall.tasks["b"].cancel()
        await settled()
        await hall.leave("a")
        assert hall.inside == ["c"]

    visit(1, play)


def test_who_is_cancelled_just_as_he_is_let_in_gives_the_place_on() -> None:
    async def play(hall: Hall) -> None:
        await hall.arrive("a", "b", "c")
        hall._leave["a"].set()
        while hall.inside:  # until the moment in which "a" has gone and "b" does not know yet
            await asyncio.sleep(0)
        hall.tasks["b"].cancel()
        await settled()
        assert hall.inside == ["c"]

    visit(1, play)

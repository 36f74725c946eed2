"""Episodes run ahead: one event loop in one thread plays upcoming attempts while tests are judged."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from pytest_thinkingbox.episodes.model import Episode, EpisodeRequest, Usage
from pytest_thinkingbox.episodes.restore import restore_episode
from pytest_thinkingbox.episodes.run import World, run_episode
from pytest_thinkingbox.episodes.slots import Slots
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.lane import LaneSelector
from pytest_thinkingbox.people.judge import JudgeModel
from pytest_thinkingbox.state.rulings import Ruling
from pytest_thinkingbox.threads import run_in_turn

T = TypeVar("T")

CLOSE_SECONDS = 15.0
"""How long `close` waits for running episodes to let go of what they hold."""

Tries = list[Episode]
"""All tries of one attempt in order; the last one decides."""


@dataclass(slots=True)
class Counts:
    """How the pool stands, for the live line."""

    running: int = 0
    done: int = 0
    invalid: int = 0
    tokens: int | None = 0  # of all roles; None once an endpoint did not say


class Stopped(Exception):
    """The campaign was stopped before this episode could be played."""


class BudgetSpent(Exception):
    """The campaign has spent what it may; it says how much that was."""


class Purse(Protocol):
    """What episodes are paid from."""

    def spend(self, usage: Mapping[str, Usage]) -> None:
        """Note what one try used."""

    def spend_on_judge(self, usage: Usage) -> None:
        """Note what one question used."""

    def used_up(self) -> str:
        """Why nothing more may be spent; "" while something may."""


class EpisodePool:
    """Plays episodes concurrently in a thread of its own, which starts with the first one.

    `make_world` is called once, in that thread. `concurrency` episodes play at once; an invalid try whose cause
    allows it is played again up to `retry_invalid` times. A configuration error stops everything, here and -
    through `stop_requested` - in the other processes of the campaign.
    """

    def __init__(
        self,
        *,
        make_world: Callable[[], World],
        concurrency: int,
        retry_invalid: int,
        stop_requested: Callable[[], bool],
        purse: Purse | None = None,
    ) -> None:
        self.counts = Counts()
        self.fatal: ConfigurationError | None = None
        self._make_world = make_world
        self._concurrency = concurrency
        self._retry_invalid = retry_invalid
        self._stop_requested = stop_requested
        self._purse = purse
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._world: World | None = None
        self._slots: Slots | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._prepared = False

    def submit(
        self,
        request: EpisodeRequest,
        *,
        alone: bool = False,
        played: int = 0,
        stored: Episode | None = None,
    ) -> Future[Tries]:
        """Queue an attempt. The future raises ConfigurationError, Stopped, or what the world could not be made for.

        `alone` plays it at once, between `hold` and `resume`. `played` tries were played in an earlier run. With a
        `stored` episode nothing is played: its final state is made again.
        """
        future: Future[Tries] = Future()
        loop = self._running_loop()
        one = partial(self._tries, request, alone, played, stored)
        loop.call_soon_threadsafe(self._start, request.attempt_id, one, future)
        return future

    def hold(self) -> Future[None]:
        """Start no further episode until `resume`; the future is done when none runs any more."""
        loop = self._running_loop()
        assert self._slots is not None
        return asyncio.run_coroutine_threadsafe(self._slots.shut(), loop)

    def resume(self) -> None:
        assert self._slots is not None
        asyncio.run_coroutine_threadsafe(self._slots.open(), self._running_loop())

    def ask_judge(self, question: str, about: str, usage: Usage) -> Future[Ruling]:
        """Ask the world's judge, beside whatever plays. What it costs is added to `usage`."""
        assert self._world is not None, "a checker runs after an episode"
        assert self._world.judge is not None
        return asyncio.run_coroutine_threadsafe(
            self._ask(self._world.judge, question, about, usage), self._running_loop()
        )

    async def _ask(self, judge: JudgeModel, question: str, about: str, usage: Usage) -> Ruling:
        used = Usage()
        try:
            return await judge.ask(question, about, used)
        finally:
            usage.include(used)
            if self._purse is not None:
                self._purse.spend_on_judge(used)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """In the loop of the episodes, beside whatever plays: what they use belongs to that loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._running_loop())

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._closed:
            raise RuntimeError("the pool is closed")
        if self._loop is None:
            ready = threading.Event()
            self._thread = threading.Thread(
                target=self._run_loop, args=(ready,), name="thinkingbox-episodes", daemon=True
            )
            self._thread.start()
            ready.wait()
        assert self._loop is not None
        return self._loop

    def _run_loop(self, ready: threading.Event) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            self._finish = asyncio.Event()
            self._slots = Slots(self._concurrency)
            self._preparing = asyncio.Lock()
            ready.set()
            await self._finish.wait()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)
            if self._world is not None:
                await self._world.agent.aclose()
                await self._world.users.aclose()
                if self._world.judge is not None:
                    await self._world.judge.aclose()
                if self._world.servers is not None:
                    await self._world.servers.aclose()

        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(LaneSelector())) as runner:
            loop = runner.get_loop()
            running = loop.create_task(main())
            while not running.done():
                # sys.exit() in a task of an agent or a tool comes up to here. It ends that task and nothing else.
                with suppress(SystemExit, KeyboardInterrupt):
                    loop.run_until_complete(running)

    def _start(self, name: str, one: Callable[[], Awaitable[Tries]], future: Future[Tries]) -> None:
        assert self._loop is not None
        task = self._loop.create_task(self._play(one, future), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _play(self, one: Callable[[], Awaitable[Tries]], future: Future[Tries]) -> None:
        try:
            tries = await one()
        except asyncio.CancelledError:
            future.set_exception(Stopped("the campaign was stopped"))
            raise
        except ConfigurationError as error:
            self.fatal = self.fatal or error
            future.set_exception(error)
        except BaseException as error:  # noqa: BLE001  (handed to the thread that waits for it)
            future.set_exception(error)
        else:
            future.set_result(tries)

    async def _tries(
        self, request: EpisodeRequest, alone: bool, played: int, stored: Episode | None
    ) -> Tries:
        assert self._slots is not None
        tries: Tries = []
        while True:
            async with nullcontext() if alone else self._slots.place():
                if self.fatal is not None:
                    raise self.fatal
                if self._stop_requested():
                    raise Stopped("another process of this campaign stopped it")
                if stored is None and self._purse is not None and (why := self._purse.used_up()):
                    if tries:  # what was played is kept; the attempt stays invalid
                        return tries
                    raise BudgetSpent(why)
                if self._world is None:
                    self._world = self._first_world()
                if stored is None and not alone:
                    await self._prepare(self._world)
                self.counts.running += 1
                try:
                    if stored is not None:
                        return [await restore_episode(self._world.backend, stored)]
                    number = played + len(tries) + 1
                    episode = await run_episode(self._world, request, try_number=number)
                finally:
                    self.counts.running -= 1
            tries.append(episode)
            self._count_tokens(episode)
            if self._purse is not None:
                self._purse.spend(episode.conversation.usage)
            if not episode.again or len(tries) > self._retry_invalid:
                self.counts.done += 1
                self.counts.invalid += episode.cause is not None
                return tries

    async def _prepare(self, world: World) -> None:
        """By the first who plays, while the others wait; not by who plays alone, whose fixtures may have patched the
        process."""
        if self._prepared:
            return
        async with self._preparing:
            try:
                if not self._prepared:
                    await run_in_turn(world.prepare)
            except ConfigurationError as error:
                self.fatal = self.fatal or error
            finally:
                self._prepared = True
        if self.fatal is not None:
            raise self.fatal
        if self._stop_requested():
            raise Stopped("another process of this campaign stopped it")

    def _first_world(self) -> World:
        try:
            return self._make_world()
        except ConfigurationError:
            raise
        except (
            Exception,
            SystemExit,
        ) as error:  # a full disk, a module of the author's that exits when imported
            raise ConfigurationError(f"the campaign cannot start: {type(error).__name__}: {error}") from error

    def _count_tokens(self, episode: Episode) -> None:
        for usage in episode.conversation.usage.values():
            if not usage.requests:
                continue
            if self.counts.tokens is None or usage.input_tokens is None or usage.output_tokens is None:
                self.counts.tokens = None
            else:
                self.counts.tokens += usage.input_tokens + usage.output_tokens

    def close(self) -> None:
        """Cancel what runs, close what is open, end the thread. Safe to call twice."""
        self._closed = True
        if self._thread is None or self._loop is None:
            return
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._finish.set)
            self._thread.join(timeout=2 * CLOSE_SECONDS)
        if self._world is not None:
            try:
                self._world.backend.close()
            finally:
                self._world.containers.close()
                self._world = None

"""The agent's own time: queueing, retries, the user and the judge do not count.

Nor does time in which the event loop stood still: one agent that computes or blocks in it holds up all the others, and
must not use up their time. Its own such time is not told apart from theirs.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from weakref import WeakKeyDictionary

import anyio

from pytest_thinkingbox.errors import ThinkingboxError

_TICK = 0.05  # seconds
_USUAL_DELAY = 0.01  # seconds by which a tick is late in a loop that works


class TimeIsUp(ThinkingboxError):
    """The agent's own time is used up."""


class AgentClock:
    """Counts down while `running` and stands still while `paused`."""

    def __init__(self, *, seconds: float) -> None:
        self.left = seconds
        self._scope: anyio.CancelScope | None = None
        self._pauses = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Cancel the body when the time is up and raise TimeIsUp."""
        stalls = _stalls_of(asyncio.get_running_loop())
        with anyio.CancelScope(deadline=_now() + max(0.0, self.left)) as scope:
            self._scope = scope
            stalls.watch(self)
            try:
                yield
            finally:
                stalls.forget(self)
                if not self._pauses:
                    self.left = scope.deadline - _now()
                self._scope = None
        if scope.cancelled_caught:
            raise TimeIsUp

    def paused(self) -> AbstractContextManager[None]:
        """Not the agent's time. May be nested and may overlap between concurrent requests."""
        return _Pause(self)

    def _stop(self) -> None:
        self._pauses += 1
        if self._pauses == 1 and self._scope is not None:
            self.left = self._scope.deadline - _now()
            self._scope.deadline = math.inf

    def _go_on(self) -> None:
        self._pauses -= 1
        if not self._pauses and self._scope is not None:
            self._scope.deadline = _now() + self.left

    def give_back(self, seconds: float) -> None:
        """Add what went by without the agent."""
        if self._scope is not None and not self._pauses:
            self._scope.deadline += seconds

    async def overdue(self, grace: float) -> None:
        """Return once the time has been up for `grace` seconds and the body still runs."""
        while True:
            late = math.inf if self._scope is None else _now() - self._scope.deadline - grace
            if self._scope is not None and late >= 0:
                return
            await anyio.sleep(min(1.0, max(0.05, -late)))


class _Pause:
    __slots__ = ("_clock",)

    def __init__(self, clock: AgentClock) -> None:
        self._clock = clock

    def __enter__(self) -> None:
        self._clock._stop()

    def __exit__(self, *_: object) -> None:
        self._clock._go_on()


def _now() -> float:
    """What deadlines of anyio are compared with."""
    return asyncio.get_running_loop().time()


class _Stalls:
    """Gives running clocks back the time in which their event loop stood still.

    The tick is a plain callback of the loop: after a stall it runs before any deadline that lies behind it.
    """

    def __init__(self) -> None:
        self._clocks: set[AgentClock] = set()
        self._due = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def watch(self, clock: AgentClock) -> None:
        self._clocks.add(clock)
        if self._handle is None:
            self._schedule()

    def forget(self, clock: AgentClock) -> None:
        self._settle()
        self._clocks.discard(clock)
        if not self._clocks and self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _settle(self) -> None:
        late = asyncio.get_running_loop().time() - self._due
        if late > _USUAL_DELAY:
            self._due += late
            for clock in self._clocks:
                clock.give_back(late)

    def _tick(self) -> None:
        self._settle()
        self._schedule()

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + _TICK
        self._handle = loop.call_at(self._due, self._tick)


_all_stalls: WeakKeyDictionary[asyncio.AbstractEventLoop, _Stalls] = WeakKeyDictionary()


def _stalls_of(loop: asyncio.AbstractEventLoop) -> _Stalls:
    stalls = _all_stalls.get(loop)
    if stalls is None:
        stalls = _all_stalls[loop] = _Stalls()
    return stalls

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
    """Counts down while `running` and stands still while `paused`.

    `left` are the seconds that were left when it last began to run or stood still. There is one timer for all of its
    pauses: it rings when the time would be up without any, and is set again for what is left then.
    """

    def __init__(self, *, seconds: float) -> None:
        self.left = seconds
        self._scope: anyio.CancelScope | None = None
        self._pauses = 0
        self._since = 0.0  # when it last began to run
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _deadline(self) -> float:
        return math.inf if self._scope is None or self._pauses else self._since + self.left

    @contextmanager
    def running(self) -> Iterator[None]:
        """Cancel the body when the time is up and raise TimeIsUp."""
        stalls = _stalls_of(asyncio.get_running_loop())
        with anyio.CancelScope() as scope:
            self._scope = scope
            self.left = max(0.0, self.left)
            self._run()
            stalls.watch(self)
            try:
                yield
            finally:
                stalls.forget(self)
                self._stand_still()
                self._scope = None
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None
        if scope.cancelled_caught:
            raise TimeIsUp

    def paused(self) -> AbstractContextManager[None]:
        """Not the agent's time. May be nested and may overlap between concurrent requests."""
        return _Pause(self)

    def _pause(self) -> None:
        self._stand_still()
        self._pauses += 1

    def _go_on(self) -> None:
        self._pauses -= 1
        if not self._pauses and self._scope is not None:
            self._run()

    def _run(self) -> None:
        self._since = _now()
        if self._timer is None or self._deadline < self._timer.when():
            self._ring()

    def _stand_still(self) -> None:
        if self._deadline < math.inf:
            self.left = self._deadline - _now()

    def _ring(self) -> None:
        """The time is up, or the timer is set to when it will be. While it stands still, `_run` comes later."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._scope is not None and self._deadline <= _now():
            self._scope.cancel()
        elif self._deadline < math.inf:
            self._timer = asyncio.get_running_loop().call_at(self._deadline, self._ring)

    def give_back(self, seconds: float) -> None:
        """Add what went by without the agent."""
        self._since += seconds

    async def overdue(self, grace: float) -> None:
        """Return once the time has been up for `grace` seconds and the body still runs."""
        while (late := _now() - self._deadline - grace) < 0:
            soonest = (
                self.left + grace if late == -math.inf else -late
            )  # as long as it stands still, no less is left
            await asyncio.sleep(min(1.0, max(_TICK, soonest)))


class _Pause:
    __slots__ = ("_clock",)

    def __init__(self, clock: AgentClock) -> None:
        self._clock = clock

    def __enter__(self) -> None:
        self._clock._pause()

    def __exit__(self, *_: object) -> None:
        self._clock._go_on()


def _now() -> float:
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

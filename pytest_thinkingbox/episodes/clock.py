"""The agent's own time: queueing, retries, the user and the judge do not count."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from pytest_thinkingbox.errors import ThinkingboxError


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
        with anyio.CancelScope(deadline=anyio.current_time() + max(0.0, self.left)) as scope:
            self._scope = scope
            try:
                yield
            finally:
                if not self._pauses:
                    self.left = scope.deadline - anyio.current_time()
                self._scope = None
        if scope.cancelled_caught:
            raise TimeIsUp

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Not the agent's time. May be nested and may overlap between concurrent requests."""
        self._pauses += 1
        if self._pauses == 1 and self._scope is not None:
            self.left = self._scope.deadline - anyio.current_time()
            self._scope.deadline = math.inf
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses and self._scope is not None:
                self._scope.deadline = anyio.current_time() + self.left

    async def overdue(self, grace: float) -> None:
        """Return once the time has been up for `grace` seconds and the body still runs."""
        while True:
            late = math.inf if self._scope is None else anyio.current_time() - self._scope.deadline - grace
            if self._scope is not None and late >= 0:
                return
            await anyio.sleep(min(1.0, max(0.05, -late)))

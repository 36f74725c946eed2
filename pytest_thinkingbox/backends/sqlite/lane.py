"""One thread at a time goes through SQLite, so that threads do not throw each other off their cores.

Python's sqlite3 lets go of the interpreter lock at every step, and each time another thread that wants to run takes it:
with eight attempts at once on two cores, an attempt of five tool calls made 520 context switches, which cost more than
the attempt itself. A thread that waits for its turn wants nothing from the interpreter.

Turns are a matter of speed only. Whoever waits takes over from a holder that has kept the lane for `PATIENCE`, because
that one waits for something itself; a holder that has lost the lane goes on beside it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 0.01
"""Seconds that a turn may last while others wait; usual ones take a tenth of it."""


class Turn:
    """Held by `thread`, or waiting until `given` can be acquired."""

    __slots__ = ("given", "thread")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.given = threading.Lock()
        self.given.acquire()


class Lane:
    """First come, first served."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._holder: Turn | None = None
        self._since = 0.0
        self._waiting: deque[Turn] = deque()

    def enter(self) -> Turn | None:
        """Wait for a turn, to be given back by `leave`.

        None, at once, in a thread that has the lane already or that runs an event loop, which must not wait.
        """
        if asyncio._get_running_loop() is not None:
            return None
        turn = Turn()
        with self._lock:
            holder = self._holder
            if holder is None:
                self._give(turn)
                return turn
            if holder.thread == turn.thread:
                return None
            self._waiting.append(turn)
            seconds = self._patience * len(self._waiting)
        while not turn.given.acquire(timeout=seconds):
            with self._lock:
                if self._holder is turn:
                    break
                overdue = time.monotonic() - self._since >= self._patience
                # Not in line any more: it was given, and taken over before this thread woke.
                if overdue and self._waiting and self._waiting[0] is turn:
                    self._waiting.popleft()
                    self._give(turn)
                    break
            seconds = self._patience
        return turn

    def leave(self, turn: Turn | None) -> None:
        """From any thread; does nothing for None, and for a turn that somebody took over."""
        with self._lock:
            if turn is None or self._holder is not turn:
                return
            self._holder = None
            if self._waiting:
                following = self._waiting.popleft()
                self._give(following)
                following.given.release()

    @contextmanager
    def turn(self) -> Iterator[None]:
        turn = self.enter()
        try:
            yield
        finally:
            self.leave(turn)

    def _give(self, turn: Turn) -> None:
        self._holder = turn
        self._since = time.monotonic()


LANE = Lane()
"""Of this process."""

"""One thread of this process at a time computes for attempts, so that they do not throw each other off their cores.

Python lets go of the interpreter lock at every step of SQLite and every call of the system, and each time another
thread that wants to run takes it, on another core, where nothing that it needs is at hand: with 128 attempts at once
on two cores an attempt of five tool calls cost twice as much as on one core. A thread that waits for its turn wants
nothing from the interpreter.

Turns are a matter of speed only. Whoever waits takes over from a holder that has not come back for `PATIENCE`, because
that one waits for something itself; a holder that has lost the lane goes on beside it.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 0.01
"""Seconds that a piece of work may last while others wait; usual ones take a tenth of it."""
SHARE = 0.008
"""Seconds of small pieces of work under one turn while others wait."""


class Turn:
    """Held by `thread`, or waiting until `given` can be acquired."""

    __slots__ = ("given", "thread")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.given = threading.Lock()
        self.given.acquire()


class Lane:
    """First come, first served."""

    def __init__(self, *, patience: float = PATIENCE, share: float = SHARE) -> None:
        self._patience = patience
        self._share = share
        self._lock = threading.Lock()
        self._holder: Turn | None = None
        self._began = 0.0  # when the holder's turn did
        self._seen = 0.0  # when the holder last came here
        self._waiting: deque[Turn] = deque()

    def enter(self) -> Turn | None:
        """Wait for a turn, to be given back by `leave`.

        None, at once, in a thread that has the lane already or that runs an event loop, which must not wait.
        """
        if self._is_mine() or asyncio._get_running_loop() is not None:
            return None
        return self.wait()

    def wait(self) -> Turn | None:
        """The same, also where an event loop runs: for the loop itself, between two rounds."""
        if self._is_mine():
            return None
        turn = Turn()
        with self._lock:
            holder = self._holder
            if holder is None:
                self._give(turn)
                return turn
            self._waiting.append(turn)
            seconds = self._seen + self._patience * len(self._waiting) - time.monotonic()
        try:
            self._await(turn, seconds)
        except BaseException:  # Ctrl-C: those behind must not wait for a turn that nobody takes
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
            self.leave(turn)
            raise
        return turn

    def _await(self, turn: Turn, seconds: float) -> None:
        while not turn.given.acquire(timeout=max(0.0, seconds)):
            with self._lock:
                if self._holder is turn:
                    break
                seconds = self._seen + self._patience - time.monotonic()
                # Not in line any more: it was given, and taken over before this thread woke.
                if seconds <= 0 and self._waiting and self._waiting[0] is turn:
                    self._waiting.popleft()
                    self._give(turn)
                    break
            if seconds <= 0:  # somebody else is first
                seconds = self._patience

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

    def go_on(self, turn: Turn | None) -> Turn | None:
        """The turn for the next piece of work; those who wait go first if this one has lasted for a while."""
        if self.lasts(turn):
            return turn
        self.leave(turn)
        return self.enter()

    def lasts(self, turn: Turn | None) -> bool:
        """Whether this turn is good for one more piece of work: nobody waits, or it has not lasted for long."""
        with self._lock:
            if turn is None or self._holder is not turn:
                return False
            self._seen = time.monotonic()
            if not self._waiting:
                self._began = self._seen
            return self._seen - self._began < self._share

    @contextmanager
    def turn(self) -> Iterator[None]:
        turn = self.enter()
        try:
            yield
        finally:
            self.leave(turn)

    def forget(self) -> None:
        """In a process that was forked: of all threads only the one that forked is there."""
        self._lock = threading.Lock()
        self._holder = None
        self._waiting.clear()

    def _is_mine(self) -> bool:
        holder = self._holder  # may go to another thread at any time, but to this one only from here
        return holder is not None and holder.thread == threading.get_ident()

    def _give(self, turn: Turn) -> None:
        self._holder = turn
        self._began = self._seen = time.monotonic()


LANE = Lane()
"""Of this process."""
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=LANE.forget)


class LaneSelector(selectors.DefaultSelector):
    """For an event loop: it has a turn while it calls back, and none while it waits for something to happen."""

    _turn: Turn | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if LANE.lasts(self._turn):
            found = super().select(0)
            if found or timeout == 0:
                return found
        LANE.leave(self._turn)
        try:
            return super().select(timeout)
        finally:
            self._turn = LANE.wait()

    def close(self) -> None:
        LANE.leave(self._turn)
        super().close()

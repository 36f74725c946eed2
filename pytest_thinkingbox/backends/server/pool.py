"""Databases that are made ahead, and given back, in threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

from pytest_thinkingbox.backends.server.space import Space
from pytest_thinkingbox.errors import InfrastructureDown

AHEAD = 2
"""Databases that wait, of a template that is used more than once."""
THREADS = 2

T = TypeVar("T")
D = TypeVar("D", bound=Hashable)


class Pool(Generic[T, D]):
    """Those of all templates (T) of one process; D says what belongs to one database."""

    def __init__(
        self,
        *,
        make: Callable[[T], D],
        drop: Callable[[D], None],
        size: Callable[[T], int],
        space: Space,
        lost: type[Exception],
    ) -> None:
        """`lost` is what the driver raises; what it says of work in the background is nobody's affair."""
        self._make = make
        self._drop = drop
        self._size = size
        self._space = space
        self._lost = lost
        self._lock = threading.Lock()
        self._ready: dict[T, list[D]] = {}
        self._taken: dict[T, int] = {}
        self._coming: dict[T, int] = {}
        self._sizes: dict[D, int] = {}
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="thinkingbox-databases")
        self._closed = False
        self.reset = 0  # how many were lent again

    def take(self, template: T) -> D:
        """A database that holds exactly what the template holds."""
        found = self._waiting(template)
        with self._lock:
            ready = len(self._ready.setdefault(template, []))
            self._taken[template] = self._taken.get(template, 0) + 1
            missing = AHEAD - ready - self._coming.get(template, 0) if self._taken[template] > 1 else 0
            missing = 0 if self._closed else max(0, missing)
            self._coming[template] = self._coming.get(template, 0) + missing
        if found is None:
            size = self._size(template)
            found = self._space.take(size, instead=lambda: self._waiting(template), evict=self._evict)
            if found is None:
                found = self._made(template, size)
        for _ in range(missing):
            self._soon(lambda: self._make_ahead(template))
        return found

    def _waiting(self, template: T) -> D | None:
        with self._lock:
            ready = self._ready.get(template)
            return ready.pop() if ready else None

    def _make_ahead(self, template: T) -> None:
        size = self._size(template)
        made = None
        try:
            if self._space.spare(size):
                made = self._made(template, size)
        finally:
            with self._lock:
                self._coming[template] -= 1
        if made is not None:
            self._lend(template, made)

    def _made(self, template: T, size: int) -> D:
        """A new one, in space that was taken for it."""
        try:
            made = self._make(template)
        except BaseException:
            self._space.give(size)
            raise
        self._sizes[made] = size
        return made

    def _gone(self, database: D) -> None:
        self._space.give(self._sizes.pop(database))

    def _lend(self, template: T, database: D) -> None:
        with self._lock:
            if not self._closed:
                self._ready.setdefault(template, []).append(database)
        self._space.tell()

    def _evict(self) -> bool:
        """Drop one that waits, of whatever template."""
        with self._lock:
            found = next((ready.pop() for ready in self._ready.values() if ready), None)
        if found is None:
            return False
        with suppress(InfrastructureDown, self._lost):
            self._drop(found)
        self._gone(found)
        return True

    def give_back(self, template: T, database: D, *, end: Callable[[bool], bool]) -> None:
        """Soon, `end` resets it and returns True, or drops it. It is told whether enough others wait already."""
        self._soon(lambda: self._end(template, database, end))

    def _end(self, template: T, database: D, end: Callable[[bool], bool]) -> None:
        with self._lock:
            enough = len(self._ready.get(template, ())) >= 2 * AHEAD
        lent = False
        try:
            lent = end(enough)
        finally:
            if not lent:
                self._gone(database)
        if lent:
            self.reset += 1
            self._lend(template, database)

    def _soon(self, job: Callable[[], None]) -> None:
        def run() -> None:
            # Whatever stays is removed at the end of the campaign, or by the next one.
            with suppress(InfrastructureDown, self._lost):
                job()

        with suppress(RuntimeError):  # the threads have ended: the campaign is being removed
            self._threads.submit(run)

    def close(self, *, wait: bool = True) -> None:
        """Wait for what has begun, unless the server is gone; the rest is dropped with the campaign."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=wait, cancel_futures=True)

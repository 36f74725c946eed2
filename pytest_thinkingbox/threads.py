"""Blocking steps of an event loop, run in a thread, one at a time while they are quick.

Threads of Python that want to run at the same time take the interpreter lock from each other, whenever one of them
calls SQLite or reads a file: with eight attempts at once on two cores that cost more than the attempts themselves. Here
one thread does one step after the other. A step that has not ended after `PATIENCE` waits for something itself: another
thread goes on with those behind it, so that a step that hangs holds up nobody.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from pytest_thinkingbox.lane import LANE

T = TypeVar("T")

PATIENCE = 0.01
"""Seconds that a step may take while others wait; usual ones take a tenth of it."""
_IDLE_SECONDS = 10.0  # after which a thread without work ends


async def run_in_turn(step: Callable[[], T]) -> T:
    """What `step` returns or raises. A step that has begun goes on when this is cancelled; nobody hears of its end."""
    loop = asyncio.get_running_loop()
    line = _line_of(loop)
    future: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def job() -> None:
        if future.cancelled():
            return
        try:
            result = context.run(step)
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            line.tell(loop, partial(_fail, future, error))
        else:
            line.tell(loop, partial(_end, future, result))

    line.put(job)
    return await future


class Steps:
    """Steps of one owner, who can tell whether one still runs when nobody waits for it any more."""

    def __init__(self) -> None:
        self._running: set[object] = set()

    @property
    def running(self) -> bool:
        return bool(self._running)

    async def run_in_turn(self, step: Callable[[], T]) -> T:
        mark = object()

        def marked() -> T:
            self._running.add(mark)
            try:
                return step()
            finally:
                self._running.discard(mark)

        return await run_in_turn(marked)


def _end(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        if isinstance(error, StopIteration):  # a future takes none
            error, cause = RuntimeError(f"a step raised {error!r}"), error
            error.__cause__ = cause
        future.set_exception(error)


class Line:
    """Jobs of one event loop in the order in which they came. `put` is called in the loop's thread."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
        self._told: deque[Callable[[], None]] = deque()
        self._calling = False
        self._patience = patience
        self._lock = threading.Lock()
        self._jobs: deque[Callable[[], None]] = deque()
        self._worker: _Worker | None = None  # who takes the next job
        self._since = 0.0  # when it took the last one
        self._idle: list[_Worker] = []
        self._checking = False

    def put(self, job: Callable[[], None]) -> None:
        with self._lock:
            self._jobs.append(job)
            appointed = self._appoint() if self._worker is None else None
        if appointed is not None:
            appointed.wake()
        elif not self._checking:
            self._checking = True
            asyncio.get_running_loop().call_later(self._patience, self._check)

    def _check(self) -> None:
        """Let another thread go on when the one that works does not come back."""
        appointed = None
        with self._lock:
            self._checking = bool(self._jobs)
            overdue = self._since + self._patience - time.monotonic()
            if self._jobs and (self._worker is None or overdue <= 0):
                appointed = self._appoint()
                overdue = self._patience
        if appointed is not None:
            appointed.wake()
        if self._checking:
            asyncio.get_running_loop().call_later(overdue, self._check)

    def _appoint(self) -> _Worker:
        self._worker = self._idle.pop() if self._idle else _Worker(self)
        self._since = time.monotonic()
        return self._worker

    def take(self, worker: _Worker) -> Callable[[], None] | None:
        """The next job; None when there is none, or when another thread goes on."""
        with self._lock:
            if self._worker is worker and self._jobs:
                self._since = time.monotonic()
                return self._jobs.popleft()
            if self._worker is worker:
                self._worker = None
            self._idle.append(worker)
            return None

    def tell(self, loop: asyncio.AbstractEventLoop, what: Callable[[], None]) -> None:
        """From any thread: have this called in the loop's. A loop that is busy is woken once for all of it."""
        self._told.append(what)
        if self._calling:
            return  # it has not begun to listen: this is among what it will find
        self._calling = True
        try:
            loop.call_soon_threadsafe(self._hear)
        except RuntimeError:
            if not loop.is_closed():  # else nobody waits any more
                raise

    def _hear(self) -> None:
        self._calling = False
        while self._told:
            self._told.popleft()()

    def dismiss(self, worker: _Worker) -> bool:
        """Whether this idle thread may end: nobody is about to wake it."""
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
                return True
            return False


class _Worker:
    """A thread, begun by the first `wake`. It is a daemon, since a step may never end."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._woken = threading.Lock()  # released by `wake`, once for every time that the thread was idle
        self._woken.acquire()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="thinkingbox-step", daemon=True)
            self._thread.start()
        else:
            self._woken.release()

    def _work(self) -> None:
        turn = None
        while True:
            turn = LANE.go_on(turn)
            job = self._line.take(self)
            if job is not None:
                job()
                del job  # it holds what the step was given
                continue
            LANE.leave(turn)
            if not self._woken.acquire(timeout=_IDLE_SECONDS):
                if self._line.dismiss(self):
                    return
                self._woken.acquire()


_lines: WeakKeyDictionary[asyncio.AbstractEventLoop, Line] = WeakKeyDictionary()


def _line_of(loop: asyncio.AbstractEventLoop) -> Line:
    line = _lines.get(loop)
    if line is None:
        line = _lines[loop] = Line()
    return line

"""Who may play now: a number of places in one event loop, first come, first served."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """`limit` places; while the door is shut nobody takes a new one. Who leaves wakes one who waits, not all."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._active = 0
        self._shut = False
        self._turns: deque[asyncio.Future[None]] = deque()
        self._empty = asyncio.Event()
        self._empty.set()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was let in at the same time
                self._leave()
            raise
        try:
            yield
        finally:
            self._leave()

    async def shut(self) -> None:
        """Let nobody in any more and wait until the last one has left."""
        self._shut = True
        await self._empty.wait()

    async def open(self) -> None:
        self._shut = False
        self._admit()

    def _leave(self) -> None:
        self._active -= 1
        if not self._active:
            self._empty.set()
        self._admit()

    def _admit(self) -> None:
        while self._turns and not self._shut and self._active < self._limit:
            turn = self._turns.popleft()
            if not turn.done():  # it is when its owner was cancelled
                self._active += 1
                self._empty.clear()
                turn.set_result(None)

"""Closing that is waited for, whatever becomes of who waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def to_the_end(closing: Awaitable[T]) -> T:
    """What it returns or raises, also while this task is cancelled; the cancellation goes on after it."""
    task = asyncio.ensure_future(closing)
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as error:
                cancelled = error
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result

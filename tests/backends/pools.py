"""Waiting for what backends on servers do in the background."""

from __future__ import annotations

import threading
from typing import Any

from pytest_thinkingbox.backends.server.pool import THREADS, Pool


def settle(pool: Pool[Any, Any]) -> None:
    """Let the threads that make, reset and drop databases come to their end."""
    all_are_free = threading.Barrier(THREADS + 1)
    for _ in range(THREADS):
        pool._soon(lambda: all_are_free.wait(60))
    all_are_free.wait(60)

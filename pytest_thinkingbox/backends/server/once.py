"""Things that must happen at most once, whoever asks for them."""

from __future__ import annotations

import threading
from collections.abc import Callable


def once(function: Callable[[], object]) -> Callable[[], None]:
    """What calls it the first time only."""
    called = threading.Lock()

    def go() -> None:
        if called.acquire(blocking=False):
            function()

    return go

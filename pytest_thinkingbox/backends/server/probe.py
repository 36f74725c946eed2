"""Whether a server still answers, asked in bounded time."""

from __future__ import annotations

import threading
from collections.abc import Callable

_SECONDS = 5.0


class Probe:
    """`ask` has the server do something small on a session of its own, and raises one of `refused` where it cannot."""

    def __init__(self, ask: Callable[[], object], *, refused: type[Exception]) -> None:
        self._ask = ask
        self._refused = refused
        self._asking = threading.Lock()

    def __call__(self) -> bool:
        answered = threading.Event()

        def go() -> None:
            try:
                with self._asking:
                    self._ask()
            except self._refused:
                return
            answered.set()

        # A server that is halted neither answers nor refuses, so that somebody else has to wait for it.
        thread = threading.Thread(target=go, name="thinkingbox-probe", daemon=True)
        thread.start()
        thread.join(_SECONDS)
        return answered.is_set()

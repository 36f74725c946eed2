"""Ended from outside: SIGTERM closes what was opened, as the end of a block does."""

from __future__ import annotations

import signal
import threading
from typing import Any


class Terminated(BaseException):
    """The process was asked to end (SIGTERM). No `except Exception` on the way holds it up."""


class ending_on_sigterm:
    """Raises Terminated in the main thread on the first SIGTERM; later ones do not disturb the clean-up."""

    def __enter__(self) -> None:
        self._before: Any = None
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._end)

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def _end(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

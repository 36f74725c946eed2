"""How much of a server's space the databases of attempts may take."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from pytest_thinkingbox.errors import ConfigurationError

_SHARE = 4  # of what is free, this part is used
_UNKNOWN = 1_000_000_000  # bytes of databases made ahead where nobody says what is free
_PATIENCE = 5.0  # seconds to wait for another attempt's space, before the budget is exceeded
D = TypeVar("D")
_log = logging.getLogger("pytest_thinkingbox.servers")


class Space:
    """A budget of bytes for one process of a campaign. Sizes are those of templates; what attempts add is not known."""

    def __init__(self, free: int | None, *, processes: int) -> None:
        """`free` are bytes on the server, None when it does not say: then only what is made ahead is limited."""
        self.budget = None if free is None else free // _SHARE // processes
        self._ahead = _UNKNOWN // processes if self.budget is None else self.budget
        self._used = 0
        self._changed = threading.Condition()
        self._changes = 0
        self._said = False

    def check(self, size: int, free: Callable[[], int | None], *, what: str) -> None:
        """Raises ConfigurationError when not even one database of this size fits into what is free."""
        if self.budget is None or size <= self.budget:
            return
        left = free()
        if left is not None and size > left:
            raise ConfigurationError(
                f"{what}: the database of an attempt takes {size / 1e6:,.0f} MB, and the server has "
                f"{left / 1e6:,.0f} MB left: give it more space, or make the seed smaller"
            )

    def spare(self, size: int) -> bool:
        """Take what a database made ahead needs, if it is there."""
        with self._changed:
            if self._used + size > self._ahead:
                return False
            self._used += size
            return True

    def take(self, size: int, *, instead: Callable[[], D | None], evict: Callable[[], bool]) -> D | None:
        """Take what an attempt's database needs, or return what may be used `instead` as soon as there is something.

        While neither is there, `evict` a database that waits for another template, or wait: that is how a small server
        lowers the concurrency. It does not wait for ever, because those who hold the space may be waiting to be judged
        after this one.
        """
        deadline = time.monotonic() + _PATIENCE
        while True:
            seen = self._changes
            found = instead()
            if found is not None:
                return found
            with self._changed:
                fits = self.budget is None or self._used + size <= self.budget
                if fits or not self._used or time.monotonic() >= deadline:
                    self._used += size
                    return None
            if evict():
                continue
            self._say()
            with self._changed:
                if self._changes == seen:
                    self._changed.wait(max(0.0, deadline - time.monotonic()))

    def tell(self) -> None:
        """Those who wait look again for something to use instead."""
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def give(self, size: int) -> None:
        with self._changed:
            self._used -= size
        self.tell()

    def _say(self) -> None:
        if not self._said:
            self._said = True
            _log.warning("databases fill a quarter of the free space of the database server: fewer at a time")

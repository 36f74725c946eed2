"""Connections that are kept open for the next who asks."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import psycopg

Connection = psycopg.Connection[Any]

MOST = 2
"""Of one process. A suite may have more templates - every `start` is one - than its server takes connections."""


def answers(connection: Connection) -> bool:
    """Whether its session is still there: while nobody asked, it may have been ended."""
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


class Idle:
    """At most one for each database, and `MOST` in all: the one that waited longest goes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, Connection] = OrderedDict()
        self._closed = False

    def take(self, database: str) -> Connection | None:
        with self._lock:
            found = self._waiting.pop(database, None)
        if found is None or answers(found):
            return found
        found.close()
        return None

    def keep(self, database: str, connection: Connection) -> None:
        with self._lock:
            gone = [connection]
            if not self._closed and not connection.closed and database not in self._waiting:
                self._waiting[database] = connection
                gone = [self._waiting.popitem(last=False)[1]] if len(self._waiting) > MOST else []
        for one in gone:
            one.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            gone = list(self._waiting.values())
            self._waiting.clear()
        for one in gone:
            one.close()

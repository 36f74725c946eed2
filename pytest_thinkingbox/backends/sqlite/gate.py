"""The agent's side of a database in this process: an engine that can be shut, also for those who hold a connection.

A connection that a tool's thread still uses when the attempt ends must neither write on, nor keep a lock, nor be
closed under that thread while SQLite runs in it. So every call into SQLite holds the connection's own lock, and
whoever comes back from a call after the end finds the connection rolled back and closed.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

from sqlalchemy import Engine
from sqlalchemy.pool import QueuePool

from pytest_thinkingbox.backends.sqlite import engines
from pytest_thinkingbox.lane import LANE, Turn

_ENDED = "the attempt has ended: its database can no longer be used"


class Gate:
    """Makes the connections of one attempt and ends them all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connections: list[GatedConnection] = []
        self.closed = False

    def connect(self) -> sqlite3.Connection:
        """A connection of its own for a tool; foreign keys are on."""
        with self._lock:
            if self.closed:
                raise sqlite3.OperationalError(_ENDED)
            connection = GatedConnection(self, self._path)
            engines.writing().set_up(connection)
            self._connections.append(connection)
        # No synchronous writes: the file outlives nothing but this process.
        connection.executescript("PRAGMA foreign_keys = ON; PRAGMA synchronous = OFF")
        return connection

    def engine(self) -> Engine:
        return engines.writing().engine(self.connect, database=str(self._path), pool=QueuePool)

    def shut(self, *, seconds: float) -> bool:
        """End all connections; False if one is still inside SQLite after that time (it ends when it comes out)."""
        with self._lock:
            self.closed = True
            connections = list(self._connections)
        deadline = time.monotonic() + seconds
        ended = [connection.end(deadline) for connection in connections]
        return all(ended)


class GatedConnection(sqlite3.Connection):
    """Calls into SQLite one at a time, and none after the gate is closed.

    From the first call of a transaction to its end it has a turn in the lane.
    """

    def __init__(self, gate: Gate, path: Path) -> None:
        super().__init__(str(path), check_same_thread=False)
        self._gate = gate
        self.entered = _Entered(self)
        """Around every call into SQLite."""
        self._inside = threading.RLock()
        self._depth = 0
        self._ended = False
        self._turn: Turn | None = None
        self._cursors: WeakSet[sqlite3.Cursor] = WeakSet()

    @property
    def ended(self) -> bool:
        return self._ended

    def end(self, deadline: float) -> bool:
        """From another thread: stop what runs, roll back and close. Called after the gate was closed."""
        while not self._inside.acquire(timeout=0.01):
            if time.monotonic() > deadline:
                return False
            if not self._ended:
                self._interrupt()
        try:
            self._finish()
        finally:
            self._inside.release()
        return True

    def _interrupt(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # it was closed in between
            self.interrupt()

    def _leave_lane(self) -> None:
        turn, self._turn = self._turn, None
        LANE.leave(turn)

    def _finish(self) -> None:
        self._leave_lane()
        if not self._ended:
            self._ended = True
            # An open statement would keep a closed connection, its locks and its file alive.
            for cursor in list(self._cursors):
                sqlite3.Cursor.close(cursor)
            if self.in_transaction:
                super().rollback()
            super().close()

    def cursor(self, factory: Any = None) -> Any:
        with self.entered:
            cursor = super().cursor(factory or GatedCursor)
            self._cursors.add(cursor)
            return cursor

    def execute(self, sql: str, parameters: Any = (), /) -> Any:
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Any:
        return self.cursor().executemany(sql, parameters)

    def executescript(self, script: str, /) -> Any:
        return self.cursor().executescript(script)

    def commit(self) -> None:
        try:
            with self.entered:
                super().commit()
        finally:
            self._leave_lane()

    def rollback(self) -> None:
        if self._gate.closed or self._ended:
            return  # rolled back already: what a pool does with a connection that comes home late
        try:
            if self.in_transaction:
                with self.entered:
                    super().rollback()
        finally:
            self._leave_lane()

    def close(self) -> None:
        # After the end nobody waits for a thread that is inside SQLite: it closes when it comes out.
        if self._inside.acquire(blocking=not self._gate.closed):
            try:
                self._finish()
            finally:
                self._inside.release()

    def __exit__(self, *error: Any) -> Any:
        if error[0] is None:
            self.commit()
        else:
            self.rollback()
        return False


class _Entered:
    """Written for speed: an attempt of five tool calls makes some fifty calls into SQLite."""

    __slots__ = ("_connection",)

    def __init__(self, connection: GatedConnection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        one = self._connection
        if one._turn is None and not one._gate.closed:
            one._turn = LANE.enter()
        one._inside.acquire()
        if one._gate.closed:
            if one._depth == 0:
                one._finish()
            one._inside.release()
            raise sqlite3.OperationalError(_ENDED)
        one._depth += 1

    def __exit__(self, *error: object) -> None:
        one = self._connection
        one._depth -= 1  # above 0 in what an SQL function of the tool calls: SQLite still runs below
        if one._gate.closed and one._depth == 0:
            one._finish()
        one._inside.release()


class GatedCursor(sqlite3.Cursor):
    connection: GatedConnection

    def execute(self, sql: str, parameters: Any = (), /) -> GatedCursor:
        with self.connection.entered:
            super().execute(sql, parameters)
            return self

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> GatedCursor:
        with self.connection.entered:
            super().executemany(sql, parameters)
            return self

    def executescript(self, script: str, /) -> GatedCursor:
        with self.connection.entered:
            super().executescript(script)
            return self

    def fetchone(self) -> Any:
        with self.connection.entered:
            return super().fetchone()

    def fetchmany(self, size: int | None = None) -> list[Any]:
        with self.connection.entered:
            return super().fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[Any]:
        with self.connection.entered:
            return super().fetchall()

    def __next__(self) -> Any:
        with self.connection.entered:
            return super().__next__()

    def close(self) -> None:
        if not self.connection.ended:
            with self.connection.entered:
                super().close()

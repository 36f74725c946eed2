"""Failures of the database inside a tool: text for the agent, or the end of the attempt."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.engine import ExceptionContext

# SQLite has no error class of its own for a file that is gone or a disk that is full.
_SQLITE_DEAD = ("disk i/o error", "unable to open database file", "database or disk is full")
# PostgreSQL; MariaDB and MySQL, whose tables are full when their disk is.
_SERVER_FULL = re.compile(r"no space left on device|\bthe table '.*' is full", re.IGNORECASE)


class DatabaseWatch:
    """Remembers the first sign that an attempt's database is dead, whatever the tool makes of it."""

    def __init__(self) -> None:
        self.dead: str | None = None

    @contextmanager
    def on(self, engine: Engine) -> Iterator[None]:
        """Watch every statement and every new connection of this engine."""
        event.listen(engine, "handle_error", self._handle)
        try:
            yield
        finally:
            event.remove(engine, "handle_error", self._handle)

    def saw(self, error: BaseException) -> None:
        """Look at an exception that escaped from a tool, and at those that caused it."""
        for one in _chain(error):
            if is_dead(one):
                self.dead = self.dead or first_line(one)

    def _handle(self, context: ExceptionContext) -> None:
        if context.is_disconnect or context.connection is None:
            self.dead = self.dead or first_line(context.original_exception)
        else:
            self.saw(context.sqlalchemy_exception or context.original_exception)


def is_dead(error: BaseException) -> bool:
    """Whether this exception says that the database itself is gone, not that a statement was refused."""
    if isinstance(error, DBAPIError):
        if error.connection_invalidated:
            return True
        origin: BaseException = error.orig or error
        return (
            is_dead(origin)
            or bool(_SERVER_FULL.search(str(origin)))
            or (isinstance(error, InterfaceError) and not isinstance(origin, sqlite3.Error))
        )
    if isinstance(error, sqlite3.Error):
        return str(error).lower().startswith(_SQLITE_DEAD)
    return False


def sentence(error: DBAPIError) -> str:
    """What the agent may read of a refused statement: no SQL, no parameters, no driver."""
    if isinstance(error, IntegrityError):
        return f"The database refused the change: {first_line(error)}"
    return f"The database refused the statement: {first_line(error)}"


def first_line(error: BaseException) -> str:
    origin = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return next(iter(str(origin).strip().splitlines()), type(origin).__name__)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__

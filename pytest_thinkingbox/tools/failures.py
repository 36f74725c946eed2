"""Failures of the database inside a tool: text for the agent, or the end of the attempt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, IntegrityError

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.engine import ExceptionContext


_FULL = 1040
"""MySQL's number, and MariaDB's, for a server that takes no more connections; other drivers have texts."""


class Blames(Protocol):
    """`Lease.blames`: whether the database itself is to blame for an error of a driver."""

    def __call__(self, error: BaseException, *, connecting: bool, lost: bool) -> bool: ...


def nobody_to_blame(error: BaseException, *, connecting: bool, lost: bool) -> bool:
    """For tools without a database."""
    return False


class DatabaseWatch:
    """Remembers the first sign that an attempt's database is dead, whatever the tool makes of it."""

    def __init__(self, blames: Blames) -> None:
        self.dead: str | None = None
        self._blames = blames

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
            if isinstance(one, DBAPIError):
                self._look(one.orig or one, connecting=_found_it_full(one), lost=one.connection_invalidated)
            else:
                self._look(one, connecting=False, lost=False)

    def _handle(self, context: ExceptionContext) -> None:
        self._look(
            context.original_exception,
            connecting=context.connection is None,
            lost=bool(context.is_disconnect),
        )

    def _look(self, error: BaseException, *, connecting: bool, lost: bool) -> None:
        if self.dead is None and self._blames(error, connecting=connecting, lost=lost):
            self.dead = first_line(error)


def _found_it_full(error: DBAPIError) -> bool:
    """Whether no connection could be opened because the server has none left.

    Without a statement is also what ends a transaction, for which no server has this number; with one, an agent may
    have raised it.
    """
    number = next(iter(error.orig.args), None) if error.orig is not None else None
    return error.statement is None and not error.connection_invalidated and number == _FULL


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

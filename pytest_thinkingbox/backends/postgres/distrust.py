"""Reading what an agent with DDL defined: its code runs in the sessions that read, and must not hold them up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.abc import Params
from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import ExceptionContext

from pytest_thinkingbox.backends.postgres import values
from pytest_thinkingbox.errors import InfrastructureDown, UnreadableState

READING_SECONDS = 600.0
"""What one statement may take that reads what an agent with DDL defined."""
GRACE_SECONDS = 10.0
"""How much later its session is ended. Until then the server has had the time to end the statement."""

End = Callable[[int], None]
"""Ends the session of this process of the server."""


def settings(version: int) -> dict[str, str]:
    """Set before every statement: what the agent defined may have run in the last one, and changed them. Those by which
    the server ends a session between two statements are set once more after it, while the session is still watched."""
    return {
        "default_transaction_read_only": "on",
        "statement_timeout": f"{int(READING_SECONDS * 1000)}ms",
        **_lasting(version),
    }


def _lasting(version: int) -> dict[str, str]:
    names = ["idle_session_timeout", "idle_in_transaction_session_timeout"]
    return dict.fromkeys([*names, "transaction_timeout"] if version >= 170000 else names, "0")


class Distrustful(psycopg.Connection[Any]):
    """Reads rows for the verdict, with settings that are made good before every statement."""

    end: End
    prevented: psycopg.Error | None = None
    """How the last statement failed in which code of the agent may have run: its doing. What fails between statements
    is the server's, or that of whoever ended the session."""

    def execute(
        self, query: Any, params: Params | None = None, *, prepare: bool | None = None, binary: bool = False
    ) -> psycopg.Cursor[Any]:
        version = self.info.server_version
        super().execute(_sets({**values.SETTINGS, **settings(version)}))
        watch = _Watch(self, self.end)
        try:
            found = super().execute(query, params, prepare=prepare, binary=binary)
            super().execute(_sets(_lasting(version)))
            return found
        except psycopg.Error as error:
            self.prevented = error
            raise
        finally:
            watch.over()


def distrust(engine: Engine, *, end: End) -> None:
    """The same for an engine of checkers: they read only, and in time. To be called before others listen to errors: who
    raises is the last that hears of one."""

    def begin(connection: Connection, cursor: Any, *_: object) -> None:
        driver = cursor.connection
        driver.execute(_sets(settings(driver.info.server_version)))
        connection.info[_WATCH] = _Watch(driver, end)

    def done(connection: Connection, cursor: Any, *_: object) -> None:
        driver = cursor.connection
        driver.execute(_sets(_lasting(driver.info.server_version)))
        connection.info.pop(_WATCH).over()

    def over(context: ExceptionContext) -> None:
        watch = None if context.connection is None else context.connection.info.get(_WATCH)
        if watch is not None:
            watch.over()

    event.listen(engine, "before_cursor_execute", begin)
    event.listen(engine, "after_cursor_execute", done)
    event.listen(engine, "handle_error", over)


def tell_prevented(engine: Engine) -> None:
    """What keeps a distrustful engine from reading raises UnreadableState. A session that is lost while nothing is read
    is an outage."""

    def failed(context: ExceptionContext) -> None:
        watch = None if context.connection is None else context.connection.info.pop(_WATCH, None)
        error = context.original_exception
        # Of Ctrl-C and time limits, which are no errors of the driver, SQLAlchemy says too that the session is lost.
        lost = context.is_disconnect and isinstance(error, context.dialect.loaded_dbapi.Error)
        if lost and watch is None:
            raise InfrastructureDown(f"the session of a checker was ended: {error}") from error
        if isinstance(error, _PREVENTED) or lost:
            raise UnreadableState(prevented(error)) from error

    event.listen(engine, "handle_error", failed)


def prevented(error: BaseException) -> str:
    said = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return f"what the agent left cannot be read: {said}"


_WATCH = "thinkingbox_watch"
_PREVENTED = (psycopg.errors.QueryCanceled, psycopg.errors.ConfigurationLimitExceeded)


class _Watch:
    """Ends the session from outside when a statement takes too long: code can catch that its statement is canceled, and
    what runs while a statement is planned can take its limit away."""

    def __init__(self, connection: psycopg.Connection[Any], end: End) -> None:
        self._end = end
        self._session = connection.info.backend_pid
        given = socket.socket(fileno=connection.fileno())
        self._socket = given.dup()  # libpq closes its own once the session has ended
        given.detach()
        self._lock = threading.Lock()
        self._over = False
        self._timer = threading.Timer(READING_SECONDS + GRACE_SECONDS, self._stop)
        self._timer.daemon = True
        try:
            self._timer.start()
        except BaseException:  # Ctrl-C: the thread may have begun all the same
            self.over()
            raise

    def _stop(self) -> None:
        with self._lock:
            if self._over:
                return
            self._end(self._session)
            # One that is in a function which nothing interrupts goes on without anybody who waits for it.
            with suppress(OSError):  # it has ended by now
                self._socket.shutdown(socket.SHUT_RDWR)

    def over(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
        self._socket.close()


def _sets(wanted: dict[str, str]) -> bytes:
    return "; ".join(
        f"SET {name} = {value}" if name == "search_path" else f"SET {name} = '{value}'"
        for name, value in wanted.items()
    ).encode()

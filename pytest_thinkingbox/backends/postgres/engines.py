"""Engines of attempts, which share what SQLAlchemy learns of the server and the statements that it compiles.

Every engine has a dialect of its own all the same: listeners that are put on an engine lie on its dialect, and those
of one attempt must not hear another one.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import psycopg
from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool, Pool, QueuePool
from sqlalchemy.util import LRUCache

from pytest_thinkingbox.backends.postgres.distrust import End, distrust, prevented, tell_prevented
from pytest_thinkingbox.backends.postgres.roles import CONNECTION_LIMIT
from pytest_thinkingbox.backends.server.outages import tell_outages
from pytest_thinkingbox.errors import InfrastructureDown, ReadOnlyState, UnreadableState

_STATEMENTS = 1000  # kept compiled; SQLAlchemy keeps 500 an engine
_ENDED = "the attempt has ended: its database can no longer be used"

_CLOSING_SECONDS = 1.0


class _Dialect(PGDialect_psycopg):
    """Equal to its copies, for it is part of the key under which a compiled statement is kept."""

    supports_statement_cache = True

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self._family = object()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Dialect) and other._family is self._family

    def __hash__(self) -> int:
        return hash(self._family)


class Engines:
    """Makes engines for databases of one server. The first one asks the server what the others know then."""

    def __init__(self, *, autocommit: bool) -> None:
        self._autocommit = autocommit
        self._model = _Dialect(dbapi=psycopg)
        self._compiled: LRUCache[Any, Any] = LRUCache(_STATEMENTS)
        self._lock = threading.Lock()
        self._initialized = False

    def engine(self, url: URL, *, gate: Gate | None = None) -> Engine:
        """With a pool where there is a gate, which can shut it; else every connection is opened anew."""
        arguments: dict[str, Any] = {
            "host": url.host, "port": url.port, "user": url.username, "password": url.password,
            "dbname": url.database, **url.query,
        }  # fmt: skip

        def connect() -> Any:
            connection = psycopg.connect(autocommit=self._autocommit, **arguments)
            if gate is not None:
                gate.keep(connection)
            return connection

        def connect_through() -> Any:
            if gate is not None and gate.shut:
                raise psycopg.OperationalError(_ENDED)
            return connect()

        with self._lock:
            if not self._initialized:
                self._learn(url, connect)
        dialect = copy.copy(self._model)
        vars(dialect).pop("dispatch", None)  # where listeners are kept
        pool: Pool = (
            NullPool(connect, dialect=dialect)
            if gate is None
            else QueuePool(
                connect_through, dialect=dialect, pool_size=1, max_overflow=CONNECTION_LIMIT - 1, timeout=30
            )
        )
        engine = Engine(pool, dialect, url, execution_options={"compiled_cache": self._compiled})
        set_up = self._model.on_connect()  # type: ignore[no-untyped-call]
        if set_up is not None:
            event.listen(engine, "connect", lambda connection, _record: set_up(connection))
        return engine

    def _learn(self, url: URL, connect: Callable[[], Any]) -> None:
        """Ask the server. Nobody's statement runs: whatever breaks the connection here is an outage."""
        try:
            with Engine(NullPool(connect, dialect=self._model), self._model, url).connect() as connection:
                self._model.initialize(connection)  # type: ignore[no-untyped-call]
        except (psycopg.OperationalError, OperationalError) as error:
            raise InfrastructureDown(f"the database server: {error}") from error
        self._initialized = True


class Gate:
    """Whether an attempt's engine still opens connections, and those that it opened."""

    def __init__(self) -> None:
        self.shut = False
        self._lock = threading.Lock()
        self._connections: list[psycopg.Connection[Any]] = []

    def keep(self, connection: psycopg.Connection[Any]) -> None:
        with self._lock:
            self._connections.append(connection)

    def close(self) -> None:
        """Close what tools left open, once the server has ended their sessions."""
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            # A thread that waits for the server holds this lock; it comes back at once, for its session has ended.
            if connection.lock.acquire(timeout=_CLOSING_SECONDS):
                try:
                    connection.close()
                finally:
                    connection.lock.release()


class ReadOnly:
    """Engines for checkers: every statement is a transaction of its own.

    A write raises ReadOnlyState, a server that is gone, as `alive` says, InfrastructureDown. A lock that nobody
    gives up is the agent's, and raises UnreadableState.
    """

    def __init__(self, alive: Callable[[], bool]) -> None:
        self._engines = Engines(autocommit=True)
        self._alive = alive

    def engine(self, url: URL, *, end: End | None = None) -> Engine:
        """With `end` where an agent with DDL defined what is read; it ends a session that takes too long."""
        made = self._engines.engine(url)
        if end is not None:
            distrust(made, end=end)
        tell_outages(made, self._alive)
        if end is not None:
            tell_prevented(made)
        event.listen(made, "handle_error", _translate)
        return made


_REFUSED = (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege)


def _translate(context: ExceptionContext) -> None:
    error = context.original_exception
    if isinstance(error, _REFUSED):
        raise ReadOnlyState(
            f"a checker may only read the state that it judges; refused: {context.statement}"
        ) from error
    if isinstance(error, psycopg.errors.LockNotAvailable):
        raise UnreadableState(prevented(error)) from error


def engine_for_author(url: URL, *, role: str | None = None) -> Engine:
    """For what an environment loads: SQLAlchemy's own, with the rights of `role`, or of the administrator."""
    return create_engine(
        url, poolclass=NullPool, connect_args={} if role is None else {"options": f"-c role={role}"}
    )

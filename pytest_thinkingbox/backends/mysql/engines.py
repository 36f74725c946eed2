"""Engines of attempts, and of checkers, who may only read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pymysql
from pymysql.constants import ER
from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.pool import NullPool, QueuePool

from pytest_thinkingbox.backends.mysql.server import READ_SECONDS, open_connection, shut
from pytest_thinkingbox.backends.mysql.sql import Connection, query
from pytest_thinkingbox.backends.mysql.users import CONNECTION_LIMIT, STATEMENT_SECONDS
from pytest_thinkingbox.backends.server.outages import tell_outages
from pytest_thinkingbox.errors import ReadOnlyState

_ENDED = "the attempt has ended: its database can no longer be used"
_UTC = "SET time_zone = '+00:00'"


class Gate:
    """Whether an attempt's engine still opens connections, and those that it opened."""

    def __init__(self) -> None:
        self.shut = False
        self._lock = threading.Lock()
        self._connections: list[Connection] = []

    def keep(self, connection: Connection) -> None:
        with self._lock:
            self._connections.append(connection)

    def close(self) -> None:
        """Close what tools left open, once the server has ended their sessions."""
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            shut(connection)


def engine_of_attempt(url: URL, *, gate: Gate, server: str) -> Engine:
    """What the gate can shut. `server` is "MariaDB" or "MySQL", which have no limit of statements in common."""
    limit = (
        f"max_statement_time = {STATEMENT_SECONDS}"
        if server == "MariaDB"
        else f"max_execution_time = {STATEMENT_SECONDS * 1000}"
    )

    def connect() -> Any:
        if gate.shut:
            raise pymysql.OperationalError(_ENDED)
        connection = open_connection(url, init_command=f"{_UTC}, {limit}")
        gate.keep(connection)
        return connection

    return create_engine(
        url,
        creator=connect,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=CONNECTION_LIMIT - 1,
        pool_timeout=30,
    )


def read_only_engine(url: URL, *, alive: Callable[[], bool], limited: bool) -> Engine:
    """Every statement is a transaction of its own, and with `limited` has to answer in time.

    A write raises ReadOnlyState, a server that is gone, as `alive` says, InfrastructureDown.
    """

    def connect() -> Any:
        connection = open_connection(url, init_command=_UTC, read_timeout=READ_SECONDS if limited else None)
        query(connection, "SET SESSION TRANSACTION READ ONLY")
        return connection

    made = create_engine(url, creator=connect, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    tell_outages(made, alive)
    event.listen(made, "handle_error", _translate)
    return made


def engine_of_author(url: URL) -> Engine:
    """For the callables of an environment, as the administrator."""
    return create_engine(url, creator=lambda: open_connection(url, init_command=_UTC), poolclass=NullPool)


_CANNOT_WRITE_IN_READ_ONLY = 1792  # ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, which PyMySQL does not name
_REFUSED = frozenset({
    _CANNOT_WRITE_IN_READ_ONLY, ER.TABLEACCESS_DENIED_ERROR, ER.COLUMNACCESS_DENIED_ERROR,
    ER.DBACCESS_DENIED_ERROR, ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.PROCACCESS_DENIED_ERROR,
})  # fmt: skip


def _translate(context: ExceptionContext) -> None:
    error = context.original_exception
    if isinstance(error, pymysql.MySQLError) and error.args and error.args[0] in _REFUSED:
        raise ReadOnlyState(
            f"a checker may only read the state that it judges; refused: {context.statement}"
        ) from error

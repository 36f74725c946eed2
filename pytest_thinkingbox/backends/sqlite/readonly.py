"""Connections for checkers: they read, from any thread, and a write raises ReadOnlyState."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.pool import NullPool

from pytest_thinkingbox.backends.sqlite import engines
from pytest_thinkingbox.backends.sqlite.decoding import decode_text
from pytest_thinkingbox.errors import ReadOnlyState

_READING = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_SAVEPOINT,
    }
)
_READING_PRAGMAS = frozenset(
    {
        "application_id",
        "collation_list",
        "compile_options",
        "database_list",
        "encoding",
        "foreign_key_check",
        "foreign_key_list",
        "foreign_keys",
        "function_list",
        "index_info",
        "index_list",
        "index_xinfo",
        "integrity_check",
        "journal_mode",
        "module_list",
        "page_count",
        "page_size",
        "query_only",
        "quick_check",
        "read_uncommitted",
        "table_info",
        "table_list",
        "table_xinfo",
        "user_version",
    }
)
_WITH_ARGUMENT = frozenset(
    {
        "foreign_key_check",
        "foreign_key_list",
        "index_info",
        "index_list",
        "index_xinfo",
        "integrity_check",
        "quick_check",
        "table_info",
        "table_list",
        "table_xinfo",
    }
)
_WRITE_CODES = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH})


def _authorize(
    action: int, first: str | None, second: str | None, _schema: str | None, _inner: str | None
) -> int:
    if action in _READING:
        return sqlite3.SQLITE_DENY if second == "load_extension" else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first is not None:
        name = first.lower()
        if name in _READING_PRAGMAS and (second is None or name in _WITH_ARGUMENT):
            return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


class ReadOnlyEngine:
    """Opens `uri` for reading as often as asked, and closes whatever its users left open."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._lock = threading.Lock()
        self._open: list[sqlite3.Connection] = []
        self.engine = _engine(self._connect)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._uri, uri=True, check_same_thread=False, isolation_level=None)
        connection.text_factory = decode_text
        connection.execute("PRAGMA query_only = ON")
        engines.reading().set_up(connection)
        connection.set_authorizer(_authorize)
        with self._lock:
            self._open.append(connection)
        return connection

    def close(self) -> None:
        self.engine.dispose()
        with self._lock:
            connections, self._open = self._open, []
        for connection in connections:
            connection.close()


def _engine(connect: Callable[[], sqlite3.Connection]) -> Engine:
    engine = engines.reading().engine(connect, database=None, pool=NullPool)

    @event.listens_for(engine, "handle_error")
    def translate(context: ExceptionContext) -> None:
        error = context.original_exception
        if isinstance(error, sqlite3.Error) and _is_refusal(error):
            raise ReadOnlyState(
                f"a checker may only read the state that it judges; refused: {context.statement}"
            ) from error

    return engine


def _is_refusal(error: sqlite3.Error) -> bool:
    if isinstance(error, sqlite3.ProgrammingError):
        return False  # the driver's own, without a code of SQLite
    # For some statements SQLite gives the authorizer's refusal the code of an ordinary error.
    return error.sqlite_errorcode & 0xFF in _WRITE_CODES or str(error).startswith("not authorized")

"""Engines of attempts, which share what SQLAlchemy learns: a statement is compiled once, not once an attempt.

Every engine has a dialect of its own all the same. Listeners that are put on an engine for errors and statements lie
on its dialect, and those of one attempt must not hear another one.
"""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from sqlalchemy import URL, Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.pool import NullPool, QueuePool
from sqlalchemy.util import LRUCache

_STATEMENTS = 1000  # kept compiled; SQLAlchemy keeps 500 an engine

Connect = Callable[[], Any]


class _Dialect(SQLiteDialect_pysqlite):
    """Equal to its copies, for it is part of the key under which a compiled statement is kept."""

    supports_statement_cache = True

    def __init__(self, **options: Any) -> None:
        super().__init__(dbapi=sqlite3, **options)
        self._family = object()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Dialect) and other._family is self._family

    def __hash__(self) -> int:
        return hash(self._family)


class Kind:
    """Engines of one kind. `isolation_level` is SQLAlchemy's, None for its default."""

    def __init__(self, isolation_level: str | None) -> None:
        self._compiled: LRUCache[Any, Any] = LRUCache(_STATEMENTS)
        self._model = _Dialect(isolation_level=isolation_level)
        self._set_up: Callable[[Any], None] = self._model.on_connect()
        connect: Connect = lambda: sqlite3.connect(":memory:")  # noqa: E731
        with Engine(NullPool(connect), self._model, URL.create("sqlite")).connect() as connection:
            self._model.initialize(connection)

    def engine(
        self, connect: Connect, *, database: str | None, pool: type[NullPool] | type[QueuePool]
    ) -> Engine:
        """An engine whose connections `connect` opens; `database` is the path that its URL names."""
        dialect = copy.copy(self._model)
        vars(dialect).pop("dispatch", None)  # where listeners are kept
        options: dict[str, Any] = {"max_overflow": -1} if pool is QueuePool else {}
        return Engine(
            pool(partial(connect), dialect=dialect, **options),  # SQLAlchemy looks into every plain function
            dialect,
            URL.create("sqlite", database=database),
            execution_options={"compiled_cache": self._compiled},
        )

    def set_up(self, connection: sqlite3.Connection) -> None:
        """Give a new connection the SQL functions that SQLAlchemy promises."""
        self._set_up(connection)


@cache
def writing() -> Kind:
    """For tools."""
    return Kind(None)


@cache
def reading() -> Kind:
    """For checkers."""
    return Kind("AUTOCOMMIT")

"""Views, routines and triggers of a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymysql.err import MySQLError

from pytest_thinkingbox.backends.mysql import sql
from pytest_thinkingbox.backends.mysql.catalog import Catalog, Code
from pytest_thinkingbox.backends.mysql.sql import Connection, query


@contextmanager
def without_triggers(connection: Connection, catalog: Catalog, *, owner: str | None) -> Iterator[None]:
    """Rows that are written meanwhile stay as they are written."""
    triggers = [name.rpartition(".")[2] for kind, name in catalog.objects if kind == "trigger"]
    for name in triggers:
        query(connection, f"DROP TRIGGER {sql.name(name)}")
    yield
    code = tuple(one for one in catalog.code if " TRIGGER " in one.statement[:200].upper())
    make_code(connection, code, owner=owner)


def make_code(connection: Connection, code: tuple[Code, ...], *, owner: str | None) -> None:
    """Views, routines and triggers, in whatever order they need each other."""
    waiting = list(code)
    while waiting:
        left: list[Code] = []
        failure: MySQLError | None = None
        for one in waiting:
            try:
                _make(connection, one, owner=owner)
            except MySQLError as error:  # a view of a view that is not there yet
                failure = error
                left.append(one)
        if failure is not None and len(left) == len(waiting):
            raise failure
        waiting = left


def _make(connection: Connection, one: Code, *, owner: str | None) -> None:
    mode: Any = "@@GLOBAL.sql_mode" if one.sql_mode is None else sql.text(one.sql_mode)
    query(
        connection,
        f"SET SESSION sql_mode = {mode}, character_set_client = {one.charset},"
        f" collation_connection = {one.collation}",
    )
    statement = one.statement
    if owner is not None:
        statement = sql.without_definer(statement, instead=f"DEFINER={sql.account(owner)} ")
    query(connection, statement)

"""Reading rows of the final state as Python values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

from pytest_thinkingbox.backends.postgres.catalog import read_tables
from pytest_thinkingbox.backends.postgres.compare import names
from pytest_thinkingbox.errors import UnknownName
from pytest_thinkingbox.state.values import equal


def read_rows(
    connection: psycopg.Connection[Any], table: str, where: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Rows in which these columns have these values, as `state.values` compares, by key. Raises UnknownName."""
    tables = read_tables(connection)
    found = tables.get(table)
    if found is None:
        raise UnknownName(
            f"{table!r} is no table of the final state; there are: {', '.join(sorted(tables)) or 'none'}"
        )
    columns = found.info.columns
    for column in where:
        if column not in columns:
            raise UnknownName(f"{table} has no column {column!r}; it has: {', '.join(columns)}")
    types = dict(
        connection.execute(
            "SELECT attname::text, atttypid::regtype::text FROM pg_attribute WHERE attrelid = %s AND attnum > 0"
            " AND NOT attisdropped",
            [found.oid],
        ).fetchall()
    )
    conditions = {name: value for name, value in where.items() if _is_plain(types[name], value)}
    query = sql.SQL("SELECT {} FROM {}").format(names(columns), found.relation)
    if conditions:
        query += sql.SQL(" WHERE ") + sql.SQL(" AND ").join(
            sql.SQL("{} = {}").format(sql.Identifier(name), sql.Literal(value))
            for name, value in conditions.items()
        )
    if found.info.key:  # an updated row changes its place in the file
        query += sql.SQL(" ORDER BY {}").format(names(found.info.key))
    rows = [dict(zip(columns, row, strict=True)) for row in connection.execute(query).fetchall()]
    return [row for row in rows if all(equal(row[name], value) for name, value in where.items())]


def _is_plain(declared: str, value: Any) -> bool:
    """Whether `=` is true for every stored value that equals this one, so that the server may choose the rows."""
    if type(value) is int:
        return declared in ("smallint", "integer", "bigint") and -(2**63) <= value < 2**63
    return type(value) is str and declared in ("text", "character varying") and "\0" not in value

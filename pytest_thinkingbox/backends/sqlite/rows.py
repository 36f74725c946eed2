"""Reading rows of the final state as Python values."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.backends.sqlite.catalog import Catalog, Table, fold, quote
from pytest_thinkingbox.backends.sqlite.compare import final_catalog
from pytest_thinkingbox.backends.sqlite.decoding import Decoder
from pytest_thinkingbox.backends.sqlite.net import decode_row
from pytest_thinkingbox.errors import UnknownName
from pytest_thinkingbox.state.values import equal


def read_rows(
    connection: sqlite3.Connection, reference: Catalog, table: str, where: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Rows of a table of `main` in which these columns have these values, by key. Raises UnknownName."""
    final = final_catalog(connection, reference)
    found = final.tables.get(fold(table))
    if found is None:
        known = ", ".join(sorted(one.info.name for one in final.tables.values())) or "none"
        raise UnknownName(f"{table!r} is no table of the final state; there are: {known}")
    columns = found.info.columns
    names = {fold(name): name for name in columns}
    wanted: dict[str, Any] = {}
    for column, value in where.items():
        if fold(column) not in names:
            raise UnknownName(f"{found.info.name} has no column {column!r}; it has: {', '.join(columns)}")
        wanted[names[fold(column)]] = value
    decoders = _decoders(found, reference.tables.get(fold(table)))
    conditions = {
        name: value
        for name, value in wanted.items()
        if _is_plain(value) and decoders[columns.index(name)] is None
    }
    listed = ", ".join(quote(name) for name in columns)
    query = f"SELECT {listed} FROM main.{quote(found.info.name)}"
    if conditions:
        query += " WHERE " + " AND ".join(f"{quote(name)} COLLATE BINARY = ?" for name in conditions)
    if found.info.key:
        query += " ORDER BY " + ", ".join(quote(name) for name in found.info.key)
    rows = [
        decode_row(columns, decoders, row) for row in connection.execute(query, tuple(conditions.values()))
    ]
    return [row for row in rows if all(equal(row[name], value) for name, value in wanted.items())]


def _decoders(found: Table, seed: Table | None) -> tuple[Decoder | None, ...]:
    """The seed's, for only they may come from metadata; the declared ones for columns that are new."""
    if seed is None or seed is found:
        return found.decoders
    known = {fold(name): decoder for name, decoder in zip(seed.info.columns, seed.decoders, strict=True)}
    return tuple(
        known.get(fold(name), decoder)
        for name, decoder in zip(found.info.columns, found.decoders, strict=True)
    )


def _is_plain(value: Any) -> bool:
    """Whether SQLite's `=` is true for every stored value that equals this one, so that it may choose the rows."""
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return type(value) is str and value.isascii() and "\0" not in value

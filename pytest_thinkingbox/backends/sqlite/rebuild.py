"""From stored changes back to a final state, without the agent.

The changes hold values as their columns mean them. A value that did not change keeps the bytes of the seed; others are
written as SQLAlchemy's type or the column's other values spell them, so that they are equal to what the agent left in
meaning, if not always in spelling (25 and 25.0, a date with a T or a blank).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from pytest_thinkingbox.backends.base import NotInRecord
from pytest_thinkingbox.backends.sqlite.catalog import Catalog, Object, Table, fold, quote
from pytest_thinkingbox.backends.sqlite.decoding import decode_text
from pytest_thinkingbox.backends.sqlite.net import decode_row
from pytest_thinkingbox.state.model import Row, RowChange, SchemaDelta, StateDiff
from pytest_thinkingbox.state.values import equal

if TYPE_CHECKING:
    from sqlalchemy import MetaData

_Stored = tuple[int | None, tuple[Any, ...]]
"""A rowid, None where the table has none, and the values of all columns as they are stored."""


def rebuild(path: Path, catalog: Catalog, metadata: MetaData | None, diff: StateDiff) -> None:
    """Turn a file that holds seed + start into the state after `diff`.

    Raises NotInRecord when the changes do not say all that is needed, or do not fit what is there.
    """
    _refuse(diff.schema)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.text_factory = decode_text
    try:
        for pragma in ("foreign_keys = OFF", "ignore_check_constraints = ON", "synchronous = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN IMMEDIATE")
        triggers = _without_triggers(connection, catalog)
        _change_schema(connection, diff.schema, triggers)
        tables: dict[str, list[RowChange]] = {}
        for change in diff.rows:
            tables.setdefault(change.table, []).append(change)
        for name, changes in tables.items():
            table = catalog.tables.get(fold(name))
            if table is None:
                raise NotInRecord(f"the seed has no table {name!r} any more")
            _change_rows(connection, table, changes, _Writer(table, metadata))
        for sql in triggers.values():
            connection.execute(sql)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise NotInRecord(f"the stored changes do not fit the seed: {error}") from error
    finally:
        connection.close()


def _refuse(deltas: Iterable[SchemaDelta]) -> None:
    for delta in deltas:
        if delta.type == "table" and delta.action != "dropped":
            raise NotInRecord(
                f"table {delta.name} was {delta.action}: a record has not the rows and columns that came with it"
            )
        if delta.type == "file" or (delta.type, delta.name) == ("pragma", "encoding"):
            raise NotInRecord(
                f"the {delta.type} was {delta.action}, and the record has not what became of it"
            )


def _without_triggers(connection: sqlite3.Connection, catalog: Catalog) -> dict[str, str]:
    """Drop them, for what they do is among the changes; their definitions by folded name."""
    found = [one for one in catalog.objects.values() if one.type == "trigger" and one.sql is not None]
    for one in found:
        connection.execute(f"DROP TRIGGER main.{quote(one.name)}")
    return {fold(one.name): one.sql for one in found if one.sql is not None}


def _change_schema(
    connection: sqlite3.Connection, deltas: Iterable[SchemaDelta], triggers: dict[str, str]
) -> None:
    for delta in deltas:
        if delta.type == "trigger":
            triggers.pop(fold(delta.name), None)
            if delta.after is not None:
                triggers[fold(delta.name)] = delta.after
        elif delta.type == "pragma":
            connection.execute(f"PRAGMA main.{delta.name} = {int(str(delta.after))}")
        else:
            if delta.action != "created":
                connection.execute(f"DROP {_kind(delta)} IF EXISTS main.{quote(delta.name)}")
            if delta.after is not None:
                connection.execute(delta.after)


def _kind(delta: SchemaDelta | Object) -> str:
    return {"table": "TABLE", "index": "INDEX", "view": "VIEW"}[delta.type]


def _change_rows(
    connection: sqlite3.Connection, table: Table, changes: Iterable[RowChange], writer: _Writer
) -> None:
    """Take every old row away before any new one comes, for two rows may have exchanged a unique value."""
    new: list[_Stored] = []
    for change in changes:
        rowid, raw = None, None
        if change.before is not None:
            rowid, raw = writer.find(connection, change.before)
            writer.delete(connection, rowid, raw)
        if change.after is not None:
            new.append((rowid, writer.values(change.before, change.after, raw)))
    for rowid, values in sorted(new, key=lambda one: one[0] is None):  # a new row takes no old one's place
        writer.insert(connection, rowid, values)


class _Writer:
    """Finds and writes rows of one table."""

    def __init__(self, table: Table, metadata: MetaData | None) -> None:
        self._table = table
        self._columns = table.info.columns
        self._binders = _binders(table, metadata)
        self._name = f"main.{quote(table.info.name)}"
        self._computed: frozenset[str] | None = None

    def find(self, connection: sqlite3.Connection, row: Row) -> _Stored:
        """The stored row that means the same. Raises NotInRecord when there is none."""
        plain = {
            name: row[name]
            for name, decoder in zip(self._columns, self._table.decoders, strict=True)
            if decoder is None and name in row and _is_plain(row[name])
        }
        listed = ", ".join([self._rowid or "NULL", *map(quote, self._columns)])
        query = f"SELECT {listed} FROM {self._name}"
        if plain:
            query += " WHERE " + " AND ".join(f"{quote(name)} COLLATE BINARY = ?" for name in plain)
        for rowid, *raw in connection.execute(query, tuple(plain.values())):
            found = decode_row(self._columns, self._table.decoders, tuple(raw))
            if all(equal(found[name], value) for name, value in row.items()):
                return rowid, tuple(raw)
        raise NotInRecord(f"{self._table.info.name}: the seed has no row {dict(row)!r}")

    @property
    def _rowid(self) -> str | None:
        return None if self._table.rowid is None else quote(self._table.rowid)

    def delete(self, connection: sqlite3.Connection, rowid: int | None, raw: tuple[Any, ...]) -> None:
        if rowid is not None:
            connection.execute(f"DELETE FROM {self._name} WHERE {self._rowid} = ?", (rowid,))
            return
        terms = [_term(value) for value in raw]
        condition = " AND ".join(
            f"{quote(name)} IS {term} COLLATE BINARY"
            for name, (term, _) in zip(self._columns, terms, strict=True)
        )
        connection.execute(f"DELETE FROM {self._name} WHERE {condition}", [value for _, value in terms])

    def values(self, before: Row | None, after: Row, raw: tuple[Any, ...] | None) -> tuple[Any, ...]:
        """As stored: what did not change as it was."""
        return tuple(
            raw[at]
            if raw is not None and before is not None and equal(before.get(name), after.get(name))
            else self._binders[at](after.get(name))
            for at, name in enumerate(self._columns)
        )

    def insert(self, connection: sqlite3.Connection, rowid: int | None, values: tuple[Any, ...]) -> None:
        computed = self._computed_columns(connection)
        named = [
            (quote(name), *_term(value))
            for name, value in zip(self._columns, values, strict=True)
            if name not in computed
        ]
        if rowid is not None and self._table.rowid not in self._columns:
            named.append((self._rowid or "", "?", rowid))
        columns, terms, given = zip(*named, strict=True)
        connection.execute(
            f"INSERT INTO {self._name} ({', '.join(columns)}) VALUES ({', '.join(terms)})", given
        )

    def _computed_columns(self, connection: sqlite3.Connection) -> frozenset[str]:
        if self._computed is None:
            rows = connection.execute(f"PRAGMA main.table_xinfo({quote(self._table.info.name)})")
            self._computed = frozenset(row[1] for row in rows if row[6] in (2, 3))
        return self._computed


def _is_plain(value: Any) -> bool:
    """Whether SQLite's `=` finds every stored value that equals this one."""
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return type(value) is str and value.isascii() and "\0" not in value


def _term(value: Any) -> tuple[str, Any]:
    """An SQL expression for a stored value; text that is no UTF-8 goes as its bytes."""
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogateescape")
        if raw != value.encode("utf-8", "replace"):
            return "CAST(? AS TEXT)", raw
    return "?", value


_Binder = Callable[[Any], Any]


def _binders(table: Table, metadata: MetaData | None) -> list[_Binder]:
    """For each column, how a value of it is stored."""
    known: dict[str, _Binder] = {}
    dialect = SQLiteDialect_pysqlite()
    for declared in metadata.tables.values() if metadata is not None else ():
        if fold(declared.name) == fold(table.info.name) and declared.schema in (None, "main"):
            for column in declared.columns:
                processor = column.type.dialect_impl(dialect).bind_processor(dialect)
                if processor is not None:
                    known[fold(column.name)] = processor
    return [_binder(known.get(fold(name))) for name in table.info.columns]


def _binder(processor: _Binder | None) -> _Binder:
    def bind(value: Any) -> Any:
        if value is None:
            return None
        # A value that the column's type does not mean was stored as it is, past SQLAlchemy.
        if processor is not None and not isinstance(value, str | bytes):
            return processor(value)
        return _plain_storage(value)

    return bind


def _plain_storage(value: Any) -> Any:
    match value:
        case bool():
            return int(value)
        case Decimal():
            return str(value)  # the column's affinity makes a number of it, if that is the same number
        case datetime():
            return value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case UUID():
            return str(value)
        case list() | Mapping():
            return json.dumps(value)
    return value

"""The rows of an SQLite file as a seed, for tables that the schema has made.

SQLite keeps few types: what a column there means is what the column of the same name on the server is. Values are read
as SQLAlchemy would read them with that type, and whatever does not fit is an error that names its place.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, MetaData, Table, func, insert, inspect, select, types
from sqlalchemy.exc import SAWarning, SQLAlchemyError

from pytest_thinkingbox.errors import ConfigurationError

_HEADER = b"SQLite format 3\0"
_BATCH = 1000
_SHOWN = 200

Convert = Callable[[Any], Any]


def is_sqlite(path: Path) -> bool:
    """Whether this is a file of SQLite, whatever it is called. Raises ConfigurationError when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error


def refuse_as_schema(path: Path, *, server: str) -> None:
    """Raises ConfigurationError: the tables of an SQLite file say too little for another kind of server."""
    raise ConfigurationError(
        f"schema {path}: a file of SQLite does not say what its columns are on {server}; give the schema as "
        "SQLAlchemy metadata, as SQL of this server or as a callable, and this file as Database(seed=...)"
    )


@contextmanager
def opened(path: Path, *, what: str) -> Iterator[sqlite3.Connection]:
    """The file, read-only. Raises ConfigurationError when it is damaged or was cut off."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != ("ok",):
            raise ConfigurationError(f"{what} {path} is no whole database of SQLite: {found[0]}")
        yield connection
    except sqlite3.Error as error:
        raise ConfigurationError(f"{what} {path} is no whole database of SQLite: {error}") from error
    finally:
        connection.close()


def tables_of(source: sqlite3.Connection, path: Path, *, what: str) -> dict[str, list[str]]:
    """The columns of every table that has rows of its own. Raises ConfigurationError for a virtual table."""
    found = {}
    for name, kind in source.execute(
        "SELECT name, type FROM pragma_table_list WHERE schema = 'main'"
    ).fetchall():
        if name.startswith("sqlite_") or kind in ("view", "shadow"):
            continue
        if kind == "virtual":
            raise ConfigurationError(
                f"{what} {path}: {name} is a virtual table, whose rows only SQLite can read"
            )
        found[name] = [
            column
            for column, hidden in source.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", [name])
            if not hidden
        ]
    return found


def check_tables(
    given: Mapping[str, Sequence[str]], known: Mapping[str, Sequence[str]], path: Path, *, what: str
) -> None:
    """Raises ConfigurationError when the file has a table or a column that the schema has not made."""
    for table, columns in given.items():
        if table not in known:
            raise ConfigurationError(
                f"{what} {path}: it has a table {table!r}, which the schema does not make; it makes: "
                f"{', '.join(sorted(known)) or 'none'}"
            )
        for column in columns:
            if column not in known[table]:
                raise ConfigurationError(
                    f"{what} {path}: {table} has a column {column!r}, which the schema does not make; it makes: "
                    f"{', '.join(known[table])}"
                )


def load_rows(connection: Connection, path: Path, *, what: str) -> list[Table]:
    """Insert all rows of the file into tables of the default schema; which ones.

    The caller has switched foreign keys and triggers off, commits, and checks the former. Raises ConfigurationError
    when a row does not fit or does not arrive.
    """
    with opened(path, what=what) as source:
        given = tables_of(source, path, what=what)
        targets = _reflected(connection, list(given))
        known = {name: [one.name for one in table.columns] for name, table in targets.items()}
        check_tables(given, known, path, what=what)
        for name, columns in given.items():
            _load(connection, source, targets[name], columns, where=f"{what} {path}: {name}")
    return [targets[name] for name in given]


def _reflected(connection: Connection, wanted: list[str]) -> dict[str, Table]:
    there = set(inspect(connection).get_table_names())
    metadata = MetaData()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", SAWarning
        )  # of types that it does not know, which are written as they are
        metadata.reflect(connection, only=[name for name in wanted if name in there], resolve_fks=False)
    return {table.name: table for table in metadata.tables.values()}


def _load(
    connection: Connection, source: sqlite3.Connection, table: Table, columns: list[str], *, where: str
) -> None:
    written = [one for one in columns if table.columns[one].computed is None]
    converters = [_converter(table.columns[one]) for one in written]
    selected = ", ".join('"' + one.replace('"', '""') + '"' for one in written)
    name = table.name.replace('"', '""')
    rows = source.execute(f'SELECT {selected or "NULL"} FROM "{name}"')
    already, loaded = _count(connection, table), 0
    while batch := rows.fetchmany(_BATCH):
        values = [
            {
                column: _converted(convert, value, where=f"{where}.{column}")
                for column, convert, value in zip(written, converters, row, strict=False)
            }
            for row in batch
        ]
        try:
            connection.execute(insert(table), values)
        except SQLAlchemyError as error:
            said = " ".join(str(error.__cause__ or error).split())
            raise ConfigurationError(f"{where}: {said[:_SHOWN]}") from error
        loaded += len(values)
    arrived = _count(connection, table) - already
    if arrived != loaded:
        raise ConfigurationError(f"{where} loads only in part: {arrived} of its {loaded} rows are there")


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _converted(convert: Convert, value: Any, *, where: str) -> Any:
    if value is None:
        return None
    try:
        return convert(value)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ConfigurationError(f"{where}: {str(value)[:_SHOWN]!r} does not fit: {error}") from error


def _converter(column: Column[Any]) -> Convert:
    """From what SQLite keeps to what the driver of the server takes."""
    declared = column.type
    if isinstance(declared, types.JSON):
        declared.none_as_null = True  # NULL of SQL, that is; a null of JSON is one all the same
        return _json
    if isinstance(declared, types.ARRAY):
        return json.loads
    if isinstance(declared, types.DateTime):
        return _instant if declared.timezone else datetime.fromisoformat
    for kind, convert in _CONVERTERS:
        if isinstance(declared, kind):
            return convert
    return lambda value: value


def _json(value: Any) -> Any:
    found = json.loads(value)
    return types.JSON.NULL if found is None else found


def _instant(value: str) -> datetime:
    """SQLAlchemy writes instants without their zone to SQLite."""
    found = datetime.fromisoformat(value)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _boolean(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError("neither 0 nor 1")
    return bool(value)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError("it is no BLOB")
    return value


_CONVERTERS: tuple[tuple[type[types.TypeEngine[Any]], Convert], ...] = (
    (types.Boolean, _boolean),
    (types.Float, float),
    (types.Numeric, lambda value: Decimal(str(value))),
    (types.LargeBinary, _bytes),
    (types.BINARY, _bytes),
    (types.VARBINARY, _bytes),
    (types.Date, date.fromisoformat),
    (types.Time, time.fromisoformat),
    (types.Uuid, uuid.UUID),
)

"""What a database file defines: tables, columns, keys, and the text of every object of its schema."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.backends.sqlite.decoding import Decoder, decoder_of_declaration, decoder_of_type
from pytest_thinkingbox.state.model import TableInfo

if TYPE_CHECKING:
    from sqlalchemy import MetaData

_PRAGMAS = ("user_version", "application_id", "encoding")
_INDEX_ONLY = re.compile(r"\busing\s+fts[345]\s*\(.*[,(]\s*content\s*=", re.IGNORECASE | re.DOTALL)
"""A full text index without rows of its own: it shows those of another table, or none."""
_UPPER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@lru_cache(maxsize=10_000)
def fold(name: str) -> str:
    """A name as SQLite compares names: ASCII letters without case, all others as they are."""
    return name.translate(_UPPER)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def internal(name: str) -> bool:
    """Whether SQLite keeps it for itself: sqlite_sequence, sqlite_stat1, sqlite_autoindex_..."""
    return fold(name).startswith("sqlite_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table that rows can be read from.

    `decoders` belong to `info.columns`, one each. `exact_key` says that the key tells every two rows apart, byte
    for byte: no part of it may be NULL, and none is compared by a collation other than BINARY. `rowid` is a name
    for the rowid, None where there is none (WITHOUT ROWID, virtual tables) or columns took all its names.
    """

    info: TableInfo
    decoders: tuple[Decoder | None, ...]
    exact_key: bool
    rowid: str | None
    virtual: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """One row of sqlite_master that is neither internal nor a virtual table's shadow."""

    type: str
    name: str
    sql: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Catalog:
    """The schema of one file. Keys are folded names.

    `master` are all rows of sqlite_master, as a cheap test for equality. `tables` are those that rows are kept in: full
    text indexes of other tables are objects only.
    """

    master: tuple[tuple[Any, ...], ...]
    pragmas: Mapping[str, Any]
    objects: Mapping[tuple[str, str], Object]
    tables: Mapping[str, Table]


def read_master(connection: sqlite3.Connection, schema: str) -> tuple[tuple[Any, ...], ...]:
    found = connection.execute(
        f"SELECT type, name, tbl_name, sql FROM {quote(schema)}.sqlite_master ORDER BY 1, 2"
    )
    return tuple(found.fetchall())


def read_pragmas(connection: sqlite3.Connection, schema: str) -> dict[str, Any]:
    return {name: connection.execute(f"PRAGMA {quote(schema)}.{name}").fetchone()[0] for name in _PRAGMAS}


def read_catalog(connection: sqlite3.Connection, schema: str, metadata: MetaData | None = None) -> Catalog:
    """Read the schema `main` or an attached one. `metadata` tells types that SQLite's declarations do not."""
    master = read_master(connection, schema)
    kinds = {
        fold(row[1]): (row[2], bool(row[4]))
        for row in connection.execute(f"PRAGMA {quote(schema)}.table_list").fetchall()
        if row[0] == schema
    }
    shadows = {name for name, (kind, _) in kinds.items() if kind == "shadow"}
    objects = {
        (kind, fold(name)): Object(type=kind, name=name, sql=sql)
        for kind, name, table, sql in master
        if not internal(name) and fold(table) not in shadows
    }
    tables = {}
    for (kind, folded), found in objects.items():
        if kind == "table":
            of_kind, without_rowid = kinds[folded]
            if of_kind == "virtual" and _INDEX_ONLY.search(found.sql or ""):
                continue
            tables[folded] = _read_table(
                connection,
                schema,
                found.name,
                virtual=of_kind == "virtual",
                without_rowid=without_rowid,
                types=_types(metadata, folded),
            )
    return Catalog(master=master, pragmas=read_pragmas(connection, schema), objects=objects, tables=tables)


def _types(metadata: MetaData | None, folded: str) -> dict[str, Decoder]:
    """Decoders that only the metadata knows, by folded column name."""
    found: dict[str, Decoder] = {}
    for table in metadata.tables.values() if metadata is not None else ():
        if fold(table.name) == folded and table.schema in (None, "main"):
            for column in table.columns:
                decoder = decoder_of_type(column.type)
                if decoder is not None:
                    found[fold(column.name)] = decoder
    return found


def _read_table(
    connection: sqlite3.Connection,
    schema: str,
    name: str,
    *,
    virtual: bool,
    without_rowid: bool,
    types: Mapping[str, Decoder],
) -> Table:
    rows = connection.execute(f"PRAGMA {quote(schema)}.table_xinfo({quote(name)})").fetchall()
    columns = [row for row in rows if row[6] != 1]  # 1 are the hidden columns of virtual tables
    key = tuple(row[1] for row in sorted((row for row in columns if row[5]), key=lambda row: row[5]))
    generated = {row[1] for row in columns if row[6] in (2, 3)}
    indexes = connection.execute(f"PRAGMA {quote(schema)}.index_list({quote(name)})").fetchall()
    key_index = next((row[1] for row in indexes if row[3] == "pk"), None)
    alias = bool(key) and not without_rowid and not virtual and key_index is None
    if alias:
        generated.update(key)
    exact = alias
    if key_index is not None:
        parts = connection.execute(f"PRAGMA {quote(schema)}.index_xinfo({quote(key_index)})").fetchall()
        binary = all(part[4].upper() == "BINARY" for part in parts if part[5])
        not_null = without_rowid or all(row[3] for row in columns if row[5])
        exact = binary and not_null
    return Table(
        info=TableInfo(
            name=name, columns=tuple(row[1] for row in columns), key=key, generated=frozenset(generated)
        ),
        decoders=tuple(types.get(fold(row[1])) or decoder_of_declaration(row[2]) for row in columns),
        exact_key=exact,
        rowid=None if without_rowid or virtual else _rowid_name(columns, key[0] if alias else None),
        virtual=virtual,
    )


def _rowid_name(columns: list[tuple[Any, ...]], alias: str | None) -> str | None:
    taken = {fold(row[1]) for row in columns}
    return alias or next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)

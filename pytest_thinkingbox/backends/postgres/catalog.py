"""What a database defines: tables to compare, and the text of every object of its schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from pytest_thinkingbox.backends.postgres import queries
from pytest_thinkingbox.state.model import TableInfo

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table as authors see it: a partitioned table is one, each table of an inheritance tree is one.

    `parts` are the tables that hold its rows: itself, or its partitions down to the leaves.
    """

    oid: int
    schema: str
    local_name: str
    info: TableInfo
    parts: tuple[int, ...]
    partitioned: bool

    @property
    def relation(self) -> sql.Composable:
        """For FROM: its own rows, not those of tables that inherit from it."""
        name = sql.Identifier(self.schema, self.local_name)
        return name if self.partitioned else sql.SQL("ONLY {}").format(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The schema of one database. `types` are (oid, oid of the array, name) of types that the schema makes."""

    tables: Mapping[str, Table]
    objects: Mapping[tuple[str, str], str]
    types: tuple[tuple[int, int, str], ...]


def read_catalog(connection: Connection) -> Catalog:
    """As the administrator, with the settings of `values.SETTINGS`."""
    return Catalog(
        tables=read_tables(connection), objects=read_objects(connection), types=_read_types(connection)
    )


def read_tables(connection: Connection) -> dict[str, Table]:
    found: dict[str, Table] = {}
    for oid, schema, name, kind, columns, key, generated, parts in connection.execute(
        queries.TABLES
    ).fetchall():
        full = _quoted(name) if schema == "public" else f"{schema}.{name}"
        found[full] = Table(
            oid=oid,
            schema=schema,
            local_name=name,
            info=TableInfo(
                name=full,
                columns=tuple(columns or ()),
                key=tuple(key or ()),
                generated=frozenset(generated or ()),
            ),
            parts=tuple(parts) if kind == "p" else (oid,),
            partitioned=kind == "p",
        )
    return found


def _quoted(name: str) -> str:
    """Where it could be taken for that of a table of another schema."""
    return f'"{name}"' if "." in name else name


def read_objects(connection: Connection) -> dict[tuple[str, str], str]:
    """Two that are called alike, as "a.b" of the schema public and b of the schema a, are shown as one."""
    found: dict[tuple[str, str], str] = {}
    for kind, name, definition in sorted(connection.execute(queries.OBJECTS).fetchall(), key=repr):
        other = found.get((kind, name))
        found[kind, name] = (definition or "") if other is None else f"{other}\n{definition}"
    return found


def has_large_objects(connection: Connection) -> bool:
    row = connection.execute("SELECT EXISTS (SELECT FROM pg_largeobject_metadata)").fetchone()
    return row is not None and bool(row[0])


def _read_types(connection: Connection) -> tuple[tuple[int, int, str], ...]:
    return tuple(connection.execute(queries.TYPES).fetchall())

"""Random schemas, rows and writes for SQLite, and the arithmetic of changes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import Connection

from pytest_thinkingbox.backends.base import Lease
from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.state.model import Row, RowChange
from pytest_thinkingbox.state.values import canonical_row


def environment_of(*statements: str, **database: Any) -> Environment:
    """An environment whose schema and rows are these statements."""

    def schema(connection: Connection) -> None:
        for statement in statements:
            connection.exec_driver_sql(statement)

    return Environment(name="world", database=Database(schema=schema, **database), servers=[])


@contextmanager
def raw(lease: Lease, **options: Any) -> Iterator[sqlite3.Connection]:
    """A connection to an attempt's file that the lease knows nothing of, as a tool server would have."""
    options = {"isolation_level": None, "timeout": 5.0, **options}
    connection = sqlite3.connect(lease.url.removeprefix("sqlite:///"), **options)
    try:
        yield connection
    finally:
        connection.close()


def changes_after(backend: SqliteBackend, environment: Environment, *statements: str) -> Any:
    """What an audited read finds after an outside connection executed these statements."""
    lease = backend.acquire(environment, None, attempt_id="a")
    try:
        with raw(lease) as connection:
            for statement in statements:
                connection.execute(statement).fetchall()
        lease.cut()
        return lease.read_changes(audit=True)
    finally:
        lease.release()


def apply(rows: Iterable[Row], changes: Iterable[RowChange]) -> Counter[Hashable]:
    """The multiset of rows after these changes; each must fit."""
    state = Counter(canonical_row(row) for row in rows)
    for change in changes:
        if change.before is not None:
            before = canonical_row(change.before)
            assert state[before] > 0, f"{change} does not fit"
            state[before] -= 1
        if change.after is not None:
            state[canonical_row(change.after)] += 1
    return +state


# ---------------------------------------- random worlds

_NAMES = [
    "plain",
    "Mixed Case",
    'quo"te',
    "größe",
    "select",
    "dot.ted",
    "🏨",
    "semi;colon",
    "per%cent",
    "[bracket]",
]
_TYPES = [
    "",
    "INTEGER",
    "TEXT",
    "TEXT COLLATE NOCASE",
    "REAL",
    "BLOB",
    "NUMERIC(10, 2)",
    "BOOLEAN",
    "DATE",
    "DATETIME",
    "JSON",
    "TEXT COLLATE RTRIM",
]

_KEYS = ["integer", "integer", "auto", "text", "nocase", "composite", "without_rowid", "any", "none"]

_KINDS = ["insert", "insert", "update", "update", "delete", "copy"]

VALUES = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.sampled_from([2**53 + 1, 2**63 - 1, -(2**63), 0.5, -0.0, 25.0, 1e308, float("inf")]),
    st.sampled_from(["a", "A", "a ", "", "1", "1.0", "2024-01-01", "2024-01-01 00:00:00", "x\0y", "ü", "🏨"]),
    st.sampled_from(['{"a": 1, "b": 2}', '{"b": 2, "a": 1}', "[1, 2]", "true", "nan"]),
    st.sampled_from([b"", b"a", b"\xff\x00"]),
    st.just("BAD UTF-8"),
    st.sampled_from(["long" * 700, b"long" * 3000]),  # overflow pages
)


def literal(value: Any) -> tuple[str, Any]:
    """A value as an SQL expression with its parameter."""
    return ("CAST(? AS TEXT)", b"\xff\xfea") if value == "BAD UTF-8" else ("?", value)


@dataclass(frozen=True)
class TableShape:
    name: str
    columns: tuple[str, ...]
    sql: str


@st.composite
def tables(draw: st.DrawFn, name: str) -> TableShape:
    count = draw(st.sampled_from([1, 2, 3, 3, 4]))
    columns = tuple(f"{draw(st.sampled_from(_NAMES))} {index}" for index in range(count))
    quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
    types = [draw(st.sampled_from(_TYPES)) for _ in columns]
    definitions = [f"{column} {declared}" for column, declared in zip(quoted, types, strict=True)]
    kind = draw(st.sampled_from(_KEYS))
    suffix = ""
    if kind in ("integer", "auto"):
        definitions[0] = f"{quoted[0]} INTEGER PRIMARY KEY {'AUTOINCREMENT' if kind == 'auto' else ''}"
    elif kind == "text":
        definitions[0] = f"{quoted[0]} TEXT PRIMARY KEY"
    elif kind == "nocase":
        definitions[0] = f"{quoted[0]} TEXT COLLATE NOCASE NOT NULL PRIMARY KEY"
    elif kind == "any":
        definitions[0] = f"{quoted[0]} NOT NULL PRIMARY KEY"
    elif kind in ("composite", "without_rowid"):
        definitions[0] = f"{quoted[0]} TEXT"
        definitions[-1] = f"{quoted[-1]} TEXT" if count > 1 else definitions[0]
        definitions.append(f"PRIMARY KEY ({', '.join(dict.fromkeys([quoted[-1], quoted[0]]))})")
        suffix = "WITHOUT ROWID" if kind == "without_rowid" else ""
    if draw(st.booleans()):
        stored = draw(st.sampled_from(["VIRTUAL", "STORED"]))
        definitions.insert(count, f"computed TEXT GENERATED ALWAYS AS (typeof({quoted[-1]}) || 'x') {stored}")
    if draw(st.booleans()):
        definitions[min(1, count - 1)] += " UNIQUE" if draw(st.booleans()) else " DEFAULT 7"
    table = '"' + name.replace('"', '""') + '"'
    return TableShape(name, columns, f"CREATE TABLE {table} ({', '.join(definitions)}) {suffix}")


Write = tuple[str, list[Any]]


@st.composite
def writes(draw: st.DrawFn, shape: TableShape, *, only_inserts: bool = False) -> Write:
    table = '"' + shape.name.replace('"', '""') + '"'
    quoted = ['"' + column.replace('"', '""') + '"' for column in shape.columns]
    kind = (
        "insert"
        if only_inserts
        else draw(st.sampled_from(["insert", "insert", "update", "update", "delete", "copy"]))
    )
    conflict = draw(st.sampled_from(["", "OR REPLACE", "OR REPLACE", "OR IGNORE"]))
    values = [literal(draw(VALUES)) for _ in quoted]
    where = draw(st.sampled_from([0, 0, 1, 1, 2, 3, 9]))
    nth = f"({', '.join(quoted)}) IS (SELECT {', '.join(quoted)} FROM {table} LIMIT 1 OFFSET {where})"
    if kind == "insert":
        sql = (
            f"INSERT {conflict} INTO {table} ({', '.join(quoted)}) VALUES ({', '.join(v[0] for v in values)})"
        )
        return sql, [value[1] for value in values]
    if kind == "copy":
        return (
            f"INSERT {conflict} INTO {table} ({', '.join(quoted)}) SELECT {', '.join(quoted)} FROM {table} LIMIT 3",
            [],
        )
    if kind == "delete":
        return f"DELETE FROM {table}" + (f" WHERE {nth}" if where < 9 else ""), []
    at = draw(st.sampled_from([*range(len(quoted)), len(quoted) - 1, len(quoted) - 1]))
    sql = f"UPDATE {conflict} {table} SET {quoted[at]} = {values[at][0]}" + (
        f" WHERE {nth}" if where < 9 else ""
    )
    return sql, [values[at][1]]


@dataclass(frozen=True)
class World:
    shapes: Sequence[TableShape]
    seed: Sequence[Write]
    writes: Sequence[Write]
    journal: str

    def environment(self) -> Environment:
        def schema(connection: Connection) -> None:
            for shape in self.shapes:
                connection.exec_driver_sql(shape.sql)

        def seed(connection: Connection) -> None:
            driver = connection.connection.driver_connection
            assert driver is not None
            execute_all(driver, self.seed)

        return Environment(name="world", database=Database(schema=schema, seed=seed), servers=[])


def execute_all(connection: sqlite3.Connection, statements: Iterable[Write]) -> None:
    """Execute what the constraints of the tables allow."""
    for sql, parameters in statements:
        try:
            connection.execute(sql, parameters)
        except sqlite3.IntegrityError:
            continue
        except sqlite3.OperationalError as error:
            if "full" not in str(error):  # AUTOINCREMENT after the highest rowid there is
                raise


@st.composite
def worlds(draw: st.DrawFn) -> World:
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=2, unique=True))
    shapes = [draw(tables(name)) for name in names]
    seed = [
        draw(writes(draw(st.sampled_from(shapes)), only_inserts=True))
        for _ in range(draw(st.integers(2, 14)))
    ]
    later = [draw(writes(draw(st.sampled_from(shapes)))) for _ in range(draw(st.integers(1, 8)))]
    return World(shapes, seed, later, draw(st.sampled_from(["delete", "wal", "memory", "truncate"])))


Check = Callable[[Lease, Mapping[str, list[Row]]], None]

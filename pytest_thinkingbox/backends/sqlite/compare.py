"""Full comparison: every row of both states is read. Slow, simple, and the measure of everything faster.

The connection has the final state as `main` and seed + start attached as `reference`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from functools import lru_cache

from pytest_thinkingbox.backends.sqlite.catalog import (
    Catalog,
    fold,
    quote,
    read_catalog,
    read_master,
    read_pragmas,
)
from pytest_thinkingbox.backends.sqlite.net import Candidates, Comparison, Raw, comparison_of, net_changes
from pytest_thinkingbox.state.model import RowChange, SchemaDelta, StateDiff

REFERENCE = "reference"

FindCandidates = Callable[[sqlite3.Connection, Comparison], Candidates]


def read_diff(connection: sqlite3.Connection, reference: Catalog, find: FindCandidates) -> StateDiff:
    """All net differences; `find` reads the rows of one table that may have changed.

    A table that was created or dropped is one SchemaDelta; its rows are not listed. A table that lost or gained
    columns is compared by those that it kept, a table that got another primary key as one without a key.
    """
    final = final_catalog(connection, reference)
    rows: list[RowChange] = []
    unchanged = final.objects is reference.objects
    for comparison in _of_itself(reference) if unchanged else _comparisons(reference, final):
        rows.extend(net_changes(comparison, find(connection, comparison)))
    return StateDiff(rows=tuple(rows), schema=schema_deltas(reference, final))


def _comparisons(reference: Catalog, final: Catalog) -> tuple[Comparison, ...]:
    """One for each table that both have, if they have a column in common."""
    made = (
        comparison_of(
            before,
            final.tables[folded],
            same_definition=reference.objects["table", folded].sql == final.objects["table", folded].sql,
        )
        for folded, before in reference.tables.items()
        if folded in final.tables
    )
    return tuple(one for one in made if one.columns)


@lru_cache(maxsize=64)
def _of_itself(reference: Catalog) -> tuple[Comparison, ...]:
    """The comparisons of every attempt that left the schema as it was."""
    return _comparisons(reference, reference)


def final_catalog(connection: sqlite3.Connection, reference: Catalog) -> Catalog:
    """The schema of `main`, which is seldom another than the seed's."""
    if read_master(connection, "main") == reference.master:
        return Catalog(
            master=reference.master,
            pragmas=read_pragmas(connection, "main"),
            objects=reference.objects,
            tables=reference.tables,
        )
    return read_catalog(connection, "main")


def schema_deltas(before: Catalog, after: Catalog) -> tuple[SchemaDelta, ...]:
    """Objects that were created, dropped or altered, and what PRAGMA user_version and application_id say."""
    if after.objects is before.objects and after.pragmas == before.pragmas:
        return ()
    deltas = []
    for key, old in before.objects.items():
        new = after.objects.get(key)
        if new is None:
            deltas.append(SchemaDelta("dropped", old.type, old.name, before=old.sql))
        elif new.sql != old.sql:
            deltas.append(SchemaDelta("altered", old.type, old.name, before=old.sql, after=new.sql))
    for key, new in after.objects.items():
        if key not in before.objects:
            deltas.append(SchemaDelta("created", new.type, new.name, after=new.sql))
    deltas.extend(_pragma_deltas(before.pragmas, after.pragmas))
    return tuple(sorted(deltas, key=lambda delta: (delta.type != "table", delta.type, fold(delta.name))))


def _pragma_deltas(before: Mapping[str, object], after: Mapping[str, object]) -> list[SchemaDelta]:
    return [
        SchemaDelta("altered", "pragma", name, before=str(before[name]), after=str(after[name]))
        for name in before
        if before[name] != after[name]
    ]


def full_candidates(connection: sqlite3.Connection, comparison: Comparison) -> Candidates:
    """Rows of one table that only one of the states has, by EXCEPT in both directions.

    EXCEPT compares stored values: by bytes, not by the column's collation, text never equal to a number or a
    BLOB. 1 and 1.0 are equal to it, as they are in meaning. No index is used, for the agent may have made it, with
    a collation that only the agent has.
    """
    if comparison.exact_key:
        return Candidates(
            gone=_only_in(connection, comparison, REFERENCE, "main"),
            come=_only_in(connection, comparison, "main", REFERENCE),
        )
    candidates = _multiset_difference(connection, comparison)
    if comparison.key:
        complete_null_keys(connection, comparison, candidates)
    return candidates


def _values(comparison: Comparison) -> str:
    return ", ".join(f"{quote(name)} COLLATE BINARY" for name in comparison.columns)


def _only_in(connection: sqlite3.Connection, comparison: Comparison, one: str, other: str) -> list[Raw]:
    values, table = _values(comparison), quote(comparison.table)
    return connection.execute(
        f"SELECT {values} FROM {quote(one)}.{table} NOT INDEXED"
        f" EXCEPT SELECT {values} FROM {quote(other)}.{table} NOT INDEXED"
    ).fetchall()


def _multiset_difference(connection: sqlite3.Connection, comparison: Comparison) -> Candidates:
    """The same where equal rows may occur several times: how many more of each does one state have."""
    values, table = _values(comparison), quote(comparison.table)
    positions = ", ".join(str(index + 1) for index in range(len(comparison.columns)))
    counted = {
        schema: f"SELECT {values}, count(*) FROM {quote(schema)}.{table} NOT INDEXED GROUP BY {positions}"
        for schema in ("main", REFERENCE)
    }
    more: dict[Raw, int] = {}
    for one, other, sign in (("main", REFERENCE, 1), (REFERENCE, "main", -1)):
        for *row, count in connection.execute(f"{counted[one]} EXCEPT {counted[other]}"):
            more[tuple(row)] = more.get(tuple(row), 0) + sign * count
    return Candidates(
        gone=[row for row, count in more.items() for _ in range(-count)],
        come=[row for row, count in more.items() for _ in range(count)],
    )


def complete_null_keys(
    connection: sqlite3.Connection, comparison: Comparison, candidates: Candidates
) -> None:
    """Outside INTEGER PRIMARY KEY and WITHOUT ROWID, SQLite allows NULL in a primary key, as often as you like."""
    key = [quote(comparison.columns[index]) for index in comparison.key]
    values = ", ".join(quote(name) for name in comparison.columns)
    condition = " OR ".join(f"{name} IS NULL" for name in key)
    for schema, rows in ((REFERENCE, candidates.gone), ("main", candidates.come)):
        rows[:] = [row for row in rows if all(row[index] is not None for index in comparison.key)]
        rows += connection.execute(
            f"SELECT {values} FROM {quote(schema)}.{quote(comparison.table)} WHERE {condition}"
        ).fetchall()

"""The full comparison of two states: slow, simple, and the measure of every faster way."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from pytest_thinkingbox.state.model import Row, RowChange, StateDiff, TableInfo
from pytest_thinkingbox.state.values import canonical, canonical_row, equal, order_key

Dump = Mapping[str, Iterable[Row]]
_Groups = dict[Hashable, list[Row]]


def diff_tables(before: Dump, after: Dump, tables: Mapping[str, TableInfo]) -> tuple[RowChange, ...]:
    """All net row changes, in the order of `tables` and then of the keys.

    Only tables that both dumps hold are compared: that one came or went is a change of the schema. A column
    that a row does not have counts as NULL.
    """
    changes: list[RowChange] = []
    for name, info in tables.items():
        if name in before and name in after:
            changes += diff_rows(before[name], after[name], info)
    return tuple(changes)


def diff_rows(before: Iterable[Row], after: Iterable[Row], info: TableInfo) -> list[RowChange]:
    """All net changes of one table, ordered by key (by content where there is no key).

    A changed key is a delete and an insert, and so is any change in a table without a key, or among rows that
    share a key (SQLite allows many NULLs in one).
    """
    old, new = _grouped(before, info), _grouped(after, info)
    changes: list[RowChange] = []
    for group, rows in old.items():
        others = new.get(group, [])
        if len(rows) == len(others) == 1:
            if changed_columns(rows[0], others[0]):
                changes.append(RowChange("update", info.name, key_of(rows[0], info), rows[0], others[0]))
            continue
        gone, come = _multiset_difference(rows, others)
        changes += [RowChange("delete", info.name, key_of(row, info), row, None) for row in gone]
        changes += [RowChange("insert", info.name, key_of(row, info), None, row) for row in come]
    for group, rows in new.items():
        if group not in old:
            changes += [RowChange("insert", info.name, key_of(row, info), None, row) for row in rows]
    return sorted(changes, key=lambda change: _order(change, info)) if len(changes) > 1 else changes


def same(one: StateDiff, other: StateDiff) -> bool:
    """Whether two lists of changes say the same, where `==` would tell a NaN from itself."""
    return one.schema == other.schema and list(map(_meaning, one.rows)) == list(map(_meaning, other.rows))


def _meaning(change: RowChange) -> Hashable:
    before, after = (None if row is None else canonical_row(row) for row in (change.before, change.after))
    return change.kind, change.table, before, after


def changed_columns(before: Row, after: Row) -> tuple[str, ...]:
    """The columns whose values differ, in the order of the row."""
    return tuple(
        column
        for column in dict.fromkeys((*before, *after))
        if not equal(before.get(column), after.get(column))
    )


def key_of(row: Row, info: TableInfo) -> tuple[Any, ...] | None:
    return tuple(row.get(column) for column in info.key) if info.key else None


def group_of(row: Row, info: TableInfo) -> Hashable:
    """What makes two rows of a table the same one: their key, or all they hold where there is none."""
    if info.key:
        return tuple(canonical(row.get(column)) for column in info.key)
    return canonical_row(row)


def _grouped(rows: Iterable[Row], info: TableInfo) -> _Groups:
    groups: _Groups = {}
    for row in rows:
        groups.setdefault(group_of(row, info), []).append(row)
    return groups


def _multiset_difference(before: list[Row], after: list[Row]) -> tuple[list[Row], list[Row]]:
    left: _Groups = {}
    for row in before:
        left.setdefault(canonical_row(row), []).append(row)
    come = []
    for row in after:
        same = left.get(canonical_row(row))
        if same:
            same.pop()
        else:
            come.append(row)
    return [row for rows in left.values() for row in rows], come


def _order(change: RowChange, info: TableInfo) -> tuple[Any, ...]:
    row = change.before if change.before is not None else change.after
    assert row is not None
    key = [order_key(row.get(column)) for column in info.key]
    columns = info.columns if change.kind != "update" else ()
    return (key, change.kind == "insert", [order_key(row.get(column)) for column in columns])

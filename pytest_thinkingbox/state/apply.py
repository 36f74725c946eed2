"""The other direction: a difference, applied to the state before it, gives the state after it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from pytest_thinkingbox.state.diff import group_of
from pytest_thinkingbox.state.model import Row, RowChange, StateDiff, TableInfo
from pytest_thinkingbox.state.values import canonical_row


def apply(
    before_rows: Mapping[str, Sequence[Row]], diff: StateDiff, tables: Mapping[str, TableInfo]
) -> dict[str, list[Row]]:
    """The rows of every table after the difference: those that stay keep their place, new ones come last.

    Raises ValueError when a row that was changed or deleted is not there.
    """
    after = {table: list(rows) for table, rows in before_rows.items()}
    by_table: dict[str, list[RowChange]] = {}
    for change in diff.rows:
        by_table.setdefault(change.table, []).append(change)
    for table, changes in by_table.items():
        after[table] = _apply_to_table(after.get(table, []), changes, tables[table])
    return after


def _apply_to_table(rows: list[Row], changes: Sequence[RowChange], info: TableInfo) -> list[Row]:
    touched = {group_of(change.before, info) for change in changes if change.before is not None}
    places: dict[Hashable, list[int]] = {}
    for place, row in enumerate(rows):
        if group_of(row, info) in touched:
            places.setdefault(canonical_row(row), []).append(place)
    result: list[Row | None] = list(rows)
    for change in changes:
        if change.before is None:
            result.append(change.after)
            continue
        found = places.get(canonical_row(change.before))
        if not found:
            raise ValueError(f"the row to {change.kind} is not in {change.table}: {dict(change.before)!r}")
        result[found.pop()] = change.after
    return [row for row in result if row is not None]

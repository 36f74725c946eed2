"""Finding the rows that may have changed without reading all of them."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable

from pytest_thinkingbox.backends.sqlite.catalog import fold, quote
from pytest_thinkingbox.backends.sqlite.compare import REFERENCE, complete_null_keys, full_candidates
from pytest_thinkingbox.backends.sqlite.net import Candidates, Comparison, Raw
from pytest_thinkingbox.backends.sqlite.pages import FinalPages, PageMap

_BATCH = 400
_MANY = 20_000  # rowids; from here on reading the whole table in one go costs less than picking rows


def join_candidates(connection: sqlite3.Connection, comparison: Comparison) -> Candidates:
    """By joining the two states on the primary key; by full comparison where that may join the wrong ones."""
    if not comparison.exact_key or not comparison.same_definition:
        return full_candidates(connection, comparison)
    columns = [quote(name) for name in comparison.columns]
    key = [columns[index] for index in comparison.key]
    table = quote(comparison.table)
    on = " AND ".join(f"a.{name} = b.{name}" for name in key)
    differs = " OR ".join(f"a.{name} IS NOT b.{name} COLLATE BINARY" for name in columns)
    listed = ", ".join([*(f"a.{name}" for name in columns), *(f"b.{name}" for name in columns)])
    width = len(columns)
    gone: list[Raw] = []
    come: list[Raw] = []
    for row in connection.execute(
        f"SELECT {listed} FROM main.{table} AS a NOT INDEXED LEFT JOIN {REFERENCE}.{table} AS b ON {on}"
        f" WHERE b.{key[0]} IS NULL OR {differs}"
    ):
        come.append(row[:width])
        if row[width + comparison.key[0]] is not None:
            gone.append(row[width:])
    gone += connection.execute(
        f"SELECT {', '.join(f'b.{name}' for name in columns)} FROM {REFERENCE}.{table} AS b NOT INDEXED"
        f" LEFT JOIN main.{table} AS a ON {on} WHERE a.{key[0]} IS NULL"
    ).fetchall()
    return Candidates(gone=gone, come=come)


class PageCandidates:
    """By comparing pages: only rows whose bytes on a changed page differ are read.

    A change that lies in an overflow page alone leaves no trace on the page of its row, so a table whose overflow
    pages changed is joined instead, and so is one without rowids, or whose definition changed.
    """

    def __init__(self, connection: sqlite3.Connection, page_map: PageMap, final: FinalPages) -> None:
        self._map = page_map
        self._final = final
        self._touched, self._overflown = page_map.touched(final.changed)
        self._roots = {
            fold(name): root
            for name, root in connection.execute(
                "SELECT name, rootpage FROM main.sqlite_master WHERE type = 'table'"
            )
        }

    def __call__(self, connection: sqlite3.Connection, comparison: Comparison) -> Candidates:
        folded = fold(comparison.table)
        overflown = self._overflown is None or folded in self._overflown
        same = comparison.same_definition and self._roots[folded] == self._map.roots.get(folded)
        if not same or overflown or comparison.before.virtual:
            return join_candidates(connection, comparison)
        own = self._touched.get(folded)
        if own is None:
            return Candidates(gone=[], come=[])
        rowid = comparison.before.rowid
        if rowid is None:
            return join_candidates(connection, comparison)
        try:
            rowids = self._map.changed_rowids(folded, own, self._final)
        except (IndexError, struct.error):  # not a page that SQLite would have written
            return join_candidates(connection, comparison)
        if len(rowids) > _MANY:
            return join_candidates(connection, comparison)
        candidates = Candidates(
            gone=_rows_at(connection, comparison, REFERENCE, rowid, rowids),
            come=_rows_at(connection, comparison, "main", rowid, rowids),
        )
        if comparison.key and not comparison.exact_key:
            complete_null_keys(connection, comparison, candidates)
        return candidates


def _rows_at(
    connection: sqlite3.Connection, comparison: Comparison, schema: str, rowid: str, rowids: Iterable[int]
) -> list[Raw]:
    ordered = sorted(rowids)
    rows: list[Raw] = []
    found = f"SELECT {comparison.listed} FROM {schema}.{quote(comparison.table)} NOT INDEXED"
    for start in range(0, len(ordered), _BATCH):
        numbers = ", ".join(map(str, ordered[start : start + _BATCH]))
        rows += connection.execute(f"{found} WHERE {quote(rowid)} IN ({numbers})").fetchall()
    return rows

"""Full comparison: both states are read whole, by the server, and only rows in parts that differ come here.

Every table is cut into buckets by a hash of its key (of the whole row where there is none). Of each bucket the server
counts the rows and adds up a hash of each. The hashes are keyed with a number that the agent does not know.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from pytest_thinkingbox.backends.postgres.catalog import Table
from pytest_thinkingbox.state.diff import diff_rows
from pytest_thinkingbox.state.model import Row, RowChange, TableInfo

Connection = psycopg.Connection[Any]
Buckets = dict[int, tuple[int, Any]]

_ROWS_A_BUCKET = 32
_MOST_BUCKETS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How one table is compared: by the columns that it had before and has after, in the seed's order."""

    table: Table
    columns: tuple[str, ...]
    key: tuple[str, ...]
    mask: int

    @property
    def info(self) -> TableInfo:
        return TableInfo(name=self.table.info.name, columns=self.columns, key=self.key)


def comparison_of(before: Table, after: Table, *, rows: int) -> Comparison:
    """`rows` are those that the table had before, about."""
    kept = set(after.info.columns)
    columns = tuple(name for name in before.info.columns if name in kept)
    buckets = 1
    while buckets * _ROWS_A_BUCKET < rows and buckets < _MOST_BUCKETS:
        buckets *= 2
    return Comparison(
        table=before,
        columns=columns,
        key=before.info.key if before.info.key == after.info.key else (),
        mask=buckets - 1,
    )


class Hashing:
    """Reads buckets, with a secret of its own."""

    def __init__(self) -> None:
        self._secret = secrets.randbits(62)

    def buckets(self, connection: Connection, comparisons: Sequence[Comparison]) -> list[Buckets]:
        """Of each comparison, in one statement."""
        found: list[Buckets] = [{} for _ in comparisons]
        if not comparisons:
            return found
        parts = [
            sql.SQL(
                "SELECT {}::int, {}, count(*), sum(hashtextextended({}::text, {})) FROM {} GROUP BY 2"
            ).format(
                sql.Literal(index),
                self._bucket(one),
                _record(one.columns),
                sql.Literal(self._secret),
                one.table.relation,
            )
            for index, one in enumerate(comparisons)
        ]
        for index, bucket, count, total in connection.execute(sql.SQL(" UNION ALL ").join(parts)).fetchall():
            found[index][bucket] = (count, total)
        return found

    def rows(self, connection: Connection, comparison: Comparison, buckets: Iterable[int]) -> list[Row]:
        """All rows in these buckets."""
        query = sql.SQL("SELECT {} FROM {} WHERE {} = ANY({})").format(
            names(comparison.columns),
            comparison.table.relation,
            self._bucket(comparison),
            sql.Literal(list(buckets)),
        )
        # Without parameters: in a statement with some, a name that holds a % would be taken for one.
        found = connection.execute(query).fetchall()
        return [dict(zip(comparison.columns, row, strict=True)) for row in found]

    def _bucket(self, comparison: Comparison) -> sql.Composable:
        return sql.SQL("(hashtextextended({}::text, {}) & {})").format(
            _record(comparison.key or comparison.columns),
            sql.Literal(self._secret + 1),
            sql.Literal(comparison.mask),
        )


def full_changes(
    hashing: Hashing,
    comparisons: Sequence[Comparison],
    *,
    before: Connection,
    after: Connection,
    known: Mapping[Comparison, Buckets],
) -> list[RowChange]:
    """All net changes. `known` are buckets of the state before that were read earlier."""
    compared = [one for one in comparisons if one.columns]
    unknown = [one for one in compared if one not in known]
    old = dict(known)
    old.update(zip(unknown, hashing.buckets(before, unknown), strict=True))
    changes: list[RowChange] = []
    for one, new in zip(compared, hashing.buckets(after, compared), strict=True):
        earlier = old[one]
        differing = [
            bucket for bucket in earlier.keys() | new.keys() if earlier.get(bucket) != new.get(bucket)
        ]
        if differing:
            changes += diff_rows(
                hashing.rows(before, one, differing), hashing.rows(after, one, differing), one.info
            )
    return changes


def names(columns: Iterable[str]) -> sql.Composable:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _record(columns: Iterable[str]) -> sql.Composable:
    return sql.SQL("ROW({})").format(names(columns))

"""Full comparison: both states are read whole, by the server, and only rows in parts that differ come here.

Every table is cut into buckets by a hash of its key (of the whole row where there is none). Of each bucket the server
counts the rows and adds up a hash of each. The hashes are keyed with a number that the agent does not know, and differ
where a value differs in any byte, so that no collation hides a change.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_thinkingbox.backends.mysql import sql, values
from pytest_thinkingbox.backends.mysql.catalog import Table
from pytest_thinkingbox.backends.mysql.sql import Connection, query
from pytest_thinkingbox.state.diff import diff_rows
from pytest_thinkingbox.state.model import Row, RowChange, TableInfo

Buckets = dict[int, tuple[int, int]]

_ROWS_A_BUCKET = 32
_MOST_BUCKETS = 1 << 16
_DIGITS = 15  # of a hash, in hexadecimal: they fit into a signed integer, and their sum into a decimal
_BUCKETS_A_QUERY = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How one table is compared: by the columns that it had before and has after, in the seed's order."""

    before: Table
    after: Table
    columns: tuple[str, ...]
    key: tuple[str, ...]
    buckets: int

    @property
    def info(self) -> TableInfo:
        return TableInfo(name=self.before.info.name, columns=self.columns, key=self.key)


def comparison_of(before: Table, after: Table, *, rows: int) -> Comparison:
    """`rows` are those that the table had before."""
    kept = set(after.info.columns)
    buckets = 1
    while buckets * _ROWS_A_BUCKET < rows and buckets < _MOST_BUCKETS:
        buckets *= 2
    return Comparison(
        before=before,
        after=after,
        columns=tuple(name for name in before.info.columns if name in kept),
        key=before.info.key if before.info.key == after.info.key else (),
        buckets=buckets,
    )


class Hashing:
    """Reads buckets, with a secret of its own."""

    def __init__(self) -> None:
        self._secret = secrets.token_hex(8)

    def read(self, connection: Connection, database: str, comparisons: Sequence[Comparison]) -> list[Buckets]:
        """Of each comparison, in one statement. The tables are those of the comparison's `after`."""
        found: list[Buckets] = [{} for _ in comparisons]
        if not comparisons:
            return found
        parts = [  # grouped by place: a name would mean a column of the table that is called so
            f"SELECT {index}, {self._bucket(one)}, COUNT(*), SUM({self._hash(one, one.columns)})"
            f" FROM {sql.name(database, one.after.info.name)} GROUP BY 2"
            for index, one in enumerate(comparisons)
        ]
        for index, bucket, count, total in query(connection, " UNION ALL ".join(parts)):
            found[index][int(bucket)] = (int(count), int(total))
        return found

    def rows(
        self, connection: Connection, database: str, comparison: Comparison, buckets: Sequence[int]
    ) -> list[Row]:
        """All rows in these buckets."""
        found: list[Row] = []
        for start in range(0, len(buckets), _BUCKETS_A_QUERY):
            chosen = ", ".join(map(str, buckets[start : start + _BUCKETS_A_QUERY]))
            where = f"{self._bucket(comparison)} IN ({chosen})"
            found += read_rows(connection, database, comparison.after, comparison.columns, where)
        return found

    def _bucket(self, comparison: Comparison) -> str:
        """Rows that have the same key are in the same bucket; that others may be too costs only time."""
        if comparison.buckets == 1:
            return "0"
        if comparison.key:
            terms = ", ".join(values.hashed(one, comparison.after.kinds[one]) for one in comparison.key)
            return f"CRC32(CONCAT_WS(',', {terms})) % {comparison.buckets}"
        return f"{self._hash(comparison, comparison.columns)} % {comparison.buckets}"

    def _hash(self, comparison: Comparison, columns: Iterable[str]) -> str:
        return row_hash(comparison.after, columns, secret=self._secret)


def row_hash(table: Table, columns: Iterable[str], *, secret: str) -> str:
    """An integer that says what these columns hold, byte by byte."""
    terms = ", ".join((f"'{secret}'", *(values.hashed(one, table.kinds[one]) for one in columns)))
    return f"CAST(CONV(LEFT(SHA2(CONCAT_WS(',', {terms}), 256), {_DIGITS}), 16, 10) AS UNSIGNED)"


def read_rows(
    connection: Connection, database: str, table: Table, columns: Sequence[str], where: str = "TRUE"
) -> list[Row]:
    """Rows as Python values."""
    statement = f"SELECT {table.selected(columns)} FROM {sql.name(database, table.info.name)} WHERE {where}"
    readers = [
        (place, reader)
        for place, one in enumerate(columns)
        if (reader := values.reader(table.kinds[one])) is not None
    ]
    rows: list[Row] = []
    for found in query(connection, statement):
        row: list[Any] = list(found)
        for place, reader in readers:
            row[place] = reader(row[place])
        rows.append(dict(zip(columns, row, strict=True)))
    return rows


def full_changes(
    hashing: Hashing,
    connection: Connection,
    comparisons: Sequence[Comparison],
    *,
    before: str,
    after: str,
    known: Mapping[str, Buckets],
) -> list[RowChange]:
    """All net changes between two databases. `known` are the buckets of tables before, for these comparisons."""
    compared = [one for one in comparisons if one.columns]
    changes: list[RowChange] = []
    for one, new in zip(compared, hashing.read(connection, after, compared), strict=True):
        old = known.get(one.info.name)
        unchanged = one.before == one.after and one.before.kinds == one.after.kinds
        reversed_ = Comparison(
            before=one.after, after=one.before, columns=one.columns, key=one.key, buckets=one.buckets
        )
        if old is None or not unchanged:
            [old] = hashing.read(connection, before, [reversed_])
        differing = sorted(bucket for bucket in old.keys() | new.keys() if old.get(bucket) != new.get(bucket))
        if differing:
            changes += diff_rows(
                hashing.rows(connection, before, reversed_, differing),
                hashing.rows(connection, after, one, differing),
                one.info,
            )
    return changes

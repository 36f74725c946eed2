"""From rows that differ in storage to net changes in meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_thinkingbox.backends.sqlite.catalog import Table, fold, quote
from pytest_thinkingbox.backends.sqlite.decoding import Decoder
from pytest_thinkingbox.state.diff import diff_rows
from pytest_thinkingbox.state.model import RowChange, TableInfo

Raw = tuple[Any, ...]


@dataclass(slots=True)
class Candidates:
    """Stored rows of one table that may have changed: all that only one state has, and any that both have.

    Where a part of the key is NULL, all rows of both states, because how many there are decides who is whose
    successor.
    """

    gone: list[Raw]
    come: list[Raw]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How one table is compared: `columns` are those that it had before and has after, in the seed's order.

    `key` are positions in `columns`; it is empty unless both states define the same primary key. With
    `same_definition` even the text of CREATE TABLE is the same. `listed` are the columns for a SELECT, `info` is the
    table as far as it is compared.
    """

    table: str
    columns: tuple[str, ...]
    key: tuple[int, ...]
    decoders: tuple[Decoder | None, ...]
    before: Table
    after: Table
    same_definition: bool
    listed: str
    info: TableInfo

    @property
    def exact_key(self) -> bool:
        return bool(self.key) and self.before.exact_key and self.after.exact_key


def comparison_of(before: Table, after: Table, *, same_definition: bool) -> Comparison:
    """How to compare a table that both states have; a column that only one of them has is left to the schema."""
    kept = {fold(name) for name in after.info.columns}
    positions = [index for index, name in enumerate(before.info.columns) if fold(name) in kept]
    columns = tuple(before.info.columns[index] for index in positions)
    same_key = [fold(name) for name in before.info.key] == [fold(name) for name in after.info.key]
    key = before.info.key if same_key else ()
    return Comparison(
        table=before.info.name,
        columns=columns,
        key=tuple(columns.index(name) for name in key),
        decoders=tuple(before.decoders[index] for index in positions),
        before=before,
        after=after,
        same_definition=same_definition,
        listed=", ".join(map(quote, columns)),
        info=TableInfo(name=before.info.name, columns=columns, key=key),
    )


def net_changes(comparison: Comparison, candidates: Candidates) -> list[RowChange]:
    """Decode, join by key, leave out what is equal in meaning, and put in a stable order."""
    if not candidates.gone and not candidates.come:
        return []
    columns, decoders = comparison.columns, comparison.decoders
    return diff_rows(
        [decode_row(columns, decoders, row) for row in candidates.gone],
        [decode_row(columns, decoders, row) for row in candidates.come],
        comparison.info,
    )


def decode_row(columns: Sequence[str], decoders: Sequence[Decoder | None], raw: Raw) -> dict[str, Any]:
    return {
        name: value if decode is None else decode(value)
        for name, decode, value in zip(columns, decoders, raw, strict=True)
    }

"""The final state against the seed: only what the log names, or everything.

Catalogs and the log are read by the administrator. Rows may be read by somebody else: an agent with DDL leaves
functions in indexes, views and generated columns, and they run with the rights of whoever reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from pytest_thinkingbox.backends.base import AuditMismatch
from pytest_thinkingbox.backends.postgres.catalog import has_large_objects, read_objects, read_tables
from pytest_thinkingbox.backends.postgres.compare import Comparison, full_changes
from pytest_thinkingbox.backends.postgres.log import Written, rows_at
from pytest_thinkingbox.backends.postgres.template import Template
from pytest_thinkingbox.backends.server.deltas import schema_deltas
from pytest_thinkingbox.state.diff import diff_rows, same
from pytest_thinkingbox.state.model import RowChange, SchemaDelta, StateDiff

_MANY_KEYS = 20_000
"""Rows of one table from which on reading the whole table costs less than picking them."""

AdminConnection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalState:
    """One snapshot. `judge` is the administrator there, `rows` whoever reads rows, `before` a reader of the seed."""

    template: Template
    judge: AdminConnection
    rows: AdminConnection
    before: AdminConnection

    def changes(self, written: Written | None, *, audit: bool) -> StateDiff:
        """By what the log says, None where there is none to ask. Raises AuditMismatch."""
        if written is None:
            return self._full()
        found = self._quick(written)
        if audit and not same(found, expected := self._full()):
            raise AuditMismatch(f"fast path: {found}\nfull comparison: {expected}")
        return found

    def unreadable(self, error: psycopg.Error) -> StateDiff:
        """What there is to say where reading what the agent left fails: a change that nobody expects."""
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        delta = SchemaDelta("altered", "database", "rows", before=None, after=f"cannot be read: {said}")
        self.judge.execute("ROLLBACK")
        before = self.template.catalog.objects
        try:
            schema = schema_deltas(before, read_objects(self.judge))
        except psycopg.errors.LockNotAvailable:  # the server locks a table to show a view of it
            schema = ()
        return StateDiff(rows=(), schema=(*schema, delta))

    def _quick(self, written: Written) -> StateDiff:
        """Only what the log names; whole tables, or everything, where it proves nothing."""
        template = self.template
        if not written.trusted or template.large_objects or has_large_objects(self.judge):
            return self._full()
        reference = template.catalog
        # REASSIGN OWNED, for one, is DDL of which the log hears nothing.
        altered = written.altered or template.ddl
        objects = read_objects(self.judge) if altered else reference.objects
        tables = reference.tables if objects == reference.objects else read_tables(self.judge)
        changes: list[RowChange] = []
        whole = []
        for table in reference.tables.values():
            after = tables.get(table.info.name)
            if after is None:
                continue
            comparison = template.comparison(table, after)
            logged = next((one for one in written.keys if one.table is table), None)
            keys = written.keys.get(logged, ()) if logged is not None else ()
            if table.oid in written.whole or after != table or len(keys) > _MANY_KEYS:
                whole.append(comparison)
            elif logged is not None:
                columns = comparison.columns
                changes += diff_rows(
                    rows_at(self.before, logged, keys, columns),
                    rows_at(self.rows, logged, keys, columns),
                    comparison.info,
                )
        if whole:
            changes += self._compared(whole)
        order = {name: place for place, name in enumerate(reference.tables)}
        return StateDiff(
            rows=tuple(sorted(changes, key=lambda change: order[change.table])),
            schema=schema_deltas(reference.objects, objects),
        )

    def _full(self) -> StateDiff:
        reference = self.template.catalog
        objects = read_objects(self.judge)
        tables = reference.tables if objects == reference.objects else read_tables(self.judge)
        comparisons = [
            self.template.comparison(table, tables[name])
            for name, table in reference.tables.items()
            if name in tables
        ]
        rows = self._compared(comparisons)
        return StateDiff(rows=tuple(rows), schema=schema_deltas(reference.objects, objects))

    def _compared(self, comparisons: Sequence[Comparison]) -> list[RowChange]:
        known = self.template.buckets(one.table.info.name for one in comparisons)
        return full_changes(
            self.template.hashing, comparisons, before=self.before, after=self.rows, known=known
        )

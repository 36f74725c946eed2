"""From stored changes back to a final state, without the agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Json

from pytest_thinkingbox.backends.base import NotInRecord
from pytest_thinkingbox.backends.postgres.catalog import Table
from pytest_thinkingbox.backends.postgres.compare import names
from pytest_thinkingbox.backends.postgres.server import is_outage
from pytest_thinkingbox.state.model import Row, RowChange, StateDiff

Connection = psycopg.Connection[Any]


def rebuild(connection: Connection, tables: Mapping[str, Table], diff: StateDiff) -> None:
    """Make the state after `diff` of seed + start, as the administrator and without triggers.

    Raises NotInRecord when the changes do not say all that is needed, or do not fit what is there.
    """
    for delta in diff.schema:
        raise NotInRecord(
            f"the {delta.type} {delta.name} was {delta.action}: a record of rows cannot repeat it"
        )
    grouped: dict[str, list[RowChange]] = {}
    for change in diff.rows:
        grouped.setdefault(change.table, []).append(change)
    try:
        with connection.transaction():
            connection.execute("SET LOCAL session_replication_role = replica")
            for name, changes in grouped.items():
                if name not in tables:
                    raise NotInRecord(f"the seed has no table {name!r} any more")
                writer = _Writer(connection, tables[name])
                # Every old row goes before any new one comes: two may have exchanged a unique value.
                writer.delete([one.before for one in changes if one.before is not None])
                writer.insert([one.after for one in changes if one.after is not None])
    except psycopg.Error as error:
        if is_outage(error):  # which says nothing about the record
            raise
        raise NotInRecord(f"the stored changes do not fit the seed: {error}") from error


class _Writer:
    def __init__(self, connection: Connection, table: Table) -> None:
        self._connection = connection
        self._table = table
        self._name = sql.Identifier(table.schema, table.local_name)
        found = connection.execute(
            "SELECT attname::text, format_type(atttypid, atttypmod), attgenerated <> '' FROM pg_attribute"
            " WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [table.oid],
        ).fetchall()
        self._types: dict[str, str] = {name: declared for name, declared, _ in found}
        self._written = [name for name, _, computed in found if not computed]

    def delete(self, rows: Iterable[Row]) -> None:
        key = self._table.info.key or self._table.info.columns
        for row in rows:
            condition = sql.SQL(" AND ").join(
                sql.SQL("{}::text IS NOT DISTINCT FROM {}::text").format(
                    sql.Identifier(one), self._term(one, row)
                )
                for one in key
            )
            statement = sql.SQL(
                "DELETE FROM {table} WHERE ctid = (SELECT ctid FROM {table} WHERE {condition} LIMIT 1)"
            ).format(table=self._name, condition=condition)
            if not self._connection.execute(statement).rowcount:
                raise NotInRecord(f"{self._table.info.name}: the seed has no row {dict(row)!r}")

    def insert(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._connection.execute(
                sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})").format(
                    self._name,
                    names(self._written),
                    sql.SQL(", ").join(self._term(one, row) for one in self._written),
                )
            )

    def _term(self, column: str, row: Row) -> sql.Composable:
        """As a literal: in a statement with parameters, a name that holds a % would be taken for one."""
        value = row.get(column)
        if value is not None and self._types[column] in ("json", "jsonb"):
            value = Json(value)
        return sql.SQL("{}::{}").format(sql.Literal(value), sql.SQL(self._types[column]))

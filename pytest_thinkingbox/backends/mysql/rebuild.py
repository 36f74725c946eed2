"""From stored changes back to a final state, without the agent."""

from __future__ import annotations

from collections.abc import Mapping

from pymysql.err import MySQLError

from pytest_thinkingbox.backends.base import NotInRecord
from pytest_thinkingbox.backends.mysql import sql, values
from pytest_thinkingbox.backends.mysql.catalog import Catalog, Table
from pytest_thinkingbox.backends.mysql.code import without_triggers
from pytest_thinkingbox.backends.mysql.sql import Connection, query
from pytest_thinkingbox.state.model import Row, RowChange, StateDiff

_TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"})


def rebuild(connection: Connection, catalog: Catalog, diff: StateDiff, *, owner: str | None) -> None:
    """Make the state after `diff` of seed + start, as the administrator in the database, and without triggers.

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
        with without_triggers(connection, catalog, owner=owner):
            query(connection, values.SETTINGS)
            query(connection, "START TRANSACTION")
            for name, changes in grouped.items():
                if name not in catalog.tables:
                    raise NotInRecord(f"the seed has no table {name!r} any more")
                _write(connection, catalog.tables[name], changes)
            query(connection, "COMMIT")
    except (MySQLError, ValueError) as error:
        if isinstance(error, MySQLError) and sql.is_outage(error):  # which says nothing about the record
            raise
        raise NotInRecord(f"the stored changes do not fit the seed: {error}") from error


def _write(connection: Connection, table: Table, changes: list[RowChange]) -> None:
    """Every old row goes before any new one comes: two may have exchanged a unique value."""
    name = sql.name(table.info.name)
    for row in (change.before for change in changes if change.before is not None):
        where = " AND ".join(
            _same(column, table.kinds, row) for column in table.info.key or table.info.columns
        )
        with connection.cursor() as cursor:
            if not cursor.execute(f"DELETE FROM {name} WHERE {where} LIMIT 1"):
                raise NotInRecord(f"{table.info.name}: the seed has no row {dict(row)!r}")
    for row in (change.after for change in changes if change.after is not None):
        terms = ", ".join(values.literal(row.get(one), table.kinds[one]) for one in table.written)
        query(connection, f"INSERT INTO {name} ({sql.names(table.written)}) VALUES ({terms})")


def _same(column: str, kinds: Mapping[str, str], row: Row) -> str:
    """A condition that no collation widens. JSON may be written otherwise, and is left to the other columns."""
    kind, value = kinds[column], row.get(column)
    quoted = sql.name(column)
    if kind == "json":
        return f"{quoted} IS NULL" if value is None else f"{quoted} IS NOT NULL"
    term = values.literal(value, kind)
    if kind in _TEXTS and value is not None:
        return f"CAST(CONVERT({quoted} USING utf8mb4) AS BINARY) <=> CAST({term} AS BINARY)"
    if kind == "float" and value is not None:
        return f"ABS({quoted} - ({term})) <= ABS({term}) * 1e-7"
    if kind == "vector" and value is not None:  # which the server does not compare
        return f"CAST({quoted} AS BINARY) <=> {term}"
    return f"{quoted} <=> {term}"

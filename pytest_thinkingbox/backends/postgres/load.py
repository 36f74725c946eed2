"""Running what an author gave: metadata, callables, SQL files. What fails, also in part, is a ConfigurationError."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection as SQLConnection
from sqlalchemy import Table, event, func, select

from pytest_thinkingbox.backends.postgres.engines import engine_for_author
from pytest_thinkingbox.backends.postgres.programs import needs_psql, read_sql, run_psql
from pytest_thinkingbox.backends.postgres.server import PostgresServer
from pytest_thinkingbox.backends.server.sources import Source, describe
from pytest_thinkingbox.backends.server.sqlite_rows import is_sqlite, load_rows, refuse_as_schema
from pytest_thinkingbox.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import MetaData

Connection = psycopg.Connection[Any]

_SHOWN = 200


class Loader:
    """Runs sources in one database, with the rights of its owner."""

    def __init__(self, server: PostgresServer, database: str, *, owner: str) -> None:
        self._server = server
        self._database = database
        self._owner = owner

    def schema(self, schema: MetaData | Source) -> None:
        if isinstance(schema, Path) or callable(schema):
            self.run(schema, {}, what="schema")
        else:
            self.run(lambda connection: schema.create_all(connection), {}, what="schema")

    def run(self, source: Source, parameters: Mapping[str, Any], *, what: str) -> None:
        """Run a file, or call `source(connection, **parameters)`, and commit what it did."""
        if isinstance(source, Path):
            self._run_file(source, what=what)
        else:
            self._call(source, parameters, what=what)

    def _call(self, function: Callable[..., None], parameters: Mapping[str, Any], *, what: str) -> None:
        engine = engine_for_author(self._server.url.set(database=self._database), role=self._owner)
        try:
            with engine.connect() as connection:
                function(connection, **parameters)
                if not connection.closed:
                    connection.commit()
                    connection.connection.commit()  # what was written past SQLAlchemy, through the driver
        except Exception as error:
            raise ConfigurationError(
                f"{what} {describe(function)} does not load: {type(error).__name__}: {error}"
            ) from error
        finally:
            engine.dispose()

    def _run_file(self, path: Path, *, what: str) -> None:
        if is_sqlite(path):
            self._load_rows(path, what=what)
            return
        url = self._server.url.set(database=self._database)
        text = read_sql(path, url)
        if needs_psql(text):
            run_psql(text, path, url, role=self._owner, version=self._server.version)
            return
        with self._server.connect(self._database, role=self._owner) as connection:
            try:
                # Without parameters: the server itself takes the file apart.
                connection.execute(text.encode())
            except psycopg.Error as error:
                raise ConfigurationError(f"{what} {path}{_line(text, error)}: {_message(error)}") from error
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                raise ConfigurationError(
                    f"{what} {path}: its last transaction is never committed: add COMMIT at the end"
                )

    def _load_rows(self, path: Path, *, what: str) -> None:
        """Of a file of SQLite, which is what was there in the end: no trigger of the schema adds to it."""
        if what == "schema":
            refuse_as_schema(path, server="PostgreSQL")
        engine = engine_for_author(self._server.url.set(database=self._database))
        event.listen(engine, "before_cursor_execute", _with_given_identities, retval=True)
        try:
            with engine.begin() as connection:
                connection.exec_driver_sql("SET session_replication_role = replica; SET TIME ZONE 'UTC'")
                for table in load_rows(connection, path, what=what):
                    _go_on_counting(connection, table)
        finally:
            engine.dispose()


def _with_given_identities(
    _connection: object, _cursor: object, statement: str, parameters: Any, *_: object
) -> tuple[str, Any]:
    """Also of columns that are GENERATED ALWAYS AS IDENTITY."""
    if statement.startswith("INSERT INTO "):
        statement = statement.replace(") VALUES (", ") OVERRIDING SYSTEM VALUE VALUES (", 1)
    return statement, parameters


def _go_on_counting(connection: SQLConnection, table: Table) -> None:
    """Let sequences of a table's columns give out what comes after its rows."""
    name = connection.dialect.identifier_preparer.format_table(table)
    for column in table.columns:
        sequence = connection.execute(select(func.pg_get_serial_sequence(name, column.name))).scalar()
        last = connection.execute(select(func.max(column))).scalar() if sequence is not None else None
        if last is not None:
            connection.execute(select(func.setval(sequence, last)))


def check_complete(connection: Connection, what: str) -> None:
    """Half a seed often shows as rows whose parent is not there, or as work that is not committed."""
    row = connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND (xact_start IS NOT NULL OR state = 'idle in transaction')"
        " AND backend_type = 'client backend'"
    ).fetchone()
    if row is not None and row[0]:
        raise ConfigurationError(
            f"{what} leaves a transaction open: commit and close every connection that it opens itself"
        )
    broken = []
    for name, child, parent, child_columns, parent_columns in connection.execute(_FOREIGN_KEYS).fetchall():
        on = sql.SQL(" AND ").join(
            sql.SQL("c.{} = p.{}").format(sql.Identifier(one), sql.Identifier(other))
            for one, other in zip(child_columns, parent_columns, strict=True)
        )
        given = sql.SQL(" AND ").join(
            sql.SQL("c.{} IS NOT NULL").format(sql.Identifier(one)) for one in child_columns
        )
        query = sql.SQL(
            "SELECT count(*) FROM {} c WHERE {} AND NOT EXISTS (SELECT FROM {} p WHERE {})"
        ).format(sql.SQL(child), given, sql.SQL(parent), on)
        row = connection.execute(query).fetchone()
        if row is not None and row[0]:
            broken.append(f"{row[0]} rows of {child} have no row in {parent} ({name})")
    if broken:
        raise ConfigurationError(f"{what} loads only in part: {'; '.join(broken)}")


_FOREIGN_KEYS = """
SELECT conname::text, conrelid::regclass::text, confrelid::regclass::text,
  (SELECT array_agg(attname::text ORDER BY place) FROM unnest(conkey) WITH ORDINALITY k (attnum, place)
    JOIN pg_attribute a USING (attnum) WHERE a.attrelid = conrelid),
  (SELECT array_agg(attname::text ORDER BY place) FROM unnest(confkey) WITH ORDINALITY k (attnum, place)
    JOIN pg_attribute a USING (attnum) WHERE a.attrelid = confrelid)
FROM pg_constraint WHERE contype = 'f' AND conparentid = 0
"""


def _line(text: str, error: psycopg.Error) -> str:
    position = error.diag.statement_position
    return "" if position is None else f", line {text.count(chr(10), 0, int(position)) + 1}"


def _message(error: psycopg.Error) -> str:
    message = error.diag.message_primary or str(error)
    return " ".join(message.split())[:_SHOWN]

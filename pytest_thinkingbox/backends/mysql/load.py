"""Running what an author gave: metadata, callables, SQL files. What fails, also in part, is a ConfigurationError."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pymysql.constants import SERVER_STATUS
from pymysql.err import MySQLError

from pytest_thinkingbox.backends.mysql import sql
from pytest_thinkingbox.backends.mysql.catalog import read_catalog
from pytest_thinkingbox.backends.mysql.code import without_triggers
from pytest_thinkingbox.backends.mysql.engines import engine_of_author
from pytest_thinkingbox.backends.mysql.script import statements
from pytest_thinkingbox.backends.mysql.server import MySQLServer, shut
from pytest_thinkingbox.backends.mysql.sql import Connection, query
from pytest_thinkingbox.backends.server.sources import Source, describe
from pytest_thinkingbox.backends.server.sqlite_rows import is_sqlite, load_rows, refuse_as_schema
from pytest_thinkingbox.errors import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy import MetaData

_STRICT = "TRADITIONAL,NO_AUTO_VALUE_ON_ZERO"
_DUMP_BEGINS = re.compile(r"(?:/\*M?!.*\n)?-- (?:MySQL|MariaDB) dump ")
_DUMP_ENDS = "-- Dump completed"
_ELSEWHERE = re.compile(
    r"(?:/\*!\d*\s*)?(?:USE|(?:CREATE|DROP|ALTER)\s+(?:DATABASE|SCHEMA))\b", re.IGNORECASE
)
# What a server with GTIDs dumps of its own history, which is none of the database's.
_HISTORY = re.compile(r"SET @@GLOBAL\.GTID_PURGED\s*=", re.IGNORECASE)


class Loader:
    """Runs sources in one database, as the administrator."""

    def __init__(self, server: MySQLServer, database: str) -> None:
        self._server = server
        self._database = database

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
        url = self._server.url.set(database=self._database)
        engine = engine_of_author(url)
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
        try:
            # A dump holds the bytes of a BLOB as they are, unless it was made with --hex-blob.
            text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
        except OSError as error:
            raise ConfigurationError(f"{what} {path} cannot be read: {error}") from error
        if _DUMP_BEGINS.match(text) and _DUMP_ENDS not in text[-200:]:
            raise ConfigurationError(f"{what} {path} was cut off: a dump ends with the line {_DUMP_ENDS!r}")
        connection = self._server.connect(self._database)
        try:
            for statement in statements(text):
                if _HISTORY.match(statement.text):
                    continue
                where = f"{what} {path}, line {statement.line}"
                if _ELSEWHERE.match(statement.text):
                    raise ConfigurationError(
                        f"{where}: it would leave the database of this environment; write the file without "
                        "USE, CREATE, DROP and ALTER DATABASE (mysqldump does so without --databases)"
                    )
                try:
                    query(connection, statement.text.encode("utf-8", "surrogateescape"))
                except MySQLError as error:
                    raise ConfigurationError(f"{where}: {sql.first_line(error)}") from error
            query(connection, "SET autocommit = 1, foreign_key_checks = 1")
            # What the server says of all transactions may be a tenth of a second old.
            if connection.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS:
                raise ConfigurationError(
                    f"{what} {path}: its last transaction is never committed: add COMMIT at the end"
                )
        finally:
            shut(connection)

    def _load_rows(self, path: Path, *, what: str) -> None:
        """Of a file of SQLite, which is what was there in the end: no trigger of the schema adds to it."""
        if what == "schema":
            refuse_as_schema(path, server=self._server.kind)
        admin = self._server.connect(self._database)
        engine = engine_of_author(self._server.url.set(database=self._database))
        try:
            catalog = read_catalog(admin, self._database)
            with without_triggers(admin, catalog, owner=None), engine.begin() as connection:
                connection.exec_driver_sql(f"SET foreign_key_checks = 0, sql_mode = '{_STRICT}'")
                load_rows(connection, path, what=what)
        finally:
            engine.dispose()
            shut(admin)


def check_complete(connection: Connection, database: str, what: str) -> None:
    """Half a seed often shows as rows whose parent is not there: dumps load without checking it."""
    keys: dict[tuple[str, str, str, str], list[tuple[str, str]]] = {}
    for constraint, child, schema, parent, column, other in query(
        connection,
        "SELECT CONSTRAINT_NAME, TABLE_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, COLUMN_NAME,"
        " REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE"
        f" WHERE TABLE_SCHEMA = {sql.text(database)} AND REFERENCED_TABLE_NAME IS NOT NULL"
        " ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION",
    ):
        keys.setdefault((constraint, child, schema, parent), []).append((column, other))
    broken = []
    for (constraint, child, schema, parent), pairs in keys.items():
        given = " AND ".join(f"c.{sql.name(one)} IS NOT NULL" for one, _ in pairs)
        on = " AND ".join(f"c.{sql.name(one)} = p.{sql.name(other)}" for one, other in pairs)
        [(count,)] = query(
            connection,
            f"SELECT COUNT(*) FROM {sql.name(database, child)} c WHERE {given} AND NOT EXISTS"
            f" (SELECT 1 FROM {sql.name(schema, parent)} p WHERE {on})",
        )
        if count:
            broken.append(f"{count} rows of {child} have no row in {parent} ({constraint})")
    if broken:
        raise ConfigurationError(f"{what} loads only in part: {'; '.join(broken)}")

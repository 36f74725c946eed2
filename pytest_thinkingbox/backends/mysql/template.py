"""Seed + start as a database that nobody writes to, and copies of it.

MySQL has no templates: a copy is made of the statements that made each table, and of its rows.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from pytest_thinkingbox.backends.mysql import sql, values
from pytest_thinkingbox.backends.mysql.catalog import (
    Catalog,
    Table,
    read_catalog,
    refuse_unsupported,
)
from pytest_thinkingbox.backends.mysql.code import make_code
from pytest_thinkingbox.backends.mysql.compare import Buckets, Comparison, Hashing, comparison_of, row_hash
from pytest_thinkingbox.backends.mysql.load import Loader, check_complete
from pytest_thinkingbox.backends.mysql.server import MySQLServer, shut
from pytest_thinkingbox.backends.mysql.sql import Connection, query
from pytest_thinkingbox.backends.server.sources import describe
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.state.model import Rules, StateDiff
from pytest_thinkingbox.state.rules import RuleBook, check_rules


class Template:
    """The database `name`, which attempts are copied from and checkers read as the state before."""

    def __init__(self, server: MySQLServer, *, name: str, environment: Environment) -> None:
        self.name = name
        self.ddl = environment.database.ddl
        self.hashing = Hashing()
        self._server = server
        self._lock = threading.Lock()
        self._buckets: dict[str, Buckets] | None = None
        self._digest: str | None = None
        with server.admin() as connection:
            self.catalog: Catalog = read_catalog(connection, name)
            refuse_unsupported(self.catalog, environment.name)
            self._row_counts = {
                table: int(query(connection, f"SELECT COUNT(*) FROM {sql.name(name, table)}")[0][0])
                for table in self.catalog.tables
            }
            [(size,)] = query(
                connection,
                "SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES"
                f" WHERE TABLE_SCHEMA = {sql.text(name)}",
            )
            self.size = int(size or 0)
        self.rules = Rules(
            tables={name: table.info for name, table in self.catalog.tables.items()},
            volatile=tuple(environment.database.volatile),
            bookkeeping=frozenset(environment.database.bookkeeping),
        )
        check_rules(self.rules)

    @property
    def defaults(self) -> str:
        """Those of the database, as they are written when one is created."""
        return self.catalog.objects["database", "defaults"]

    def comparison(self, before: Table, after: Table) -> Comparison:
        return comparison_of(before, after, rows=self._row_counts[before.info.name])

    def buckets(self) -> dict[str, Buckets]:
        """Of every table as the seed defines it; read once."""
        with self._lock:
            if self._buckets is None:
                comparisons = [self.comparison(one, one) for one in self.catalog.tables.values()]
                with self._server.admin() as connection:
                    query(connection, values.SETTINGS)
                    found = self.hashing.read(connection, self.name, comparisons)
                self._buckets = {
                    one.info.name: buckets for one, buckets in zip(comparisons, found, strict=True)
                }
            return self._buckets

    def digest(self) -> str:
        """Hex digest of schema and rows; values of volatile columns are left out. Reads everything, once."""
        with self._lock:
            if self._digest is None:
                self._digest = self._read_digest()
            return self._digest

    def _read_digest(self) -> str:
        book = RuleBook(StateDiff(), self.rules)
        digest = hashlib.sha256()
        for (kind, name), definition in sorted(self.catalog.objects.items()):
            digest.update(repr((kind, name, definition)).encode())
        with self._server.admin() as connection:
            query(connection, values.SETTINGS)
            for name, table in sorted(self.catalog.tables.items()):
                columns = [one for one in table.info.columns if not book.is_volatile(name, one)]
                [content] = query(
                    connection,
                    f"SELECT COUNT(*), SUM({row_hash(table, columns, secret='')}) FROM {sql.name(self.name, name)}",
                )
                digest.update(repr((name, columns, tuple(map(str, content)))).encode())
        return digest.hexdigest()


def build(
    server: MySQLServer,
    environment: Environment,
    start: StartState | None,
    *,
    name: str,
    seed: Template | None,
) -> None:
    """Make a template, unless another process of the campaign has made it.

    `seed` is the template that a start state runs on. Raises ConfigurationError when something does not load.
    """
    with server.locked(name) as connection:
        if server.is_finished(connection, name):
            return
        server.drop(name)
        try:
            if seed is None or start is None:
                query(connection, f"CREATE DATABASE {sql.name(name)} CHARACTER SET utf8mb4")
                what = _load(Loader(server, name), environment)
            else:
                copy(server, seed.catalog, seed.name, name, owner=None)
                Loader(server, name).run(start.run, start.parameters, what="start")
                what = f"start {describe(start.run)}"
            check_complete(connection, name, what)
            _count(connection, name)
        except BaseException:
            server.drop(name)
            raise
        # The last step: whoever finds it done finds a whole template.
        server.finish(connection, name)


def _count(connection: Connection, name: str) -> None:
    """Have the server count what the tables take up, which MySQL else says of the empty ones for a day."""
    tables = query(
        connection,
        "SELECT TABLE_NAME FROM information_schema.TABLES"
        f" WHERE TABLE_SCHEMA = {sql.text(name)} AND TABLE_TYPE = 'BASE TABLE'",
    )
    if tables:
        query(
            connection,
            f"ANALYZE NO_WRITE_TO_BINLOG TABLE {', '.join(sql.name(name, one) for (one,) in tables)}",
        )


def _load(loader: Loader, environment: Environment) -> str:
    database = environment.database
    loader.schema(database.schema)
    if database.seed is not None:
        loader.run(database.seed, {}, what="seed")
        return f"seed {describe(database.seed)}"
    return f"schema {database.schema}" if isinstance(database.schema, Path) else "schema"


def copy(server: MySQLServer, catalog: Catalog, source: str, target: str, *, owner: str | None) -> None:
    """Make the database `target` with the schema, the rows and the counters of `source`.

    Its code has the rights of the user `owner`; None leaves them with who made it.
    """
    connection = server.connect()
    try:
        query(connection, f"CREATE DATABASE {sql.name(target)} {catalog.objects['database', 'defaults']}")
        connection.select_db(target)
        query(connection, values.SETTINGS)
        for create in catalog.creates.values():
            query(connection, create)
        for name in catalog.sequences:
            [(following,)] = query(connection, f"SELECT next_not_cached_value FROM {sql.name(source, name)}")
            query(connection, f"SELECT SETVAL({sql.name(name)}, {following}, 0)")
        for name, table in catalog.tables.items():
            columns = sql.names(table.written)
            query(
                connection,
                f"INSERT INTO {sql.name(name)} ({columns}) SELECT {columns} FROM {sql.name(source, name)}",
            )
        make_code(connection, catalog.code, owner=owner)
    except BaseException:
        shut(connection)
        server.drop(target)
        raise
    shut(connection)

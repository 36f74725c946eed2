"""Seed + start as a database that nobody can connect to, and a reference for checkers that holds the same."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from pytest_thinkingbox.backends.postgres import values
from pytest_thinkingbox.backends.postgres.catalog import (
    Catalog,
    Table,
    has_large_objects,
    read_catalog,
    read_tables,
)
from pytest_thinkingbox.backends.postgres.compare import Buckets, Comparison, Hashing, comparison_of, names
from pytest_thinkingbox.backends.postgres.idle import Idle
from pytest_thinkingbox.backends.postgres.load import Loader, check_complete
from pytest_thinkingbox.backends.postgres.log import install, read_log
from pytest_thinkingbox.backends.postgres.log import remove as remove_log
from pytest_thinkingbox.backends.postgres.roles import grant_rows, owner_of, settle_locks, withhold_locks
from pytest_thinkingbox.backends.postgres.sequences import read_sequences
from pytest_thinkingbox.backends.postgres.server import PostgresServer
from pytest_thinkingbox.backends.server.sources import describe
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.state.model import Rules, StateDiff
from pytest_thinkingbox.state.rules import RuleBook, check_rules

Connection = psycopg.Connection[Any]


class Template:
    """`name` is the database that clones are made of, `reference` the one that is read."""

    def __init__(
        self, server: PostgresServer, *, name: str, reference: str, environment: Environment, idle: Idle
    ) -> None:
        self.server = server
        self.name = name
        self.reference = reference
        self.ddl = environment.database.ddl
        self.hashing = Hashing()
        self._lock = threading.RLock()
        self._idle = idle
        self._buckets: dict[Comparison, Buckets] = {}
        self._digest: str | None = None
        with self.connect() as connection:
            self.catalog: Catalog = read_catalog(connection)
            if not self.catalog.tables:
                raise ConfigurationError(f"environment {environment.name!r}: its schema makes no table")
            self.log = read_log(connection, self.catalog.tables.values())
            self.large_objects = has_large_objects(connection)
            self.sequences = read_sequences(connection)
            self.size = _size(connection)
            self.row_counts = {
                name: self._count(connection, table) for name, table in self.catalog.tables.items()
            }
        self.rules = Rules(
            tables={name: table.info for name, table in self.catalog.tables.items()},
            volatile=tuple(environment.database.volatile),
            bookkeeping=frozenset(environment.database.bookkeeping),
        )
        check_rules(self.rules)

    @staticmethod
    def _count(connection: Connection, table: Table) -> int:
        row = connection.execute(
            sql.SQL("SELECT sum(greatest(reltuples, 0)) FROM pg_class WHERE oid = ANY(%s)"),
            [list(table.parts)],
        ).fetchone()
        return int(row[0] or 0) if row is not None else 0

    def connect(self) -> Connection:
        """To the reference, set up for reading rows."""
        connection = self.server.connect(self.reference)
        values.set_up(connection)
        return connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to the reference that is kept open for the next who asks."""
        connection = self._idle.take(self.reference)
        if connection is None:
            connection = self.connect()
            self.read(connection)
        try:
            yield connection
        finally:
            self._idle.keep(self.reference, connection)

    def read(self, connection: Connection) -> None:
        """Let a connection to a clone read arrays of the schema's own types."""
        values.learn_types(connection, self.catalog.types)

    def comparison(self, table: Table, after: Table) -> Comparison:
        return comparison_of(table, after, rows=self.row_counts[table.info.name])

    def buckets(self, tables: Iterable[str] | None = None) -> Mapping[Comparison, Buckets]:
        """Of these tables, or of all, as the seed defines them; each is read once."""
        with self._lock:
            chosen = self.catalog.tables.values() if tables is None else map(self.catalog.tables.get, tables)
            wanted = [self.comparison(one, one) for one in chosen if one is not None and one.info.columns]
            unread = [one for one in wanted if one not in self._buckets]
            if unread:
                with self.connect() as connection:
                    self._buckets.update(zip(unread, self.hashing.buckets(connection, unread), strict=True))
            return {one: self._buckets[one] for one in wanted}

    def digest(self) -> str:
        """Hex digest of schema and rows; values of volatile columns are left out. Reads everything, once."""
        with self._lock:
            if self._digest is None:
                self._digest = self._read_digest()
            return self._digest

    def _read_digest(self) -> str:
        book = RuleBook(StateDiff(), self.rules)
        digest = hashlib.sha256()
        # The campaign's own names say nothing of the seed.
        campaign = f"tb_{self.server.campaign.part}_"
        for (kind, name), definition in sorted(self.catalog.objects.items()):
            if kind not in ("catalog", "comment") and not name.rpartition(".")[2].startswith("thinkingbox"):
                digest.update(repr((kind, name, definition.replace(campaign, "tb_"))).encode())
        with self.connect() as connection:
            for name, table in sorted(self.catalog.tables.items()):
                columns = [one for one in table.info.columns if not book.is_volatile(name, one)]
                digest.update(repr((name, _content(connection, table, columns))).encode())
        return digest.hexdigest()


def _size(connection: Connection) -> int:
    """Bytes of the files of a database."""
    row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return int(row[0]) if row is not None else 0


def _content(connection: Connection, table: Table, columns: Iterable[str]) -> tuple[Any, ...]:
    """The number of rows, and a sum of their hashes: their order does not matter."""
    row = connection.execute(
        sql.SQL("SELECT count(*), sum(hashtextextended(ROW({})::text, 0)), sum(hashtextextended(ROW({})::text, 1))"
                " FROM {}").format(names(columns), names(columns), table.relation)
    ).fetchone()  # fmt: skip
    return tuple(map(str, row or ()))


def build(
    server: PostgresServer,
    environment: Environment,
    start: StartState | None,
    *,
    name: str,
    reference: str,
    seed: str | None,
) -> None:
    """Make a template and its reference, unless another process of the campaign has made them.

    `seed` is the template that a start state runs on. Raises ConfigurationError when something does not load.
    """
    with server.connect() as connection:
        lock = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), signed=True)
        connection.execute("SELECT pg_advisory_lock(%s)", [lock])
        if _is_finished(connection, name):
            return
        server.drop(reference)
        server.drop(name)
        owner = owner_of(server.campaign)
        base, encoding = (seed, "") if seed is not None else ("template0", " ENCODING 'UTF8'")
        connection.execute(
            sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}" + encoding).format(
                sql.Identifier(name), sql.Identifier(owner), sql.Identifier(base)
            )
        )
        connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))
        if seed is None:
            with server.connect(name) as inside:
                withhold_locks(inside, owner)
        try:
            _fill(server, environment, start, name=name, owner=owner)
        except BaseException:
            server.drop(name)
            raise
        # Whoever acts as the owner in a clone must not be able to let anybody into the template.
        connection.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(sql.Identifier(name)))
        server.clone(name, reference)
        # The last step: whoever finds it done finds a whole template.
        connection.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(sql.Identifier(name)))


def _fill(
    server: PostgresServer, environment: Environment, start: StartState | None, *, name: str, owner: str
) -> None:
    loader = Loader(server, name, owner=owner)
    database = environment.database
    if start is not None:
        with server.connect(name) as connection:
            remove_log(connection)
        loader.run(start.run, start.parameters, what="start")
        what = f"start {describe(start.run)}"
    else:
        loader.schema(database.schema)
        what = "schema"
        if database.seed is not None:
            loader.run(database.seed, {}, what="seed")
            what = f"seed {describe(database.seed)}"
        elif isinstance(database.schema, Path):
            what = f"schema {database.schema}"
    with server.connect(name) as connection:
        check_complete(connection, what)
        settle_locks(connection, owner)
        grant_rows(connection, server.campaign, ddl=database.ddl)
        values.set_up(connection)
        _log_all(connection)
        install(connection, read_tables(connection).values())
        connection.execute("VACUUM (FREEZE, ANALYZE)")
        # What an author's pool still holds open would keep the database from being cloned.
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def _log_all(connection: Connection) -> None:
    """Make logged tables of unlogged ones: when a server crashes, these are empty, also in a template."""
    left = connection.execute(
        "SELECT oid::regclass::text, relkind::text FROM pg_class WHERE relpersistence = 'u' AND relkind IN ('r', 'S')"
        " ORDER BY relkind"  # tables first: those of their sequences go with them
    ).fetchall()
    while left:
        refused = []
        for name, kind in left:
            statement = "ALTER TABLE {} SET LOGGED" if kind == "r" else "ALTER SEQUENCE {} SET LOGGED"
            try:
                connection.execute(sql.SQL(statement).format(sql.SQL(name)))
            except psycopg.errors.InvalidTableDefinition:  # it refers to one that comes later
                refused.append((name, kind))
        if len(refused) == len(left):
            raise ConfigurationError(
                f"these tables cannot be made LOGGED: {', '.join(one for one, _ in refused)}"
            )
        left = refused


def _is_finished(connection: Connection, name: str) -> bool:
    row = connection.execute("SELECT NOT datallowconn FROM pg_database WHERE datname = %s", [name]).fetchone()
    return row is not None and bool(row[0])

"""One attempt's database from acquire to release."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from pymysql.err import MySQLError
from sqlalchemy import Connection, Engine

from pytest_thinkingbox.backends.base import NotInRecord
from pytest_thinkingbox.backends.mysql import server, sql, values
from pytest_thinkingbox.backends.mysql.catalog import UNREADABLE, Catalog, because, read_catalog, unreadable
from pytest_thinkingbox.backends.mysql.compare import Comparison, full_changes, read_rows
from pytest_thinkingbox.backends.mysql.dump import dump_of
from pytest_thinkingbox.backends.mysql.engines import Gate, engine_of_attempt, read_only_engine
from pytest_thinkingbox.backends.mysql.rebuild import rebuild
from pytest_thinkingbox.backends.mysql.server import MySQLServer
from pytest_thinkingbox.backends.mysql.sql import query
from pytest_thinkingbox.backends.mysql.template import Template
from pytest_thinkingbox.backends.mysql.users import Login
from pytest_thinkingbox.backends.server.deltas import schema_deltas
from pytest_thinkingbox.errors import InfrastructureDown, UnknownName
from pytest_thinkingbox.state.diff import same
from pytest_thinkingbox.state.model import RowChange, SchemaDelta, StateDiff
from pytest_thinkingbox.state.values import equal
from pytest_thinkingbox.whole import whole

_UNREADABLE = (MySQLError, UnicodeDecodeError)
_CUT_SECONDS = 30.0
"""The server undoes what was not committed before a session is gone. One that takes longer has committed nothing."""


class MySQLLease:
    """A database that one attempt owns, and the user that its tools connect with.

    The cut locks the user's account and ends its sessions; only then is anything read, by the administrator, in one
    snapshot.
    """

    def __init__(
        self,
        *,
        server: MySQLServer,
        template: Template,
        database: str,
        login: Login,
        owner: str | None,
        reader: Login,
        on_read: Callable[[], None],
        on_release: Callable[[MySQLLease], None],
    ) -> None:
        self._url = server.url_of(database, user=login.name, password=login.password)
        self.url = self._url.render_as_string(hide_password=False)
        self.rules = template.rules
        self.database = database
        self.login = login
        self.owner = owner
        self._template = template
        self._server = server
        self._reader = reader
        self._on_read = on_read
        self._on_release = on_release
        self._lock = threading.RLock()
        self._gate = Gate()
        self._cut = False
        self._released = False

    @cached_property
    def engine(self) -> Engine:
        return engine_of_attempt(self._url, gate=self._gate, server=self._server.kind)

    def cut(self) -> None:
        with self._lock:
            if self._cut or self._released:
                return
            self._gate.shut = True
            if not self._server.alive():  # one that is halted would be waited for without end
                raise InfrastructureDown("the database server does not answer any more")
            self._server.execute(f"ALTER USER {sql.account(self.login.name)} ACCOUNT LOCK")
            self._server.end_sessions(self.login.name, seconds=_CUT_SECONDS)
            self._server.end_orphans()
            self._cut = True

    def read_changes(self, *, audit: bool) -> StateDiff:
        """By full comparison, also without `audit`: there is no faster way that could differ from it."""
        try:
            with self._lock:
                try:
                    with self._reading() as connection:
                        return self._changes(connection)
                except _UNREADABLE:
                    if not self._template.ddl or not self.alive():
                        raise
                    return self._with_room(self._changes_in_part())
        finally:
            self._on_read()

    def _with_room(self, diff: StateDiff) -> StateDiff:
        """An agent is to blame for what cannot be read only where the server could have read it."""
        if any(one.type.startswith(UNREADABLE) for one in diff.schema) and not self._server.has_room():
            raise InfrastructureDown(f"{self.database} cannot be read: the database server has no disk left")
        return diff

    def _changes_in_part(self) -> StateDiff:
        """An agent can define what no reading survives: a column that overflows, a view of itself. Each is a change of
        the schema, by which the attempt is judged, and fails."""
        before = self._template.catalog
        rows: list[RowChange] = []
        try:
            with self._reading() as connection:
                after = read_catalog(connection, self.database, whole=False)
        except _UNREADABLE as error:
            return StateDiff(
                schema=_deltas(before, {**before.objects, unreadable("database", "all"): because(error)})
            )
        objects = dict(after.objects)
        until = time.monotonic() + server.READ_SECONDS
        for name, table in before.tables.items():
            if name not in after.tables:
                continue
            left = until - time.monotonic()
            try:  # on a connection of its own: one that failed may hold what is left of an answer
                with self._reading(seconds=max(1.0, left)) as connection:
                    rows += self._row_changes(
                        connection, [self._template.comparison(table, after.tables[name])]
                    )
            except _UNREADABLE as error:
                objects[unreadable("table", name)] = because(error)
                if sql.is_lost(error) and left < 1:
                    break
        return StateDiff(rows=tuple(rows), schema=_deltas(before, objects))

    def _changes(self, connection: sql.Connection) -> StateDiff:
        before = self._template.catalog
        after = read_catalog(connection, self.database)
        comparisons = [
            self._template.comparison(table, after.tables[name])
            for name, table in before.tables.items()
            if name in after.tables
        ]
        rows = self._row_changes(connection, comparisons)
        return StateDiff(rows=tuple(rows), schema=schema_deltas(before.objects, after.objects))

    def _row_changes(self, connection: sql.Connection, comparisons: list[Comparison]) -> list[RowChange]:
        template = self._template
        known = template.buckets()
        query(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        rows = full_changes(
            template.hashing,
            connection,
            comparisons,
            before=template.name,
            after=self.database,
            known=known,
        )
        query(connection, "ROLLBACK")
        return rows

    @contextmanager
    def _reading(self, *, seconds: float | None = None) -> Iterator[sql.Connection]:
        """A connection to the final state in which nothing changes any more, closed afterwards."""
        self._check_cut()
        if self._template.ddl:  # an agent that dropped its database dropped all that is in it
            self._server.execute(
                f"CREATE DATABASE IF NOT EXISTS {sql.name(self.database)} {self._template.defaults}"
            )
            # Without DDL nothing holds a reader up but the size of the seed.
            seconds = seconds or server.READ_SECONDS
        with self._connected(seconds=seconds) as connection:
            query(connection, values.SETTINGS)
            yield connection

    @contextmanager
    def _connected(self, *, seconds: float | None) -> Iterator[sql.Connection]:
        connection = None
        try:
            connection = self._server.connect(self.database, seconds=seconds)
            yield connection
        except MySQLError as error:
            by_agent = connection is not None and sql.is_lost(error) and self._template.ddl and self.alive()
            if by_agent or not sql.is_outage(error):
                raise
            raise InfrastructureDown(f"{self.database} cannot be reached: {sql.first_line(error)}") from error
        finally:
            if connection is not None:
                self._server.leave(connection)

    def rebuild(self, diff: StateDiff) -> None:
        with self._lock, self._connected(seconds=None) as connection:
            rebuild(connection, self._template.catalog, diff, owner=self.owner)
            query(connection, values.SETTINGS)
            if not same(self._changes(connection), diff):
                raise NotInRecord("the stored changes do not lead to the state that they were read from")

    def keep(self, path: Path) -> Path:
        """As SQL that a seed can be loaded from."""
        written = path.with_name(f"{path.name}.sql")
        with self._lock, self._reading() as connection, whole(written) as part:
            part.write_text(dump_of(connection, self.database), encoding="utf-8")
        return written

    def rows(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        with self._lock, self._reading() as connection:
            tables = read_catalog(connection, self.database, whole=False).tables
            found = tables.get(table)
            if found is None:
                raise UnknownName(
                    f"{table!r} is no table of the final state; there are: {', '.join(sorted(tables)) or 'none'}"
                )
            columns = found.info.columns
            for column in where:
                if column not in columns:
                    raise UnknownName(f"{table} has no column {column!r}; it has: {', '.join(columns)}")
            chosen = [
                f"{sql.name(name)} = {value}"
                for name, value in where.items()
                if type(value) is int and "int" in found.kinds[name]
            ]
            condition = " AND ".join(chosen) or "TRUE"
            if found.info.key:
                condition += f" ORDER BY {sql.names(found.info.key)}"
            rows = read_rows(connection, self.database, found, columns, condition)
        return [dict(row) for row in rows if all(equal(row[name], value) for name, value in where.items())]

    def _check_cut(self) -> None:
        if self._released:
            raise RuntimeError("this database was given back: nothing can be read from it any more")
        if not self._cut:
            raise RuntimeError("the final state can be read only after cut()")

    def connect_after(self) -> Connection:
        with self._lock:
            self._check_cut()
            return self._open(self.database, limited=self._template.ddl)

    def connect_before(self) -> Connection:
        return self._open(self._template.name, limited=False)

    def _open(self, database: str, *, limited: bool) -> Connection:
        url = self._server.url_of(database, user=self._reader.name, password=self._reader.password)
        return read_only_engine(url, alive=self._server.alive, limited=limited).connect()

    def alive(self) -> bool:
        return self._server.alive()

    def blames(self, error: BaseException, *, connecting: bool, lost: bool) -> bool:
        """Any statement can SIGNAL any number, so that of an outage the server itself is asked."""
        if not isinstance(error, MySQLError):  # other drivers are not known here
            return (lost or connecting) and not self.alive()
        if connecting:  # a session of the agent's can end others of its user while they connect
            if sql.is_refused_login(error):
                return False
            return sql.is_full(error) or not (self.alive() and self._server.lets_in(self.database))
        if sql.is_no_disk(error):
            return not self._server.has_room()
        return (lost or sql.is_outage(error)) and not self.alive()

    def release(self) -> None:
        with self._lock:
            if self._released:
                return
            self._released = True
            self._gate.shut = True
            if "engine" in vars(self):
                self.engine.dispose()
            self._gate.close()
        self._on_read()
        self._on_release(self)


def _deltas(before: Catalog, after: Mapping[tuple[str, str], str]) -> tuple[SchemaDelta, ...]:
    """With what cannot be read any more as altered, for then a report says why."""
    readable = {key: "possible" for key in after if key[0].startswith(UNREADABLE)}
    return schema_deltas({**before.objects, **readable}, after)

"""One attempt's database from acquire to release."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection, Engine

from pytest_thinkingbox.backends.base import AuditMismatch
from pytest_thinkingbox.backends.postgres import values
from pytest_thinkingbox.backends.postgres.catalog import (
    has_large_objects,
    read_objects,
    read_tables,
)
from pytest_thinkingbox.backends.postgres.compare import Comparison, full_changes
from pytest_thinkingbox.backends.postgres.engines import Engines, Gate, ReadOnly
from pytest_thinkingbox.backends.postgres.log import Written, read_written, rows_at
from pytest_thinkingbox.backends.postgres.log import remove as remove_log
from pytest_thinkingbox.backends.postgres.programs import run_pg_dump
from pytest_thinkingbox.backends.postgres.rebuild import rebuild
from pytest_thinkingbox.backends.postgres.roles import Login, drop_attempt_role, is_locked_out
from pytest_thinkingbox.backends.postgres.rows import read_rows
from pytest_thinkingbox.backends.postgres.server import PostgresServer, is_outage
from pytest_thinkingbox.backends.postgres.template import Template
from pytest_thinkingbox.backends.server.deltas import schema_deltas
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.state.diff import diff_rows, same
from pytest_thinkingbox.state.model import RowChange, StateDiff
from pytest_thinkingbox.whole import whole

_CUT_SECONDS = 10.0
_MANY_KEYS = 20_000
"""Rows of one table from which on reading the whole table costs less than picking them."""

_NO_DISK = ("53100", "58030")
"""disk_full, io_error"""

AdminConnection = psycopg.Connection[Any]


class PostgresLease:
    """A database that one attempt owns, and the role that its tools connect with.

    The cut takes from the role the right to connect and ends its sessions; only then is anything read, by the
    administrator, in one snapshot.
    """

    def __init__(
        self,
        *,
        server: PostgresServer,
        template: Template,
        database: str,
        login: Login,
        reader: Login,
        engines: Engines,
        read_only: ReadOnly,
        fast: bool,
        on_read: Callable[[], None],
        on_release: Callable[[PostgresLease], None],
    ) -> None:
        url = server.url_of(database, user=login.name, password=login.password)
        self.url = url.render_as_string(hide_password=False)
        self.rules = template.rules
        self.template = template
        self.database = database
        self.login = login
        self._url = url
        self._server = server
        self._reader = reader
        self._engines = engines
        self._read_only = read_only
        self._fast = fast
        self.written: Written | None = None
        """What the log said when it was read."""
        self._on_read = on_read
        self._on_release = on_release
        self._lock = threading.RLock()
        self._gate = Gate()
        self._judge: AdminConnection | None = None
        self._cut = False
        self._released = False

    @cached_property
    def engine(self) -> Engine:
        return self._engines.engine(self._url, gate=self._gate)

    def cut(self) -> None:
        with self._lock:
            if self._cut or self._released:
                return
            self._gate.shut = True
            if not self._server.alive():  # one that is halted would be waited for without end
                raise InfrastructureDown("the database server does not answer any more")
            with self._server.admin() as connection:
                self._end_sessions(connection)
            self._cut = True

    def _end_sessions(self, connection: AdminConnection) -> None:
        role, database = sql.Identifier(self.login.name), sql.Identifier(self.database)
        with connection.transaction():
            connection.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(role))
            connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM {}").format(database, role))
        deadline = time.monotonic() + _CUT_SECONDS
        while True:
            ended = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s",
                [self.login.name],
            ).fetchall()
            if not ended:
                return
            if time.monotonic() > deadline:
                raise InfrastructureDown(
                    f"{len(ended)} sessions of {self.login.name} are still there {_CUT_SECONDS:.0f} s after they "
                    "were ended"
                )
            time.sleep(0.001)

    def read_changes(self, *, audit: bool) -> StateDiff:
        try:
            with self._lock, self._snapshot() as judge, self.template.reading() as before:
                if not self._fast:
                    return self._full(judge, before)
                self.written = read_written(judge, self.template.log)
                found = self._quick(judge, before, self.written)
                if audit and not same(found, expected := self._full(judge, before)):
                    raise AuditMismatch(f"fast path: {found}\nfull comparison: {expected}")
                return found
        finally:
            self._on_read()

    @contextmanager
    def _snapshot(self) -> Iterator[AdminConnection]:
        """A connection to the final state in which nothing changes any more, closed afterwards."""
        self._check_cut()
        with self._reaching(), self._connect() as judge:
            judge.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield judge
            judge.execute("ROLLBACK")

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except psycopg.OperationalError as error:
            if not is_outage(error):
                raise
            raise InfrastructureDown(f"{self.database} cannot be reached: {error}") from error

    def _connect(self) -> AdminConnection:
        connection = self._server.connect(self.database)
        values.set_up(connection)
        self.template.read(connection)
        return connection

    def _quick(self, judge: AdminConnection, before: AdminConnection, written: Written) -> StateDiff:
        """Only what the log names; whole tables, or everything, where it proves nothing."""
        template = self.template
        if not written.trusted or template.large_objects or has_large_objects(judge):
            return self._full(judge, before)
        reference = template.catalog
        objects = read_objects(judge) if written.altered else reference.objects
        tables = reference.tables if objects == reference.objects else read_tables(judge)
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
                    rows_at(before, logged, keys, columns),
                    rows_at(judge, logged, keys, columns),
                    comparison.info,
                )
        if whole:
            changes += self._compared(judge, before, whole)
        order = {name: place for place, name in enumerate(reference.tables)}
        return StateDiff(
            rows=tuple(sorted(changes, key=lambda change: order[change.table])),
            schema=schema_deltas(reference.objects, objects),
        )

    def _full(self, judge: AdminConnection, before: AdminConnection) -> StateDiff:
        reference = self.template.catalog
        objects = read_objects(judge)
        tables = reference.tables if objects == reference.objects else read_tables(judge)
        comparisons = [
            self.template.comparison(table, tables[name])
            for name, table in reference.tables.items()
            if name in tables
        ]
        rows = self._compared(judge, before, comparisons)
        return StateDiff(rows=tuple(rows), schema=schema_deltas(reference.objects, objects))

    def _compared(
        self, judge: AdminConnection, before: AdminConnection, comparisons: list[Comparison]
    ) -> list[RowChange]:
        known = self.template.buckets(one.table.info.name for one in comparisons)
        return full_changes(self.template.hashing, comparisons, before=before, after=judge, known=known)

    def rebuild(self, diff: StateDiff) -> None:
        with self._lock, self._reaching(), self._connect() as connection:
            rebuild(connection, self.template.catalog.tables, diff)

    def keep(self, path: Path) -> Path:
        """As SQL that a seed can be loaded from."""
        written = path.with_name(f"{path.name}.sql")
        with self._lock:
            self._check_cut()
            self.written = None  # without its log it is not lent again
            with self._server.connect(self.database) as connection:
                connection.execute("SET lock_timeout = '10s'")
                remove_log(connection)
            with whole(written) as part:
                run_pg_dump(part, self._server.url.set(database=self.database))
        return written

    def rows(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        with self._lock, self._reaching():
            self._check_cut()
            if self._judge is None or self._judge.closed:
                self._judge = self._connect()
            return read_rows(self._judge, table, where)

    def _check_cut(self) -> None:
        if self._released:
            raise RuntimeError("this database was given back: nothing can be read from it any more")
        if not self._cut:
            raise RuntimeError("the final state can be read only after cut()")

    def connect_after(self) -> Connection:
        with self._lock:
            self._check_cut()
            return self._open(self.database)

    def connect_before(self) -> Connection:
        return self._open(self.template.reference)

    def _open(self, database: str) -> Connection:
        with self._server.admin() as admin:
            admin.execute(
                sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(
                    sql.Identifier(database), sql.Identifier(self._reader.name)
                )
            )
        url = self._server.url_of(database, user=self._reader.name, password=self._reader.password)
        return self._read_only.engine(url).connect()

    def alive(self) -> bool:
        return self._server.alive()

    def blames(self, error: BaseException, *, connecting: bool, lost: bool) -> bool:
        if lost or not isinstance(error, psycopg.OperationalError):  # other drivers are not known here
            return (lost or connecting) and not self.alive()
        if connecting or error.pgconn is not None:
            return not (self.alive() and self._locked_itself_out())
        if error.sqlstate in _NO_DISK:  # which a function that the agent writes can also raise
            return error.diag.source_function != "exec_stmt_raise"
        return is_outage(error) and not self.alive()

    def _locked_itself_out(self) -> bool:
        try:
            with self._server.admin() as connection:
                return is_locked_out(connection, self.login, database=self.database)
        except InfrastructureDown:
            return False

    def release(self) -> None:
        with self._lock:
            if self._released:
                return
            self._released = True
            self._gate.shut = True
            if "engine" in vars(self):
                self.engine.pool.dispose()
            self._gate.close()
            if self._judge is not None:
                self._judge.close()
        self._on_read()
        self._on_release(self)

    def drop_role(self, server: PostgresServer) -> None:
        with server.admin() as connection:
            drop_attempt_role(connection, name=self.login.name, database=self.database)

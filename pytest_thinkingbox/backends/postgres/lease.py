"""One attempt's database from acquire to release."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection, Engine

from pytest_thinkingbox.backends.postgres import values
from pytest_thinkingbox.backends.postgres.distrust import Distrustful, prevented
from pytest_thinkingbox.backends.postgres.engines import Engines, Gate, ReadOnly
from pytest_thinkingbox.backends.postgres.idle import answers
from pytest_thinkingbox.backends.postgres.log import Written, read_written
from pytest_thinkingbox.backends.postgres.log import remove as remove_log
from pytest_thinkingbox.backends.postgres.programs import run_pg_dump
from pytest_thinkingbox.backends.postgres.reading import AdminConnection, FinalState
from pytest_thinkingbox.backends.postgres.rebuild import rebuild
from pytest_thinkingbox.backends.postgres.roles import (
    Login,
    drop_attempt_role,
    let_connect,
    loads_libraries,
    may_log_in,
)
from pytest_thinkingbox.backends.postgres.rows import read_rows
from pytest_thinkingbox.backends.postgres.server import PostgresServer, is_outage
from pytest_thinkingbox.backends.postgres.template import Template
from pytest_thinkingbox.errors import InfrastructureDown, UnreadableState
from pytest_thinkingbox.state.model import StateDiff
from pytest_thinkingbox.whole import whole

_CUT_SECONDS = 10.0
_LOCK_SECONDS = 10.0
"""That readers wait for a lock where a session of the agent is left behind: it may hold it for as long as it likes."""
_IN_THE_WAY = (
    psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected, psycopg.errors.OutOfMemory,
    psycopg.errors.InternalError_,
)  # fmt: skip
"""What an agent's session may cause until it has ended; the last is "tuple concurrently updated"."""

_NO_DISK = ("53100", "58030")
"""disk_full, io_error"""


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
        own_reader: Login | None,
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
        self._own_reader = own_reader
        self._engines = engines
        self._read_only = read_only
        self._fast = fast
        self.written: Written | None = None
        """What the log said when it was read."""
        self.stuck = False
        """Whether a session of the agent could not be ended."""
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
            if self._server.prepares:
                self._undo_prepared()
            self._cut = True

    def _end_sessions(self, connection: AdminConnection) -> None:
        """A session that is inside of a function which nothing interrupts stays behind. It can write no more: before it
        commits it would have to come out."""
        deadline = time.monotonic() + _CUT_SECONDS
        shut_out = False
        while True:
            ended = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s",
                [self.login.name],
            ).fetchall()
            if shut_out and not ended:
                return
            if time.monotonic() > deadline:
                if not shut_out:
                    raise InfrastructureDown(f"{self.login.name} cannot be kept from connecting")
                self.stuck = True
                return
            if not shut_out:
                shut_out = self._shut_out(connection)
            else:
                time.sleep(0.001)

    def _shut_out(self, connection: AdminConnection) -> bool:
        """Whether the role can connect no more. A session of the agent can hold the lock that this needs."""
        try:
            with connection.transaction():
                connection.execute("SET LOCAL lock_timeout = '100ms'")
                connection.execute(sql.SQL("ALTER ROLE {} NOLOGIN").format(sql.Identifier(self.login.name)))
        except _IN_THE_WAY:
            return False
        return True

    def _undo_prepared(self) -> None:
        """Transactions that wait for their second phase: they would keep locks, and commit after the verdict."""
        with self._reaching(), self._connect() as connection:
            for (name,) in connection.execute(
                "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"
            ).fetchall():
                connection.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(name)))

    def read_changes(self, *, audit: bool) -> StateDiff:
        try:
            with self._lock, self._snapshot() as state:
                self.written = None
                try:
                    if self._fast:
                        self.written = read_written(state.judge, self.template.log)
                    return state.changes(self.written, audit=audit)
                except psycopg.Error as error:
                    if not self._prevented(state.rows, error):
                        raise
                    return state.unreadable(error)
        finally:
            self._on_read()

    @contextmanager
    def _snapshot(self) -> Iterator[FinalState]:
        """The final state, in which nothing changes any more; its connections are closed afterwards."""
        self._check_cut()
        with self._reaching(), ExitStack() as stack:
            before = stack.enter_context(self.template.reading())
            judge = stack.enter_context(closing(self._connect()))
            judge.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            rows = judge
            if self._own_reader is not None:
                exported = judge.execute("SELECT pg_export_snapshot()").fetchone()
                assert exported is not None
                rows = stack.enter_context(closing(self._connect_to_read()))
                rows.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                rows.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(exported[0])))
            yield FinalState(template=self.template, judge=judge, rows=rows, before=before)

    def _connect_to_read(self) -> AdminConnection:
        """As whoever may read rows that an agent with DDL left, and do nothing else."""
        if self._own_reader is None:
            return self._connect()
        url = self._server.url_of(
            self.database, user=self._own_reader.name, password=self._own_reader.password
        )
        arguments: dict[str, Any] = {
            "host": url.host, "port": url.port, "user": url.username, "password": url.password,
            "dbname": url.database, **url.query,
        }  # fmt: skip
        connection = Distrustful.connect(autocommit=True, **arguments)
        connection.end = self._server.end
        self._set_up(connection)
        return connection

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
        self._set_up(connection)
        return connection

    def _set_up(self, connection: AdminConnection) -> None:
        values.set_up(connection)
        self.template.read(connection)
        if self.stuck:
            self._wait_no_longer(connection)

    @staticmethod
    def _wait_no_longer(connection: AdminConnection) -> None:
        connection.execute(f"SET lock_timeout = '{int(_LOCK_SECONDS * 1000)}ms'")

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
            if self._judge is not None and not answers(self._judge):
                self._judge.close()
                self._judge = None
            if self._judge is None:
                self._judge = self._connect_to_read()
            try:
                return read_rows(self._judge, table, where)
            except psycopg.Error as error:
                if not self._prevented(self._judge, error):
                    raise
                raise UnreadableState(prevented(error)) from error

    def _check_cut(self) -> None:
        if self._released:
            raise RuntimeError("this database was given back: nothing can be read from it any more")
        if not self._cut:
            raise RuntimeError("the final state can be read only after cut()")

    def connect_after(self) -> Connection:
        with self._lock:
            self._check_cut()
            connection = self._open(self.database, self._own_reader or self._reader)
            if self.stuck:
                driver = connection.connection.driver_connection
                assert driver is not None
                self._wait_no_longer(driver)
            return connection

    def connect_before(self) -> Connection:
        with self._server.admin() as admin:
            let_connect(admin, self._reader, database=self.template.reference)
        return self._open(self.template.reference, self._reader)

    def _open(self, database: str, reader: Login) -> Connection:
        url = self._server.url_of(database, user=reader.name, password=reader.password)
        end = self._server.end if reader is self._own_reader else None
        return self._read_only.engine(url, end=end).connect()

    def alive(self) -> bool:
        return self._server.alive()

    def blames(self, error: BaseException, *, connecting: bool, lost: bool) -> bool:
        if lost or not isinstance(error, psycopg.OperationalError):  # other drivers are not known here
            return (lost or connecting) and not self.alive()
        if connecting or error.pgconn is not None:
            return not (self.alive() and self._locked_itself_out(str(error)))
        if error.sqlstate in _NO_DISK:  # which a function that the agent writes can also raise
            return error.diag.source_function != "exec_stmt_raise"
        return is_outage(error) and not self.alive()

    def _prevented(self, reader: AdminConnection, error: psycopg.Error) -> bool:
        """Whether it is the agent's doing that a reader failed so: only this one runs what an agent defined, and nobody
        but a session that is left behind holds locks."""
        if self.stuck and isinstance(error, psycopg.errors.LockNotAvailable):
            return True
        if not isinstance(reader, Distrustful) or error is not reader.prevented:
            return False
        return self.alive() and not self.blames(error, connecting=False, lost=False)

    def _locked_itself_out(self, said: str) -> bool:
        """By its password and its number of sessions, of which the server speaks with the role's name, or by a setting
        with which no session can begin. Not where somebody took its right to log in, or shut it out with pg_hba.conf,
        of which the server speaks with the name of the database too."""
        named = self.login.name in said
        if named and (self._gate.shut or self.database in said):
            return self._gate.shut
        try:
            with self._server.admin() as connection:
                return (
                    may_log_in(connection, self.login) if named else loads_libraries(connection, self.login)
                )
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

    def drop_roles(self, server: PostgresServer) -> None:
        """Those that only this attempt had."""
        with server.admin() as connection:
            for login in filter(None, (self.login, self._own_reader)):
                drop_attempt_role(connection, name=login.name, database=self.database)

"""One server as its administrator sees it: connections, what it can do, the removal of what campaigns left behind."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from pytest_thinkingbox.backends.postgres.roles import agents_of
from pytest_thinkingbox.backends.server.names import Campaign, campaign_of
from pytest_thinkingbox.backends.server.probe import Probe
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown

Connection = psycopg.Connection[Any]

_OLDEST = 140000  # pg_read_all_data, DROP DATABASE ... WITH (FORCE)
_CONNECT_SECONDS = 10
_DROP_SECONDS = 30.0
"""From PostgreSQL 15 on every session of the server is waited for before a database goes, and one can be in a function
that nothing interrupts."""


class PostgresServer:
    """An administrator's connections to one server, and the campaign's lock on it.

    The lock is a session's: it ends with the process, however that ends. Whoever finds names of a campaign that
    nobody holds the lock of may remove them.
    """

    def __init__(self, url: str, *, campaign: Campaign) -> None:
        self.url = _checked(url)
        self.campaign = campaign
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False
        self._probe = Probe(lambda: self._keeper.execute("SELECT 1"), refused=psycopg.Error)
        try:
            self._keeper = self.connect()
        except psycopg.OperationalError as error:
            raise ConfigurationError(
                f"--tb-backend={self.shown}: nobody answers there: {_first_line(error)}"
            ) from error
        try:
            self._begin()
        except BaseException:
            self._keeper.close()
            raise

    def _begin(self) -> None:
        self._keeper.execute("SELECT pg_advisory_lock_shared(%s)", [self.campaign.lock])
        self.version = self._keeper.info.server_version
        self._check()
        setting = self._settings(
            "fsync", "max_connections", "superuser_reserved_connections", "file_copy_method",
            "max_prepared_transactions",
        )  # fmt: skip
        self.prepares = setting["max_prepared_transactions"] != "0"
        self.fsync = setting["fsync"] == "on"
        self.room = int(setting["max_connections"]) - int(setting["superuser_reserved_connections"])
        self.shares_files = "file_copy_method" in setting and self._can_share_files()

    @property
    def shown(self) -> str:
        """Its URL without the password."""
        return self.url.render_as_string(hide_password=True)

    def _check(self) -> None:
        if self.version < _OLDEST:
            raise ConfigurationError(
                f"--tb-backend={self.shown}: PostgreSQL {self.version // 10000} is too old; 14 is the oldest"
            )
        row = self._keeper.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
        if row is None or not row[0]:
            raise ConfigurationError(
                f"--tb-backend={self.shown}: {self.url.username} is no superuser. Templates, roles and the log of "
                "changes need one; use a server for tests, not one that others depend on"
            )

    def _settings(self, *names: str) -> dict[str, str]:
        found = self._keeper.execute(
            "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(names)]
        )
        return dict(found.fetchall())

    def connect(self, database: str | None = None, *, role: str | None = None) -> Connection:
        """A new connection as the administrator, or with the rights of `role`, in AUTOCOMMIT."""
        parts: dict[str, Any] = dict(self.url.query)
        parts["connect_timeout"] = _CONNECT_SECONDS
        parts["application_name"] = f"thinkingbox {self.campaign.part}"
        parts["options"] = f"-c role={role}" if role else "-c statement_timeout=0"
        conninfo = make_conninfo(
            "",
            host=self.url.host,
            port=self.url.port,
            user=self.url.username,
            password=None if self.url.password is None else str(self.url.password),
            dbname=database or self.database,
            **parts,
        )
        return psycopg.connect(conninfo, autocommit=True)

    @property
    def database(self) -> str:
        """Where administration happens."""
        return self.url.database or "postgres"

    def url_of(self, database: str, *, user: str, password: str) -> URL:
        """The URL of a database on this server for another role."""
        return self.url.set(username=user, password=password, database=database)

    @contextmanager
    def admin(self) -> Iterator[Connection]:
        """A connection to the maintenance database; one that still works goes back for the next."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None:
                connection = self.connect()
            yield connection
        except psycopg.OperationalError as error:
            raise InfrastructureDown(f"the database server: {_first_line(error)}") from error
        finally:
            if connection is not None:
                with self._lock:
                    keep = not self._closed and not connection.closed
                    if keep:
                        self._idle.append(connection)
                if not keep:
                    connection.close()

    def free_bytes(self) -> int | None:
        """What is free where the server keeps its files; None when it cannot say."""
        try:
            with self.connect() as connection:
                connection.execute("CREATE TEMPORARY TABLE free (line text)")
                connection.execute("COPY free FROM PROGRAM 'df -Pk .'")
                row = connection.execute("SELECT line FROM free OFFSET 1").fetchone()
            return int(row[0].split()[3]) * 1024 if row is not None else None
        except (psycopg.Error, ValueError, IndexError):  # no such program, or it is forbidden
            return None

    def _can_share_files(self) -> bool:
        """Asked of the file system: where it cannot share, `file_copy_method = clone` may copy and say nothing."""
        copy = f"thinkingbox_{secrets.token_hex(4)}"
        script = f"cp --reflink=always PG_VERSION {copy}; status=$?; rm -f {copy}; exit $status"
        try:
            self._keeper.execute(sql.SQL("COPY (SELECT) TO PROGRAM {}").format(sql.Literal(script)))
        except psycopg.Error:  # no such program, or it is forbidden
            return False
        return True

    def execute(self, statement: sql.Composed) -> None:
        with self.admin() as connection:
            connection.execute(statement)

    def clone(self, template: str, name: str) -> None:
        """A new database that holds what the template holds, in which nobody but the administrator may do anything."""
        # Copying files makes the server write out everything twice, which costs nothing where nothing is synced.
        strategy = "FILE_COPY" if not self.fsync or self.shares_files else "WAL_LOG"
        options = f" STRATEGY {strategy}" if self.version >= 150000 else ""
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}" + options).format(
            sql.Identifier(name), sql.Identifier(template)
        )
        with self.admin() as connection:
            if not (self.shares_files and self._share(connection, create)):
                connection.execute(create)
            connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))

    def _share(self, connection: Connection, create: sql.Composed) -> bool:
        """Whether the clone was made of shared files (PostgreSQL 18); that a file system cannot is found out once."""
        try:
            connection.execute("SET file_copy_method = clone")
            connection.execute(create)
        except (psycopg.errors.InternalError_, psycopg.errors.IoError, psycopg.errors.InvalidParameterValue):
            self.shares_files = False
            connection.execute("RESET file_copy_method")
        return self.shares_files

    def drop(self, name: str) -> None:
        """Drop a database and whoever is connected to it."""
        with self.admin() as connection:
            _drop(connection, name)

    def end(self, session: int) -> None:
        """End a session, as far as the server heeds that."""
        with suppress(InfrastructureDown), self.admin() as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", [session])

    def alive(self) -> bool:
        """Whether the session that was opened first still answers: a server that ended all sessions is not alive."""
        return self._probe()

    def sweep(self) -> list[str]:
        """Remove what campaigns left behind of which no process lives. Returns the names of their databases."""
        removed: list[str] = []
        with self.admin() as connection:
            names = _names(connection)
            for campaign in {found for name in names if (found := campaign_of(name)) is not None}:
                # A name alone proves nothing: somebody's database may be called tb_sales_t_2024.
                if campaign != self.campaign and agents_of(campaign) in names:
                    removed += _remove_dead(connection, campaign)
        return removed

    def let_go(self) -> None:
        """Let go of the campaign, and of all connections. Safe to call twice."""
        with suppress(psycopg.Error):  # at once, not when the server notices that the session has ended
            self._keeper.execute("SELECT pg_advisory_unlock_shared(%s)", [self.campaign.lock])
        self.abandon()

    def abandon(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in [*idle, self._keeper]:
            connection.close()

    def close(self) -> None:
        """Let go; the last of the campaign's processes removes everything that is called by its name."""
        with self._lock:
            if self._closed:
                return
        self.let_go()
        with suppress(psycopg.OperationalError), self.connect() as connection:
            _remove_dead(connection, self.campaign)


def is_outage(error: psycopg.Error) -> bool:
    """Whether the server is to blame: a connection that fails or ends (without a code, or 08, 57P, 58), or no memory,
    disk or connection (53). A statement that was canceled, locked out or too large is somebody else's."""
    return isinstance(error, psycopg.OperationalError) and (
        error.sqlstate is None or error.sqlstate.startswith(("08", "53", "57P", "58"))
    )


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # Neither what was given nor what the parser says of it: a password may be in both.
        raise ConfigurationError(
            "--tb-backend is no URL; write it as postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE"
        ) from None
    if parsed.drivername != "postgresql+psycopg":
        raise ConfigurationError(
            f"--tb-backend={parsed.render_as_string(hide_password=True)}: write it as "
            "postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE"
        )
    return parsed


def _names(connection: Connection) -> list[str]:
    found = connection.execute(
        r"SELECT datname FROM pg_database WHERE datname LIKE 'tb\_%'"
        r" UNION SELECT rolname FROM pg_roles WHERE rolname LIKE 'tb\_%'"
    )
    return [name for (name,) in found.fetchall()]


def _remove_dead(connection: Connection, campaign: Campaign) -> list[str]:
    """What a campaign left of which no process lives, unless somebody else is about to remove it. None of its processes
    begins meanwhile."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", [campaign.lock]).fetchone()
    if row is None or not row[0]:
        return []
    try:
        return [] if _is_held(connection, campaign) else _remove(connection, campaign)
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s)", [campaign.lock])


def _is_held(connection: Connection, campaign: Campaign) -> bool:
    """Whether somebody else holds the campaign's lock, in whatever database of the server."""
    row = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
        " AND pid <> pg_backend_pid() AND (classid::bigint << 32 | objid::bigint) = %s)",
        [campaign.lock],
    ).fetchone()
    return row is not None and bool(row[0])


def _drop(connection: Connection, name: str) -> None:
    """Raises ObjectInUse or QueryCanceled where a session does not end."""
    connection.execute(f"SET statement_timeout = '{int(_DROP_SECONDS * 1000)}ms'")
    try:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
    finally:
        if not connection.closed:
            connection.execute("SET statement_timeout = 0")


def _remove(connection: Connection, campaign: Campaign) -> list[str]:
    """Databases first, then the roles that owned what was in them; last of all what says that they are ours. What a
    session keeps that does not end is left to whoever comes next."""
    mine = [name for name in _names(connection) if campaign_of(name) == campaign]
    databases = {name for (name,) in connection.execute("SELECT datname FROM pg_database").fetchall()}
    removed = []
    kept = False
    for name in mine:
        if name in databases:
            try:
                _drop(connection, name)
            except psycopg.errors.ObjectInUse:
                kept = True
            except psycopg.errors.QueryCanceled:  # every other one would wait as long
                kept = True
                break
            else:
                removed.append(name)
    mark = agents_of(campaign)
    for name in sorted((name for name in mine if name not in databases), key=lambda name: name == mark):
        if name == mark and kept:
            break
        try:
            connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(name)))
        except psycopg.errors.DependentObjectsStillExist:
            kept = True
    return removed


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)

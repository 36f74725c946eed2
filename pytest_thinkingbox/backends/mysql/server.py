"""One server as its administrator sees it: connections, what it can do, the removal of what campaigns left behind."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pymysql
from pymysql.constants import ER
from pymysql.err import MySQLError
from sqlalchemy import URL, make_url
from sqlalchemy.dialects.mysql.pymysql import MySQLDialect_pymysql
from sqlalchemy.exc import ArgumentError

from pytest_thinkingbox.backends.mysql import sql
from pytest_thinkingbox.backends.mysql.prepared import end_orphans
from pytest_thinkingbox.backends.mysql.sql import Connection, query
from pytest_thinkingbox.backends.server.names import Campaign, campaign_of, token_of
from pytest_thinkingbox.backends.server.probe import Probe
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown

_CONNECT_SECONDS = 10
_LOCK_SECONDS = 600
_END_SECONDS = 5
"""For another process of the campaign that ends at the same time."""
WAIT_SECONDS = 5
"""For what a session of an attempt holds. One that does not end keeps its database, not who wants to drop it."""
_OLDEST = {"MariaDB": (10, 6), "MySQL": (8, 0)}
READ_SECONDS = 300
"""For one statement that reads what an agent may have defined."""
_LONGEST_PART = 20
"""Names of users are at most 32 characters in MySQL."""
_READ_ONLY = 3989  # ER_SCHEMA_READ_ONLY, which PyMySQL does not name


def campaign_named(label: str) -> Campaign:
    """The campaign's part of names, short enough for a user's name."""
    plain = Campaign.of(label.replace("-", "").replace("_", "")).part
    if len(plain) > _LONGEST_PART or len(label) > _LONGEST_PART + 4:
        plain = plain[: _LONGEST_PART - 12] + token_of(label)
    return Campaign(plain)


_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class MySQLServer:
    """An administrator's connections to one server, and the campaign's presence on it.

    A campaign lives while some session's default database is the campaign's own small one, which nobody but an
    administrator can enter. Sessions end with their process, however that ends; whoever finds names of a campaign
    that nobody is in may remove them.
    """

    def __init__(self, url: str, *, campaign: Campaign) -> None:
        self.url = _checked(url)
        self.campaign = campaign
        self.home = _home(campaign)
        self._lock = threading.Lock()
        self._ending = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False
        self._suspects: dict[str, frozenset[str]] = {}
        self._probe = Probe(lambda: query(self._keeper, "SELECT 1"), refused=MySQLError)
        try:
            self._keeper = self.connect()
        except (*sql.LOST, RuntimeError) as error:
            raise ConfigurationError(
                f"--tb-backend={self.shown}: nobody answers there: {sql.first_line(error)}"
            ) from error
        try:
            self._begin()
        except BaseException:
            shut(self._keeper)
            raise

    def _begin(self) -> None:
        self.kind, self.version = self._check()
        with self._alone(self._keeper, self.campaign, seconds=_LOCK_SECONDS) as alone:
            if not alone:
                raise InfrastructureDown(f"{self.home} is not free after {_LOCK_SECONDS} s")
            query(self._keeper, f"CREATE DATABASE IF NOT EXISTS {sql.name(self.home)}")
            self._keeper.select_db(self.home)
            query(self._keeper, "CREATE TABLE IF NOT EXISTS templates (name VARCHAR(64) PRIMARY KEY)")
        self.room = int(query(self._keeper, "SELECT @@GLOBAL.max_connections")[0][0])

    @property
    def shown(self) -> str:
        """Its URL without the password."""
        return self.url.render_as_string(hide_password=True)

    def _check(self) -> tuple[str, str]:
        said = str(query(self._keeper, "SELECT VERSION()")[0][0])
        kind = "MariaDB" if "mariadb" in said.lower() else "MySQL"
        found = re.match(r"(\d+)\.(\d+)", said)
        oldest = _OLDEST[kind]
        if found is None or (int(found[1]), int(found[2])) < oldest:
            raise ConfigurationError(
                f"--tb-backend={self.shown}: {kind} {said} is too old; {oldest[0]}.{oldest[1]} is the oldest"
            )
        try:
            open_to_all = query(self._keeper, "SELECT Db FROM mysql.db WHERE User = ''")
            query(self._keeper, "SELECT 1 FROM mysql.user LIMIT 1")
        except MySQLError as error:
            raise ConfigurationError(
                f"--tb-backend={self.shown}: {self.url.username} is no administrator ({sql.first_line(error)}). "
                "Databases and users of attempts need one; use a server for tests, not one that others depend on"
            ) from error
        if open_to_all:
            shared = ", ".join(str(db) for (db,) in open_to_all)
            raise ConfigurationError(
                f"--tb-backend={self.shown}: every user may write to the databases {shared}, so attempts would share "
                "them: DELETE FROM mysql.db WHERE User = ''; FLUSH PRIVILEGES"
            )
        return kind, said

    def connect(self, database: str | None = None, *, seconds: float | None = None) -> Connection:
        """A new connection as the administrator, in AUTOCOMMIT and in UTC, which the server keeps while it is idle.

        It is lost when a statement takes longer than `seconds`: not every one heeds a limit of the server's.
        """
        return open_connection(
            self.url.set(database=database),
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=seconds,
            init_command=(
                "SET SESSION time_zone = '+00:00', wait_timeout = 2000000, lock_wait_timeout = "
                f"{WAIT_SECONDS}"
            ),
        )

    def url_of(self, database: str, *, user: str, password: str) -> URL:
        """The URL of a database on this server for another user."""
        return self.url.set(username=user, password=password, database=database)

    @contextmanager
    def admin(self) -> Iterator[Connection]:
        """A connection in no database; one that still works goes back for the next."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        works = False
        try:
            if connection is None:
                connection = self.connect()
            yield connection
            works = True
        except sql.LOST as error:
            raise InfrastructureDown(f"the database server: {sql.first_line(error)}") from error
        finally:
            if connection is not None:
                with self._lock:
                    keep = works and not self._closed and connection.open
                    if keep:
                        self._idle.append(connection)
                if not keep:
                    shut(connection)

    def execute(self, statement: str) -> None:
        with self.admin() as connection:
            query(connection, statement)

    @contextmanager
    def locked(self, what: str) -> Iterator[Connection]:
        """Alone among the campaign's processes."""
        lock = self._lock_name(self.campaign, what)
        connection = self.connect()
        try:
            if query(connection, f"SELECT GET_LOCK({lock}, {_LOCK_SECONDS})") != [(1,)]:
                raise InfrastructureDown(f"{what} is not ready after {_LOCK_SECONDS} s")
            yield connection
        finally:
            shut(connection)

    @contextmanager
    def _alone(self, connection: Connection, campaign: Campaign, *, seconds: int) -> Iterator[bool]:
        """Whether this session begins or removes the campaign alone: between the first step and the last of either,
        one looks like the other."""
        lock = self._lock_name(campaign, "life")
        alone = query(connection, f"SELECT GET_LOCK({lock}, {seconds})") == [(1,)]
        try:
            yield alone
        finally:
            if alone and connection.open:
                query(connection, f"SELECT RELEASE_LOCK({lock})")

    def _lock_name(self, campaign: Campaign, what: str) -> str:
        """Agents cannot know it."""
        return sql.text(f"tb_{token_of(str(self.url.password), campaign.part, what)}")

    def _remove_dead(self, connection: Connection, campaign: Campaign, *, seconds: int = 0) -> list[str]:
        """What a campaign left of which no process lives, unless somebody else is about to remove it and does not end
        within so many seconds."""
        with self._alone(connection, campaign, seconds=seconds) as alone:
            return (
                _remove(connection, campaign, self.kind)
                if alone and not _is_held(connection, campaign)
                else []
            )

    def is_finished(self, connection: Connection, name: str) -> bool:
        """Whether a process of the campaign has made this template."""
        return bool(
            query(connection, f"SELECT 1 FROM {sql.name(self.home)}.templates WHERE name = {sql.text(name)}")
        )

    def finish(self, connection: Connection, name: str) -> None:
        query(connection, f"INSERT INTO {sql.name(self.home)}.templates VALUES ({sql.text(name)})")

    def drop(self, name: str) -> None:
        with self.admin() as connection:
            _drop(connection, name)

    def remove(self, *, users: Iterable[str | None], database: str) -> None:
        """Drop users, end their sessions, and drop the database that they used."""
        with self.admin() as connection:
            for user in filter(None, users):
                query(connection, f"DROP USER IF EXISTS {sql.account(user)}")
                for session in sessions_of(connection, user):
                    _end(connection, session)
            _drop(connection, database)

    def end_sessions(self, user: str, *, seconds: float) -> None:
        """Return when no session of a user is left, or `seconds` later.

        One may hang in a function that does not heed its end, or still undo what it wrote: it commits nothing more.
        """
        with self.admin() as connection:
            deadline = time.monotonic() + seconds
            while left := sessions_of(connection, user):
                for session in left:
                    _end(connection, session)
                if time.monotonic() > deadline:
                    return
                time.sleep(0.001)

    def leave(self, connection: Connection) -> None:
        """Close a connection. What it waited for in vain is ended, as far as the server heeds that."""
        if connection.open:
            connection.close()
            return
        if self.alive():
            with suppress(InfrastructureDown, MySQLError), self.admin() as other:
                _end(other, connection.thread_id())

    def end_orphans(self) -> None:
        """Undo prepared XA transactions whose session has ended: they would keep locks for ever, and whoever knows
        their names could commit them. One whose session lives cannot be undone from here, and need not be.

        No server says who prepared one, or which tables it wrote. It may be that of an attempt that goes on, and
        commits it in another session. So it stays until all attempts have ended that were there when it was first
        seen: who reads what an attempt left does not see what was not committed, nor waits for it.
        """
        with self.admin() as connection, self._ending:
            self._suspects = end_orphans(connection, self.kind, self._suspects)

    def alive(self) -> bool:
        """Whether the session that was opened first still answers: a server that ended all sessions is not alive."""
        return self._probe()

    def lets_in(self, database: str) -> bool:
        """Whether the administrator can open a connection to a database now; to none where its agent dropped it."""
        return Probe(lambda: self._enter(database), refused=MySQLError)()

    def _enter(self, database: str) -> None:
        try:
            shut(self.connect(database))
        except MySQLError as error:
            if error.args[0] != ER.BAD_DB_ERROR:
                raise
            shut(self.connect())

    def has_room(self) -> bool:
        """Whether the server can still write a mebibyte."""
        return Probe(self._write, refused=MySQLError)()

    def _write(self) -> None:
        name = sql.name(self.home, f"room_{secrets.token_hex(4)}")
        connection = self.connect()
        try:
            query(connection, f"CREATE TABLE {name} (filler LONGBLOB)")
            try:
                query(connection, f"INSERT INTO {name} VALUES (REPEAT('x', 1048576))")
            finally:
                query(connection, f"DROP TABLE {name}")
        finally:
            shut(connection)

    def sweep(self) -> list[str]:
        """Remove what campaigns left behind of which no process lives. Returns the names of their databases."""
        removed: list[str] = []
        with self.admin() as connection:
            databases = _databases(connection)
            found = {campaign_of(one) for one in (*databases, *_users(connection))}
            for campaign in found:
                # A name alone proves nothing: somebody's database may be called tb_sales_t_2024.
                ours = campaign is not None and _home(campaign) in databases
                if campaign is not None and ours and campaign != self.campaign:
                    removed += self._remove_dead(connection, campaign)
        return removed

    def let_go(self) -> None:
        """Let go of the campaign, and of all connections. Safe to call twice."""
        with suppress(MySQLError):  # at once, not when the server notices that the session has ended
            self._keeper.select_db("information_schema")
        self.abandon()

    def abandon(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in (*idle, self._keeper):
            shut(connection)

    def close(self) -> None:
        """Let go; the last of the campaign's processes removes everything that is called by its name."""
        with self._lock:
            if self._closed:
                return
        self.let_go()
        with suppress(*sql.LOST):
            connection = self.connect()
            try:
                # Whoever ends at the same time may have looked before this process let go, and removes nothing.
                self._remove_dead(connection, self.campaign, seconds=_END_SECONDS)
            finally:
                shut(connection)


def open_connection(url: URL, **options: Any) -> Connection:
    """With PyMySQL, as SQLAlchemy would open it."""
    _, arguments = MySQLDialect_pymysql(dbapi=pymysql).create_connect_args(url)
    if url.host in _LOOPBACK and not any(option.startswith("ssl") for option in url.query):
        # Unless told otherwise, PyMySQL reads all certificates of the machine for every connection: 40 ms.
        arguments["ssl_disabled"] = True
    return pymysql.connect(**{"charset": "utf8mb4", **arguments, **options})


def shut(connection: Connection) -> None:
    """Close a connection, whatever state it is in."""
    if connection.open:
        connection.close()


def sessions_of(connection: Connection, user: str) -> list[int]:
    found = query(connection, f"SELECT ID FROM information_schema.PROCESSLIST WHERE USER = {sql.text(user)}")
    return [int(session) for (session,) in found]


def _end(connection: Connection, session: int) -> None:
    try:
        query(connection, f"KILL CONNECTION {session}")
    except MySQLError as error:
        if error.args[0] != ER.NO_SUCH_THREAD:  # it has ended meanwhile
            raise


def _drop(connection: Connection, database: str) -> None:
    """Also one that its agent made read-only, as MySQL lets whoever may ALTER it."""
    drop = f"DROP DATABASE IF EXISTS {sql.name(database)}"
    try:
        query(connection, drop)
    except MySQLError as error:
        if error.args[0] != _READ_ONLY:
            raise
        query(connection, f"ALTER DATABASE {sql.name(database)} READ ONLY = 0")
        query(connection, drop)


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # Neither what was given nor what the parser says of it: a password may be in both.
        raise ConfigurationError(
            "--tb-backend is no URL; write it as mysql+pymysql://USER:PASSWORD@HOST:PORT"
        ) from None
    if parsed.drivername not in ("mysql+pymysql", "mariadb+pymysql"):
        raise ConfigurationError(
            f"--tb-backend={parsed.render_as_string(hide_password=True)}: write it as "
            "mysql+pymysql://USER:PASSWORD@HOST:PORT"
        )
    return parsed


def _databases(connection: Connection) -> list[str]:
    return [
        str(one)
        for (one,) in query(connection, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")
        if campaign_of(str(one)) is not None
    ]


def _users(connection: Connection) -> list[str]:
    return [
        str(one)
        for (one,) in query(connection, "SELECT User FROM mysql.user")
        if campaign_of(str(one)) is not None
    ]


def _home(campaign: Campaign) -> str:
    """The first thing that a campaign makes, and the last that is removed of it: without it nothing of its name is
    taken for ours."""
    return campaign.name("r", "home")


def _is_held(connection: Connection, campaign: Campaign) -> bool:
    home = sql.text(_home(campaign))
    return bool(query(connection, f"SELECT 1 FROM information_schema.PROCESSLIST WHERE DB = {home} LIMIT 1"))


def _remove(connection: Connection, campaign: Campaign, kind: str) -> list[str]:
    """Users and their sessions first, for what they hold open keeps databases from being dropped."""
    for user in _users(connection):
        if campaign_of(user) == campaign:
            query(connection, f"DROP USER IF EXISTS {sql.account(user)}")
            for session in sessions_of(connection, user):
                _end(connection, session)
    end_orphans(connection, kind, {})
    removed = []
    home = _home(campaign)
    kept = False
    mine = [one for one in _databases(connection) if campaign_of(one) == campaign]
    for one in sorted(mine, key=lambda name: name == home):
        if one == home and kept:
            break
        try:
            _drop(connection, one)
        except MySQLError as error:
            if error.args[0] != ER.LOCK_WAIT_TIMEOUT:
                raise
            kept = True  # by a session that does not end; whoever comes next drops it
        else:
            removed.append(one)
    return removed

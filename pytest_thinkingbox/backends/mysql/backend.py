"""Templates, and a lease for every attempt, on one MariaDB or MySQL server."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from functools import partial

from pymysql.err import MySQLError
from sqlalchemy.dialects.mysql.pymysql import MySQLDialect_pymysql

from pytest_thinkingbox.backends.mysql import sql
from pytest_thinkingbox.backends.mysql.lease import MySQLLease
from pytest_thinkingbox.backends.mysql.server import MySQLServer, campaign_named
from pytest_thinkingbox.backends.mysql.template import Template, build, copy
from pytest_thinkingbox.backends.mysql.users import create_attempt_user, create_owner, create_reader
from pytest_thinkingbox.backends.server.names import token_of
from pytest_thinkingbox.backends.server.once import once
from pytest_thinkingbox.backends.server.sources import identity
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown

_KEPT_FREE = 12
"""Connections for administration, for checkers, and for a person with a client."""

_Key = tuple[Environment, str | None]


class MySQLBackend:
    """One process of a campaign on the server that `url` names, as an administrator.

    `processes` are those of the campaign that use the server at the same time: its connections are shared among
    them.
    """

    name = "mysql"

    def __init__(
        self, url: str, *, label: str, processes: int = 1, revive: Callable[[], str] | None = None
    ) -> None:
        self._campaign = campaign_named(label)
        self._url = url
        self._revive = revive
        self._processes = processes
        self._own = secrets.token_hex(4)  # in names that no other process of the campaign must share
        self._lock = threading.Lock()
        self._reviving = threading.Lock()
        self._locks: dict[_Key, threading.Lock] = {}
        self._templates: dict[_Key, Template] = {}
        self._leases: set[MySQLLease] = set()
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        """Connect to a server on which nothing of this process is."""
        self._server = MySQLServer(self._url, campaign=self._campaign)
        self._server.sweep()
        with self._server.admin() as connection:
            self._reader = create_reader(connection, self._campaign)
        # An attempt needs two connections at a time: its agent's, and that which reads what it left.
        room = (self._server.room - _KEPT_FREE) // self._processes
        self._places = threading.BoundedSemaphore(max(1, room // 2))

    def _begin_again(self) -> None:
        """After the server ended all sessions: attempts that run are lost, the next ones are not."""
        with self._reviving:
            if self._server.alive():
                return
            if self._revive is not None:
                self._url = self._revive()
            with self._lock:
                self._templates.clear()
                self._leases.clear()
            try:
                self._begin()
            except ConfigurationError as error:
                raise InfrastructureDown(str(error)) from error

    def prepare(self, environment: Environment) -> None:
        self._template(environment, None)

    def acquire(self, environment: Environment, start: StartState | None, *, attempt_id: str) -> MySQLLease:
        if not self._server.alive():
            self._begin_again()
        try:
            template = self._template(environment, start)
            places = self._places
            places.acquire()
            try:
                return self._lease(template, attempt_id, places)
            except BaseException:
                places.release()
                raise
        except sql.LOST as error:
            raise InfrastructureDown(f"no database for {attempt_id}: {sql.first_line(error)}") from error

    def _lease(self, template: Template, attempt_id: str, places: threading.BoundedSemaphore) -> MySQLLease:
        server, campaign = self._server, self._campaign
        database = campaign.name("c", token_of(attempt_id) + secrets.token_hex(3))
        catalog = template.catalog
        with server.admin() as connection:
            owner = create_owner(connection, campaign, database=database).name if catalog.code else None
            copy(server, catalog, template.name, database, owner=owner)
            login = create_attempt_user(
                connection,
                campaign,
                database=database,
                limit_statements=server.kind == "MariaDB",
                ddl=template.ddl,
            )
        lease = MySQLLease(
            server=server,
            template=template,
            database=database,
            login=login,
            owner=owner,
            reader=self._reader,
            on_read=once(places.release),
            on_release=partial(self._ended, server),
        )
        with self._lock:
            self._leases.add(lease)
        return lease

    def seed_hash(self, environment: Environment) -> str:
        return self._template(environment, None).digest()

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            leases = list(self._leases)
        for lease in leases:
            lease.release()
        self._server.close()

    def _ended(self, server: MySQLServer, lease: MySQLLease) -> None:
        """Remove what the attempt had. Of a server that is gone, or was begun again, nothing is left."""
        with self._lock:
            self._leases.discard(lease)
        if not server.alive():
            return
        try:
            server.remove(users=[lease.login.name, lease.owner], database=lease.database)
        except (InfrastructureDown, MySQLError):
            return  # what is left is swept with the campaign

    def _template(self, environment: Environment, start: StartState | None) -> Template:
        """Made by the first who asks while the others wait, in this process and in others of the campaign."""
        key = (environment, start.key if start is not None else None)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            found = self._templates.get(key)
            if found is None:
                found = self._templates[key] = self._build(environment, start)
        return found

    def _build(self, environment: Environment, start: StartState | None) -> Template:
        name = self._campaign.name("t", self._token(environment, start))
        seed = None if start is None else self._template(environment, None)
        build(self._server, environment, start, name=name, seed=seed)
        return Template(self._server, name=name, environment=environment)

    def _token(self, environment: Environment, start: StartState | None) -> str:
        """Equal in all processes of the campaign where they certainly mean the same; else this process's own."""
        database = environment.database
        dialect = MySQLDialect_pymysql()
        parts = [identity(database.schema, dialect), identity(database.seed, dialect)]
        if start is not None:
            parts += [start.key, identity(start.run, dialect)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return token_of(self._own, str(id(environment)), "" if start is None else start.key)
        return token_of(environment.name, str(database.ddl), *known)

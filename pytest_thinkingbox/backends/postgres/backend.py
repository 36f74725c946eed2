"""Templates, and a lease for every attempt, on one PostgreSQL server."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from functools import partial

import psycopg
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from pytest_thinkingbox.backends.postgres.clones import Clones
from pytest_thinkingbox.backends.postgres.engines import Engines, ReadOnly
from pytest_thinkingbox.backends.postgres.lease import PostgresLease
from pytest_thinkingbox.backends.postgres.roles import (
    create_attempt_role,
    create_campaign_roles,
    create_reader,
)
from pytest_thinkingbox.backends.postgres.server import PostgresServer
from pytest_thinkingbox.backends.postgres.template import Template, build
from pytest_thinkingbox.backends.server.names import Campaign, token_of
from pytest_thinkingbox.backends.server.once import once
from pytest_thinkingbox.backends.server.sources import identity
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown

_KEPT_FREE = 12
"""Connections for administration, for checkers, and for a person with psql."""

_Key = tuple[Environment, str | None]


class PostgresBackend:
    """One process of a campaign on the server that `url` names, as a superuser.

    `processes` are those of the campaign that use the server at the same time: its connections are shared among
    them.
    """

    name = "postgres"

    def __init__(
        self,
        url: str,
        *,
        label: str,
        processes: int = 1,
        revive: Callable[[], str] | None = None,
        fast: bool = True,
    ) -> None:
        self._campaign = Campaign.of(label)
        self._url = url
        self._revive = revive
        self._processes = processes
        self._fast = fast
        self._own = secrets.token_hex(4)  # in names that no other process of the campaign must share
        self._lock = threading.Lock()
        self._reviving = threading.Lock()
        self._locks: dict[_Key, threading.Lock] = {}
        self._templates: dict[_Key, Template] = {}
        self._leases: set[PostgresLease] = set()
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        """Connect to a server on which nothing of this process is."""
        self._server = PostgresServer(self._url, campaign=self._campaign)
        self._server.sweep()
        with self._server.admin() as connection:
            create_campaign_roles(connection, self._campaign)
            self._reader = create_reader(connection, self._campaign)
        self._engines = Engines(autocommit=False)
        self._read_only = ReadOnly()
        self._clones = Clones(self._server)
        self._begin_places()

    def _begin_places(self) -> None:
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
                templates = list(self._templates.values())
                self._templates.clear()
                self._leases.clear()
            self._clones.close(wait=False)
            for template in templates:
                template.close()
            try:
                self._begin()
            except ConfigurationError as error:
                raise InfrastructureDown(str(error)) from error

    def prepare(self, environment: Environment) -> None:
        self._template(environment, None)

    def acquire(
        self, environment: Environment, start: StartState | None, *, attempt_id: str
    ) -> PostgresLease:
        if not self._server.alive():
            self._begin_again()
        try:
            return self._acquire(environment, start, attempt_id=attempt_id)
        except psycopg.OperationalError as error:
            raise InfrastructureDown(f"no database for {attempt_id}: {error}") from error

    def _acquire(
        self, environment: Environment, start: StartState | None, *, attempt_id: str
    ) -> PostgresLease:
        template = self._template(environment, start)
        places = self._places
        places.acquire()
        try:
            return self._lease(template, attempt_id, places)
        except BaseException:
            places.release()
            raise

    def _lease(
        self, template: Template, attempt_id: str, places: threading.BoundedSemaphore
    ) -> PostgresLease:
        database = self._clones.take(template)
        with self._server.admin() as connection:
            login = create_attempt_role(
                connection,
                self._campaign,
                name=self._campaign.name("a", token_of(attempt_id) + secrets.token_hex(3)),
                database=database,
                ddl=template.ddl,
            )
        lease = PostgresLease(
            server=self._server,
            template=template,
            database=database,
            login=login,
            reader=self._reader,
            engines=self._engines,
            read_only=self._read_only,
            fast=self._fast,
            on_read=once(places.release),
            on_release=partial(self._ended, self._clones),
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
        self._clones.close()
        for template in self._templates.values():
            template.close()
        self._server.close()

    def _ended(self, clones: Clones, lease: PostgresLease) -> None:
        with self._lock:
            self._leases.discard(lease)
        clones.give_back(
            lease.template, lease.database, lease.written, role=partial(lease.drop_role, self._server)
        )

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
        token = self._token(environment, start)
        name, reference = self._campaign.name("t", token), self._campaign.name("b", token)
        seed = None if start is None else self._template(environment, None).name
        build(self._server, environment, start, name=name, reference=reference, seed=seed)
        return Template(self._server, name=name, reference=reference, environment=environment)

    def _token(self, environment: Environment, start: StartState | None) -> str:
        """Equal in all processes of the campaign where they certainly mean the same; else this process's own."""
        database = environment.database
        dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]
        parts = [identity(database.schema, dialect), identity(database.seed, dialect)]
        if start is not None:
            parts += [start.key, identity(start.run, dialect)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return token_of(self._own, str(id(environment)), "" if start is None else start.key)
        return token_of(environment.name, str(database.ddl), *known)

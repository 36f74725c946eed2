"""Templates, and a lease for every attempt, on one PostgreSQL server."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial

import psycopg
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from pytest_thinkingbox.backends.postgres.clones import Clones
from pytest_thinkingbox.backends.postgres.engines import Engines, ReadOnly
from pytest_thinkingbox.backends.postgres.idle import Idle
from pytest_thinkingbox.backends.postgres.lease import PostgresLease
from pytest_thinkingbox.backends.postgres.roles import (
    CONNECTION_LIMIT,
    create_attempt_role,
    create_campaign_roles,
    create_reader,
)
from pytest_thinkingbox.backends.postgres.server import PostgresServer
from pytest_thinkingbox.backends.postgres.template import Template, build
from pytest_thinkingbox.backends.server.backend import ServerBackend
from pytest_thinkingbox.backends.server.names import Campaign, token_of
from pytest_thinkingbox.backends.server.space import Space
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState


class PostgresBackend(ServerBackend[PostgresServer, Template, PostgresLease]):
    """One process of a campaign on the server that `url` names, as a superuser."""

    name = "postgres"
    _lost = (psycopg.OperationalError,)
    _agent_connections = CONNECTION_LIMIT
    _pool: Clones
    _dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]

    def __init__(
        self,
        url: str,
        *,
        label: str,
        processes: int = 1,
        revive: Callable[[], str] | None = None,
        fast: bool = True,
    ) -> None:
        self._fast = fast
        super().__init__(url, campaign=Campaign.of(label), processes=processes, revive=revive)

    def _connect(self) -> PostgresServer:
        return PostgresServer(self._url, campaign=self._campaign)

    def _set_up(self) -> None:
        with self._server.admin() as connection:
            create_campaign_roles(connection, self._campaign)
            self._reader = create_reader(connection, self._campaign)
        self._idle = Idle()
        self._engines = Engines(autocommit=False)
        self._read_only = ReadOnly(self._server.alive)
        self._space = Space(self._server.free_bytes(), processes=self._processes)
        self._pool = Clones(self._server, self._space)

    def _let_go(self, templates: list[Template], *, wait: bool) -> None:
        self._pool.close(wait=wait)
        self._idle.close()

    def _lease(self, template: Template, attempt_id: str, on_read: Callable[[], None]) -> PostgresLease:
        database = self._pool.take(template)
        with self._server.admin() as connection:
            own_reader = None
            if template.ddl:
                own_reader = create_reader(connection, self._campaign, distrusted=template.size)
            login = create_attempt_role(
                connection,
                self._campaign,
                name=self._campaign.name("a", token_of(attempt_id) + secrets.token_hex(3)),
                database=database,
                reader=own_reader or self._reader,
                ddl=template.ddl,
            )
        return PostgresLease(
            server=self._server,
            template=template,
            database=database,
            login=login,
            reader=self._reader,
            own_reader=own_reader,
            engines=self._engines,
            read_only=self._read_only,
            fast=self._fast,
            on_read=on_read,
            on_release=partial(self._ended, self._pool),
        )

    def _ended(self, clones: Clones, lease: PostgresLease) -> None:
        self._forget(lease)
        clones.put_back(
            lease.template,
            lease.database,
            None if lease.stuck else lease.written,
            role=partial(lease.drop_roles, self._server),
        )

    def _digest(self, template: Template) -> str:
        return template.digest()

    def _build(
        self, environment: Environment, start: StartState | None, *, token: str, seed: Template | None
    ) -> Template:
        name, reference = self._campaign.name("t", token), self._campaign.name("b", token)
        build(
            self._server,
            environment,
            start,
            name=name,
            reference=reference,
            seed=None if seed is None else seed.name,
        )
        template = Template(
            self._server, name=name, reference=reference, environment=environment, idle=self._idle
        )
        if not self._server.shares_files:
            self._space.check(
                template.size, self._server.free_bytes, what=f"environment {environment.name!r}"
            )
        return template

"""Templates, and a lease for every attempt, on one MariaDB or MySQL server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlalchemy.dialects.mysql.pymysql import MySQLDialect_pymysql

from pytest_thinkingbox.backends.mysql import sql
from pytest_thinkingbox.backends.mysql.copies import Copies, Copy
from pytest_thinkingbox.backends.mysql.lease import MySQLLease
from pytest_thinkingbox.backends.mysql.server import MySQLServer, campaign_named
from pytest_thinkingbox.backends.mysql.template import Template, build
from pytest_thinkingbox.backends.mysql.users import CONNECTION_LIMIT, create_attempt_user, create_reader
from pytest_thinkingbox.backends.server.backend import ServerBackend
from pytest_thinkingbox.backends.server.space import Space
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState


class MySQLBackend(ServerBackend[MySQLServer, Template, MySQLLease]):
    """One process of a campaign on the server that `url` names, as an administrator."""

    name = "mysql"
    _lost = sql.LOST
    _agent_connections = CONNECTION_LIMIT
    _pool: Copies
    _dialect = MySQLDialect_pymysql()

    def __init__(
        self, url: str, *, label: str, processes: int = 1, revive: Callable[[], str] | None = None
    ) -> None:
        super().__init__(url, campaign=campaign_named(label), processes=processes, revive=revive)

    def _connect(self) -> MySQLServer:
        return MySQLServer(self._url, campaign=self._campaign)

    def _set_up(self) -> None:
        with self._server.admin() as connection:
            self._reader = create_reader(connection, self._campaign)
        # Nobody says what is free: the server has no statement for it.
        self._pool = Copies(self._server, Space(None, processes=self._processes))

    def _let_go(self, templates: list[Template], *, wait: bool) -> None:
        self._pool.close(wait=wait)

    def _said(self, error: Exception) -> str:
        return sql.first_line(error)

    def _lease(self, template: Template, attempt_id: str, on_read: Callable[[], None]) -> MySQLLease:
        server = self._server
        copy = self._pool.take(template)
        with server.admin() as connection:
            login = create_attempt_user(
                connection,
                self._campaign,
                database=copy.database,
                limit_statements=server.kind == "MariaDB",
                ddl=template.ddl,
            )
        return MySQLLease(
            server=server,
            template=template,
            database=copy.database,
            login=login,
            owner=copy.owner,
            reader=self._reader,
            on_read=on_read,
            on_release=partial(self._ended, self._pool, template, copy),
        )

    def _ended(self, copies: Copies, template: Template, copy: Copy, lease: MySQLLease) -> None:
        """Remove what the attempt had. Of a server that is gone, or was begun again, nothing is left."""
        self._forget(lease)
        copies.put_away(template, copy, user=lease.login.name)

    def _digest(self, template: Template) -> str:
        return template.digest()

    def _build(
        self, environment: Environment, start: StartState | None, *, token: str, seed: Template | None
    ) -> Template:
        name = self._campaign.name("t", token)
        build(self._server, environment, start, name=name, seed=seed)
        return Template(self._server, name=name, environment=environment)

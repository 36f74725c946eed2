"""Copies of templates, made ahead and dropped in threads of their own."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from pymysql.err import MySQLError

from pytest_thinkingbox.backends.mysql.server import MySQLServer
from pytest_thinkingbox.backends.mysql.template import Template, copy
from pytest_thinkingbox.backends.mysql.users import create_owner
from pytest_thinkingbox.backends.server.pool import Pool
from pytest_thinkingbox.backends.server.space import Space


@dataclass(frozen=True, slots=True)
class Copy:
    """A database, and the user whose rights its code has; None where there is no code."""

    database: str
    owner: str | None


class Copies(Pool[Template, Copy]):
    """Those of all templates of one process."""

    def __init__(self, server: MySQLServer, space: Space) -> None:
        super().__init__(
            make=self._copy,
            drop=self._remove,
            size=lambda template: template.size,
            space=space,
            lost=MySQLError,
        )
        self._server = server

    def _copy(self, template: Template) -> Copy:
        server, catalog = self._server, template.catalog
        database = server.campaign.name("c", secrets.token_hex(6))
        owner = None
        if catalog.code:
            with server.admin() as connection:
                owner = create_owner(connection, server.campaign, database=database).name
        copy(server, catalog, template.name, database, owner=owner)
        return Copy(database, owner)

    def _remove(self, made: Copy) -> None:
        self._server.remove(users=[made.owner], database=made.database)

    def put_away(self, template: Template, made: Copy, *, user: str) -> None:
        """Drop it soon, with its users: what takes an attempt's place is a new copy."""

        def end(_enough: bool) -> bool:
            if self._server.alive():
                self._server.remove(users=[user, made.owner], database=made.database)
            return False

        self.give_back(template, made, end=end)

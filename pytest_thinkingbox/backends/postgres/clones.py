"""Clones of templates: made ahead, and released ones reset by undoing what was logged. In threads of their own."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg

from pytest_thinkingbox.backends.postgres import log as logs
from pytest_thinkingbox.backends.postgres import values
from pytest_thinkingbox.backends.postgres.catalog import has_large_objects
from pytest_thinkingbox.backends.postgres.log import Written
from pytest_thinkingbox.backends.postgres.server import PostgresServer
from pytest_thinkingbox.backends.postgres.template import Template
from pytest_thinkingbox.backends.server.pool import Pool
from pytest_thinkingbox.backends.server.space import Space

_MOST_KEYS = 5_000
"""Rows from which on a new clone costs less than undoing."""
_SMALL = 20_000
"""Rows up to which a clone that was reset is compared as a whole before it is lent again."""
_LEAVING_SECONDS = 2.0


class Clones(Pool[Template, str]):
    """Those of all templates of one process, by their names."""

    def __init__(self, server: PostgresServer, space: Space) -> None:
        super().__init__(
            make=self._clone,
            drop=server.drop,
            size=lambda template: 0 if server.shares_files else template.size,
            space=space,
            lost=psycopg.Error,
        )
        self._server = server

    def _clone(self, template: Template) -> str:
        name = self._server.campaign.name("c", secrets.token_hex(6))
        self._server.clone(template.name, name)
        return name

    def put_back(
        self, template: Template, name: str, written: Written | None, *, role: Callable[[], None]
    ) -> None:
        """Reset it soon, or drop it: `written` is what the log said, None when that is not known.

        `role` drops the attempt's role, once nobody can be connected any more.
        """

        def end(enough: bool) -> bool:
            lent = False
            # What an agent with DDL made would run with the rights of whoever undoes it, and a trigger that fires
            # while rows are put back would write others.
            mine = template.log.quiet and not template.ddl
            if written is not None and not enough and mine and _can_be_undone(written):
                with suppress(psycopg.Error):
                    lent = self._undo(template, name, written)
            if lent:
                try:
                    role()
                except psycopg.Error:  # it left something that is its own
                    lent = False
            if not lent:
                self._server.drop(name)
                role()
            return lent

        self.give_back(template, name, end=end)

    def _undo(self, template: Template, name: str, written: Written) -> bool:
        """Whether the clone holds again what the template holds."""
        with self._server.connect(name) as connection:
            values.set_up(connection)
            if not _is_alone(connection):
                return False
            with template.reading() as reference, connection.transaction():
                connection.execute("SET LOCAL session_replication_role = replica")
                for logged, keys in written.keys.items():
                    if not logs.undo(connection, logged, keys, reference=reference):
                        return False
                for sequence, state in template.sequences.items():
                    connection.execute("SELECT setval(%s::oid::regclass, %s, %s)", [sequence, *state])
                logs.clear(connection, template.log)
            if has_large_objects(connection) and not template.large_objects:
                return False
            if sum(template.row_counts.values()) > _SMALL:
                return True
            known = template.buckets()
            return template.hashing.buckets(connection, list(known)) == list(known.values())


def _is_alone(connection: psycopg.Connection[Any]) -> bool:
    """Whether nobody else is connected, once the server has noticed that those who read have left."""
    deadline = time.monotonic() + _LEAVING_SECONDS
    while True:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
        if row is not None and not row[0]:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)


def _can_be_undone(written: Written) -> bool:
    if not written.trusted or written.altered or written.whole:
        return False
    return sum(map(len, written.keys.values())) <= _MOST_KEYS

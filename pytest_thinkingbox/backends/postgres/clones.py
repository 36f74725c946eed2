"""Clones of templates: made ahead, and released ones reset by undoing what was logged. In threads of their own."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psycopg

from pytest_thinkingbox.backends.postgres import log as logs
from pytest_thinkingbox.backends.postgres import values
from pytest_thinkingbox.backends.postgres.log import Written
from pytest_thinkingbox.backends.postgres.server import PostgresServer
from pytest_thinkingbox.backends.postgres.template import Template
from pytest_thinkingbox.errors import InfrastructureDown

_AHEAD = 2
"""Clones that wait, of a template that is used more than once."""
_MOST_KEYS = 5_000
"""Rows from which on a new clone costs less than undoing."""
_SMALL = 20_000
"""Rows up to which a clone that was reset is compared as a whole before it is lent again."""
_THREADS = 2
_LEAVING_SECONDS = 2.0


class Clones:
    """Those of all templates of one process."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._ready: dict[Template, list[str]] = {}
        self._taken: dict[Template, int] = {}
        self._coming: dict[Template, int] = {}
        self._threads = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="thinkingbox-clones")
        self._closed = False
        self.reset = 0  # how many were lent again

    def take(self, template: Template) -> str:
        """The name of a database that holds exactly what the template holds."""
        with self._lock:
            ready = self._ready.setdefault(template, [])
            name = ready.pop() if ready else None
            self._taken[template] = self._taken.get(template, 0) + 1
            missing = _AHEAD - len(ready) - self._coming.get(template, 0) if self._taken[template] > 1 else 0
            missing = 0 if self._closed else max(0, missing)
            self._coming[template] = self._coming.get(template, 0) + missing
        for _ in range(missing):
            self._soon(lambda: self._make_ahead(template))
        return name if name is not None else self._make(template)

    def _make(self, template: Template) -> str:
        name = self._server.campaign.name("c", secrets.token_hex(6))
        self._server.clone(template.name, name)
        return name

    def _make_ahead(self, template: Template) -> None:
        try:
            name = self._make(template)
        finally:
            with self._lock:
                self._coming[template] -= 1
        self._lend(template, name)

    def _lend(self, template: Template, name: str) -> None:
        with self._lock:
            if not self._closed:
                self._ready.setdefault(template, []).append(name)

    def give_back(
        self, template: Template, name: str, written: Written | None, *, role: Callable[[], None]
    ) -> None:
        """Reset it soon, or drop it: `written` is what the log said, None when that is not known.

        `role` drops the attempt's role, once nobody can be connected any more.
        """
        self._soon(lambda: self._end(template, name, written, role))

    def _end(self, template: Template, name: str, written: Written | None, role: Callable[[], None]) -> None:
        with self._lock:
            enough = len(self._ready.get(template, ())) >= 2 * _AHEAD
        lent = False
        if written is not None and not enough and _can_be_undone(written):
            with suppress(psycopg.Error):
                lent = self._undo(template, name, written)
        if not lent:
            self._server.drop(name)
        role()
        if lent:
            self.reset += 1
            self._lend(template, name)

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
            if sum(template.row_counts.values()) > _SMALL:
                return True
            known = template.buckets()
            return template.hashing.buckets(connection, list(known)) == list(known.values())

    def _soon(self, job: Callable[[], None]) -> None:
        def run() -> None:
            # Whatever stays is removed at the end of the campaign, or by the next one.
            with suppress(InfrastructureDown, psycopg.Error):
                job()

        with suppress(RuntimeError):  # the threads have ended: the campaign is being removed
            self._threads.submit(run)

    def close(self, *, wait: bool = True) -> None:
        """Wait for what has begun, unless the server is gone; the rest is dropped with the campaign."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=wait, cancel_futures=True)


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

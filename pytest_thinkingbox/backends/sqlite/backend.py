"""Templates, and a lease for every attempt."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from pytest_thinkingbox.backends.sqlite.lease import SqliteLease
from pytest_thinkingbox.backends.sqlite.store import Store
from pytest_thinkingbox.backends.sqlite.template import Template, build_seed, build_start
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.lane import LANE

_Key = tuple[Environment, str | None]


class SqliteBackend:
    """SQLite files in folders of its own, below `directory` (the system's folder for temporary files) and in
    memory. With `fast=False` each attempt is a plain copy on disk that is read by full comparison."""

    name = "sqlite"

    def __init__(self, *, label: str, directory: Path | None = None, fast: bool = True) -> None:
        self._fast = fast
        self._store = Store(label=label, directory=directory, fast=fast)
        self._lock = threading.Lock()
        self._locks: dict[_Key, threading.Lock] = {}
        self._templates: dict[_Key, Template] = {}  # the one that was used last comes last
        self._seeds: dict[Environment, str] = {}  # their hashes
        self._leases: set[SqliteLease] = set()
        self._closed = False

    def prepare(self, environment: Environment, start: StartState | None = None) -> None:
        self._leave(self._template(environment, start))

    def acquire(self, environment: Environment, start: StartState | None, *, attempt_id: str) -> SqliteLease:
        template = self._template(environment, start)
        try:
            with LANE.turn():
                file = self._store.take(template.path, template.size)
        except (OSError, sqlite3.Error) as error:
            self._leave(template)
            raise InfrastructureDown(f"no database for {attempt_id}: {error}") from error
        lease = SqliteLease(template=template, file=file, fast=self._fast, on_release=self._ended)
        with self._lock:
            self._leases.add(lease)
        return lease

    def seed_hash(self, environment: Environment) -> str:
        """Hex digest of schema and rows of the seed; values of volatile columns are left out."""
        known = self._seeds.get(environment)
        if known is None:
            template = self._template(environment, None)
            try:
                known = self._seeds[environment] = template.digest()
            finally:
                self._leave(template)
        return known

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            leases = list(self._leases)
        for lease in leases:
            lease.release()
        for template in self._templates.values():
            template.remove()
        self._store.close()

    def _ended(self, lease: SqliteLease) -> None:
        with self._lock:
            self._leases.discard(lease)
        self._leave(lease.template)

    def _leave(self, template: Template) -> None:
        with self._lock:
            template.users -= 1

    def _template(self, environment: Environment, start: StartState | None) -> Template:
        """The file of seed + start, made by the first who asks while the others wait. The caller leaves it."""
        key = (environment, start.key if start is not None else None)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            with self._lock:
                found = self._templates.pop(key, None)
                if found is not None:
                    self._templates[key] = found
                    found.users += 1
            if found is None:
                found = self._build(environment, start)
                found.users = 1
                with self._lock:
                    self._templates[key] = found
                    self._make_room()
            return found

    def _build(self, environment: Environment, start: StartState | None) -> Template:
        building, target = self._store.new_path("build"), self._store.new_path("template")
        if start is None:
            return build_seed(environment, building=building, target=target)
        seed = self._template(environment, None)
        try:
            return build_start(environment, seed, start, building=building, target=target)
        finally:
            self._leave(seed)

    def _make_room(self) -> None:
        """Forget start states that nobody uses, longest ago first, while templates fill their part of the disk."""
        too_much = sum(template.size for template in self._templates.values()) - self._store.template_budget
        for key, template in list(self._templates.items()):
            if too_much > 0 and template.users == 0 and key[1] is not None:
                del self._templates[key]
                self._store.forget(template.path)
                template.remove()
                too_much -= template.size

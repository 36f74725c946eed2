"""Templates, and a lease for every attempt."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from pathlib import Path

from pytest_thinkingbox.backends.sqlite.build import content_hash, load_schema, publish, run_source
from pytest_thinkingbox.backends.sqlite.catalog import read_catalog
from pytest_thinkingbox.backends.sqlite.decoding import decode_text
from pytest_thinkingbox.backends.sqlite.files import unlink_database
from pytest_thinkingbox.backends.sqlite.lease import SqliteLease, Template, reading_uri
from pytest_thinkingbox.backends.sqlite.readonly import ReadOnlyEngine
from pytest_thinkingbox.backends.sqlite.store import Store
from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.state.model import Rules, StateDiff
from pytest_thinkingbox.state.rules import RuleBook, check_rules


class SqliteBackend:
    """SQLite files below a folder of its own. With `fast=False` every state is read by full comparison."""

    name = "sqlite"

    def __init__(self, *, label: str, directory: Path | None = None, fast: bool = True) -> None:
        self._fast = fast
        self._store = Store(label=label, directory=directory, fast=fast)
        self._lock = threading.Lock()
        self._locks: dict[tuple[Environment, str | None], threading.Lock] = {}
        self._templates: dict[tuple[Environment, str | None], Template] = {}
        self._leases: set[SqliteLease] = set()
        self._closed = False

    def prepare(self, environment: Environment) -> None:
        self._template(environment, None)

    def acquire(self, environment: Environment, start: StartState | None, *, attempt_id: str) -> SqliteLease:
        template = self._template(environment, start)
        try:
            file = self._store.take(template.path, template.size)
        except OSError as error:
            raise InfrastructureDown(f"no database for {attempt_id}: {error}") from error
        lease = SqliteLease(template=template, file=file, fast=self._fast, on_release=self._leases.discard)
        self._leases.add(lease)
        return lease

    def seed_hash(self, environment: Environment) -> str:
        """Hex digest of schema and rows of the seed; values of volatile columns are left out."""
        template = self._template(environment, None)
        with template.lock:
            if template.digest is None:
                book = RuleBook(StateDiff(), template.rules)
                volatile = frozenset(
                    (table, column)
                    for table, info in template.rules.tables.items()
                    for column in info.columns
                    if book.is_volatile(table, column)
                )
                template.digest = content_hash(template.path, template.catalog, volatile)
            return template.digest

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for lease in list(self._leases):
            lease.release()
        for template in self._templates.values():
            template.close()
        self._store.close()

    def _template(self, environment: Environment, start: StartState | None) -> Template:
        """The file of seed + start, made by the first who asks while the others wait."""
        key = (environment, start.key if start is not None else None)
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._templates:
                self._templates[key] = self._build(environment, start)
            return self._templates[key]

    def _build(self, environment: Environment, start: StartState | None) -> Template:
        building = self._store.new_path("build")
        template = self._store.new_path("template")
        database = environment.database
        if start is None:
            load_schema(building, database.schema)
            if database.seed is not None:
                run_source(building, database.seed, {}, what="seed", foreign_keys=True)
        else:
            shutil.copyfile(self._template(environment, None).path, building)
            building.chmod(0o600)
            run_source(building, start.run, start.parameters, what="start", foreign_keys=True)
        publish(building, template)
        unlink_database(building)
        return self._describe(environment, template)

    def _describe(self, environment: Environment, path: Path) -> Template:
        database = environment.database
        schema = database.schema
        connection = sqlite3.connect(reading_uri(path), uri=True)
        connection.text_factory = decode_text
        try:
            metadata = None if isinstance(schema, Path) or callable(schema) else schema
            catalog = read_catalog(connection, "main", metadata)
        finally:
            connection.close()
        if not catalog.tables:
            raise ConfigurationError(f"environment {environment.name!r}: its schema makes no table")
        rules = Rules(
            tables={table.info.name: table.info for table in catalog.tables.values()},
            volatile=tuple(database.volatile),
            bookkeeping=frozenset(database.bookkeeping),
        )
        check_rules(rules)
        return Template(
            path=path,
            catalog=catalog,
            rules=rules,
            before=ReadOnlyEngine(reading_uri(path)),
            size=path.stat().st_size,
        )

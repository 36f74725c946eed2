"""Seed + start as a file that is never written again, and what is known about it."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

from pytest_thinkingbox.backends.sqlite.build import content_hash, load_schema, publish, run_source
from pytest_thinkingbox.backends.sqlite.catalog import Catalog, read_catalog
from pytest_thinkingbox.backends.sqlite.decoding import decode_text
from pytest_thinkingbox.backends.sqlite.files import clone_file, unlink_database
from pytest_thinkingbox.backends.sqlite.pages import PageMap
from pytest_thinkingbox.backends.sqlite.readonly import ReadOnlyEngine
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.episodes.model import StartState
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.state.model import Rules, StateDiff
from pytest_thinkingbox.state.rules import RuleBook, check_rules


class Template:
    """`before` opens it for checkers. `users` are the attempts that have it in use."""

    def __init__(self, path: Path, *, environment: Environment) -> None:
        self.path = path
        self.uri = f"{path.as_uri()}?mode=ro&immutable=1"  # nobody writes: no locks are needed
        self.size = path.stat().st_size
        self.catalog = self._read_catalog(environment.database)
        if not self.catalog.tables:
            raise ConfigurationError(f"environment {environment.name!r}: its schema makes no table")
        self.rules = Rules(
            tables={table.info.name: table.info for table in self.catalog.tables.values()},
            volatile=tuple(environment.database.volatile),
            bookkeeping=frozenset(environment.database.bookkeeping),
        )
        check_rules(self.rules)
        schema = environment.database.schema
        self.metadata = None if isinstance(schema, Path) or callable(schema) else schema
        self.before = ReadOnlyEngine(self.uri)
        self.users = 0
        self._map: PageMap | None = None
        self._map_lock = threading.Lock()
        self._digest: str | None = None
        self._digest_lock = threading.Lock()

    def _read_catalog(self, database: Database) -> Catalog:
        schema = database.schema
        connection = sqlite3.connect(self.uri, uri=True)
        connection.text_factory = decode_text
        try:
            return read_catalog(
                connection, "main", None if isinstance(schema, Path) or callable(schema) else schema
            )
        finally:
            connection.close()

    def page_map(self) -> PageMap:
        """Made when it is first asked for."""
        with self._map_lock:
            if self._map is None:
                self._map = PageMap(self.path, self.uri)
            return self._map

    def digest(self) -> str:
        """Hex digest of schema and rows; values of volatile columns are left out. Reads everything, once."""
        with self._digest_lock:
            if self._digest is None:
                book = RuleBook(StateDiff(), self.rules)
                volatile = frozenset(
                    (table, column)
                    for table, info in self.rules.tables.items()
                    for column in info.columns
                    if book.is_volatile(table, column)
                )
                self._digest = content_hash(self.uri, self.catalog, volatile)
            return self._digest

    def remove(self) -> None:
        self.before.close()
        if self._map is not None:
            self._map.close()
        unlink_database(self.path)


def build_seed(environment: Environment, *, building: Path, target: Path) -> Template:
    """Schema and seed in a new file. Raises ConfigurationError when they do not load."""
    database = environment.database
    try:
        load_schema(building, database.schema)
        if database.seed is not None:
            run_source(building, database.seed, {}, what="seed", foreign_keys=True)
        publish(building, target)
    finally:
        unlink_database(building)
    return Template(target, environment=environment)


def build_start(
    environment: Environment, seed: Template, start: StartState, *, building: Path, target: Path
) -> Template:
    """What a start state makes of the seed. Raises ConfigurationError when it fails."""
    try:
        clone_file(seed.path, building)
        run_source(building, start.run, start.parameters, what="start", foreign_keys=True)
        publish(building, target)
    finally:
        unlink_database(building)
    return Template(target, environment=environment)

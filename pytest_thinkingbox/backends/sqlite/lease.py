"""One attempt's database from acquire to release."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from shutil import disk_usage
from typing import Any

from sqlalchemy import Connection, Engine

from pytest_thinkingbox.backends.base import AuditMismatch
from pytest_thinkingbox.backends.sqlite.compare import (
    REFERENCE,
    FindCandidates,
    final_catalog,
    full_candidates,
    read_diff,
    schema_deltas,
)
from pytest_thinkingbox.backends.sqlite.decoding import decode_text
from pytest_thinkingbox.backends.sqlite.files import databases_work_in
from pytest_thinkingbox.backends.sqlite.gate import Gate
from pytest_thinkingbox.backends.sqlite.place import AttemptFile
from pytest_thinkingbox.backends.sqlite.quick import PageCandidates, join_candidates
from pytest_thinkingbox.backends.sqlite.readonly import ReadOnlyEngine
from pytest_thinkingbox.backends.sqlite.rebuild import rebuild
from pytest_thinkingbox.backends.sqlite.rows import read_rows
from pytest_thinkingbox.backends.sqlite.template import Template
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.lane import LANE
from pytest_thinkingbox.state.diff import same
from pytest_thinkingbox.state.model import SchemaDelta, StateDiff

_MANY_PAGES = 5_000  # from here on reading whole tables costs less
_CUT_SECONDS = 10.0  # a killed process frees its locks at once; this is for threads that are inside SQLite
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_DAMAGED = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT}
)
_DEAD = ("disk i/o error", "unable to open database file")
_FULL = "database or disk is full"
_ROOM = 64 << 20  # bytes: more than one statement needs


def is_outage(error: BaseException, *, folder: Path) -> bool:
    """Whether the file is gone, or the disk that it is on is full: SQLite has no class of its own for either.

    What a trigger raises is an IntegrityError, and the disk is asked because an agent can limit the size of its file.
    """
    if not isinstance(error, sqlite3.OperationalError):
        return False
    said = str(error).lower()
    return said.startswith(_DEAD) or (said.startswith(_FULL) and disk_usage(folder).free < _ROOM)


class SqliteLease:
    """A file that one attempt owns.

    The cut takes the file's write lock and keeps it until the release. From then on no connection can commit,
    in whatever thread or process, so that every later read sees the same state.
    """

    def __init__(
        self, *, template: Template, file: AttemptFile, fast: bool, on_release: Callable[[SqliteLease], None]
    ) -> None:
        self.url = f"sqlite:///{file.path}"
        self.rules = template.rules
        self.template = template
        self._file = file
        self._fast = fast
        self._on_release = on_release
        self._lock = threading.RLock()
        self._gate = Gate(file.path)
        self._judge: sqlite3.Connection | None = None
        self._after: ReadOnlyEngine | None = None
        self._damage: SchemaDelta | None = None
        self._cut = False
        self._released = False

    @cached_property
    def engine(self) -> Engine:
        return self._gate.engine()

    def cut(self) -> None:
        """End every session of the agent. Raises InfrastructureDown while somebody still holds the database."""
        with LANE.turn(), self._lock:
            if self._cut or self._released:
                return
            deadline = time.monotonic() + _CUT_SECONDS
            while not self._take_write_lock():
                if time.monotonic() > deadline:
                    raise InfrastructureDown(
                        f"{self._file.path} is still locked {_CUT_SECONDS:.0f} s after the attempt ended: a tool "
                        "server or a thread of an in-process tool holds a transaction open"
                    )
                time.sleep(0.005)
            self._cut = True

    def _take_write_lock(self) -> bool:
        self._gate.shut(seconds=0.25)
        try:
            if self._judge is None:
                self._judge = self._open_judge()
            self._judge.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            code = error.sqlite_errorcode & 0xFF
            if code in _LOCKED:
                return False
            if code not in _DAMAGED and not databases_work_in(self._file.path.parent):
                raise InfrastructureDown(f"{self._file.path} cannot be read: {error}") from error
            self._damage = SchemaDelta("altered", "file", "main", after=str(error))
            if self._judge is None:  # the agent put something in its place that is no file
                self._judge = sqlite3.connect(":memory:", check_same_thread=False)
        return True

    def _open_judge(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._file.path.as_uri()}?mode=rwc",
            uri=True,
            timeout=0,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.text_factory = decode_text
        try:
            connection.execute(f"ATTACH ? AS {REFERENCE}", (self.template.uri,))
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF not in _DAMAGED:
                connection.close()
                raise
            # No database any more, or one in another encoding, which SQLite does not join with the seed's.
            self._damage = SchemaDelta("altered", "file", "main", after=str(error))
        return connection

    def read_changes(self, *, audit: bool) -> StateDiff:
        with LANE.turn(), self._lock:
            judge = self._reader()
            if self._damage is not None:
                return StateDiff(schema=(self._damage,))
            try:
                if not self._fast:
                    return self._full(judge)
                found = self._quick(judge)
                if audit and not same(found, expected := self._full(judge)):
                    raise AuditMismatch(f"fast path: {found}\nfull comparison: {expected}")
            except sqlite3.DatabaseError as error:
                return StateDiff(schema=self._unreadable(judge, error))
            return found

    def _unreadable(self, judge: sqlite3.Connection, error: sqlite3.DatabaseError) -> tuple[SchemaDelta, ...]:
        """What the agent did to a state that cannot be read: a damaged file, an index by a collation of its own.

        Raises the error again if it did nothing of the kind.
        """
        damage = SchemaDelta("altered", "file", "main", after=str(error))
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return (damage,)
        deltas = schema_deltas(self.template.catalog, final_catalog(judge, self.template.catalog))
        if not deltas:
            raise error
        return (damage, *deltas)

    def _quick(self, judge: sqlite3.Connection) -> StateDiff:
        if self._file.untouched():
            return StateDiff()
        find: FindCandidates = join_candidates
        page_map = self.template.page_map()
        (page_size,) = judge.execute("PRAGMA main.page_size").fetchone()
        if page_size == page_map.page_size and not page_map.auto_vacuum:
            (count,) = judge.execute("PRAGMA main.page_count").fetchone()
            final = self._file.final_pages(page_map, count)
            if final is not None and len(final.changed) <= _MANY_PAGES:
                find = PageCandidates(judge, page_map, final)
        return read_diff(judge, self.template.catalog, find)

    def _full(self, judge: sqlite3.Connection) -> StateDiff:
        return read_diff(judge, self.template.catalog, full_candidates)

    def rebuild(self, diff: StateDiff) -> None:
        with LANE.turn(), self._lock:
            rebuild(self._file.path, self.template.catalog, self.template.metadata, diff)

    def keep(self, path: Path) -> Path:
        """A copy of the file, with the suffix `.sqlite`."""
        kept = path.with_name(f"{path.name}.sqlite")
        kept.unlink(missing_ok=True)
        with LANE.turn(), self._lock:
            self._reader()
            # Not from the judge, which is in a transaction: SQLite would be busy for ever.
            source = sqlite3.connect(f"{self._file.path.as_uri()}?mode=ro", uri=True)
            target = sqlite3.connect(kept)
            try:
                source.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")
            finally:
                target.close()
                source.close()
        return kept

    def rows(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows of the final state, decoded; `where` compares as `state.values` does."""
        with self._lock:
            return read_rows(self._reader(), self.template.catalog, table, where)

    def _reader(self) -> sqlite3.Connection:
        if self._released:
            raise RuntimeError("this database was given back: nothing can be read from it any more")
        if not self._cut or self._judge is None:
            raise RuntimeError("the final state can be read only after cut()")
        return self._judge

    def connect_after(self) -> Connection:
        with self._lock:
            self._reader()
            if self._after is None:
                self._after = ReadOnlyEngine(f"{self._file.path.as_uri()}?mode=ro")
            return self._after.engine.connect()

    def connect_before(self) -> Connection:
        return self.template.before.engine.connect()

    def alive(self) -> bool:
        return True

    def blames(self, error: BaseException, *, connecting: bool, lost: bool) -> bool:
        return is_outage(error, folder=self._file.path.parent)

    def release(self) -> None:
        with LANE.turn(), self._lock:
            if self._released:
                return
            self._released = True
            with ExitStack() as last_first:
                last_first.callback(self._on_release, self)
                last_first.callback(self._file.close)
                if "engine" in vars(self):
                    last_first.callback(self.engine.pool.dispose)  # no new pool in its place
                if self._judge is not None:
                    last_first.callback(self._judge.close)
                if self._after is not None:
                    last_first.callback(self._after.close)
                # Before the write lock goes: who waits for it gets a file without a name.
                last_first.callback(self._file.discard)
                last_first.callback(self._gate.shut, seconds=0.25)

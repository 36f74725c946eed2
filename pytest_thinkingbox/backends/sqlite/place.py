"""How a template becomes the file of one attempt, and what of it changed."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pytest_thinkingbox.backends.sqlite.files import (
    make_file,
    read_at,
    unlink_database,
    used_by_nobody_else,
)
from pytest_thinkingbox.backends.sqlite.pages import FinalPages, PageMap, differing
from pytest_thinkingbox.backends.sqlite.wal import WalView

_UNTOUCHED_SINCE = (
    946_684_800_000_000_000  # 2000-01-01: a base file that was written since shows another time
)


class AttemptFile(Protocol):
    """One attempt's file, under a path that is never used again."""

    path: Path

    def untouched(self) -> bool:
        """Whether certainly nothing was committed. Asked while no other connection can write."""

    def final_pages(self, page_map: PageMap, count: int) -> FinalPages | None:
        """The pages of the final state, `count` of them; None if they cannot be told. Asked likewise."""

    def discard(self) -> None:
        """Take the path away. Whoever still has the file open writes to nothing from now on."""

    def close(self) -> None:
        """Let go of the file, after every connection of this package to it is closed."""


class _Pages:
    """The log's pages over those of a main file."""

    def __init__(
        self,
        *,
        changed: frozenset[int],
        count: int,
        page_map: PageMap,
        wal: WalView | None,
        main: Callable[[int], bytes],
    ) -> None:
        self.changed = changed | frozenset(range(count + 1, page_map.count + 1))
        self._count = count
        self._size = page_map.page_size
        self._wal = wal
        self._main = main

    def page(self, number: int) -> bytes:
        if not 1 <= number <= self._count:
            return b""
        if self._wal is not None and number in self._wal.frames:
            return self._wal.page(number, self._size)
        return self._main(number)


class CopiedFile:
    """A copy of the template, or a clone of it where the file system can.

    The descriptor that made the copy stays open until the end. Closing it earlier would drop the locks that SQLite
    holds on the file in this process (POSIX locks belong to the process, not to the descriptor).
    """

    def __init__(self, template: Path, path: Path, *, clone: bool, on_close: Callable[[], None]) -> None:
        self.path = path
        self._on_close = on_close
        self._wal: WalView | None = None
        self._descriptor = make_file(template, path, clone=clone)
        self._header = read_at(self._descriptor, 100, 0)

    def untouched(self) -> bool:
        # Every transaction counts up the change counter in the header, a switch to WAL mode included.
        return (
            self._in_place()
            and read_at(self._descriptor, 100, 0) == self._header
            and not os.path.exists(f"{self.path}-wal")
        )

    def _in_place(self) -> bool:
        """Whether the path still leads to this file."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return False
        own = os.fstat(self._descriptor)
        return stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)

    def final_pages(self, page_map: PageMap, count: int) -> FinalPages | None:
        if not self._in_place():
            return None
        if read_at(self._descriptor, 1, 19) == b"\2" or os.path.exists(f"{self.path}-wal"):
            self._wal = self._wal or _open_wal(self.path)
            if self._wal is None or not self._wal.read(page_map.page_size):
                return None
        changed = differing(page_map, self._descriptor, os.fstat(self._descriptor).st_size)
        return _Pages(
            changed=changed if self._wal is None else changed | self._wal.frames.keys(),
            count=count,
            page_map=page_map,
            wal=self._wal,
            main=lambda number: read_at(
                self._descriptor, page_map.page_size, (number - 1) * page_map.page_size
            ),
        )

    def discard(self) -> None:
        unlink_database(self.path)

    def close(self) -> None:
        if self._descriptor >= 0:
            if self._wal is not None:
                self._wal.close()
            os.close(self._descriptor)
            self._descriptor = -1
            self._on_close()


class OverlayBase:
    """A copy of a large template that serves one attempt after another and is itself never written.

    An attempt's pages all go to the write-ahead log: while a read-only connection, the guard, reads the state of
    before, no checkpoint can move them into the main file, whoever asks for it. Without the log the file is as it
    was. Only for a local file system of Linux.
    """

    def __init__(self, template: Path, path: Path, *, clone: bool) -> None:
        self.path = path
        os.close(make_file(template, path, clone=clone))
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
        os.utime(path, ns=(_UNTOUCHED_SINCE, _UNTOUCHED_SINCE))
        self._identity = _identity(path)

    def intact(self) -> bool:
        """Whether the path, and no other, leads to this file and nobody wrote to it."""
        return _identity(self.path) == self._identity

    def move(self, path: Path) -> None:
        os.rename(self.path, path)
        self.path = path

    def remove(self) -> None:
        unlink_database(self.path)


def _identity(path: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return (found.st_dev, found.st_ino, found.st_nlink, found.st_size, found.st_mtime_ns)


class OverlayFile:
    """One attempt on an overlay base. `on_close` gets the base back, or None if it must not be used again."""

    def __init__(
        self, base: OverlayBase, path: Path, *, parked: Path, on_close: Callable[[OverlayBase | None], None]
    ) -> None:
        self.path = path
        self._base = base
        self._parked = parked
        self._on_close = on_close
        self._wal: WalView | None = None
        self._guard: sqlite3.Connection | None = None
        self._intact = True
        base.move(path)
        try:
            # A guard that could write would put the log into the main file when it is closed.
            self._guard = sqlite3.connect(
                f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
            )
            self._guard.execute("BEGIN")
            self._guard.execute("SELECT count(*) FROM sqlite_master").fetchone()
            self._log_files = self._side_files()
        except BaseException:
            self._intact = False
            self.discard()
            self.close()
            raise

    def _side_files(self) -> tuple[tuple[int, int], ...] | None:
        try:
            found = [os.stat(f"{self.path}{suffix}") for suffix in ("-wal", "-shm")]
        except FileNotFoundError:
            return None
        return tuple((one.st_dev, one.st_ino) for one in found)

    def _guarded(self) -> bool:
        """Whether every writer went to the log that the guard watches over."""
        return self._base.intact() and self._side_files() == self._log_files

    def untouched(self) -> bool:
        return self._guarded() and os.stat(f"{self.path}-wal").st_size == 0

    def final_pages(self, page_map: PageMap, count: int) -> FinalPages | None:
        if not self._guarded():
            return None
        self._wal = self._wal or _open_wal(self.path)
        if self._wal is None or not self._wal.read(page_map.page_size):
            return None
        return _Pages(
            changed=frozenset(self._wal.frames),
            count=count,
            page_map=page_map,
            wal=self._wal,
            main=page_map.page,  # the same as the base's, but for the header
        )

    def discard(self) -> None:
        self._intact = self._intact and self._guarded()
        if self._intact:
            self._base.move(self._parked)
        unlink_database(self.path)

    def close(self) -> None:
        if self._guard is not None:
            self._guard.close()
            self._guard = None
        if self._wal is not None:
            self._wal.close()
            self._wal = None
        # A connection that somebody still has open could put its log into the base at any time.
        if self._intact and used_by_nobody_else(self._base.path) and self._base.intact():
            self._on_close(self._base)
        else:
            self._base.remove()
            self._on_close(None)


def _open_wal(path: Path) -> WalView | None:
    try:
        return WalView(path)
    except OSError:
        return None

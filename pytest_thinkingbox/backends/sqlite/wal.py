"""What a write-ahead log holds, read beside SQLite while nobody can write."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from pytest_thinkingbox.backends.sqlite.files import open_file, read_at

_HEADER = 32
_FRAME_HEADER = 24


class WalView:
    """The committed frames of a database file's log.

    Both descriptors stay open until every connection of this process to the database is closed: closing the one
    on the -shm file would drop the locks that SQLite holds there for this process.
    """

    def __init__(self, path: Path) -> None:
        self._descriptors: list[int] = []
        self.frames: dict[int, int] = {}
        """Where in the log the latest content of a page begins, by page number."""
        try:
            self._log = self._open(f"{path}-wal")
            self._index = self._open(f"{path}-shm")  # last, so that it is not closed here
        except OSError:
            self.close()
            raise

    def _open(self, path: str) -> int:
        descriptor = open_file(path, os.O_RDONLY)
        self._descriptors.append(descriptor)
        return descriptor

    def read(self, page_size: int) -> bool:
        """Find the frames; False if the log's index is not in a state to be trusted."""
        header = read_at(self._index, 96, 0)
        if len(header) < 96 or header[:48] != header[48:] or header[12] != 1:
            return False
        (count,) = struct.unpack_from("=I", header, 16)
        for index in range(count):
            at = _HEADER + index * (_FRAME_HEADER + page_size)
            frame = read_at(self._log, 4, at)
            if len(frame) < 4:
                return False
            self.frames[struct.unpack(">I", frame)[0]] = at + _FRAME_HEADER
        return True

    def page(self, number: int, page_size: int) -> bytes:
        return read_at(self._log, page_size, self.frames[number])

    def close(self) -> None:
        """Last of all, after every connection of this package is closed."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()

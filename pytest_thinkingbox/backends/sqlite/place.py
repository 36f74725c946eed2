"""Where the files of attempts lie, and how a template becomes one."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

_COPY = 1 << 20


class CopiedFile:
    """One attempt's file: a copy of the template under a path that is never used again.

    The descriptor that made the copy stays open until the file is discarded. Closing it earlier would drop the
    locks that SQLite holds on the file in this process (POSIX locks belong to the process, not to the descriptor).
    """

    def __init__(self, template: Path, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600
        )
        try:
            with template.open("rb", buffering=0) as source:
                _copy_content(source.fileno(), self._descriptor)
            self._header = os.pread(self._descriptor, 100, 0)
        except BaseException:
            self.discard()
            raise

    def untouched(self) -> bool:
        """Whether no transaction has been committed since the copy was made.

        Each one counts up the change counter in the file's header, a switch to WAL mode included. Asked while no
        other connection can write.
        """
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return False
        own = os.fstat(self._descriptor)
        return (
            stat.S_ISREG(found.st_mode)
            and (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)
            and os.pread(self._descriptor, 100, 0) == self._header
            and not os.path.exists(f"{self.path}-wal")
        )

    def discard(self) -> None:
        """Take the path away. Whoever still has the file open writes to nothing from now on."""
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def close(self) -> None:
        """Last of all, after every connection of this package is closed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _copy_content(source: int, target: int) -> None:
    if hasattr(os, "copy_file_range"):
        offset = 0
        while count := os.copy_file_range(source, target, _COPY * 64):
            offset += count
        return
    with open(source, "rb", closefd=False) as reader, open(target, "wb", closefd=False) as writer:
        shutil.copyfileobj(reader, writer, _COPY)

"""One writer at a time in a file, across processes and threads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO

if sys.platform == "win32":
    from filelock import FileLock

    @contextmanager
    def exclusive(file: FileIO) -> Iterator[None]:
        """Wait until no one else holds the file, hold it for the block."""
        with FileLock(f"{file.name!s}.lock"):
            yield

else:
    import fcntl

    # Not filelock: it looks again only every 50 ms when the file is held, and costs 0.18 ms when it is not.
    @contextmanager
    def exclusive(file: FileIO) -> Iterator[None]:
        """Wait until no one else holds the file, hold it for the block."""
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)

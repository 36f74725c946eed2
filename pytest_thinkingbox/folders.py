"""Folders for what attempts work with: made under a lock, swept by the next run when their owner was killed."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

_PREFIX = "thinkingbox-"
_LOCK = "owner.lock"
MEMORY = Path("/dev/shm")


class OwnedFolder:
    """A folder that goes with this object; if the process is killed, with the next `OwnedFolder` beside it.

    `label` is part of its name.
    """

    def __init__(self, parent: Path, label: str) -> None:
        sweep(parent)
        made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}{label}-", dir=parent)).resolve()
        self._lock = _lock(made / _LOCK, create=True)
        self.path = made.rename(made.with_name(made.name[1:]))  # seen by others only now that it is locked

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep_all() -> list[Path]:
    """Remove them wherever an attempt's file may lie. What went."""
    return [gone for parent in {Path(tempfile.gettempdir()), MEMORY} for gone in sweep(parent)]


def sweep(parent: Path) -> list[Path]:
    """Remove folders whose owner has died. What went."""
    gone = []
    for folder in parent.glob(f"{_PREFIX}*"):
        try:
            lock = _lock(folder / _LOCK, create=False)
        except OSError:
            continue  # somebody else's, or just being removed
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
            gone.append(folder)
    return gone


def _lock(path: Path, *, create: bool) -> int | None:
    """A descriptor that holds the lock, None if another process does (or where there are no such locks)."""
    if sys.platform == "win32":
        return None
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor

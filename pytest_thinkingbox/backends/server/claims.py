"""Who started what on this machine, in a way that outlives a killed process.

A claim is a locked file. The operating system releases the lock when its process ends, however that ends, so what
belongs to a claim that nobody holds was left behind.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from filelock import FileLock, Timeout


def folder() -> Path:
    """Where this user's claims lie."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    path = Path(tempfile.gettempdir()) / f"thinkingbox-{user}"
    path.mkdir(mode=0o711, exist_ok=True)
    return path


def folder_id() -> str:
    """What no other folder of claims has. Who is not in this folder cannot tell who holds a claim of it: another user,
    another temporary folder, another container, which may have the same paths."""
    path = folder() / "id"
    with FileLock(folder() / "id.lock"):
        if not path.exists() or not path.read_text():  # whoever wrote it may have been killed
            path.write_text(secrets.token_hex(16))
        return path.read_text()


class Claim:
    """Held from its making until `release`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = _path(name)
        self._lock = FileLock(self._path)
        self._lock.acquire(timeout=5)
        # Whoever sweeps can take it for one that was left, between its making and its locking.
        while not self._path.exists():
            self._lock.release()
            self._lock.acquire(timeout=5)
        sweep()

    def release(self) -> None:
        """Safe to call twice."""
        if self._lock.is_locked:
            self._lock.release()
            self._path.unlink(missing_ok=True)


def is_held(name: str) -> bool:
    """Whether the process that claimed this name lives."""
    if not _path(name).exists():
        return False
    lock = FileLock(_path(name))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False


def sweep() -> None:
    """Remove the files of claims that nobody holds. What was started under them is found by its own name."""
    for path in folder().glob("thinkingbox-*.claim"):
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        path.unlink(missing_ok=True)
        lock.release()
        forget(path.stem)


def was_used(name: str) -> bool:
    """Whether a process began to start what this claim is about."""
    return any(path.suffix != ".claim" for path in folder().glob(f"{name}.*"))


def forget(name: str) -> None:
    """Remove the files of a claim that nobody holds."""
    for path in folder().glob(f"{name}.*"):
        if path.suffix != ".data":
            path.unlink(missing_ok=True)


def _path(name: str) -> Path:
    return folder() / f"{name}.claim"

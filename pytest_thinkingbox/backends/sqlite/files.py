"""Files below SQLite: descriptors, copies, clones."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

SIDE_FILES = ("-wal", "-shm", "-journal")
_STEP = 1 << 20
_FICLONE = 0x40049409
_NO_CLONE = frozenset({errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM})


def open_file(path: Path | str, flags: int) -> int:
    """A descriptor that no child process inherits, in binary mode where there is another."""
    return os.open(path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0), 0o600)


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Up to `size` bytes from there; fewer only at the end of the file."""
    if sys.platform == "win32":
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, size)
    return os.pread(descriptor, size, offset)


def copy_content(source: int, target: int) -> None:
    """Fill an empty file."""
    offset = 0
    if sys.platform == "linux":
        while count := os.sendfile(target, source, offset, 64 * _STEP):
            offset += count
        return
    while content := read_at(source, _STEP, offset):
        os.write(target, content)
        offset += len(content)


def clone_content(source: int, target: int) -> bool:
    """Share the content until one of the two changes; False where the file system cannot."""
    if sys.platform != "linux":
        return False
    import fcntl

    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _NO_CLONE:
            return False
        raise
    return True


def make_file(source: Path, path: Path, *, clone: bool) -> int:
    """Create a file with the content of another; the descriptor that it was written through."""
    given = open_file(source, os.O_RDONLY)
    try:
        made = open_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            if not clone or not clone_content(given, made):
                copy_content(given, made)
        except BaseException:
            os.close(made)
            os.unlink(path)
            raise
        return made
    finally:
        os.close(given)


def clone_file(source: Path, path: Path) -> None:
    """A clone where the file system can, else a copy."""
    os.close(make_file(source, path, clone=True))


def used_by_nobody_else(path: Path) -> bool:
    """Whether no process, this one included, has the file open for writing; False where nobody can tell.

    The kernel grants a write lease only then.
    """
    if sys.platform != "linux":
        return False
    import fcntl

    descriptor = open_file(path, os.O_RDWR)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def unlink_database(path: Path) -> None:
    """Remove a database file and what lies beside it. Windows keeps what is open; its folder goes later."""
    for suffix in ("", *SIDE_FILES):
        one = f"{path}{suffix}"
        try:
            os.unlink(one)
        except FileNotFoundError:
            continue
        except (IsADirectoryError, PermissionError):
            if os.path.isdir(one) and not os.path.islink(one):  # the agent's
                shutil.rmtree(one, ignore_errors=True)


def databases_work_in(folder: Path) -> bool:
    """Whether a new database can be written there: then one that cannot be opened was broken by its agent."""
    probe = folder / f"probe-{secrets.token_hex(8)}.sqlite"
    try:
        with closing(sqlite3.connect(probe)) as connection:
            connection.execute("CREATE TABLE probe (id INTEGER)")
            connection.commit()
    except sqlite3.Error:
        return False
    finally:
        unlink_database(probe)
    return True

"""The working directory of one attempt, and what became of its files."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.folders import OwnedFolder
from pytest_thinkingbox.state.received import FileChange

LARGEST_KEPT = 4 * 1024 * 1024
"""Bytes of one file whose content is kept; of a larger one only size and digest."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class _Known:
    """A file as it was at the start."""

    size: int
    digest: str


class _Place:
    """The folder in which all working directories of this process lie, as long as there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owned: OwnedFolder | None = None
        self._users = 0

    def take(self) -> Path:
        """A new folder in it."""
        with self._lock:
            if self._owned is None:
                self._owned = OwnedFolder(Path(tempfile.gettempdir()), "work")
            self._users += 1
            return Path(tempfile.mkdtemp(dir=self._owned.path))

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._owned is not None:
                self._owned.close()
                self._owned = None


_PLACE = _Place()


class WorkDir:
    """A folder of its own, empty or a copy of `source`. `folder` may be written to by anybody of the attempt."""

    def __init__(self, source: Path | None) -> None:
        self._root = _PLACE.take()
        self.folder = self._root / "work"
        try:
            if source is None:
                self.folder.mkdir()
            else:
                shutil.copytree(source, self.folder, symlinks=True)
        except OSError as error:
            self.remove()
            raise ConfigurationError(f"workdir={str(source)!r} cannot be copied: {error}") from error
        self._before: Mapping[str, _Known] = {} if source is None else _snapshot(self.folder)

    def changes(self) -> tuple[FileChange, ...]:
        """What differs from the start, by path. Links are not followed; sockets and pipes are passed over."""
        found: list[FileChange] = []
        seen: set[str] = set()
        for name, path in _files(self.folder):
            seen.add(name)
            before = self._before.get(name)
            try:
                size, digest, data = _read(path)
            except OSError:  # it may not be read: it is there, and that is all
                size, digest, data = 0, "", None
            if before is None or (before.size, before.digest) != (size, digest):
                found.append(
                    FileChange(
                        change="added" if before is None else "changed",
                        path=name,
                        size=size,
                        digest=digest,
                        data=data,
                    )
                )
        for name, before in self._before.items():
            if name not in seen:
                found.append(FileChange(change="removed", path=name, size=before.size, digest=before.digest))
        return tuple(sorted(found, key=lambda one: one.path))

    def remove(self) -> None:
        """The folder and all that is in it, whatever permissions were taken from it."""
        try:
            self._empty()
        finally:
            _PLACE.give_back()

    def _empty(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)
        if self._root.exists():
            for root, directories, _ in os.walk(self._root):
                for one in (root, *(os.path.join(root, name) for name in directories)):
                    if not os.path.islink(one):
                        os.chmod(one, stat.S_IRWXU)
            shutil.rmtree(self._root, ignore_errors=True)


def _snapshot(folder: Path) -> Mapping[str, _Known]:
    known: dict[str, _Known] = {}
    for name, path in _files(folder):
        size, digest, _ = _read(path)
        known[name] = _Known(size, digest)
    return known


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Regular files and links below the folder, with their relative paths.

    And the folder itself where a file or a link has taken its place, and folders that stay closed whatever is tried.
    """
    if folder.is_symlink() or not folder.is_dir():
        if folder.is_symlink() or folder.is_file():
            yield ".", folder
        return
    closed: list[OSError] = []
    _open(folder)
    for root, directories, names in os.walk(folder, onerror=closed.append):
        directories.sort()
        for name in directories:
            _open(Path(root, name))
        links = [one for one in directories if os.path.islink(os.path.join(root, one))]
        for name in sorted([*names, *links]):
            path = Path(root, name)
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                yield path.relative_to(folder).as_posix(), path
    for error in closed:
        path = Path(error.filename)
        yield path.relative_to(folder).as_posix(), path


def _open(folder: Path) -> None:
    """What was closed for us, perhaps on purpose, is looked into all the same."""
    if not folder.is_symlink() and not os.access(folder, os.R_OK | os.X_OK):
        with suppress(OSError):
            folder.chmod(stat.S_IRWXU)


def _read(path: Path) -> tuple[int, str, bytes | None]:
    """Size, digest and content; a link is its target's name, whatever it leads to."""
    if path.is_symlink():
        data = b"-> " + os.fsencode(os.readlink(path))
        return len(data), hashlib.sha256(data).hexdigest(), data
    digest = hashlib.sha256()
    parts: list[bytes] = []
    size = 0
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            digest.update(part)
            size += len(part)
            if size <= LARGEST_KEPT:
                parts.append(part)
    return size, digest.hexdigest(), b"".join(parts) if size <= LARGEST_KEPT else None

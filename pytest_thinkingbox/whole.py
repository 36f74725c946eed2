"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Where to write what becomes `path` when all of it is there. `durable`: it outlives a power cut, too."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        if durable:
            sync(part)
        part.replace(path)
        if durable:
            sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """To the disk: a file's content, or which files a folder has."""
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened there
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

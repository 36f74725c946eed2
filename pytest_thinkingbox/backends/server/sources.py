"""What an author gave to load: metadata, files, callables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy.schema import CreateTable

if TYPE_CHECKING:
    from sqlalchemy import Dialect

Source = Path | Callable[..., None]


def describe(source: Source) -> str:
    """A path, or a function with the file and line that it comes from."""
    if isinstance(source, Path):
        return str(source)
    name = f"{getattr(source, '__module__', '?')}.{getattr(source, '__qualname__', repr(source))}"
    try:
        return f"{name} ({inspect.getsourcefile(source)}:{inspect.getsourcelines(source)[1]})"
    except (TypeError, OSError):
        return name


def identity(source: Any, dialect: Dialect) -> str | None:
    """What tells a source from all others of this campaign; None for a function that holds values of its own."""
    if source is None:
        return "nothing"
    if isinstance(source, Path):
        found = source.stat()
        return f"{source} {found.st_size} {found.st_mtime_ns}"
    if not callable(source):  # metadata
        return "\n".join(str(CreateTable(table).compile(dialect=dialect)) for table in source.sorted_tables)
    if not inspect.isfunction(source) or source.__closure__ or "<" in source.__qualname__:
        return None
    return f"{source.__module__}.{source.__qualname__} {source.__code__.co_filename}"

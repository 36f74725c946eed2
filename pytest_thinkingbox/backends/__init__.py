"""Where the databases of attempts live."""

from __future__ import annotations

from pytest_thinkingbox.backends.base import Backend
from pytest_thinkingbox.errors import ConfigurationError


def make_backend(spec: str, *, label: str) -> Backend:
    """The backend that `--tb-backend` names. `label` goes into the names of what it makes."""
    if spec == "sqlite":
        from pytest_thinkingbox.backends.sqlite import SqliteBackend

        return SqliteBackend(label=label)
    raise ConfigurationError(f"--tb-backend={spec!r} is not known; known: sqlite")

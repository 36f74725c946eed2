"""Where the databases of attempts live."""

from __future__ import annotations

from importlib.util import find_spec

from pytest_thinkingbox.backends.base import Backend
from pytest_thinkingbox.errors import ConfigurationError

KNOWN = ("sqlite", "a URL such as postgresql+psycopg://postgres:PASSWORD@localhost/postgres")


def make_backend(spec: str, *, label: str, processes: int = 1) -> Backend:
    """The backend that `--tb-backend` names. `label` goes into the names of what it makes; `processes` of the
    campaign use it at the same time."""
    if spec == "sqlite":
        from pytest_thinkingbox.backends.sqlite import SqliteBackend

        return SqliteBackend(label=label)
    if spec.startswith("postgresql"):
        require("psycopg", spec=spec, extra="postgres")
        from pytest_thinkingbox.backends.postgres import PostgresBackend

        return PostgresBackend(spec, label=label, processes=processes)
    raise ConfigurationError(f"--tb-backend={spec!r} is not known; known: {', '.join(KNOWN)}")


def require(module: str, *, spec: str, extra: str) -> None:
    """Raises ConfigurationError, naming the extra, when what a backend needs is not installed."""
    if find_spec(module) is None:
        raise ConfigurationError(
            f"--tb-backend={spec.partition('://')[0]} needs {module}: pip install 'pytest-thinkingbox[{extra}]'"
        )

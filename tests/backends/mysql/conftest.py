"""A server of MariaDB and one of MySQL for all tests of this folder, and backends on them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest

from pytest_thinkingbox.backends.mysql import MySQLBackend
from tests.support.servers import MARIADB_IMAGE, mariadb_server, mysql_image, mysql_server, need_image

from .worlds import BOTH, connect


@pytest.fixture(scope="session", params=BOTH)
def image(request: pytest.FixtureRequest) -> str:
    """For tests that need containers."""
    if request.param == "mysql":
        return mysql_image()
    need_image(MARIADB_IMAGE, "THINKINGBOX_MARIADB_IMAGE")
    return MARIADB_IMAGE


@pytest.fixture(scope="session", params=BOTH)
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server and its administrator."""
    with (mysql_server if request.param == "mysql" else mariadb_server)() as url:
        yield url


Make = Callable[..., MySQLBackend]


@pytest.fixture
def make(server: str) -> Iterator[Make]:
    """Makes backends of campaigns of their own, which are closed at the end."""
    made: list[MySQLBackend] = []

    def go(**options: Any) -> MySQLBackend:
        options.setdefault("label", f"test-{secrets.token_hex(4)}")
        made.append(MySQLBackend(server, **options))
        return made[-1]

    yield go
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def shared(server: str) -> Iterator[MySQLBackend]:
    """One backend for tests that leave nothing but released leases."""
    made = MySQLBackend(server, label=f"shared-{secrets.token_hex(4)}")
    yield made
    made.close()


@pytest.fixture
def admin(server: str) -> Iterator[pymysql.Connection]:
    """The administrator's connection."""
    connection = connect(server)
    yield connection
    if connection.open:
        connection.close()

"""One MariaDB or MySQL server for all tests of this folder, and backends on it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest

from pytest_thinkingbox.backends.mysql import MySQLBackend
from tests.support.servers import MARIADB_IMAGE as IMAGE
from tests.support.servers import mysql_server, need_image

from .worlds import connect


@pytest.fixture(scope="session")
def docker() -> None:
    """For tests that need containers."""
    need_image(IMAGE, "THINKINGBOX_MARIADB_IMAGE")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server and its administrator."""
    with mysql_server() as url:
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

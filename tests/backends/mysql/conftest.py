"""One MariaDB or MySQL server for all tests of this folder, and backends on it."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest

from pytest_thinkingbox.backends import local_server
from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.backends.server.claims import Claim
from pytest_thinkingbox.backends.server.plan import ServerPlan

from .worlds import connect

IMAGE = os.environ.get("THINKINGBOX_MARIADB_IMAGE", "mariadb:10.11-local")


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
        missing(f"needs Docker and the image {IMAGE} (THINKINGBOX_MARIADB_IMAGE names another one)")


def missing(reason: str) -> None:
    if os.environ.get("THINKINGBOX_REQUIRE_REAL"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server and its administrator: one that is named, else in a container."""
    url = os.environ.get("THINKINGBOX_MYSQL_URL")
    if url is not None:
        yield url
        return
    if not has_docker():
        missing(
            f"needs a MariaDB or MySQL server: Docker with the image {IMAGE} (THINKINGBOX_MARIADB_IMAGE names another "
            "one), or a URL in THINKINGBOX_MYSQL_URL such as mysql+pymysql://root:PASSWORD@127.0.0.1:3306"
        )
    name = f"tests-{secrets.token_hex(4)}"
    backend = IMAGE if IMAGE.startswith(("mysql:", "mariadb:")) else "mariadb"
    own = local_server(ServerPlan.make(backend, campaign=name))
    claim = Claim(f"thinkingbox-{name}")
    yield own.ensure(image=IMAGE, options={}, say=print)
    own.stop()
    claim.release()


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

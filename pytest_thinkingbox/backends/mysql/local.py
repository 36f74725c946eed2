"""A server that a campaign starts for itself: MySQL or MariaDB in a container."""

from __future__ import annotations

from collections.abc import Mapping

from pymysql.err import MySQLError
from sqlalchemy import URL, make_url

from pytest_thinkingbox.backends.mysql import sql
from pytest_thinkingbox.backends.mysql.server import open_connection, shut
from pytest_thinkingbox.backends.mysql.sql import query
from pytest_thinkingbox.backends.server.container import ContainerServer, NotYet, Product
from pytest_thinkingbox.backends.server.plan import ServerPlan

DEFAULT_IMAGES: Mapping[str, str] = {"mysql": "mysql:8.4", "mariadb": "mariadb:11.8"}
IMAGE_VARIABLES: Mapping[str, str] = {
    "mysql": "THINKINGBOX_MYSQL_IMAGE",
    "mariadb": "THINKINGBOX_MARIADB_IMAGE",
}
SETTINGS: Mapping[str, str] = {
    # What is lost when the machine fails is thrown away anyhow.
    "innodb_flush_log_at_trx_commit": "0",
    "innodb_doublewrite": "0",
    "max_connections": "1000",
}


def container_server(plan: ServerPlan) -> ContainerServer:
    """`--tb-backend=mysql` or `mariadb`, or `mysql:TAG` or `mariadb:TAG` for an image."""
    kind = plan.backend.partition(":")[0]
    product = Product(
        default_image=DEFAULT_IMAGES[kind],
        image_variable=IMAGE_VARIABLES[kind],
        port=3306,
        data="/var/lib/mysql",
        environment=lambda password: {
            "MYSQL_ROOT_PASSWORD": password,
            "MYSQL_ROOT_HOST": "%",
            "MARIADB_ROOT_PASSWORD": password,
        },
        command=lambda options: [
            "--skip-log-bin",
            "--skip-name-resolve",
            *(f"--{name}={value}" for name, value in {**SETTINGS, **options}.items()),
        ],
        url=_url,
        ask=_ask,
        instead="give the URL of a server: mysql+pymysql://USER:PASSWORD@HOST:PORT",
    )
    return ContainerServer(plan, product)


def _url(plan: ServerPlan, host: str) -> str:
    return URL.create(
        "mysql+pymysql", username="root", password=plan.password, host=host, port=plan.port
    ).render_as_string(hide_password=False)


def _ask(url: str) -> str:
    try:
        connection = open_connection(make_url(url), connect_timeout=3, read_timeout=3)
    except MySQLError as error:
        raise NotYet(sql.first_line(error)) from error
    try:
        version = str(query(connection, "SELECT VERSION()")[0][0])
    except MySQLError as error:
        raise NotYet(sql.first_line(error)) from error
    finally:
        shut(connection)
    return version if "MariaDB" in version else f"MySQL {version}"

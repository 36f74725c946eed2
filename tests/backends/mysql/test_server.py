"""What a server must be, and how it is started."""

from __future__ import annotations

import secrets
import threading
from typing import Any

import pymysql
import pytest
from sqlalchemy import make_url

from pytest_thinkingbox.backends import local_server
from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.backends.mysql import server as module
from pytest_thinkingbox.backends.mysql.server import MySQLServer, campaign_named
from pytest_thinkingbox.backends.mysql.sql import query
from pytest_thinkingbox.backends.server.claims import Claim
from pytest_thinkingbox.backends.server.names import Campaign
from pytest_thinkingbox.backends.server.plan import ServerPlan
from pytest_thinkingbox.errors import ConfigurationError

from .worlds import connect, execute, only_mariadb


def test_who_is_no_administrator_is_told_so(server: str, admin: pymysql.Connection) -> None:
    execute(admin, "CREATE USER plain IDENTIFIED BY 'pw'")
    url = make_url(server).set(username="plain", password="pw").render_as_string(hide_password=False)
    with pytest.raises(ConfigurationError, match=r"plain is no administrator .* use a server for tests"):
        MySQLBackend(url, label="plain")
    execute(admin, "DROP USER plain")


def test_a_server_with_a_database_that_everybody_may_write_to_is_refused(
    server: str, admin: pymysql.Connection
) -> None:
    execute(admin, r"INSERT INTO mysql.db (Host, Db, User, Insert_priv) VALUES ('%', 'test', '', 'Y')")
    try:
        with pytest.raises(ConfigurationError, match="every user may write to the databases test"):
            MySQLBackend(server, label="open")
    finally:
        execute(admin, "DELETE FROM mysql.db WHERE User = ''")


def test_another_driver_is_refused_with_the_right_url() -> None:
    with pytest.raises(ConfigurationError, match=r"me:\*\*\*@host: write it as mysql\+pymysql://USER"):
        MySQLBackend("mysql+mysqldb://me:secret@host", label="x")


def test_names_of_users_fit_into_32_characters_and_tell_campaigns_apart() -> None:
    labels = ("20261129-233012-abcdef", "20261129-233012-abcdee", "x" * 40 + "a", "x" * 40 + "b", "nightly")
    names = [campaign_named(label).name("a", "0" * 6) for label in labels]
    assert len(set(names)) == 5
    assert max(map(len, names)) <= 32
    assert names[0] == "tb_20261129233012abcdef_a_000000"


def test_a_campaign_begins_while_another_one_sweeps(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = MySQLServer(server, campaign=campaign_named("sweeps"))

    def sweeping(connection: pymysql.Connection, statement: str) -> list[tuple[Any, ...]]:
        found = query(connection, statement)
        if statement.startswith("CREATE DATABASE IF NOT EXISTS"):
            other.sweep()
        return found

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(module, "query", sweeping)
        begun = MySQLServer(server, campaign=campaign_named(f"begins-{secrets.token_hex(4)}"))
    begun.execute(f"SELECT * FROM {begun.home}.templates")
    begun.close()
    other.close()


@only_mariadb
def test_a_process_that_ends_while_another_one_looks_after_it_removes_the_campaign(
    server: str, admin: pymysql.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = campaign_named(f"ends-{secrets.token_hex(4)}")
    first, last = (MySQLServer(server, campaign=campaign) for _ in range(2))
    ending = threading.Thread(target=last.close)
    is_held = module._is_held

    def looking(connection: pymysql.Connection, campaign: Campaign) -> bool:
        found = is_held(connection, campaign)
        if not ending.ident:
            ending.start()
            ending.join(1)
        return found

    monkeypatch.setattr(module, "_is_held", looking)
    first.close()
    ending.join()
    assert execute(admin, f"SHOW DATABASES LIKE '{first.home}'") == []


@pytest.mark.slow
def test_options_are_settings_of_the_server_and_a_start_is_told(image: str) -> None:
    name = f"tests-{secrets.token_hex(4)}"
    own = local_server(ServerPlan.make(image, campaign=name))
    claim = Claim(f"thinkingbox-{name}")
    said: list[str] = []
    try:
        url = own.ensure(image=None, options={"innodb_lock_wait_timeout": "7"}, say=said.append)
        assert own.ensure(image=None, options={}, say=said.append) == url
        connection = connect(url)
        assert execute(connection, "SELECT @@innodb_lock_wait_timeout, @@max_connections, @@log_bin") == [
            (7, 1000, 0)
        ]
        connection.close()
    finally:
        own.stop()
        claim.release()
    assert said[0] == f"thinkingbox: starting {image} in a container ..."
    assert len(said) == 2

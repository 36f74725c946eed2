"""Who may do what: a user for every attempt, an owner of what its views and triggers do, a reader for checkers."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from pytest_thinkingbox.backends.mysql import sql
from pytest_thinkingbox.backends.mysql.sql import Connection, query
from pytest_thinkingbox.backends.server.names import Campaign, Kind

CONNECTION_LIMIT = 8
STATEMENT_SECONDS = 60


_DDL = (
    "CREATE, ALTER, DROP, INDEX, REFERENCES, CREATE VIEW, TRIGGER, CREATE ROUTINE, ALTER ROUTINE,"
    " CREATE TEMPORARY TABLES, LOCK TABLES"
)


@dataclass(frozen=True, slots=True)
class Login:
    """A user and its password."""

    name: str
    password: str


def create_attempt_user(
    connection: Connection, campaign: Campaign, *, database: str, limit_statements: bool, ddl: bool
) -> Login:
    """A user that reads and writes rows of this database, with `ddl` also what it consists of, and nothing else.

    `limit_statements` where the server knows a limit for all statements of a user (MariaDB).
    """
    login = _login(campaign, "a")
    limit = f" MAX_STATEMENT_TIME {STATEMENT_SECONDS}" if limit_statements else ""
    _create(connection, login, f" WITH MAX_USER_CONNECTIONS {CONNECTION_LIMIT}{limit}")
    rights = "SELECT, INSERT, UPDATE, DELETE, EXECUTE, SHOW VIEW"
    _grant(connection, f"{rights}, {_DDL}" if ddl else rights, _exactly(database), login)
    return login


def create_owner(connection: Connection, campaign: Campaign, *, database: str) -> Login:
    """Whose rights the views, triggers and routines of one attempt's database have. Nobody can log in as it."""
    login = _login(campaign, "o")
    _create(connection, login, " ACCOUNT LOCK")
    _grant(connection, "ALL", _exactly(database), login)
    return login


def create_reader(connection: Connection, campaign: Campaign) -> Login:
    """A user that reads every database of the campaign, and writes nothing."""
    login = _login(campaign, "r")
    _create(connection, login, "")
    every = sql.name(rf"tb_{campaign.part}_".replace("_", r"\_") + "%")
    _grant(connection, "SELECT, SHOW VIEW", every, login)
    return login


def _login(campaign: Campaign, kind: Kind) -> Login:
    return Login(campaign.name(kind, secrets.token_hex(3)), secrets.token_urlsafe(24))


def _create(connection: Connection, login: Login, options: str) -> None:
    query(connection, f"CREATE USER {sql.account(login.name)} IDENTIFIED BY '{login.password}'{options}")


def _grant(connection: Connection, rights: str, database: str, login: Login) -> None:
    query(connection, f"GRANT {rights} ON {database}.* TO {sql.account(login.name)}")


def _exactly(database: str) -> str:
    """A database in a GRANT, where an underscore stands for any character."""
    return sql.name(database.replace("_", r"\_"))

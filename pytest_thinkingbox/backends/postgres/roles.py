"""Who may do what: an owner and a group of agents for the campaign, a role for every attempt, a reader for checkers.

An attempt's role inherits from the group what may be done with rows; that it may connect to its own database, and to
no other one, is granted to the role itself.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from pytest_thinkingbox.backends.postgres.queries import LOG_SCHEMA
from pytest_thinkingbox.backends.server.names import Campaign

Connection = psycopg.Connection[Any]

CONNECTION_LIMIT = 8
STATEMENT_SECONDS = 60
IDLE_IN_TRANSACTION_SECONDS = 600
TEMPORARY_MEGABYTES = 1024
_SPILLED = 3
"""How often the bytes of a seed may be in temporary files while its tables are compared whole."""
_SETTINGS = {
    "statement_timeout": f"{STATEMENT_SECONDS}s",
    "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_SECONDS}s",
    "temp_file_limit": f"{TEMPORARY_MEGABYTES}MB",
}


@dataclass(frozen=True, slots=True)
class Login:
    """A role and its password."""

    name: str
    password: str


def owner_of(campaign: Campaign) -> str:
    return campaign.name("r", "owner")


def agents_of(campaign: Campaign) -> str:
    """The first thing that a campaign makes, and the last that is removed of it: without it nothing of its name is
    taken for ours."""
    return campaign.name("r", "agents")


def create_campaign_roles(connection: Connection, campaign: Campaign) -> None:
    """Safe to call again, and by several processes at once."""
    owner, agents = sql.Identifier(owner_of(campaign)), sql.Identifier(agents_of(campaign))
    for statement in (
        sql.SQL("CREATE ROLE {} NOLOGIN").format(agents),
        # It owns what the schema made; of what an administrator made there it may do what agents may.
        sql.SQL("CREATE ROLE {} NOLOGIN IN ROLE {}").format(owner, agents),
    ):
        # Two processes may do it at the same time: then one of them breaks a unique index.
        with suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            connection.execute(statement)


def create_reader(connection: Connection, campaign: Campaign, *, distrusted: int | None = None) -> Login:
    """A role that reads everything in databases that it may connect to, and writes nothing.

    With `distrusted`, the bytes of the seed, where code of an agent runs with its rights: it must not fill the disk
    either.
    """
    login = Login(campaign.name("r", secrets.token_hex(6)), secrets.token_urlsafe(24))
    connection.execute(
        sql.SQL("CREATE ROLE {} LOGIN BYPASSRLS PASSWORD {} IN ROLE pg_read_all_data").format(
            sql.Identifier(login.name), sql.Literal(verifier(login.password))
        )
    )
    settings = {"default_transaction_read_only": "on"}
    if distrusted is not None:
        settings["temp_file_limit"] = f"{max(TEMPORARY_MEGABYTES, _SPILLED * distrusted >> 20)}MB"
    for setting, value in settings.items():
        connection.execute(
            sql.SQL("ALTER ROLE {} SET {} = {}").format(
                sql.Identifier(login.name), sql.Identifier(setting), sql.Literal(value)
            )
        )
    return login


def create_attempt_role(
    connection: Connection, campaign: Campaign, *, name: str, database: str, reader: Login, ddl: bool
) -> Login:
    """The role of one attempt, which may connect to this database; with `ddl` it acts there as the owner. Its `reader`
    may connect from now on: later the agent can hold the lock that a grant needs."""
    login = Login(name, secrets.token_urlsafe(24))
    role = sql.Identifier(login.name)
    with connection.transaction():
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN CONNECTION LIMIT {} PASSWORD {} IN ROLE {}").format(
                role,
                sql.Literal(CONNECTION_LIMIT),
                sql.Literal(verifier(login.password)),
                sql.Identifier(agents_of(campaign)),
            )
        )
        for setting, value in _SETTINGS.items():
            connection.execute(
                sql.SQL("ALTER ROLE {} SET {} = {}").format(role, sql.Identifier(setting), sql.Literal(value))
            )
        let_connect(connection, login, reader, database=database)
        if ddl:
            # What it creates belongs to the owner too, so that its own name is in no definition.
            owner = sql.Identifier(owner_of(campaign))
            connection.execute(sql.SQL("GRANT {} TO {}").format(owner, role))
            connection.execute(sql.SQL("ALTER ROLE {} SET role = {}").format(role, owner))
            # Not to the owner: whoever acts as it could lock all databases in which it has a right.
            connection.execute(
                sql.SQL("GRANT CREATE, TEMPORARY ON DATABASE {} TO PUBLIC").format(sql.Identifier(database))
            )
    return login


def let_connect(connection: Connection, *logins: Login, database: str) -> None:
    connection.execute(
        sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(
            sql.Identifier(database), sql.SQL(", ").join(sql.Identifier(one.name) for one in logins)
        )
    )


def may_log_in(connection: Connection, login: Login) -> bool:
    """What a role without CREATEROLE cannot change of itself."""
    row = connection.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", [login.name]).fetchone()
    return row is not None and bool(row[0])


def loads_libraries(connection: Connection, login: Login) -> bool:
    """Whether the role has told the server to load something into its sessions: without it no session begins."""
    row = connection.execute(
        "SELECT EXISTS (SELECT FROM pg_db_role_setting, unnest(setconfig) AS one"
        " WHERE setrole = (SELECT oid FROM pg_roles WHERE rolname = %s) AND one LIKE 'local\\_preload\\_libraries=%%')",
        [login.name],
    ).fetchone()
    return row is not None and bool(row[0])


def drop_attempt_role(connection: Connection, *, name: str, database: str | None) -> None:
    """After its sessions ended. `database` is where it may connect, None when that is gone."""
    role = sql.Identifier(name)
    if database is not None:
        with suppress(psycopg.errors.InvalidCatalogName, psycopg.errors.UndefinedObject):
            connection.execute(
                sql.SQL("REVOKE ALL ON DATABASE {} FROM {}").format(sql.Identifier(database), role)
            )
    connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(role))


_OF_LOCKS = r"pronamespace = 'pg_catalog'::regnamespace AND proname ~ '^pg_(try_)?advisory_(xact_)?lock'"


def withhold_locks(connection: Connection, owner: str) -> None:
    """In a new database: no advisory locks, with which one session can use up what all sessions of the server have.

    The owner, as whom the schema is loaded, may grant them.
    """
    for (function,) in connection.execute(
        f"SELECT oid::regprocedure::text FROM pg_proc WHERE {_OF_LOCKS}"
    ).fetchall():
        name = sql.SQL(function)
        connection.execute(sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(name))
        connection.execute(
            sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {} WITH GRANT OPTION").format(
                name, sql.Identifier(owner)
            )
        )


def settle_locks(connection: Connection, owner: str) -> None:
    """After loading: the owner keeps what it has granted to everybody, and no more."""
    for (function,) in connection.execute(
        f"SELECT oid::regprocedure::text FROM pg_proc WHERE {_OF_LOCKS}"
        " AND NOT EXISTS (SELECT FROM aclexplode(proacl) WHERE grantee = 0)"
    ).fetchall():
        connection.execute(
            sql.SQL("REVOKE ALL ON FUNCTION {} FROM {} CASCADE").format(
                sql.SQL(function), sql.Identifier(owner)
            )
        )


def grant_rows(connection: Connection, campaign: Campaign, *, ddl: bool) -> None:
    """Let the agents of the campaign read and write rows, in a template and so in every clone of it.

    Of sequences they may take the next value but not set it. Nothing can be created, also not in `public`, which
    everybody could until PostgreSQL 14, unless with `ddl`.
    """
    owner, agents = sql.Identifier(owner_of(campaign)), sql.Identifier(agents_of(campaign))
    for (schema,) in connection.execute(
        "SELECT nspname::text FROM pg_namespace WHERE nspname !~ '^pg_'"
        " AND nspname NOT IN ('information_schema', %s)",
        [LOG_SCHEMA],
    ).fetchall():
        for statement in (
            "REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC",
            "GRANT USAGE ON SCHEMA {schema} TO {agents}",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {agents}",
            "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {agents}",
            *(("GRANT USAGE, CREATE ON SCHEMA {schema} TO {owner}",) if ddl else ()),
        ):
            connection.execute(
                sql.SQL(statement).format(schema=sql.Identifier(schema), agents=agents, owner=owner)
            )


def verifier(password: str) -> str:
    """What PostgreSQL keeps of a password (RFC 5803), so that the password itself is in no statement.

    One round instead of 4096: the password is random and long, so nothing is gained by making a guess slow.
    """
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    client = hmac.digest(salted, b"Client Key", "sha256")
    server = hmac.digest(salted, b"Server Key", "sha256")
    stored = hashlib.sha256(client).digest()
    return f"SCRAM-SHA-256$1:{_base64(salt)}${_base64(stored)}:{_base64(server)}"


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")

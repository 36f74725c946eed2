"""Prepared XA transactions whose session has ended. No server says which attempt's they are."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from pymysql.err import MySQLError

from pytest_thinkingbox.backends.mysql.sql import Connection, query
from pytest_thinkingbox.backends.server.names import kind_of


def end_orphans(
    connection: Connection, kind: str, suspects: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """Whose each one may be that stays. `suspects` are those of an earlier look."""
    alive = _playing(connection, kind)
    left = {}
    for name in _prepared(connection, kind):
        those = suspects.get(name, alive)
        if those & alive:
            left[name] = those
            continue
        with suppress(MySQLError):
            query(connection, f"XA ROLLBACK {name}")
    return left


def _prepared(connection: Connection, kind: str) -> list[str]:
    """Names of prepared XA transactions as statements write them. They may be any bytes, so that none is read as text,
    and a name is whole only with the number of its format."""
    if kind == "MariaDB":
        return [str(name) for *_, name in query(connection, "XA RECOVER FORMAT='SQL'")]
    found = []
    for number, first, second, both in query(connection, "XA RECOVER CONVERT XID"):
        digits = str(both).removeprefix("0x")
        parts = digits[: 2 * first], digits[2 * first : 2 * (first + second)]
        found.append(f"x'{parts[0]}', x'{parts[1]}', {number}")
    return found


def _playing(connection: Connection, kind: str) -> frozenset[str]:
    """Users of attempts, of whatever campaign, that were not cut."""
    found = query(
        connection,
        "SELECT User FROM mysql.global_priv"
        " WHERE COALESCE(JSON_VALUE(Priv, '$.account_locked'), '0') NOT IN ('1', 'true')"
        if kind == "MariaDB"
        else "SELECT User FROM mysql.user WHERE account_locked = 'N'",
    )
    return frozenset(str(one) for (one,) in found if kind_of(str(one)) == "a")

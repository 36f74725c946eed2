"""Statements as text: PyMySQL has no composition of its own, and with arguments it takes a % in a name for one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeAlias

import pymysql.connections
from pymysql.constants import ER
from pymysql.err import InterfaceError, MySQLError, OperationalError

Connection: TypeAlias = pymysql.connections.Connection

LOST = (OperationalError, InterfaceError)
"""What PyMySQL raises when the server is gone - among others, which an administrator's statements do not meet."""

_OUTAGES = frozenset({
    ER.DISK_FULL, ER.OUTOFMEMORY, ER.OUT_OF_SORTMEMORY, ER.CON_COUNT_ERROR, ER.OUT_OF_RESOURCES, ER.SERVER_SHUTDOWN,
    ER.RECORD_FILE_FULL, ER.TOO_MANY_USER_CONNECTIONS,
})  # fmt: skip
"""No disk, no memory, no connection, a server that ends."""

_ENDED = 1927  # MariaDB's for a session that was ended

_NO_DISK = frozenset({ER.DISK_FULL, ER.RECORD_FILE_FULL})
_OF_FILES = frozenset({3, ER.ERROR_ON_WRITE, ER.GET_ERRNO})
"""What the server could not do with a file, for whatever reason; 3 is that of its own file functions."""
_NO_SPACE = re.compile(r"\b(?:errcode|errno|error):? 28\b", re.IGNORECASE)

_LOGIN_REFUSED = frozenset({
    ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.BAD_DB_ERROR, ER.TOO_MANY_USER_CONNECTIONS,
    ER.USER_LIMIT_REACHED, ER.MUST_CHANGE_PASSWORD, 1862,
})  # fmt: skip
"""Of a server that is well: it knows the user, the database and how many sessions the user has; 1862 is MySQL's for an
expired password."""

_QUOTED = r"""(?:`(?:[^`]|``)*`|"(?:[^"]|"")*")"""  # the latter where code was made under ANSI_QUOTES
_DEFINER = re.compile(rf"\bDEFINER={_QUOTED}(?:@{_QUOTED})? ?")


def name(*parts: str) -> str:
    """An identifier, quoted; several are a qualified one."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def names(columns: Iterable[str]) -> str:
    return ", ".join(map(name, columns))


def text(value: str) -> str:
    """A string literal, whatever `sql_mode` says of backslashes and of quotes."""
    return f"CONVERT(0x{value.encode().hex()} USING utf8mb4)" if value else "''"


def account(user: str) -> str:
    """A user from any host, in statements about users."""
    return f"{name(user)}@'%'"


def without_definer(definition: str, *, instead: str = "") -> str:
    """A CREATE statement as the server shows it, without its DEFINER clause or with another one."""
    return _DEFINER.sub(lambda _: instead, definition, count=1)


def query(connection: Connection, statement: str | bytes) -> list[tuple[Any, ...]]:
    """Execute one statement as it is written; all its rows."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def is_outage(error: MySQLError) -> bool:
    """Whether the server is to blame: PyMySQL has one class for that and for much that a statement does wrong."""
    return is_lost(error) or number_of(error) in _OUTAGES or is_no_disk(error)


def is_no_disk(error: MySQLError) -> bool:
    """Whether it says that a disk is full."""
    number = number_of(error)
    return number in _NO_DISK or (number in _OF_FILES and bool(_NO_SPACE.search(first_line(error))))


def number_of(error: MySQLError) -> int | None:
    """The server's or PyMySQL's number; None for what has none."""
    number = error.args[0] if error.args else None
    return number if isinstance(number, int) else None


def is_refused_login(error: MySQLError) -> bool:
    """Whether the server answers and does not let in this user, of whose password, sessions and database it says so."""
    return number_of(error) in _LOGIN_REFUSED


def is_lost(error: BaseException) -> bool:
    """Whether a session ended: it was ended, it took too long, or the server is gone."""
    if not isinstance(error, MySQLError):
        return False
    number = number_of(error)
    return isinstance(error, InterfaceError) or (
        number is not None and (number == _ENDED or 2000 <= number < 3000)
    )


def is_full(error: MySQLError) -> bool:
    """Whether the server takes no more connections, of anybody."""
    return bool(number_of(error) == ER.CON_COUNT_ERROR)


def first_line(error: BaseException) -> str:
    """What the server said, without the number when there is a text."""
    said = error.args[1] if isinstance(error, MySQLError) and len(error.args) > 1 else error
    return next(iter(str(said).strip().splitlines()), type(error).__name__)

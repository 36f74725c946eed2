"""Which errors of a driver are the server's fault."""

from __future__ import annotations

import psycopg
import pymysql
import pytest
from psycopg import errors

from pytest_thinkingbox.backends.mysql import sql
from pytest_thinkingbox.backends.postgres.server import is_outage


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (psycopg.OperationalError("server closed the connection unexpectedly"), True),
        (errors.AdminShutdown(), True),
        (errors.ConnectionException(), True),
        (errors.DiskFull(), True),
        (errors.TooManyConnections(), True),
        (errors.QueryCanceled(), False),
        (errors.LockNotAvailable(), False),
        (errors.DeadlockDetected(), False),
        (errors.ProgramLimitExceeded(), False),
        (errors.UndefinedTable(), False),
    ],
    ids=lambda one: type(one).__name__,
)
def test_of_postgresql(error: psycopg.Error, outage: bool) -> None:
    assert is_outage(error) is outage


@pytest.mark.parametrize(
    ("error", "outage"),
    [
        (pymysql.OperationalError(2013, "Lost connection to MySQL server during query"), True),
        (pymysql.OperationalError(2003, "Can't connect"), True),
        (pymysql.OperationalError(1053, "Server shutdown in progress"), True),
        (pymysql.OperationalError(1040, "Too many connections"), True),
        (pymysql.OperationalError(1114, "The table is full"), True),
        (pymysql.InterfaceError(0, ""), True),
        (pymysql.OperationalError(1690, "BIGINT value is out of range"), False),
        (pymysql.OperationalError(1205, "Lock wait timeout exceeded"), False),
        (pymysql.ProgrammingError(1146, "Table doesn't exist"), False),
        (pymysql.OperationalError("the attempt has ended"), False),
    ],
    ids=lambda one: str(one.args[0]) if isinstance(one, Exception) else "",
)
def test_of_mysql(error: pymysql.MySQLError, outage: bool) -> None:
    assert sql.is_outage(error) is outage

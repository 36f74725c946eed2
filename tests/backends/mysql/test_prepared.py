"""Prepared XA transactions, which outlive their session and belong to nobody.

Apart from tests whose attempts live on: whose a transaction may be is told by who is left.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pymysql
import pytest

from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.backends.mysql.lease import MySQLLease
from pytest_thinkingbox.state.model import StateDiff

from .worlds import SHOP, environment_of, execute, raw

ENVIRONMENT = environment_of(*SHOP)


@pytest.fixture
def lease(shared: MySQLBackend) -> Iterator[MySQLLease]:
    made = shared.acquire(ENVIRONMENT, None, attempt_id="a")
    yield made
    made.release()


@pytest.mark.parametrize(
    "name",
    ["'late', 'r'", "'late', 'r', 7", "'late', '', 2147483647", "0xff00fe, 0xff00fe", r"'it\'s', '\\', 3"],
)
def test_a_transaction_that_is_prepared_and_left_is_undone(
    shared: MySQLBackend, lease: MySQLLease, admin: pymysql.Connection, name: str
) -> None:
    with raw(lease) as connection:
        prepare(connection, name)
    lease.cut()
    assert lease.read_changes(audit=True) == StateDiff()
    assert execute(admin, "XA RECOVER") == []
    started = time.monotonic()
    lease.release()
    assert time.monotonic() - started < 5
    following = shared.acquire(ENVIRONMENT, None, attempt_id="b")
    with raw(following) as other, pytest.raises(pymysql.Error):
        execute(other, f"XA COMMIT {name}")
    following.release()
    while execute(admin, f"SHOW DATABASES LIKE '{lease.database}'"):  # no lock of it keeps the database
        assert time.monotonic() - started < 10
        time.sleep(0.1)


def prepare(connection: pymysql.Connection, name: str) -> None:
    for statement in (f"XA START {name}", "DELETE FROM `lines`", f"XA END {name}", f"XA PREPARE {name}"):
        execute(connection, statement)


def test_a_prepared_transaction_of_an_attempt_that_goes_on_is_not_undone_by_the_cut_of_another(
    shared: MySQLBackend, lease: MySQLLease
) -> None:
    with raw(lease) as connection:
        prepare(connection, "'first', 'phase'")
    other = shared.acquire(ENVIRONMENT, None, attempt_id="b")
    other.cut()
    assert other.read_changes(audit=True) == StateDiff()
    other.release()
    with raw(lease) as connection:
        execute(connection, "XA COMMIT 'first', 'phase'")
    lease.cut()
    assert [change.table for change in lease.read_changes(audit=True).rows] == ["lines", "lines"]


@pytest.mark.parametrize("ddl", [False, True], ids=["rows", "ddl"])
def test_a_prepared_transaction_is_undone_when_all_have_ended_whose_it_may_be(
    shared: MySQLBackend, admin: pymysql.Connection, ddl: bool
) -> None:
    environment = environment_of(*SHOP, ddl=ddl)
    mine, other = (shared.acquire(environment, None, attempt_id=one) for one in "ab")
    with raw(mine) as connection:
        prepare(connection, "'late', 'r'")
    mine.cut()
    started = time.monotonic()
    assert mine.read_changes(audit=True) == StateDiff()
    assert time.monotonic() - started < 5
    assert len(execute(admin, "XA RECOVER")) == 1
    following = shared.acquire(environment, None, attempt_id="c")
    mine.release()
    other.cut()
    assert execute(admin, "XA RECOVER") == []
    other.release()
    following.release()


def test_a_prepared_transaction_of_any_name_is_no_affair_of_another_attempt(
    shared: MySQLBackend, lease: MySQLLease
) -> None:
    other = shared.acquire(ENVIRONMENT, None, attempt_id="b")
    with raw(lease) as connection:
        prepare(connection, "0xff00fe, 0xff00fe")
        other.cut()
        assert other.read_changes(audit=True) == StateDiff()
        lease.cut()
    other.release()

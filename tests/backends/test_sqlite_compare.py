from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings

from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.state.diff import diff_tables
from pytest_thinkingbox.state.values import canonical_row

from .sqlite_worlds import World, apply, execute_all, raw, worlds

PROPERTY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@PROPERTY
@given(world=worlds())
def test_changes_applied_to_before_give_after_always(tmp_path_factory, world: World) -> None:
    backend = SqliteBackend(label="p", directory=tmp_path_factory.getbasetemp(), fast=False)
    try:
        environment = world.environment()
        seed = backend.acquire(environment, None, attempt_id="seed")
        lease = backend.acquire(environment, None, attempt_id="a")
        with raw(lease) as connection:
            connection.execute(f"PRAGMA journal_mode = {world.journal}")
            execute_all(connection, world.writes)
        seed.cut()
        lease.cut()
        diff = lease.read_changes(audit=False)
        tables = lease.rules.tables
        before = {table: seed.rows(table, {}) for table in tables}
        after = {table: lease.rows(table, {}) for table in tables}
        for table in tables:
            changes = [change for change in diff.rows if change.table == table]
            assert apply(before[table], changes) == Counter(canonical_row(row) for row in after[table])
        assert diff.rows == diff_tables(before, after, tables)
        assert diff.schema == ()
    finally:
        backend.close()

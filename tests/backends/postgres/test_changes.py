"""Reading changes on PostgreSQL: the log and full comparison agree, whatever was written."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import make_url

from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.backends.postgres.lease import PostgresLease
from pytest_thinkingbox.state.model import StateDiff
from tests.backends import pools

from .worlds import SHOP, changes_after, changes_of, environment_of, raw

TYPES = environment_of(
    "CREATE TYPE mood AS ENUM ('sad', 'happy')",
    "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
    "CREATE SCHEMA \"Größe\"",
    """CREATE TABLE kinds (
        id uuid PRIMARY KEY, j json, b jsonb, a int[], n numeric, t timestamptz, d date, y bytea, m mood, ms mood[],
        r int4range, v inet, i interval, f float8, p positive, c char(5), bits bit(3),
        g int GENERATED ALWAYS AS (coalesce(p, 0) + 1) STORED)""",
    'CREATE TABLE "Größe"."wei""rd .%" (id int GENERATED ALWAYS AS IDENTITY, "a b" text PRIMARY KEY)',
    "CREATE TABLE keyless (a int, b text)",
    "CREATE TABLE events (at date, n int, what text, PRIMARY KEY (at, n)) PARTITION BY RANGE (at)",
    "CREATE TABLE events_25 PARTITION OF events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
    "CREATE TABLE events_26 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
    "CREATE TABLE animals (id int PRIMARY KEY, name text)",
    "CREATE TABLE dogs (id int PRIMARY KEY, tricks int) INHERITS (animals)",
    "CREATE TABLE parents (id int PRIMARY KEY)",
    "CREATE TABLE children (id int PRIMARY KEY, of int REFERENCES parents ON DELETE CASCADE ON UPDATE CASCADE"
    " DEFERRABLE INITIALLY DEFERRED)",
    "CREATE VIEW happy AS SELECT id, m FROM kinds WHERE m = 'happy'",
    "CREATE MATERIALIZED VIEW many AS SELECT count(*) FROM keyless",
    """INSERT INTO kinds VALUES ('00000000-0000-0000-0000-000000000001', '{"b": 1,  "a": [1]}', '{"x": null}', '{1,2}',
        1.50, '2026-01-01 00:00+02', '2026-01-01', '\\x00ff', 'sad', '{sad,happy}', '[1,3)', '10.0.0.1/8', '1 day',
        0.1, 3, 'ab', '101')""",
    "INSERT INTO \"Größe\".\"wei\"\"rd .%\" (\"a b\") VALUES ('one'), ('two')",
    "INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (2, NULL)",
    "INSERT INTO events VALUES ('2025-05-05', 1, 'old'), ('2026-05-05', 1, 'new')",
    "INSERT INTO animals VALUES (1, 'cat')",
    "INSERT INTO dogs VALUES (2, 'dog', 5)",
    "INSERT INTO parents VALUES (1), (2)",
    "INSERT INTO children VALUES (10, 1), (11, 2)",
)  # fmt: skip


@pytest.fixture(scope="module")
def shared(server: str) -> Iterator[PostgresBackend]:
    made = PostgresBackend(server, label=f"changes-{secrets.token_hex(4)}")
    yield made
    made.close()


def brief(diff: StateDiff) -> list[tuple[Any, ...]]:
    assert diff.schema == ()
    return [(one.kind, one.table, one.key) for one in diff.rows]


def test_values_are_those_of_their_types(shared: PostgresBackend) -> None:
    diff = changes_after(shared, TYPES, "UPDATE kinds SET f = 0.2")
    [change] = diff.rows
    assert change.before == {
        "id": UUID(int=1), "j": {"b": 1, "a": [1]}, "b": {"x": None}, "a": [1, 2], "n": Decimal("1.50"),
        "t": datetime(2025, 12, 31, 22, tzinfo=UTC), "d": date(2026, 1, 1), "y": b"\x00\xff", "m": "sad",
        "ms": ["sad", "happy"], "r": "[1,3)", "v": "10.0.0.1/8", "i": change.before["i"], "f": 0.1, "p": 3,
        "c": "ab   ", "bits": "101", "g": 4,
    }  # fmt: skip
    assert change.after is not None
    assert change.after["f"] == 0.2


@pytest.mark.parametrize(
    "statement",
    [
        """UPDATE kinds SET j = '{"a":[1],"b":1}'""",
        "UPDATE kinds SET n = 1.5, t = '2025-12-31 22:00+00'",
        "UPDATE kinds SET f = 0.1",
        "BEGIN; DELETE FROM keyless; ROLLBACK",
    ],
)
def test_t10_what_means_the_same_is_no_change(shared: PostgresBackend, statement: str) -> None:
    assert brief(changes_after(shared, TYPES, statement)) == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("UPDATE kinds SET d = 'infinity'", [("update", "kinds", (UUID(int=1),))]),
        ("UPDATE kinds SET t = '20000-01-01 00:00+00'", [("update", "kinds", (UUID(int=1),))]),
        ("UPDATE kinds SET ms = '{}', r = 'empty'", [("update", "kinds", (UUID(int=1),))]),
        ("UPDATE kinds SET p = 4", [("update", "kinds", (UUID(int=1),))]),
        ('UPDATE "Größe"."wei""rd .%" SET "a b" = \'three\' WHERE "a b" = \'one\'',
         [("delete", 'Größe.wei"rd .%', ("one",)), ("insert", 'Größe.wei"rd .%', ("three",))]),
        ("DELETE FROM keyless WHERE ctid = (SELECT min(ctid) FROM keyless)", [("delete", "keyless", None)]),
        ("INSERT INTO keyless VALUES (2, NULL)", [("insert", "keyless", None)]),
        ("UPDATE events SET at = '2026-06-06' WHERE what = 'old'",
         [("delete", "events", (date(2025, 5, 5), 1)), ("insert", "events", (date(2026, 6, 6), 1))]),
        ("UPDATE events_26 SET what = 'other'", [("update", "events", (date(2026, 5, 5), 1))]),
        ("UPDATE animals SET name = 'same'", [("update", "animals", (1,)), ("update", "dogs", (2,))]),
        ("DELETE FROM parents WHERE id = 1", [("delete", "children", (10,)), ("delete", "parents", (1,))]),
        ("UPDATE parents SET id = 9 WHERE id = 2",
         [("update", "children", (11,)), ("delete", "parents", (2,)), ("insert", "parents", (9,))]),
        ("UPDATE happy SET m = 'sad'", []),
        ("UPDATE parents SET id = id", []),
    ],
)  # fmt: skip
def test_each_kind_of_table_is_read(
    shared: PostgresBackend, statement: str, expected: list[tuple[Any, ...]]
) -> None:
    assert brief(changes_after(shared, TYPES, statement)) == expected


def test_a_large_object_is_a_change_of_the_schema(shared: PostgresBackend) -> None:
    diff = changes_after(shared, TYPES, "SELECT lo_from_bytea(0, 'hidden')")
    assert [(one.action, one.type) for one in diff.schema] == [("created", "large object")]


def test_used_up_values_of_a_sequence_are_no_change_and_are_put_back(shared: PostgresBackend) -> None:
    environment = environment_of(*SHOP)
    for _ in range(3):
        lease = shared.acquire(environment, None, attempt_id="a")
        with raw(lease) as connection:
            assert connection.execute("SELECT nextval('orders_id_seq')").fetchone() == (3,)
        lease.cut()
        assert lease.read_changes(audit=True) == StateDiff()
        lease.release()
        settle(shared)


def settle(backend: PostgresBackend) -> None:
    pools.settle(backend._pool)


def admin_of(backend: PostgresBackend, lease: PostgresLease) -> psycopg.Connection[Any]:
    url = make_url(backend._url).set(drivername="postgresql", database=lease.database)
    return psycopg.connect(url.render_as_string(hide_password=False), autocommit=True)


@pytest.mark.parametrize(
    ("statement", "action", "kind", "name"),
    [
        ("CREATE TABLE extra (a int)", "created", "table", "extra"),
        ("ALTER TABLE lines ADD COLUMN more int", "altered", "table", "lines"),
        ("ALTER TABLE orders DISABLE TRIGGER ALL", "altered", "table", "orders"),
        ("DROP TABLE lines", "dropped", "table", "lines"),
        ("ALTER SEQUENCE orders_id_seq INCREMENT 5", "altered", "sequence", "orders_id_seq"),
        ("GRANT SELECT ON lines TO PUBLIC", "altered", "table", "lines"),
        ("CREATE VIEW v AS SELECT 1 AS a", "created", "view", "v"),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "created", "function", "f()"),
        ("CREATE TYPE mood AS ENUM ('a')", "created", "type", "mood"),
        ("CREATE INDEX i ON orders (status)", "created", "index", "i"),
        ("CREATE SCHEMA s", "created", "schema", "s"),
        ("ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC", "created", "default privileges", None),
    ],
)
def test_t8_every_change_of_the_schema_is_named(
    shared: PostgresBackend, statement: str, action: str, kind: str, name: str | None
) -> None:
    """As the administrator, since the agent's own role may do none of it."""
    lease = shared.acquire(environment_of(*SHOP), None, attempt_id="a")
    with admin_of(shared, lease) as admin:
        admin.execute(statement)
    lease.cut()
    found = [(one.action, one.type, one.name) for one in lease.read_changes(audit=True).schema]
    assert (action, kind) in [one[:2] for one in found]
    assert name is None or (action, kind, name) in found
    lease.release()


def test_rows_written_while_the_log_was_out_of_play_are_read(shared: PostgresBackend) -> None:
    lease = shared.acquire(environment_of(*SHOP), None, attempt_id="a")
    with admin_of(shared, lease) as admin:
        admin.execute("ALTER TABLE orders DISABLE TRIGGER USER")
        admin.execute("UPDATE orders SET total = 7 WHERE id = 2")
        admin.execute("ALTER TABLE orders ENABLE TRIGGER USER")
    lease.cut()
    diff = lease.read_changes(audit=False)
    assert [(one.kind, one.key) for one in diff.rows] == [("update", (2,))]
    assert [(one.action, one.type) for one in diff.schema] == [("altered", "trigger"), ("altered", "trigger")]
    lease.release()


STEADY = environment_of(
    *SHOP,
    "CREATE TYPE mood AS ENUM ('sad', 'happy')",
    "CREATE TABLE moods (id int PRIMARY KEY, mood mood, relation regclass)",
    "INSERT INTO moods VALUES (1, 'sad', 'lines')",
    "CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY LIST (id)",
    "CREATE TABLE part PARTITION OF parts DEFAULT",
    "CREATE TABLE keys (a int, b int, c int, PRIMARY KEY (a, b))",
    "INSERT INTO keys VALUES (1, 1, 1)",
    ddl=True,
)
ALWAYS_WHOLE = {"moods", "parts"}  # whose values or rows DDL elsewhere may reach


@pytest.mark.parametrize(
    ("statements", "whole"),
    [
        (("CREATE TABLE extra (a int)",), set()),
        (("ALTER TABLE lines DISABLE TRIGGER USER", "DELETE FROM lines WHERE id = 1",
          "ALTER TABLE lines ENABLE ALWAYS TRIGGER thinkingbox_row",
          "ALTER TABLE lines ENABLE ALWAYS TRIGGER thinkingbox_whole"), {"lines"}),
        (("DROP TRIGGER thinkingbox_row ON lines", "DELETE FROM lines"), {"lines"}),
        (("DROP TABLE lines", "CREATE TABLE lines (id int PRIMARY KEY, order_id int NOT NULL REFERENCES orders)",
          "INSERT INTO lines VALUES (2, 1)"), {"lines"}),
        (("ALTER TABLE lines RENAME TO old", "ALTER TABLE keys RENAME TO lines", "ALTER TABLE old RENAME TO keys"),
         {"lines", "keys"}),
        (("ALTER TABLE keys DROP COLUMN b", "INSERT INTO keys VALUES (2, 2)", "DELETE FROM keys WHERE a = 1"),
         {"keys"}),
        (("ALTER TABLE keys RENAME COLUMN a TO z", "UPDATE keys SET z = 5"), {"keys"}),
        (("ALTER TABLE keys ALTER a TYPE text", "UPDATE keys SET a = 'five'"), {"keys"}),
        (("BEGIN", "ALTER TABLE lines DISABLE TRIGGER USER", "DELETE FROM lines", "ROLLBACK"), set()),
        (("CREATE TABLE new_part PARTITION OF parts FOR VALUES IN (7)", "INSERT INTO parts VALUES (7)"), set()),
        (("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM lines; RETURN NULL; END'",
          "CREATE TRIGGER t AFTER INSERT ON keys EXECUTE FUNCTION f()", "INSERT INTO keys VALUES (7, 7)"), set()),
        (("ALTER TYPE mood RENAME VALUE 'sad' TO 'sorry'",), None),
        (("ALTER TABLE lines RENAME TO other",), {"lines"}),
        (("DROP TYPE mood CASCADE",), None),
    ],
)  # fmt: skip
def test_after_ddl_only_tables_that_it_may_have_reached_are_compared_as_a_whole(
    shared: PostgresBackend, statements: tuple[str, ...], whole: set[str] | None
) -> None:
    """The audit compares everything, and a difference raises."""
    lease = shared.acquire(STEADY, None, attempt_id="a")
    with raw(lease) as connection:
        for statement in (*statements, "UPDATE orders SET total = 3 WHERE id = 1"):
            connection.execute(statement)  # type: ignore[call-overload]
    lease.cut()
    diff = lease.read_changes(audit=True)
    assert ("update", "orders", (1,)) in [(one.kind, one.table, one.key) for one in diff.rows]
    assert lease.written is not None
    assert lease.written.altered is ("BEGIN" not in statements)
    assert lease.written.trusted is (whole is not None)
    if whole is not None:
        named = {table.oid: name for name, table in lease.template.catalog.tables.items()}
        always = ALWAYS_WHOLE if lease.written.altered else set()
        assert {named[oid] for oid in lease.written.whole if oid in named} == whole | always
    lease.release()


def test_truncate_is_read(shared: PostgresBackend) -> None:
    lease = shared.acquire(environment_of(*SHOP), None, attempt_id="a")
    with admin_of(shared, lease) as admin:
        admin.execute("TRUNCATE lines")
    lease.cut()
    assert brief(lease.read_changes(audit=True)) == [("delete", "lines", (1,)), ("delete", "lines", (2,))]
    lease.release()


WRITES = st.sampled_from(
    [
        "INSERT INTO keyless VALUES (1, 'x')",
        "UPDATE keyless SET b = 'y' WHERE a = 2",
        "DELETE FROM keyless WHERE b = 'x'",
        "INSERT INTO events VALUES ('2025-07-07', 1, 'a') ON CONFLICT (at, n) DO UPDATE SET what = 'b'",
        "UPDATE events SET at = at + 365",
        "DELETE FROM events",
        "DELETE FROM parents WHERE id = 1",
        "INSERT INTO parents VALUES (1), (3) ON CONFLICT DO NOTHING",
        "UPDATE parents SET id = id + 100",
        "INSERT INTO children VALUES (12, 2)",
        "UPDATE children SET of = NULL",
        "UPDATE animals SET name = name || '!'",
        "DELETE FROM dogs",
        "INSERT INTO dogs VALUES (3, 'dog', 1)",
        "UPDATE kinds SET n = n * 1.00, b = NULL",
        "UPDATE kinds SET id = gen_random_uuid()",
        "DELETE FROM kinds",
        "INSERT INTO kinds (id, p) VALUES ('00000000-0000-0000-0000-000000000001', 7)",
        'INSERT INTO "Größe"."wei""rd .%" ("a b") VALUES (\'one\'), (\'four\') ON CONFLICT DO NOTHING',
        'UPDATE "Größe"."wei""rd .%" SET "a b" = "a b" || \'x\'',
        'DELETE FROM "Größe"."wei""rd .%"',
    ]
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    writes=st.lists(st.lists(WRITES, min_size=1, max_size=4), min_size=1, max_size=4),
    rolled_back=st.sets(st.integers(0, 3)),
)
def test_the_log_agrees_with_full_comparison_and_a_released_clone_is_the_seed_again(
    shared: PostgresBackend, writes: list[list[str]], rolled_back: set[int]
) -> None:
    def write(connection: psycopg.Connection[Any]) -> None:
        for number, transaction in enumerate(writes):
            try:
                with connection.transaction(force_rollback=number in rolled_back):
                    for statement in transaction:
                        connection.execute(statement)
            except psycopg.IntegrityError:
                continue

    changes_of(shared, TYPES, write)  # by both ways: a difference raises AuditMismatch
    settle(shared)
    next_one = shared.acquire(TYPES, None, attempt_id="b")
    try:
        next_one.cut()
        with next_one._snapshot() as state:
            assert state.changes(None, audit=False) == StateDiff()
    finally:
        next_one.release()


def test_clones_are_reset_and_lent_again(server: str) -> None:
    backend = PostgresBackend(server, label=f"again-{secrets.token_hex(4)}")
    environment = environment_of(*SHOP)
    names = []
    for _ in range(6):
        lease = backend.acquire(environment, None, attempt_id="a")
        names.append(lease.database)
        with raw(lease) as connection:
            assert connection.execute("SELECT count(*) FROM orders").fetchone() == (2,)
            connection.execute("DELETE FROM orders WHERE id = 1")
            connection.execute("INSERT INTO orders (status) VALUES ('new')")
        lease.cut()
        assert len(lease.read_changes(audit=True).rows) == 4
        lease.release()
        settle(backend)
    assert len(set(names)) < 6
    assert backend._pool.reset == 6
    backend.close()


def test_t8_an_agent_with_ddl_changes_its_schema_and_the_next_sees_the_seed(shared: PostgresBackend) -> None:
    environment = environment_of(*SHOP, ddl=True)
    for _ in range(2):
        lease = shared.acquire(environment, None, attempt_id="a")
        with raw(lease) as connection:
            assert connection.execute("SELECT count(*) FROM lines").fetchone() == (2,)
            connection.execute("CREATE TABLE mine (a int)")
            connection.execute("DROP TABLE lines")
            connection.execute("ALTER TABLE orders DISABLE TRIGGER ALL")
            connection.execute("UPDATE orders SET total = 11 WHERE id = 1")
            connection.execute("CREATE SCHEMA own CREATE VIEW seen AS SELECT 1")
            connection.execute("CREATE TEMPORARY TABLE hidden (a int)")
        lease.cut()
        diff = lease.read_changes(audit=True)
        assert [
            (one.action, one.type, one.name) for one in diff.schema if one.type in ("table", "schema", "view")
        ] == [
            ("dropped", "table", "lines"),
            ("created", "table", "mine"),
            ("created", "schema", "own"),
            ("created", "view", "own.seen"),
        ]
        assert [(one.kind, one.table, one.key) for one in diff.rows] == [("update", "orders", (1,))]
        assert lease.login.name not in repr(diff)
        lease.release()


def test_truncate_by_an_agent_with_ddl_is_net(shared: PostgresBackend) -> None:
    lease = shared.acquire(environment_of(*SHOP, ddl=True), None, attempt_id="a")
    with raw(lease) as connection:
        connection.execute("TRUNCATE lines")
        connection.execute("INSERT INTO lines VALUES (2, 1), (3, 1)")
    lease.cut()
    assert brief(lease.read_changes(audit=True)) == [("delete", "lines", (1,)), ("insert", "lines", (3,))]
    lease.release()

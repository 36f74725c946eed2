"""What agents did that knew how the verdict is made: each was possible once."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text

from pytest_thinkingbox.backends.postgres import PostgresBackend, distrust, roles
from pytest_thinkingbox.backends.postgres import lease as leases
from pytest_thinkingbox.backends.postgres.lease import PostgresLease
from pytest_thinkingbox.errors import InfrastructureDown, ReadOnlyState
from pytest_thinkingbox.state.model import StateDiff
from tests.backends.test_server_faults import hold_all
from tests.support.servers import POSTGRES_IMAGE, has_image, started
from tests.support.sql_tool import play

from .worlds import SHOP, changes_after, environment_of, raw

ROWS_ONLY = environment_of(*SHOP)
WITH_DDL = environment_of(*SHOP, ddl=True)
DONE = "UPDATE orders SET status = 'mine' WHERE id = 1"


@pytest.fixture(scope="module")
def shared(server: str) -> Iterator[PostgresBackend]:
    made = PostgresBackend(server, label=f"attacks-{secrets.token_hex(4)}")
    yield made
    made.close()


@pytest.fixture
def lease(shared: PostgresBackend) -> Iterator[PostgresLease]:
    made = shared.acquire(ROWS_ONLY, None, attempt_id="a")
    yield made
    made.release()


@pytest.fixture
def with_ddl(shared: PostgresBackend) -> Iterator[PostgresLease]:
    made = shared.acquire(WITH_DDL, None, attempt_id="d")
    yield made
    made.release()


def judged(lease: PostgresLease, *, audit: bool = True) -> StateDiff:
    lease.cut()
    return lease.read_changes(audit=audit)


def execute(lease: PostgresLease, *statements: str) -> None:
    with raw(lease) as connection:
        for statement in statements:
            connection.execute(statement)


RUNS_WHILE_READ = {
    "predicate": "CREATE INDEX i ON orders (id) WHERE evil()",
    "expression": "CREATE INDEX i ON orders ((evil()))",
    "statistics": "CREATE STATISTICS s ON (evil()), id FROM orders",
}


def evil(body: str) -> tuple[str, str]:
    """A function that pretends to be immutable, so that whoever plans a statement runs it."""
    return (
        f"CREATE FUNCTION public.vol() RETURNS bool LANGUAGE plpgsql AS $$BEGIN {body} RETURN true; END$$",
        "CREATE FUNCTION public.evil() RETURNS bool IMMUTABLE LANGUAGE plpgsql"
        " AS $$BEGIN PERFORM public.vol(); RETURN true; END$$",
    )


@pytest.mark.parametrize("statement", RUNS_WHILE_READ.values(), ids=RUNS_WHILE_READ.keys())
def test_code_in_an_index_runs_with_no_rights_while_rows_are_read(
    shared: PostgresBackend, with_ddl: PostgresLease, admin: psycopg.Connection[object], statement: str
) -> None:
    name = f"tb_pwned_{secrets.token_hex(3)}"
    other = shared.acquire(ROWS_ONLY, None, attempt_id="b")
    body = (
        "IF current_user NOT LIKE '%owner' THEN"
        f" BEGIN EXECUTE 'CREATE ROLE {name}'; EXCEPTION WHEN OTHERS THEN NULL; END;"
        f" BEGIN EXECUTE 'ALTER ROLE {other.login.name} SUPERUSER'; EXCEPTION WHEN OTHERS THEN NULL; END;"
        " END IF;"
    )
    execute(with_ddl, *evil(body), statement, DONE)
    found = judged(with_ddl, audit=False)
    assert [(one.table, one.key) for one in found.rows] == [("orders", (1,))]
    assert with_ddl.read_changes(audit=True).rows == found.rows
    assert len(with_ddl.rows("orders", {})) == 2
    with with_ddl.connect_after() as connection:
        assert connection.execute(text("SELECT count(*) FROM orders")).scalar() == 2
    found_roles = admin.execute("SELECT rolname, rolsuper FROM pg_roles").fetchall()
    assert (other.login.name, False) in found_roles
    assert name not in {role for role, _ in found_roles}
    other.release()


@pytest.mark.parametrize("code", ["admin_shutdown", "disk_full", "connection_failure", "query_canceled"])
def test_code_that_raises_an_outage_while_rows_are_read_is_a_change(
    with_ddl: PostgresLease, code: str
) -> None:
    body = f"IF current_user NOT LIKE '%owner' THEN RAISE {code}; END IF;"
    execute(with_ddl, *evil(body), RUNS_WHILE_READ["predicate"], DONE)
    assert [(one.action, one.name) for one in judged(with_ddl).schema][-1] == ("altered", "rows")


def test_code_that_changes_how_rows_are_read_hides_nothing(with_ddl: PostgresLease) -> None:
    body = (
        "IF current_user NOT LIKE '%owner' THEN"
        " PERFORM set_config('search_path', 'public, pg_catalog', false);"
        " PERFORM set_config('row_security', 'off', false); END IF;"
    )
    same = (
        "CREATE FUNCTION public.hashtextextended(text, bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION public.never(bigint, bigint) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT false'",
        "CREATE OPERATOR public.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = public.never)",
    )
    execute(with_ddl, *evil(body), *same, RUNS_WHILE_READ["predicate"], DONE, "DELETE FROM lines")
    for audit in (False, True):
        assert len(judged(with_ddl, audit=audit).rows) == 3


ENDLESS = {
    "sleeps": "PERFORM pg_sleep(1000);",
    "takes its limit away": "PERFORM set_config('statement_timeout', '0', false); PERFORM pg_sleep(1000);",
    "is not canceled": (
        "LOOP BEGIN PERFORM pg_sleep(1000); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP;"
    ),
    "cannot be interrupted": "PERFORM length(btrim(repeat('a', 40000), repeat('b', 40000) || 'a'));",
    "ends its session": "PERFORM pg_terminate_backend(pg_backend_pid());",
    "fills the disk": (
        "PERFORM count(*) FROM (SELECT n FROM generate_series(1, 3000000) AS n ORDER BY -n OFFSET 0) AS s;"
    ),
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distrust, "READING_SECONDS", 1.0)
    monkeypatch.setattr(distrust, "GRACE_SECONDS", 1.0)
    monkeypatch.setattr(roles, "TEMPORARY_MEGABYTES", 1)


def endless(how: str) -> tuple[str, str]:
    """Nothing that whoever defines it runs."""
    return evil(f"IF current_user NOT LIKE '%owner' THEN {ENDLESS[how]} END IF;")


@pytest.mark.parametrize("how", ENDLESS)
def test_a_view_that_keeps_a_checker_from_reading_is_the_failure_of_the_agent(
    impatient: None, with_ddl: PostgresLease, how: str
) -> None:
    execute(with_ddl, *endless(how), "CREATE VIEW v AS SELECT id FROM orders WHERE evil()", DONE)
    assert [one.name for one in judged(with_ddl).schema] == ["evil()", "vol()", "v"]
    started_at = time.monotonic()
    with with_ddl.connect_after() as connection, pytest.raises(AssertionError, match="cannot be read"):
        connection.execute(text("SELECT * FROM v WHERE id < :n"), {"n": 5})
    assert time.monotonic() - started_at < 8
    with with_ddl.connect_after() as connection:
        assert (
            connection.execute(text("SELECT status FROM orders WHERE id = :n"), {"n": 1}).scalar() == "mine"
        )


@pytest.mark.parametrize("how", ENDLESS)
def test_code_that_keeps_rows_from_being_read_is_a_change(
    impatient: None, with_ddl: PostgresLease, how: str
) -> None:
    execute(with_ddl, *endless(how), RUNS_WHILE_READ["predicate"], DONE)
    started_at = time.monotonic()
    assert [(one.action, one.name) for one in judged(with_ddl, audit=False).schema][-1] == ("altered", "rows")
    with pytest.raises(AssertionError, match="cannot be read"):
        with_ddl.rows("orders", {"id": 1})
    assert time.monotonic() - started_at < 12


def test_a_view_of_the_agent_takes_over_nobody_who_reads_it(
    shared: PostgresBackend, with_ddl: PostgresLease
) -> None:
    execute(
        with_ddl,
        "CREATE FUNCTION f() RETURNS bool LANGUAGE plpgsql AS $$BEGIN IF current_user NOT LIKE '%owner' THEN"
        " PERFORM set_config('default_transaction_read_only', 'off', false);"
        " BEGIN EXECUTE 'ALTER ROLE CURRENT_USER PASSWORD ''mine'''; EXCEPTION WHEN OTHERS THEN NULL; END;"
        " END IF; RETURN true; END$$",
        "CREATE FUNCTION fix() RETURNS bool LANGUAGE plpgsql SECURITY DEFINER AS"
        " $$BEGIN UPDATE public.orders SET status = 'fixed'; RETURN true; END$$",
        "CREATE VIEW v AS SELECT * FROM orders WHERE f()",
        "CREATE VIEW w AS SELECT * FROM orders WHERE fix()",
    )
    with_ddl.cut()
    with with_ddl.connect_after() as connection:
        for _ in range(3):
            assert len(connection.execute(text("SELECT * FROM v")).all()) == 2
        with pytest.raises(ReadOnlyState):
            connection.execute(text("SELECT * FROM w")).all()
    assert {row["status"] for row in with_ddl.rows("orders", {})} == {"open"}
    other = shared.acquire(ROWS_ONLY, None, attempt_id="b")
    other.cut()
    with other.connect_after() as connection:
        assert connection.execute(text("SELECT count(*) FROM orders")).scalar() == 2
    other.release()


def test_rows_of_a_table_that_was_a_partition_for_a_while_are_compared(with_ddl: PostgresLease) -> None:
    execute(
        with_ddl,
        "CREATE TABLE par (id int not null, order_id int not null) PARTITION BY RANGE (id)",
        "ALTER TABLE par ATTACH PARTITION lines DEFAULT",
        "DELETE FROM lines",
        "ALTER TABLE par DETACH PARTITION lines",
        "DROP TABLE par",
    )
    assert len(judged(with_ddl).rows) == 2


def test_a_column_that_is_named_like_a_part_of_the_comparison(shared: PostgresBackend) -> None:
    environment = environment_of(
        "CREATE TABLE t (a text, bucket int, count int)", "INSERT INTO t VALUES ('x', 1, 1), ('y', 1, 2)"
    )
    changes = changes_after(shared, environment, "UPDATE t SET a = 'mine' WHERE count = 1")
    assert sorted(change.kind for change in changes.rows) == ["delete", "insert"]


@pytest.mark.parametrize(
    "statements",
    [
        ["COPY orders TO STDOUT"],
        ["COPY orders FROM STDIN"],
        ["SELECT 1; COPY orders TO STDOUT"],
        ["BEGIN ISOLATION LEVEL SERIALIZABLE", "ROLLBACK"],
    ],
)
def test_a_statement_that_the_driver_cannot_play_is_an_error_for_the_agent(
    lease: PostgresLease, statements: list[str]
) -> None:
    play(lease, [DONE, *statements])
    assert [change.key for change in judged(lease).rows] == [(1,)]


@pytest.mark.parametrize("code", ["40001", "55P03", "57014", "53100", "57P01"])
def test_what_a_deferred_trigger_raises_at_the_commit_is_an_error_for_the_agent(
    with_ddl: PostgresLease, code: str
) -> None:
    *_, raised = play(
        with_ddl,
        [
            "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$BEGIN RAISE EXCEPTION 'late' USING ERRCODE = '{code}'; END$$",
            "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON orders DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION late()",
            DONE,
        ],
    )
    assert raised.error
    assert judged(with_ddl).rows == ()


def test_a_session_that_nothing_interrupts_holds_up_no_verdict(
    shared: PostgresBackend, lease: PostgresLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_CUT_SECONDS", 0.5)
    slow = "SELECT length(btrim(repeat('a', 90000), repeat('b', 90000) || 'a'))"
    play(lease, [DONE])
    with raw(lease) as connection:
        connection.pgconn.send_query(slow.encode())
        time.sleep(0.2)
        started_at = time.monotonic()
        assert [change.key for change in judged(lease).rows] == [(1,)]
        assert lease.stuck
        assert time.monotonic() - started_at < 5
        lease.release()
        following = shared.acquire(ROWS_ONLY, None, attempt_id="b")
        assert following.database != lease.database
        following.release()
        connection.close()


def test_a_large_table_that_an_agent_was_to_alter_is_compared_within_the_limit_of_temporary_files(
    impatient: None,
    shared: PostgresBackend,
    admin: psycopg.Connection[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distrust, "READING_SECONDS", 60.0)
    environment = environment_of(
        "CREATE TABLE big (id int PRIMARY KEY, note text)",
        "INSERT INTO big SELECT n, repeat(md5(n::text), 10) FROM generate_series(1, 40000) AS n",
        ddl=True,
    )
    lease = shared.acquire(environment, None, attempt_id="a")
    assert lease._own_reader is not None
    # Within more so few rows are compared without a file.
    admin.execute(f"ALTER ROLE {lease._own_reader.name} SET work_mem = '64kB'")
    execute(lease, "ALTER TABLE big ADD COLUMN mine int", "UPDATE big SET note = 'x' WHERE id = 7")
    found = judged(lease)
    assert [one.key for one in found.rows] == [(7,)]
    assert "rows" not in [one.name for one in found.schema]
    lease.release()


WAITED_FOR = {
    "a table": "LOCK TABLE orders IN ACCESS EXCLUSIVE MODE",
    "its database": "REVOKE ALL ON DATABASE {database} FROM CURRENT_USER",
}


@pytest.mark.parametrize("held", WAITED_FOR)
@pytest.mark.parametrize("ddl", [False, True])
def test_a_session_that_nothing_interrupts_holds_up_no_verdict_with_its_locks(
    shared: PostgresBackend, monkeypatch: pytest.MonkeyPatch, ddl: bool, held: str
) -> None:
    monkeypatch.setattr(leases, "_CUT_SECONDS", 0.5)
    monkeypatch.setattr(leases, "_LOCK_SECONDS", 0.5)
    environment = environment_of(*SHOP, "CREATE VIEW seen AS SELECT * FROM orders", ddl=ddl)
    lease = shared.acquire(environment, None, attempt_id="a")
    play(lease, [DONE])
    with raw(lease) as connection:
        connection.execute("BEGIN")
        connection.execute(WAITED_FOR[held].format(database=lease.database))
        connection.pgconn.send_query(b"SELECT length(btrim(repeat('a', 60000), repeat('b', 60000) || 'a'))")
        time.sleep(0.2)
        started_at = time.monotonic()
        found = judged(lease, audit=False)
        assert lease.stuck
        query = text("SELECT count(*) FROM orders")
        with lease.connect_after() as after, lease.connect_before() as before:
            assert before.execute(query).scalar() == 2
            if held == "a table":
                assert [(one.name, one.after) for one in found.schema] == [
                    ("rows", "cannot be read: canceling statement due to lock timeout")
                ]
                with pytest.raises(AssertionError, match="cannot be read"):
                    after.execute(query)
                with pytest.raises(AssertionError, match="cannot be read"):
                    lease.rows("orders", {})
            else:
                assert ([one.key for one in found.rows], found.schema) == ([(1,)], ())
                assert after.execute(query).scalar() == 2
                assert len(lease.rows("orders", {})) == 2
        assert time.monotonic() - started_at < 6
        connection.close()
    lease.release()


HELD = {
    "its password": ["BEGIN", "ALTER ROLE CURRENT_USER PASSWORD 'x'"],
    "its rights": ["BEGIN", "REVOKE ALL ON DATABASE {database} FROM CURRENT_USER"],
}


@pytest.mark.parametrize("statements", HELD.values(), ids=HELD.keys())
def test_a_lock_on_its_own_role_holds_up_no_cut(lease: PostgresLease, statements: list[str]) -> None:
    with raw(lease) as connection:
        for statement in ["SET idle_in_transaction_session_timeout = 0", *statements]:
            connection.execute(statement.format(database=lease.database))
        started_at = time.monotonic()
        assert judged(lease) == StateDiff()
        assert time.monotonic() - started_at < 3
        connection.close()


def test_a_lock_as_the_owner_holds_up_no_other_attempt(
    shared: PostgresBackend, with_ddl: PostgresLease
) -> None:
    other = shared.acquire(WITH_DDL, None, attempt_id="b")
    with raw(with_ddl) as connection:
        connection.execute("BEGIN")
        connection.execute("DROP OWNED BY CURRENT_USER")
        started_at = time.monotonic()
        assert judged(other) == StateDiff()
        other.release()
        following = shared.acquire(WITH_DDL, None, attempt_id="c")
        execute(following, "CREATE SCHEMA fresh", "CREATE TEMPORARY TABLE mine (a int)")
        assert len(judged(following).schema) == 1
        following.release()
        assert time.monotonic() - started_at < 5
        connection.close()


def test_a_schema_may_grant_advisory_locks(shared: PostgresBackend) -> None:
    environment = environment_of(*SHOP, "GRANT EXECUTE ON FUNCTION pg_advisory_xact_lock(bigint) TO PUBLIC")
    lease = shared.acquire(environment, None, attempt_id="a")
    locked, refused = play(lease, ["SELECT pg_advisory_xact_lock(1)", "SELECT pg_advisory_lock(1)"])
    assert (locked.error, refused.error) == (False, True)
    lease.release()


@pytest.fixture(scope="module")
def special() -> Iterator[str]:
    """A server with transactions of two phases and few connections."""
    backend = POSTGRES_IMAGE if has_image(POSTGRES_IMAGE) else "postgres-embedded"
    with started(backend, options={"max_prepared_transactions": "10", "max_connections": "30"}) as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize("environment", [ROWS_ONLY, WITH_DDL], ids=["rows", "ddl"])
def test_a_prepared_transaction_ends_with_the_attempt(special: str, environment: object) -> None:
    backend = PostgresBackend(special, label=f"prepared-{secrets.token_hex(4)}")
    lease = backend.acquire(environment, None, attempt_id="a")  # type: ignore[arg-type]
    execute(
        lease, DONE, "BEGIN", "UPDATE orders SET status = 'late' WHERE id = 2", "PREPARE TRANSACTION 'later'"
    )
    started_at = time.monotonic()
    assert [change.key for change in judged(lease).rows] == [(1,)]
    lease.release()
    for _ in range(3):
        following = backend.acquire(environment, None, attempt_id="b")  # type: ignore[arg-type]
        execute(following, "UPDATE orders SET status = 'x' WHERE id = 2")
        assert len(judged(following).rows) == 1
        following.release()
    assert time.monotonic() - started_at < 20
    backend.close()


@pytest.mark.slow
def test_connections_that_others_used_up_are_an_outage_whatever_the_agent_set(special: str) -> None:
    backend = PostgresBackend(special, label=f"full-{secrets.token_hex(4)}")
    lease = backend.acquire(ROWS_ONLY, None, attempt_id="a")
    play(
        lease,
        ["ALTER ROLE CURRENT_USER SET search_path = public", "SELECT pg_terminate_backend(pg_backend_pid())"],
    )
    held = hold_all(special)
    try:
        with pytest.raises(InfrastructureDown):
            play(lease, ["SELECT 1"])
    finally:
        for one in held:
            one.close()
    lease.release()
    backend.close()


@pytest.mark.parametrize(
    ("declared", "value", "read"),
    [
        ("time", "24:00", "24:00:00"),
        ("timetz", "24:00+00", "24:00:00+00"),
        ("time[]", "{24:00}", ["24:00:00"]),
        ("json", '{"a": 1e9999999999999999999999}', '{"a": 1e9999999999999999999999}'),
    ],
)
def test_values_that_python_has_no_form_for_are_text(
    shared: PostgresBackend, declared: str, value: str, read: object
) -> None:
    environment = environment_of(
        f"CREATE TABLE t (id int PRIMARY KEY, it {declared})", "INSERT INTO t VALUES (1)"
    )
    [change] = changes_after(shared, environment, f"UPDATE t SET it = '{value}'").rows
    assert change.after is not None
    assert change.after["it"] == read


@pytest.mark.parametrize(
    ("declared", "before", "after"),
    [("numeric", "1", "1.0"), ("interval", "1 day", "24:00"), ("float8", "0", "-0")],
)
def test_a_key_that_is_written_in_another_way_is_the_same_key(
    shared: PostgresBackend, declared: str, before: str, after: str
) -> None:
    environment = environment_of(
        f"CREATE TABLE t (id {declared} PRIMARY KEY, a text)", f"INSERT INTO t VALUES ('{before}', 'x')"
    )
    for _ in range(2):  # the second one on a clone that was put back
        changes = changes_after(shared, environment, f"UPDATE t SET id = '{after}', a = 'z'").rows
        assert len(changes) <= 2
        assert changes[-1].after is not None
        assert changes[-1].after["a"] == "z"


def test_what_is_hidden_in_an_extension_is_a_change(shared: PostgresBackend) -> None:
    environment = environment_of("CREATE EXTENSION hstore", *SHOP, ddl=True)
    lease = shared.acquire(environment, None, attempt_id="a")
    execute(lease, "CREATE TABLE hidden (a int)", "ALTER EXTENSION hstore ADD TABLE hidden")
    assert [(one.action, one.type) for one in judged(lease).schema] == [("altered", "extension")]
    lease.release()


def test_a_table_that_takes_the_name_of_one_in_another_schema_is_a_change(shared: PostgresBackend) -> None:
    environment = environment_of(
        "CREATE SCHEMA shop", "CREATE TABLE shop.orders (id int PRIMARY KEY, a text)", ddl=True
    )
    lease = shared.acquire(environment, None, attempt_id="a")
    execute(
        lease,
        "ALTER TABLE shop.orders DROP COLUMN a",
        'CREATE TABLE public."shop.orders" (id int PRIMARY KEY, a text)',
    )
    assert ("altered", "shop.orders") in {(one.action, one.name) for one in judged(lease).schema}
    lease.release()


def test_what_is_given_to_another_owner_is_a_change(with_ddl: PostgresLease) -> None:
    owner = with_ddl.login.name.rpartition("_a_")[0] + "_r_owner"
    execute(with_ddl, "SET ROLE NONE", f"REASSIGN OWNED BY {owner} TO CURRENT_USER")
    for audit in (False, True):
        assert judged(with_ddl, audit=audit).schema != ()


@pytest.mark.slow
def test_a_virtual_column_that_cannot_be_computed_is_a_change(embedded: None) -> None:
    with started("postgres-embedded") as url:
        backend = PostgresBackend(url, label=f"virtual-{secrets.token_hex(4)}")
        lease = backend.acquire(WITH_DDL, None, attempt_id="a")
        execute(
            lease,
            "ALTER TABLE orders DROP COLUMN status",
            "ALTER TABLE orders ADD COLUMN status text GENERATED ALWAYS AS ((1 / (id - id))::text) VIRTUAL",
        )
        schema = judged(lease).schema
        assert any("cannot be read: division by zero" in str(one.after) for one in schema), schema
        lease.release()
        backend.close()

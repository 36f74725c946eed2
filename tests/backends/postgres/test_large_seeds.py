"""Seeds beyond the limit up to which clones are compared whole, writes beyond those up to which they are undone."""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from pytest_thinkingbox.backends.postgres import PostgresBackend, clones, reading
from tests.backends import pools

from .worlds import environment_of, raw

ROWS = 22_000
LARGE = (
    "CREATE TABLE items (id int PRIMARY KEY, sku text NOT NULL UNIQUE, n int NOT NULL DEFAULT 0,"
    " twice int GENERATED ALWAYS AS (n * 2) STORED)",
    "CREATE TABLE parts (item int REFERENCES items ON DELETE CASCADE ON UPDATE CASCADE, place int, what text,"
    " PRIMARY KEY (item, place))",
    "CREATE TABLE notes (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, said text)",
    f"INSERT INTO items SELECT i, 'sku ' || i, i % 7 FROM generate_series(1, {ROWS}) AS i",
    "INSERT INTO parts SELECT i, p, repeat('x', p) FROM generate_series(1, 400) AS i, generate_series(1, 3) AS p",
    "INSERT INTO notes (said) VALUES ('first'), ('second')",
)


@pytest.fixture
def own(server: str) -> Iterator[PostgresBackend]:
    made = PostgresBackend(server, label=f"large-{secrets.token_hex(4)}")
    yield made
    made.close()


def contents(backend: PostgresBackend, database: str) -> dict[str, list[Any]]:
    """All rows as the server writes them, and where sequences stand."""
    url = make_url(backend._url).set(drivername="postgresql", database=database)
    with psycopg.connect(url.render_as_string(hide_password=False)) as connection:
        tables = connection.execute(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'S')"
            " AND relnamespace = 'public'::regnamespace"
        ).fetchall()
        return {
            name: connection.execute(
                f"SELECT last_value, is_called FROM {name}"
                if name.endswith("_seq")
                else f"SELECT t::text FROM {name} AS t ORDER BY 1"
            ).fetchall()
            for (name,) in tables
        }


def write(connection: psycopg.Connection[Any], *, many: int, seed: int) -> None:
    """Updates of values and of keys, deletes and inserts, in an order that the seed draws."""
    chosen = random.Random(seed)
    ids = chosen.sample(range(1, ROWS + 1), many)
    statements = [
        ("UPDATE items SET n = n + 1, sku = sku || '!' WHERE id = ANY(%s)", ids[0::4]),
        ("UPDATE items SET id = id + 100000 WHERE id = ANY(%s)", ids[1::4]),
        ("DELETE FROM items WHERE id = ANY(%s)", ids[2::4]),
        ("INSERT INTO items SELECT i + 200000, 'new ' || i FROM unnest(%s::int[]) AS i", ids[3::4]),
        ("DELETE FROM parts WHERE item = ANY(%s) AND place = 2", list(range(1, 40))),
        ("UPDATE parts SET place = place + 10 WHERE item = ANY(%s)", list(range(30, 60))),
        ("INSERT INTO notes (said) SELECT i::text FROM unnest(%s::int[]) AS i", ids[:5]),
    ]
    chosen.shuffle(statements)
    for statement, values in statements:
        connection.execute(statement, [values])
    # What is deleted may come back as something else, under its old key.
    connection.execute(
        "INSERT INTO items SELECT i, 'again ' || i FROM unnest(%s::int[]) AS i ON CONFLICT DO NOTHING",
        [ids[2:40:4]],
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_a_large_clone_that_was_reset_holds_exactly_the_seed(own: PostgresBackend, seed: int) -> None:
    environment = environment_of(*LARGE)
    lease = own.acquire(environment, None, attempt_id="a")
    assert sum(lease.template.row_counts.values()) > clones._SMALL
    with raw(lease) as connection:
        write(connection, many=400, seed=seed)
    lease.cut()
    assert len(lease.read_changes(audit=True).rows) > 300
    lease.release()
    pools.settle(own._pool)
    following = own.acquire(environment, None, attempt_id="b")
    assert (following.database, own._pool.reset) == (lease.database, 1)
    assert contents(own, following.database) == contents(own, lease.template.reference)


@pytest.mark.parametrize("many", [clones._MOST_KEYS + 500, reading._MANY_KEYS + 500])
def test_a_large_clone_in_which_much_was_written_is_read_and_made_anew(
    own: PostgresBackend, many: int
) -> None:
    environment = environment_of(*LARGE)
    lease = own.acquire(environment, None, attempt_id="a")
    with raw(lease) as connection:
        write(connection, many=many, seed=many)
    lease.cut()
    assert len(lease.read_changes(audit=True).rows) > many
    lease.release()
    pools.settle(own._pool)
    following = own.acquire(environment, None, attempt_id="b")
    assert following.database != lease.database
    assert own._pool.reset == 0
    assert contents(own, following.database) == contents(own, lease.template.reference)


NOISY = {
    "trigger": (
        "CREATE TABLE journal (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN INSERT INTO public.journal (what) VALUES (TG_OP); RETURN NULL; END$$",
        "CREATE TRIGGER noted AFTER INSERT OR DELETE ON items FOR EACH ROW EXECUTE FUNCTION note()",
        "ALTER TABLE items ENABLE {} TRIGGER noted",
    ),
    "rule": (
        "CREATE TABLE journal (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text)",
        "CREATE RULE noted AS ON DELETE TO items DO ALSO INSERT INTO journal (what) VALUES ('deleted')",
        "ALTER TABLE items ENABLE {} RULE noted",
    ),
}


@pytest.mark.parametrize("how", ["ALWAYS", "REPLICA"])
@pytest.mark.parametrize("statements", NOISY.values(), ids=NOISY.keys())
def test_what_works_also_while_rows_are_put_back_leaves_nothing_for_the_next_attempt(
    own: PostgresBackend, statements: tuple[str, ...], how: str
) -> None:
    environment = environment_of(*LARGE, *(one.format(how) for one in statements))
    lease = own.acquire(environment, None, attempt_id="a")
    with raw(lease) as connection:
        connection.execute("UPDATE items SET n = 5 WHERE id = 1")
    lease.cut()
    lease.read_changes(audit=True)
    lease.release()
    pools.settle(own._pool)
    following = own.acquire(environment, None, attempt_id="b")
    assert contents(own, following.database) == contents(own, lease.template.reference)

"""Reading changes on MariaDB or MySQL: values, keys, collations, schemas, whatever was written."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pymysql
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_thinkingbox.backends.mysql import MySQLBackend, values
from pytest_thinkingbox.backends.mysql.compare import read_rows
from pytest_thinkingbox.backends.mysql.lease import MySQLLease
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.state.apply import apply
from pytest_thinkingbox.state.model import Row, StateDiff
from pytest_thinkingbox.state.values import canonical_row

from .worlds import (
    SHOP,
    changes_after,
    changes_by_admin,
    connect,
    environment_of,
    execute,
    need_version,
    only_mariadb,
    only_mysql,
    raw,
)

TYPES = environment_of(
    """CREATE TABLE kinds (
        id INT UNSIGNED PRIMARY KEY, n DECIMAL(20, 4), f FLOAT, d DOUBLE, flag TINYINT(1), big BIGINT UNSIGNED,
        bits BIT(10), at DATETIME(6), stamp TIMESTAMP(3) NULL, day DATE, clock TIME(2), years YEAR, j JSON,
        fixed BINARY(4), loose VARBINARY(10), blob_ LONGBLOB, c CHAR(5), v VARCHAR(20), t TEXT,
        mood ENUM('sad', 'happy'), tags SET('a', 'b', 'c'), latin VARCHAR(20) CHARACTER SET latin1,
        g INT GENERATED ALWAYS AS (id + 1) STORED)""",
    """INSERT INTO kinds (id, n, f, d, flag, big, bits, at, stamp, day, clock, years, j, fixed, loose, blob_, c, v, t,
        mood, tags, latin) VALUES (4000000000 - 3999999999, 1.5, 0.1, 0.1, TRUE, 18446744073709551615, b'101',
        '2026-01-01 02:03:04.000005', '2026-01-01 02:03:04.5', '2026-01-01', '02:03:04.5', 2026, '{"b": 1, "a": [0.1]}',
        'ab', x'00ff', x'00', 'ab', 'Größe 🙂', 'long', 'sad', 'a,c', 'Größe')""",
    "CREATE TABLE `wei``rd .%` (id INT AUTO_INCREMENT UNIQUE, `a b` VARCHAR(20) PRIMARY KEY)",
    "CREATE TABLE keyless (a INT, b VARCHAR(20))",
    "CREATE TABLE pairs (a INT, b INT, what VARCHAR(20), PRIMARY KEY (b, a))",
    "CREATE TABLE parents (id INT PRIMARY KEY)",
    "CREATE TABLE children (id INT PRIMARY KEY, of_ INT, FOREIGN KEY (of_) REFERENCES parents (id)"
    " ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE VIEW happy AS SELECT id, mood FROM kinds WHERE mood = 'happy'",
    "CREATE VIEW above AS SELECT id FROM happy",
    "INSERT INTO `wei``rd .%` (`a b`) VALUES ('one'), ('two')",
    "INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (2, NULL)",
    "INSERT INTO pairs VALUES (1, 2, 'x'), (2, 1, 'y')",
    "INSERT INTO parents VALUES (1), (2)",
    "INSERT INTO children VALUES (10, 1), (11, 2)",
)


def brief(diff: StateDiff) -> list[tuple[Any, ...]]:
    assert diff.schema == ()
    return [(one.kind, one.table, one.key) for one in diff.rows]


def test_values_are_those_of_their_types(shared: MySQLBackend) -> None:
    [change] = changes_after(shared, TYPES, "UPDATE kinds SET f = 0.2").rows
    assert change.before == {
        "id": 1, "n": Decimal("1.5000"), "f": 0.1, "d": 0.1, "flag": 1, "big": 18446744073709551615, "bits": 5,
        "at": datetime(2026, 1, 1, 2, 3, 4, 5), "stamp": datetime(2026, 1, 1, 2, 3, 4, 500000),
        "day": date(2026, 1, 1), "clock": time(2, 3, 4, 500000), "years": 2026, "j": {"a": [0.1], "b": 1},
        "fixed": b"ab\0\0", "loose": b"\x00\xff", "blob_": b"\0", "c": "ab", "v": "Größe 🙂", "t": "long",
        "mood": "sad", "tags": "a,c", "latin": "Größe", "g": 2,
    }  # fmt: skip
    assert change.after == {**change.before, "f": 0.2}


@pytest.mark.parametrize(
    ("write", "column", "value"),
    [
        ("j = '{\"b\": 2}'", "j", {"b": 2}),
        ("bits = 0", "bits", 0),
        ("f = 16777217", "f", 16777216.0),  # 32 bits hold no other
        ("f = 16777215", "f", 16777215.0),  # sent with six digits, both were the same
        ("d = 0.10000000000000002", "d", 0.10000000000000002),
        ("clock = '-30:00:01.25'", "clock", -timedelta(hours=30, seconds=1, milliseconds=250)),
        ("v = 'größe 🙂'", "v", "größe 🙂"),
        ("v = 'Größe 🙂 '", "v", "Größe 🙂 "),
        ("latin = 'grosse'", "latin", "grosse"),
        ("loose = x'00ff00'", "loose", b"\x00\xff\x00"),
        ("blob_ = ''", "blob_", b""),
        ("v = ''", "v", ""),
        ("v = NULL", "v", None),
        ("v = '-'", "v", "-"),
        ("mood = 'happy'", "mood", "happy"),
        ("tags = ''", "tags", ""),
        ("flag = FALSE", "flag", 0),
        ("n = 1.5001", "n", Decimal("1.5001")),
        ("big = 18446744073709551614", "big", 18446744073709551614),
        ("at = '2026-01-01 02:03:04.000006'", "at", datetime(2026, 1, 1, 2, 3, 4, 6)),
    ],
)
def test_a_changed_value_is_read(shared: MySQLBackend, write: str, column: str, value: Any) -> None:
    [change] = changes_after(shared, TYPES, f"UPDATE kinds SET {write}").rows
    assert change.kind == "update"
    assert change.after is not None
    assert change.before is not None
    assert change.after[column] == value
    assert {**change.after, column: None} == {**change.before, column: None}


@pytest.mark.parametrize(
    "write",
    [
        "n = 1.50",
        "f = 0.1",
        "d = 1e-1",
        'j = \'{"a":[1e-1],   "b":1}\'',
        "bits = 5",
        "flag = 1",
        "stamp = '2026-01-01 02:03:04.500'",
    ],
)
def test_the_same_value_is_no_change(shared: MySQLBackend, write: str) -> None:
    assert (
        changes_after(shared, TYPES, "SET time_zone = '+00:00'", f"UPDATE kinds SET {write}") == StateDiff()
    )


@pytest.mark.parametrize("rows", [2, 200])
@pytest.mark.parametrize("column", ["bucket", "count", "2", "CRC32"])
@pytest.mark.parametrize(
    "write", ["INSERT INTO t VALUES (900, 'mine', 1)", "UPDATE t SET a = 'mine' WHERE id = 1"]
)
def test_a_column_of_any_name_hides_no_change(
    shared: MySQLBackend, rows: int, column: str, write: str
) -> None:
    values = ", ".join(f"({one}, 'x', {one % 7})" for one in range(rows))
    environment = environment_of(
        f"CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9), `{column}` INT)", f"INSERT INTO t VALUES {values}"
    )
    [change] = changes_after(shared, environment, write).rows
    assert change.after is not None
    assert change.after["a"] == "mine"


@pytest.mark.parametrize("number", ["1e9999999999999999999999", "-1e-9999999999999999999999"])
@only_mariadb
def test_json_with_a_number_that_nothing_holds_stays_text(shared: MySQLBackend, number: str) -> None:
    environment = environment_of(
        "CREATE TABLE t (id INT PRIMARY KEY, j JSON)", "INSERT INTO t VALUES (1, '{}')"
    )
    written = f'{{"a": {number}}}'
    [change] = changes_after(shared, environment, f"UPDATE t SET j = '{written}'").rows
    assert change.after == {"id": 1, "j": written}


def test_values_beyond_the_largest_packet_are_compared(shared: MySQLBackend) -> None:
    environment = environment_of(
        "CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT)",
        "INSERT INTO t VALUES (1, REPEAT('a', 9000000), REPEAT('b', 9000000))",
    )
    [change] = changes_after(shared, environment, "UPDATE t SET b = CONCAT(LEFT(b, 8999999), 'c')").rows
    assert change.after is not None
    assert change.after["b"][-2:] == "bc"


@pytest.mark.parametrize(
    ("writes", "expected"),
    [
        (["INSERT INTO keyless VALUES (1, 'x')"], [("insert", "keyless", None)]),
        (["DELETE FROM keyless WHERE a = 1 LIMIT 1"], [("delete", "keyless", None)]),
        (
            ["UPDATE keyless SET b = 'X' WHERE a = 1 LIMIT 1"],
            [("delete", "keyless", None), ("insert", "keyless", None)],
        ),
        (["DELETE FROM keyless", "INSERT INTO keyless VALUES (2, NULL), (1, 'x'), (1, 'x')"], []),
        (
            ["UPDATE `wei``rd .%` SET `a b` = 'ONE' WHERE `a b` = 'one'"],
            [("insert", "wei`rd .%", ("ONE",)), ("delete", "wei`rd .%", ("one",))],
        ),
        (["UPDATE pairs SET what = 'z' WHERE a = 1"], [("update", "pairs", (2, 1))]),
        (["REPLACE INTO pairs VALUES (1, 2, 'z')"], [("update", "pairs", (2, 1))]),
        (["UPDATE parents SET id = 3 WHERE id = 1"], [
            ("delete", "parents", (1,)), ("insert", "parents", (3,)), ("update", "children", (10,))]),
        (["DELETE FROM parents WHERE id = 2"], [("delete", "parents", (2,)), ("delete", "children", (11,))]),
    ],
)  # fmt: skip
def test_changes_are_net_and_by_key(
    shared: MySQLBackend, writes: list[str], expected: list[tuple[Any, ...]]
) -> None:
    found = brief(changes_after(shared, TYPES, *writes))
    assert Counter(found) == Counter(expected)


def test_what_was_written_and_reverted_is_no_change(shared: MySQLBackend) -> None:
    assert (
        changes_after(
            shared,
            TYPES,
            "UPDATE kinds SET n = 2",
            "UPDATE kinds SET n = 1.5",
            "DELETE FROM children WHERE id = 10",
            "INSERT INTO children VALUES (10, 1)",
        )
        == StateDiff()
    )


DDL = [
    ("CREATE TABLE mine (a INT)", "created", "table", "mine"),
    ("DROP TABLE keyless", "dropped", "table", "keyless"),
    ("ALTER TABLE keyless ADD COLUMN c INT", "altered", "table", "keyless"),
    ("ALTER TABLE kinds MODIFY v VARCHAR(21)", "altered", "table", "kinds"),
    ("CREATE INDEX fast ON keyless (a)", "altered", "table", "keyless"),
    ("ALTER TABLE children DROP FOREIGN KEY children_ibfk_1", "altered", "table", "children"),
    ("ALTER TABLE keyless COMMENT = 'mine'", "altered", "table", "keyless"),
    ("CREATE VIEW mine AS SELECT 1 AS one", "created", "view", "mine"),
    ("ALTER VIEW happy AS SELECT id, mood FROM kinds", "altered", "view", "happy"),
    ("DROP VIEW above", "dropped", "view", "above"),
    ("CREATE TRIGGER mine AFTER DELETE ON keyless FOR EACH ROW SET @x = 1", "created", "trigger", "keyless.mine"),
    ("CREATE PROCEDURE mine() SELECT 1", "created", "procedure", "mine"),
    ("CREATE FUNCTION mine() RETURNS INT DETERMINISTIC RETURN 1", "created", "function", "mine"),
    ("CREATE EVENT mine ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1", "created", "event", "mine"),
    ("ALTER DATABASE CHARACTER SET latin1", "altered", "database", "defaults"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "action", "kind", "name"), DDL)
def test_ddl_is_a_change_of_the_schema(
    shared: MySQLBackend, server: str, statement: str, action: str, kind: str, name: str
) -> None:
    diff = changes_by_admin(shared, TYPES, server, statement)
    assert [(one.action, one.type, one.name) for one in diff.schema] == [(action, kind, name)]
    assert diff.rows == ()


def test_rows_are_compared_by_the_columns_that_stayed(shared: MySQLBackend, server: str) -> None:
    diff = changes_by_admin(
        shared,
        TYPES,
        server,
        "ALTER TABLE pairs DROP COLUMN what, ADD COLUMN more INT FIRST",
        "UPDATE pairs SET a = 7 WHERE a = 1",
        "ALTER TABLE keyless MODIFY b TEXT",
        "ALTER TABLE children RENAME TO kids",
    )
    assert [(one.kind, one.table, one.key) for one in diff.rows] == [
        ("delete", "pairs", (2, 1)),
        ("insert", "pairs", (2, 7)),
    ]
    assert [(one.action, one.name) for one in diff.schema] == [
        ("dropped", "children"), ("altered", "keyless"), ("created", "kids"), ("altered", "pairs"),
    ]  # fmt: skip


def test_truncate_is_read(shared: MySQLBackend, server: str) -> None:
    diff = changes_by_admin(shared, environment_of(*SHOP), server, "TRUNCATE `lines`")
    assert brief(diff) == [("delete", "lines", (1,)), ("delete", "lines", (2,))]


def test_code_of_the_seed_works_in_every_attempt_and_is_no_change(shared: MySQLBackend) -> None:
    environment = environment_of(
        *SHOP,
        "CREATE TABLE told (id INT PRIMARY KEY AUTO_INCREMENT, what VARCHAR(20))",
        "CREATE TRIGGER tells AFTER UPDATE ON orders FOR EACH ROW INSERT INTO told (what) VALUES (NEW.status)",
        "CREATE PROCEDURE pay(one INT) UPDATE orders SET status = 'paid' WHERE id = one",
        "CREATE FUNCTION twice(x INT) RETURNS INT DETERMINISTIC RETURN 2 * x",
        "CREATE VIEW open_ AS SELECT id, twice(id) AS double_ FROM orders WHERE status = 'open'",
    )
    for _ in range(2):
        diff = changes_after(shared, environment, "CALL pay(1)")
        assert brief(diff) == [("update", "orders", (1,)), ("insert", "told", (1,))]
    lease = shared.acquire(environment, None, attempt_id="a")
    with raw(lease) as connection:
        assert execute(connection, "SELECT * FROM open_") == [(1, 2), (2, 4)]
    lease.cut()
    with lease.connect_after() as after:
        assert after.exec_driver_sql("SELECT id FROM open_").scalars().all() == [1, 2]
    lease.release()


def test_code_of_a_seed_with_quotes_of_another_kind_has_the_rights_of_its_owner(shared: MySQLBackend) -> None:
    environment = environment_of(
        *SHOP,
        "SET SESSION sql_mode = 'ANSI_QUOTES'",
        "CREATE PROCEDURE who() SELECT CURRENT_USER()",
        "CREATE FUNCTION me() RETURNS VARCHAR(99) DETERMINISTIC RETURN CURRENT_USER()",
    )
    lease = shared.acquire(environment, None, attempt_id="a")
    with raw(lease) as connection:
        assert execute(connection, "CALL who()") == [(f"{lease.owner}@%",)]
        assert execute(connection, "SELECT me()") == [(f"{lease.owner}@%",)]
    lease.cut()
    assert lease.read_changes(audit=True) == StateDiff()
    lease.release()


PACKAGE = (
    "SET SESSION sql_mode = 'ORACLE'",
    "CREATE PACKAGE p AS PROCEDURE who; END",
    "CREATE PACKAGE BODY p AS PROCEDURE who AS BEGIN SELECT CURRENT_USER(); END; END",
)


@only_mariadb
def test_a_package_of_an_agent_is_a_change_of_the_schema(shared: MySQLBackend) -> None:
    diff = changes_after(shared, environment_of(*SHOP, ddl=True), *PACKAGE)
    assert [(one.action, one.type, one.name) for one in diff.schema] == [
        ("created", "package", "p"),
        ("created", "package body", "p"),
    ]


@only_mariadb
def test_a_package_of_the_seed_is_there_in_every_attempt_and_in_what_is_kept(
    shared: MySQLBackend, tmp_path: Path
) -> None:
    lease = shared.acquire(environment_of(*SHOP, *PACKAGE), None, attempt_id="a")
    with raw(lease) as connection:
        execute(connection, PACKAGE[0])
        assert execute(connection, "CALL p.who()") == [(f"{lease.owner}@%",)]
    lease.cut()
    assert lease.read_changes(audit=True) == StateDiff()
    kept = lease.keep(tmp_path / "kept")
    lease.release()
    again = shared.acquire(
        Environment(name="kept", database=Database(schema=kept), servers=[]), None, attempt_id="b"
    )
    assert {kind for kind, _ in again._template.catalog.objects} >= {"package", "package body"}
    again.release()


@only_mariadb
def test_a_sequence_that_was_used_is_no_change_and_begins_again(shared: MySQLBackend, server: str) -> None:
    environment = environment_of(
        *SHOP, "CREATE SEQUENCE numbers START WITH 5 NOCACHE", "SELECT NEXTVAL(numbers)"
    )
    for _ in range(2):
        lease = shared.acquire(environment, None, attempt_id="a")
        with raw(lease) as connection:
            assert execute(connection, "SELECT NEXTVAL(numbers)") == [(6,)]
        lease.cut()
        assert lease.read_changes(audit=True) == StateDiff()
        lease.release()
    [altered] = changes_by_admin(shared, environment, server, "ALTER SEQUENCE numbers INCREMENT 3").schema
    assert (altered.action, altered.type, altered.name) == ("altered", "sequence", "numbers")


ONLY_MYSQL = environment_of(
    """CREATE TABLE hidden (id INT PRIMARY KEY, a INT DEFAULT 5 INVISIBLE, b INT DEFAULT (1 + 2), g INT AS (id * 2),
        CHECK (b < 100), INDEX ((id + a)), INDEX (a DESC), INDEX (b) INVISIBLE)""",
    "INSERT INTO hidden (id) VALUES (1), (2)",
    "CREATE TABLE codes (id INT PRIMARY KEY, j JSON, INDEX ((CAST(j->'$.codes' AS UNSIGNED ARRAY))))",
    """INSERT INTO codes VALUES (1, '{"codes": [1, 2], "n": 1.50}'), (2, NULL)""",
    "CREATE TABLE points (p POINT NOT NULL SRID 4326, SPATIAL INDEX (p))",
    "INSERT INTO points VALUES (ST_GeomFromText('POINT(1 2)', 4326))",
    "CREATE TABLE vectors (v VECTOR(3))",
    "INSERT INTO vectors VALUES (STRING_TO_VECTOR('[1, 0.1, 3]')), (NULL)",
    "CREATE TABLE accents (word VARCHAR(20) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY)",
    "INSERT INTO accents VALUES ('é')",
    "SET sql_generate_invisible_primary_key = 1",
    "CREATE TABLE numbered (a INT)",
    "SET sql_generate_invisible_primary_key = 0",
    "INSERT INTO numbered VALUES (7), (7)",
)


@only_mysql
def test_what_only_mysql_has_is_read_made_again_and_kept(shared: MySQLBackend, tmp_path: Path) -> None:
    need_version(shared, 9, 0)
    first = shared.acquire(ONLY_MYSQL, None, attempt_id="a")
    with raw(first) as connection:
        for statement in (
            "UPDATE hidden SET a = 6 WHERE id = 1",
            "UPDATE codes SET j = JSON_SET(j, '$.n', 2.5) WHERE id = 1",
            "UPDATE points SET p = ST_GeomFromText('POINT(1 3)', 4326)",
            "UPDATE vectors SET v = STRING_TO_VECTOR('[1, 0.2, 3]') WHERE v IS NOT NULL",
            "UPDATE accents SET word = 'E'",
            "DELETE FROM numbered LIMIT 1",
            "INSERT INTO numbered VALUES (8)",
        ):
            execute(connection, statement)
    first.cut()
    diff = first.read_changes(audit=True)
    assert brief(diff) == [
        ("insert", "accents", ("E",)), ("delete", "accents", ("é",)), ("update", "codes", (1,)),
        ("update", "hidden", (1,)), ("delete", "numbered", (1,)), ("insert", "numbered", (3,)),
        ("delete", "points", None), ("insert", "points", None), ("delete", "vectors", None),
        ("insert", "vectors", None),
    ]  # fmt: skip
    after = [one.after for one in diff.rows]
    assert after[2] == {"id": 1, "j": {"codes": [1, 2], "n": 2.5}}
    assert after[3] == {"id": 1, "a": 6, "b": 3, "g": 2}
    assert after[9] == {"v": [1.0, 0.2, 3.0]}
    kept = first.keep(tmp_path / "kept")
    final = {name: first.rows(name, {}) for name in first.rules.tables}
    first.release()
    again = shared.acquire(ONLY_MYSQL, None, attempt_id="b")
    again.rebuild(diff)
    again.release()
    loaded = Environment(name="kept", database=Database(schema=kept), servers=[])
    third = shared.acquire(loaded, None, attempt_id="c")
    third.cut()
    assert {name: third.rows(name, {}) for name in third.rules.tables} == final
    third.release()


@only_mysql
def test_a_library_is_a_change_of_the_schema(shared: MySQLBackend) -> None:
    need_version(shared, 9, 2)
    create = "CREATE LIBRARY mine LANGUAGE JAVASCRIPT AS 'export function f() {}'"
    diff = changes_after(shared, environment_of(*SHOP, ddl=True), create)
    assert [(one.action, one.type, one.name) for one in diff.schema] == [("created", "library", "mine")]
    with pytest.raises(ConfigurationError, match="the library mine cannot be copied"):
        shared.prepare(environment_of(*SHOP, create))


WRITES = st.sampled_from(
    [
        "INSERT INTO keyless VALUES (1, 'x')",
        "UPDATE keyless SET b = 'y' WHERE a = 2",
        "UPDATE keyless SET b = UPPER(b)",
        "DELETE FROM keyless WHERE b = 'x' LIMIT 1",
        "DELETE FROM parents WHERE id = 1",
        "INSERT IGNORE INTO parents VALUES (1), (3)",
        "UPDATE parents SET id = id + 100",
        "INSERT INTO children VALUES (12, 2)",
        "UPDATE children SET of_ = NULL",
        "REPLACE INTO pairs VALUES (1, 2, 'z'), (5, 5, 'n')",
        "UPDATE pairs SET b = b + 10",
        "UPDATE kinds SET n = n * 1.5, j = NULL",
        "UPDATE kinds SET f = f * 3, d = d / 3, clock = ADDTIME(clock, '25:00:00.01')",
        "UPDATE kinds SET id = id + 1, bits = bits ^ 1, v = CONCAT(v, ' '), loose = CONCAT(x'00', loose)",
        "DELETE FROM kinds",
        "INSERT INTO `wei``rd .%` (`a b`) VALUES ('three'), ('four')",
        "UPDATE `wei``rd .%` SET `a b` = UPPER(`a b`)",
        "DELETE FROM `wei``rd .%`",
        "TRUNCATE keyless",
        "TRUNCATE `wei``rd .%`",
        "ALTER TABLE keyless ADD COLUMN extra INT DEFAULT 7",
        "ALTER TABLE keyless ADD INDEX (a)",
        "ALTER TABLE pairs DROP PRIMARY KEY",
        "DROP TABLE children",
        "CREATE TABLE mine (a INT)",
        "CREATE TRIGGER mine BEFORE INSERT ON keyless FOR EACH ROW SET NEW.a = 5",
        "DROP VIEW happy",
    ]
)  # fmt: skip


def dump(lease: MySQLLease, server: str, database: str) -> dict[str, list[Row]]:
    """All rows, by the seed's columns that are still there, read one after the other and not by parts."""
    connection = connect(server, database)
    execute(connection, values.SETTINGS)
    tables = lease._template.catalog.tables
    found: dict[str, list[Row]] = {}
    for name, table in tables.items():
        there = {
            column
            for (column,) in execute(
                connection,
                "SELECT COLUMN_NAME FROM information_schema.COLUMNS"
                f" WHERE TABLE_SCHEMA = '{database}' AND TABLE_NAME = '{name}'",
            )
        }
        if there:
            found[name] = read_rows(
                connection, database, table, [one for one in table.info.columns if one in there]
            )
    connection.close()
    return found


def as_multisets(rows: dict[str, list[Row]]) -> dict[str, Counter[Any]]:
    return {name: Counter(map(canonical_row, found)) for name, found in rows.items()}


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(WRITES, min_size=1, max_size=8), rolled_back=st.booleans())
def test_changes_applied_to_before_give_after_and_the_next_attempt_sees_the_seed(
    shared: MySQLBackend, server: str, writes: list[str], rolled_back: bool
) -> None:
    lease = shared.acquire(TYPES, None, attempt_id="a")
    before = dump(lease, server, lease.database)
    connection = connect(server, lease.database, autocommit=False)
    for statement in writes:
        try:
            execute(connection, statement)
        except pymysql.Error:
            continue  # refused for what another one did
    if rolled_back:
        connection.rollback()
    else:
        connection.commit()
    connection.close()
    lease.cut()
    diff = lease.read_changes(audit=True)
    after = dump(lease, server, lease.database)
    kept = {name: rows for name, rows in before.items() if name in after}
    found = apply(kept, diff, lease.rules.tables)
    keyed = {
        name for name in after if not any(one.name == name and one.type == "table" for one in diff.schema)
    }
    assert {name: as_multisets(found)[name] for name in keyed} == {
        name: as_multisets(after)[name] for name in keyed
    }
    lease.release()
    following = shared.acquire(TYPES, None, attempt_id="b")
    assert as_multisets(dump(following, server, following.database)) == as_multisets(before)
    following.cut()
    assert following.read_changes(audit=True) == StateDiff()
    following.release()


def test_t8_an_agent_with_ddl_changes_its_schema_and_the_next_sees_the_seed(shared: MySQLBackend) -> None:
    environment = environment_of(*SHOP, ddl=True)
    for _ in range(2):
        diff = changes_after(
            shared,
            environment,
            "CREATE TABLE mine (a INT PRIMARY KEY)",
            "TRUNCATE `lines`",
            "INSERT INTO `lines` VALUES (2, 1), (3, 1)",
            "ALTER TABLE orders ADD COLUMN more INT",
            "CREATE TRIGGER late BEFORE INSERT ON mine FOR EACH ROW SET NEW.a = 1",
        )
        assert [(one.action, one.type, one.name) for one in diff.schema] == [
            ("created", "table", "mine"),
            ("altered", "table", "orders"),
            ("created", "trigger", "mine.late"),
        ]
        assert [(one.kind, one.table, one.key) for one in diff.rows] == [
            ("delete", "lines", (1,)),
            ("insert", "lines", (3,)),
        ]
        assert "tb_" not in repr(diff)


def test_an_agent_that_drops_its_database_dropped_all_that_was_in_it(shared: MySQLBackend) -> None:
    lease = shared.acquire(environment_of(*SHOP, ddl=True), None, attempt_id="a")
    with raw(lease) as connection:
        execute(connection, f"DROP DATABASE {lease.database}")
    lease.cut()
    diff = lease.read_changes(audit=True)
    assert [(one.action, one.type, one.name) for one in diff.schema] == [
        ("dropped", "table", "lines"),
        ("dropped", "table", "orders"),
    ]
    assert lease.alive()
    lease.release()


def test_a_final_state_is_kept_as_sql_that_a_seed_can_be_loaded_from(
    shared: MySQLBackend, server: str, tmp_path: Path
) -> None:
    lease = shared.acquire(TYPES, None, attempt_id="a")
    with raw(lease) as connection:
        execute(connection, "INSERT INTO keyless VALUES (7, 'it''s % \\\\ `new`; 🙂')")
        execute(connection, "UPDATE kinds SET v = NULL")
    lease.cut()
    kept = lease.keep(tmp_path / "test_close-1")
    final = dump(lease, server, lease.database)
    lease.release()
    assert kept == tmp_path / "test_close-1.sql"
    environment = Environment(name="kept", database=Database(schema=kept), servers=[])
    again = shared.acquire(environment, None, attempt_id="b")
    assert as_multisets(dump(again, server, again.database)) == as_multisets(final)
    assert ("view", "above") in again._template.catalog.objects
    again.release()

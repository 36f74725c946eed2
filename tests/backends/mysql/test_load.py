"""Seeds from files of other programs, whole or not at all."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from pytest_thinkingbox.backends.mysql import MySQLBackend
from pytest_thinkingbox.declare import Database, Environment
from pytest_thinkingbox.errors import ConfigurationError
from tests.backends import sqlite_files
from tests.support.servers import missing

from .worlds import connect, execute


def test_rows_of_a_file_of_sqlite(shared: MySQLBackend, tmp_path: Path) -> None:
    """As its columns are on this server, whatever order the foreign keys want, and nothing that triggers add."""
    loud = ("CREATE TRIGGER loud BEFORE INSERT ON parents FOR EACH ROW SET NEW.boss = NULL",)
    loaded = sqlite_files.environment(sqlite_files.write(tmp_path / "seed.db"), triggers=loud)
    first, second = sqlite_files.rows(shared, loaded)
    plain = {"open": 1, "moment": sqlite_files.ROW["at"], "token": sqlite_files.ROW["token"].hex, "twice": 2}
    expected = {**sqlite_files.ROW, **plain}
    if shared._server.kind == "MariaDB":  # which has a type of its own for it
        expected["token"] = str(sqlite_files.ROW["token"])
    assert first == {**expected, "ratio": pytest.approx(0.1)}
    assert {name for name, value in second.items() if value is not None} == {"id"}
    assert sqlite_files.rows(shared, loaded, "parents") == [{"id": 1, "boss": 2}, {"id": 2, "boss": 1}]
    lease = shared.acquire(loaded, None, attempt_id="a")
    with lease.engine.begin() as connection:
        connection.execute(text("INSERT INTO kinds () VALUES ()"))
        assert connection.execute(text("SELECT LAST_INSERT_ID()")).scalar() == 10
        connection.execute(text("INSERT INTO parents VALUES (3, 1)"))
        assert connection.execute(text("SELECT boss FROM parents WHERE id = 3")).scalar() is None
    lease.release()


@pytest.mark.parametrize(("how", "said"), sqlite_files.BROKEN_ON_SERVERS)
def test_t37_a_file_of_sqlite_that_loads_only_in_part_is_refused(
    shared: MySQLBackend, tmp_path: Path, how: str, said: str
) -> None:
    sqlite_files.check_refused(shared, tmp_path / "seed.sqlite", how, said)


def test_a_file_of_sqlite_is_no_schema_here(shared: MySQLBackend, tmp_path: Path) -> None:
    path = sqlite_files.write(tmp_path / "seed.sqlite")
    with pytest.raises(
        ConfigurationError, match=r"does not say what its columns are on M.*; give the schema as"
    ):
        shared.prepare(sqlite_files.environment(None, schema=path))


WORLD = (
    "CREATE TABLE parents (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40), raw BLOB)",
    "CREATE TABLE children (id INT PRIMARY KEY, of_ INT, FOREIGN KEY (of_) REFERENCES parents (id))",
    "INSERT INTO parents (what, raw) VALUES ('it''s; ü€ %s \\\\', x'00ff8027'), ('two', NULL)",
    "INSERT INTO children VALUES (1, 2)",
    "CREATE VIEW named AS SELECT id, what FROM parents",
    "CREATE FUNCTION one_more(n INT) RETURNS INT DETERMINISTIC BEGIN RETURN n + 1; END",
    "CREATE TRIGGER told BEFORE INSERT ON parents FOR EACH ROW BEGIN SET NEW.what = 'told'; END",
)


@pytest.fixture(scope="module")
def dump(server: str) -> Callable[..., bytes]:
    """What the server's own program writes of a small world."""
    url = make_url(server)
    found = subprocess.run(
        ["docker", "ps", "--filter", f"publish={url.port}", "--format", "{{.Names}}"],
        capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    if not found:
        missing("needs the server in a container, where its dump program is")
    name = f"dumped_{secrets.token_hex(4)}"
    admin = connect(server)
    execute(admin, f"CREATE DATABASE {name}")
    admin.select_db(name)
    for statement in WORLD:
        execute(admin, statement)

    program = 'p=$(command -v mariadb-dump || command -v mysqldump); exec "$p" -uroot -p"$PASSWORD" "$@"'

    def go(*options: str) -> bytes:
        return subprocess.run(
            ["docker", "exec", "-e", f"PASSWORD={url.password}", found[0], "sh", "-c", program, "sh",
             "--routines", *options, name],
            capture_output=True, check=True,
        ).stdout  # fmt: skip

    try:
        made = {options: go(*options) for options in ((), ("--hex-blob", "--skip-extended-insert"))}
    finally:
        execute(admin, f"DROP DATABASE {name}")
        admin.close()
    return lambda *options: made[options]


@pytest.mark.parametrize("options", [(), ("--hex-blob", "--skip-extended-insert")], ids=["plain", "hex"])
def test_a_dump_of_the_server_is_loaded(
    shared: MySQLBackend, dump: Callable[..., bytes], tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = tmp_path / "dump.sql"
    path.write_bytes(dump(*options))
    loaded = Environment(name="dump", database=Database(schema=path), servers=[])
    lease = shared.acquire(loaded, None, attempt_id="a")
    with lease.engine.begin() as connection:
        assert connection.execute(text("SELECT one_more(id) FROM named ORDER BY id")).scalars().all() == [
            2,
            3,
        ]
        connection.execute(text("INSERT INTO parents (what) VALUES ('x')"))
    lease.cut()
    assert lease.rows("parents", {}) == [
        {"id": 1, "what": "it's; ü€ %s \\", "raw": b"\x00\xff\x80'"},
        {"id": 2, "what": "two", "raw": None},
        {"id": 3, "what": "told", "raw": None},
    ]
    assert lease.rows("children", {}) == [{"id": 1, "of_": 2}]
    lease.release()


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda dump: dump[: dump.index(b"INSERT INTO `parents`")], "was cut off: a dump ends with the line"),
        (lambda dump: dump[: dump.index(b"INSERT INTO `parents`") + 40], "was cut off: a dump ends with the line"),
        (lambda dump: dump.replace(b"INSERT INTO `parents`", b"INSERT INTO `elsewhere`"), r"line \d+: .*elsewhere"),
        (lambda dump: dump.replace(b"(1,2)", b"(1,7)"), "loads only in part: 1 rows of children"),
    ],
    ids=["between statements", "in a statement", "a statement fails", "a row is missing"],
)  # fmt: skip
def test_t37_a_dump_that_loads_only_in_part_is_refused(
    shared: MySQLBackend,
    dump: Callable[..., bytes],
    tmp_path: Path,
    broken: Callable[[bytes], bytes],
    said: str,
) -> None:
    path = tmp_path / "dump.sql"
    path.write_bytes(broken(dump()))
    with pytest.raises(ConfigurationError, match=said):
        shared.prepare(Environment(name="dump", database=Database(schema=path), servers=[]))

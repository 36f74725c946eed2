"""Whose fault it is that a statement failed: the agent's, or that of the file and the disk."""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_thinkingbox.backends.sqlite import SqliteBackend
from pytest_thinkingbox.backends.sqlite.lease import SqliteLease, is_outage
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.state.model import StateDiff
from tests.support.sql_tool import play

from .sqlite_worlds import environment_of

SHOP = (
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT NOT NULL)",
    "INSERT INTO orders VALUES (1, 'open')",
)


@pytest.fixture
def lease(backend: SqliteBackend) -> Iterator[SqliteLease]:
    made = backend.acquire(environment_of(*SHOP), None, attempt_id="a")
    yield made
    made.release()


@pytest.mark.parametrize(
    "statements",
    [
        ["PRAGMA max_page_count = 2", "INSERT INTO orders VALUES (2, hex(zeroblob(100000)))"],
        [
            "CREATE TEMPORARY TRIGGER full BEFORE INSERT ON orders"
            " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
            "INSERT INTO orders VALUES (2, 'x')",
        ],
        [
            "CREATE TEMPORARY TRIGGER dead BEFORE INSERT ON orders"
            " BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END",
            "INSERT INTO orders VALUES (2, 'x')",
        ],
        ["ATTACH '/nowhere/at/all' AS other"],
    ],
    ids=[
        "a limit of its own",
        "a trigger that says full",
        "a trigger that says dead",
        "a file that is not there",
    ],
)
def test_an_error_that_says_outage_is_none_when_the_agent_caused_it(
    lease: SqliteLease, statements: list[str]
) -> None:
    *_, raised, after = play(lease, [*statements, "SELECT count(*) FROM orders"])
    assert raised.error
    assert not after.error
    lease.cut()
    assert lease.read_changes(audit=True) == StateDiff()


def test_a_file_that_is_gone_is_an_outage(lease: SqliteLease) -> None:
    lease._file.path.rename(lease._file.path.with_suffix(".elsewhere"))
    lease._file.path.mkdir()
    with pytest.raises(InfrastructureDown, match="unable to open database file"):
        play(lease, ["SELECT 1"])


Usage = namedtuple("Usage", "free")


@pytest.mark.parametrize(("free", "outage"), [(0, True), (10 << 30, False)])
def test_a_full_disk_is_an_outage_while_it_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, outage: bool
) -> None:
    monkeypatch.setattr("pytest_thinkingbox.backends.sqlite.lease.disk_usage", lambda folder: Usage(free))
    full = sqlite3.OperationalError("database or disk is full")
    assert is_outage(full, folder=tmp_path) is outage

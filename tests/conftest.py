"""One small suite to test the plugin with, and one fixture that runs it in every way pytest can."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio._backends._asyncio  # noqa: F401
import httpcore2  # noqa: F401
import hypothesis.internal.observability  # noqa: F401
import mcp.client.client
import mcp.server  # noqa: F401
import pytest

import pytest_thinkingbox

# A run in this process forgets every module that it was the first to import: the next run would have two of each
# class. Some libraries import with their first use only; those are named above.
for _module in pkgutil.walk_packages(pytest_thinkingbox.__path__, "pytest_thinkingbox."):
    importlib.import_module(_module.name)

pytest_plugins = ["pytester"]

SHOP = '''
from sqlalchemy import Column, Connection, Integer, MetaData, Numeric, String, Table, insert, text

from pytest_thinkingbox import (
    Database, Deleted, Environment, Inserted, Limits, SchemaChange, Script, Server, Updated, User, call,
)

metadata = MetaData()
orders = Table(
    "orders",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("status", String(20), nullable=False),
    Column("total", Numeric(10, 2), nullable=False),
)
notes = Table("notes", metadata, Column("id", Integer, primary_key=True), Column("text", String(200), nullable=False))
log = Table("log", metadata, Column("id", Integer, primary_key=True), Column("line", String(200)))


def seed(connection: Connection) -> None:
    connection.execute(insert(orders), [{"id": n, "status": "open", "total": 10 * n} for n in range(1, 6)])


def set_status(connection: Connection, order_id: int, status: str) -> str:
    """Change the status of an order."""
    connection.execute(orders.update().where(orders.c.id == order_id).values(status=status))
    return "done"


def add_note(connection: Connection, words: str) -> dict:
    """Write a note."""
    key = connection.execute(insert(notes).values(text=words)).inserted_primary_key[0]
    return {"id": key}


def run_sql(connection: Connection, statement: str) -> str:
    """Run a statement."""
    connection.execute(text(statement))
    return "done"


shop = Environment(
    name="shop",
    database=Database(schema=metadata, seed=seed, bookkeeping=["log"]),
    servers=[Server.functions([set_status, add_note, run_sql])],
    mail=False,
)
CLOSE_1 = [call("set_status", order_id=1, status="closed")]
'''


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, so that no worker is left alone with one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: item.path not in slow)


def pytest_configure(config: pytest.Config) -> None:
    """A file goes to one worker, so that what its tests share - servers, models, proofs - is made once."""
    if config.getoption("dist", None) == "load":
        config.option.dist = "loadfile"
        config.option.loadscopereorder = False  # by number of tests, which says nothing of how long they take


@pytest.fixture(autouse=True)
def no_summary_of_this_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Campaigns of tests are not shown as those of the job that runs the tests."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Callable[..., Path]:
    """Write a test file with tasks of a small shop: `shop`, `CLOSE_1`, `call`, the matchers and `pytest` are there."""
    pytester.makepyfile(shop=SHOP)
    pytester.makeini("[pytest]\naddopts = -p no:randomly -p no:cov -p no:asyncio\n")

    def write(body: str, *, name: str = "test_shop") -> Path:
        return pytester.makepyfile(**{name: "import pytest\nfrom shop import *\n" + dedent(body)})

    return write


class Outcome:
    """What a run of pytest left behind."""

    def __init__(self, result: pytest.RunResult, root: Path) -> None:
        self.result = result
        self.status = int(result.ret)
        self.text = result.stdout.str() + result.stderr.str()
        self._root = root

    @property
    def counts(self) -> dict[str, int]:
        return self.result.parseoutcomes()

    def records(self) -> list[dict[str, Any]]:
        """All lines of the latest campaign, sorted by task and attempt and try."""
        folders = sorted(
            self._root.glob(".thinkingbox/*/attempts.jsonl"), key=lambda path: path.stat().st_mtime
        )
        lines = [json.loads(line) for line in folders[-1].read_text().splitlines()] if folders else []
        return sorted(lines, key=lambda one: (one["task"], one["attempt"], one["try_number"]))

    def outcomes(self) -> list[str]:
        """Outcome, or cause when invalid, of every final try."""
        return [one["cause"] or one["outcome"] for one in self.records() if one["final"]]


Run = Callable[..., Outcome]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run pytest in this process, with the solution agent unless told otherwise."""

    def go(*arguments: str, agent: str | None = "solution", subprocess: bool = False) -> Outcome:
        named = [] if agent is None else [f"--tb-agent={agent}"]
        start = pytester.runpytest_subprocess if subprocess else pytester.runpytest_inprocess
        return Outcome(start(*named, *arguments), pytester.path)

    return go


@pytest.fixture(params=["plain", "-n0", pytest.param("-n2", marks=pytest.mark.slow)])
def run_everywhere(request: pytest.FixtureRequest, run: Run) -> Run:
    """The same without xdist, with xdist but no workers, and with two workers."""
    extra = {"plain": ["-p", "no:xdist"], "-n0": ["-n0"], "-n2": ["-n2"]}[request.param]

    def go(*arguments: str, **named: Any) -> Outcome:
        return run(*extra, *arguments, **named)

    return go

"""A suite whose checkers do what checkers do, good and bad, and final states for them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from textwrap import dedent

from pytest_thinkingbox.episodes.model import Conversation
from pytest_thinkingbox.rewards import FinalState
from pytest_thinkingbox.state.model import RowChange, SchemaDelta, StateDiff
from tests.conftest import SHOP

TASKS = """
import asyncio
import os
import time

import pytest
from shop import *

CLOSED = [Updated("orders", 1, status="closed")]
made = []


@pytest.fixture(scope="module")
def of_module():
    made.append("module")
    return len(made)


@pytest.fixture
def of_function():
    made.append("function")
    yield len(made)
    made.append("end of function")


@shop.task("Close 1.", tags=["plain"])
def test_close(changes):
    assert changes == CLOSED


@shop.task("Close 1.")
def test_credit(attempt, changes):
    attempt.credit(0.25)
    assert changes == CLOSED


@shop.task("Close 1.")
def test_rows(attempt, changes):
    assert attempt.row("orders", id=1)["status"] == "closed"
    assert len(attempt.rows("orders")) == 5
    changes.ignore("orders")


@shop.task("Close 1.")
def test_fixtures(changes, of_module, of_function):
    assert made[0] == "module" and of_module == 1
    assert made.count("module") == 1
    assert made.count("function") == made.count("end of function") + 1
    changes.ignore("orders")


class TestClass:
    @shop.task("Close 1.")
    def test_new_object(self, changes):
        assert not vars(self)
        self.used = True
        changes.ignore("orders")


@pytest.mark.asyncio
@shop.task("Close 1.")
async def test_async(changes):
    assert changes == CLOSED


@shop.task("Close 1.")
def test_subtests(changes, subtests):
    with subtests.test("one"):
        assert changes == CLOSED
    with subtests.test("two"):
        changes.ignore("orders")


@shop.task("Close 1.")
def test_key_error(changes):
    {}["status"]


@shop.task("Close 1.")
def test_exit():
    os._exit(3)


@shop.task("Close 1.")
def test_hangs(attempt):
    if attempt.rows("orders", status="closed"):
        time.sleep(600)


@pytest.fixture
def sometimes(changes):
    if not changes:
        raise OSError("no such thing")


@shop.task("Close 1.")
def test_fixture_fails(sometimes, changes):
    assert changes == CLOSED


@shop.task("Close 1.", ahead=False)
def test_alone(changes, monkeypatch):
    assert changes == CLOSED


EXTRA = SchemaChange("created", "table", "extra")


@shop.task("Close 1.")
def test_table_first(attempt, changes):
    assert attempt.row("orders", id=1)["status"] == "closed"
    assert changes == [EXTRA, *CLOSED]


@shop.task("Close 1.")
def test_its_rows_first(attempt, changes):
    assert attempt.rows("extra") == []
    assert changes == [EXTRA, *CLOSED]


@shop.task("Close 1.")
def test_sql_first(attempt, changes):
    assert attempt.db.exec_driver_sql("SELECT count(*) FROM orders").scalar() == 5
    assert changes == [EXTRA, *CLOSED]


async def slow(conversation):
    await asyncio.sleep(0.2)


@shop.task("Close 1.", user=slow)
def test_user(changes):
    assert changes == CLOSED


@pytest.mark.skip
@shop.task("Close 1.")
def test_skipped(changes):
    assert changes == CLOSED


@pytest.mark.parametrize("order", [1, 2])
@shop.task(lambda order: f"Close {order}.")
def test_each(changes, order):
    assert changes == [Updated("orders", order, status="closed")]
"""


def write_suite(folder: Path) -> Path:
    (folder / "shop.py").write_text(SHOP, encoding="utf-8")
    (folder / "test_shop.py").write_text(dedent(TASKS), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -ra -p no:randomly -p no:cov\n", encoding="utf-8")
    return folder


@contextmanager
def forgotten(folder: Path) -> Iterator[None]:
    """Afterwards this process knows nothing of the modules of this folder, whose names other suites have too."""
    try:
        yield
    finally:
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(f"{folder}{os.sep}"):
                del sys.modules[name]
        sys.path[:] = [one for one in sys.path if not f"{one}{os.sep}".startswith(f"{folder}{os.sep}")]


def closed(task: str, *, order: int = 1, status: str = "closed") -> FinalState:
    """The state after the order got this status."""
    before = {"id": order, "status": "open", "total": Decimal(10 * order)}
    change = RowChange("update", "orders", (order,), before, {**before, "status": status})
    return state(task, change)


def untouched(task: str) -> FinalState:
    return state(task)


def with_a_table(task: str) -> FinalState:
    """The order was closed, and the agent has made a table, whose rows no record holds."""
    made = SchemaDelta("created", "table", "extra", after="CREATE TABLE extra (x)")
    state = closed(task)
    return replace(state, diff=replace(state.diff, schema=(made,)))


def state(task: str, *changes: RowChange) -> FinalState:
    return FinalState(
        task_id=f"test_shop.py::{task}", conversation=Conversation(), diff=StateDiff(rows=changes)
    )

"""The SQLite server of the MCP project, from PyPI: written against another SDK, and it wants a path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.conftest import SQLITE_SERVER, Campaign

pytestmark = pytest.mark.slow

TASKS = "tests/real/orders/tasks.py"


@pytest.fixture
def server(installed: Callable[..., Path]) -> Path:
    return installed("sqlite-server", SQLITE_SERVER) / "mcp-server-sqlite"


def processes_of(program: Path) -> list[str]:
    """Command lines of the running processes that name this program or its environment; none without /proc."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = one.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:  # it has just ended
            continue
        if str(program.parent) in words:
            found.append(words)
    return found


def test_rows_that_it_writes_are_the_verdict(play: Callable[..., Campaign], server: Path) -> None:
    campaign = play(TASKS, "--tb-agent=solution", "--tb-attempts=3", ORDERS_SERVER=str(server))
    assert campaign.status == 0, campaign.text
    assert campaign.outcomes() == ["passed"] * 6
    assert processes_of(server) == []


def test_what_nobody_asked_for_fails(play: Callable[..., Campaign], server: Path) -> None:
    campaign = play(TASKS, "--tb-agent=python:tests.real.orders.careless:agent", ORDERS_SERVER=str(server))
    assert campaign.status == 1, campaign.text
    assert campaign.outcomes() == ["failed", "failed"]
    assert 'SchemaChange("created", "table", "scratch")' in campaign.text
    assert 'Updated("orders", 3, status=("open", "cancelled"))' in campaign.text
    answers = {one["response"] for one in campaign.records}
    assert answers == {
        "[{'affected_rows': 3}]\nTable created successfully\nDatabase error: no such table: customers"
    }

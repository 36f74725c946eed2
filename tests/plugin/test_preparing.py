"""Seeds and starts load before a model is called, whichever attempt would need them first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.support.servers import mariadb_server, postgres_server

AGENT = """
    from pathlib import Path

    async def agent(task):
        with Path("called").open("a") as file:
            file.write(task.attempt_id + "\\n")
        return "done"

    @shop.task("First.", no_change=True)
    def test_first(changes):
        assert changes == []
"""
BROKEN_SEED = """
    def half(connection: Connection) -> None:
        seed(connection)
        connection.execute(insert(orders), {"id": 1, "status": "again", "total": 1})

    other = Environment(name="other", database=Database(schema=metadata, seed=half), servers=shop.servers, mail=False)

    @other.task("Second.", no_change=True)
    def test_second(changes):
        assert changes == []
"""
BROKEN_START = """
    def late(connection: Connection) -> None:
        connection.execute(insert(orders), {"id": 1, "status": "again", "total": 1})

    @shop.task("Second.", start=late, no_change=True)
    def test_second(changes):
        assert changes == []
"""
ARGUMENTS = ("--tb-agent=python:test_shop:agent", "--tb-concurrency=1")


CASES = {
    "seed": (BROKEN_SEED, "sqlite", ("-p", "no:xdist")),
    "start": (BROKEN_START, "sqlite", ("-p", "no:xdist")),
    "two workers": (BROKEN_SEED, "sqlite", ("-n2",)),
    "postgres": (BROKEN_SEED, "postgres", ("-p", "no:xdist")),
    "mariadb": (BROKEN_START, "mariadb", ("-p", "no:xdist")),
}


@pytest.mark.parametrize(("broken", "backend", "workers"), CASES.values(), ids=CASES)
def test_no_agent_is_called_before_every_seed_and_start_has_loaded(
    broken: str, backend: str, workers: tuple[str, ...], suite: Callable[..., Path], run: Run
) -> None:
    suite(AGENT + broken)
    servers = {"postgres": postgres_server, "mariadb": mariadb_server}
    with servers[backend]() if backend in servers else nullcontext(backend) as url:
        outcome = run(*ARGUMENTS, *workers, f"--tb-backend={url}", "--tb-attempts=5", agent=None)
    assert outcome.status == 4, outcome.text
    assert "configuration error" in outcome.text
    assert not Path("called").exists()


def test_what_is_not_played_need_not_load(suite: Callable[..., Path], run: Run) -> None:
    suite(AGENT + BROKEN_SEED + "    test_second = pytest.mark.skip(test_second)\n")
    outcome = run(*ARGUMENTS, "-p", "no:xdist", agent=None)
    assert outcome.counts == {"passed": 1, "skipped": 1}


def test_what_plays_alone_loads_after_its_fixtures(suite: Callable[..., Path], run: Run) -> None:
    suite(
        AGENT
        + """
    FOUND = []

    @pytest.fixture(autouse=True)
    def found():
        FOUND[:] = [77]

    def given(connection: Connection) -> None:
        connection.execute(insert(orders), {"id": FOUND[0], "status": "new", "total": 1})

    @shop.task("Second.", start=given, no_change=True, ahead=False)
    def test_second(attempt, changes):
        assert attempt.row("orders", id=77)["status"] == "new"
"""
    )
    outcome = run(*ARGUMENTS, "-p", "no:xdist", agent=None)
    assert outcome.counts == {"passed": 2}, outcome.text


def test_a_start_loads_ahead_for_one_of_its_parameters(suite: Callable[..., Path], run: Run) -> None:
    suite(
        AGENT
        + """
    def one_more(connection: Connection, number: int) -> None:
        with Path("loaded").open("a") as file:
            file.write(f"{number} after {Path('called').exists()}\\n")
        connection.execute(insert(orders), {"id": number, "status": "new", "total": 1})

    @pytest.mark.parametrize("number", [10, 11])
    @shop.task("Second {number}.", start=one_more, no_change=True)
    def test_second(changes, number):
        assert changes == []
"""
    )
    outcome = run(*ARGUMENTS, "-p", "no:xdist", agent=None)
    assert outcome.counts == {"passed": 3}, outcome.text
    assert Path("loaded").read_text().splitlines() == ["10 after False", "11 after True"]

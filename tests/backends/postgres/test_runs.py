"""Whole runs of pytest on PostgreSQL."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from pytest_thinkingbox.backends.server import claims
from tests.conftest import Run
from tests.support.stub_endpoint import StubEndpoint, says
from tests.support.two_campaigns import play_two

from .conftest import IMAGE

TASKS = """
    @shop.task("Close order 1.", solution=CLOSE_1)
    def test_close(changes):
        assert changes == [Updated("orders", 1, status=("open", "closed"))]

    @shop.task("Write a note.", solution=[call("add_note", words="hello")])
    def test_note(attempt, changes):
        assert changes == [Inserted("notes", text="hello")]
        assert attempt.row("orders", id=2)["total"] == 20

    @shop.task("Do more.", solution=[call("set_status", order_id=2, status="lost"), *CLOSE_1])
    def test_more(changes):
        assert changes == [Updated("orders", 1, status="closed")]

    @shop.task("Drop it.", solution=[call("set_status", order_id=1, status="closed")],
               start=lambda connection: connection.execute(orders.insert().values(id=50, status="x", total=1)))
    def test_start(attempt, changes):
        changes.ignore("orders")
        assert attempt.before.execute(orders.select().where(orders.c.id == 50)).one().status == "x"
"""


def test_a_server_that_is_there(suite: Callable[..., Path], run: Run, server: str) -> None:
    suite(TASKS)
    outcome = run("-p", "no:xdist", f"--tb-backend={server}", "--tb-attempts=2", "--tb-audit")
    assert outcome.counts == {"passed": 6, "failed": 2}
    assert "Updated('orders', 2, status=('open', 'lost'))" in outcome.text.replace('"', "'")
    password = make_url(server).password
    assert password is not None
    assert password not in outcome.text
    folder = next(Path(".thinkingbox").glob("*/campaign.json")).parent
    assert all(password not in path.read_text() for path in folder.iterdir() if path.is_file())


ECHOES = """
    open_shop = Environment(
        name="open", database=Database(schema=metadata, seed=seed), servers=[Server.functions([add_note])],
        mail=False, agent_database=True,
    )

    @open_shop.task("Say all that you know.")
    def test_say(attempt, changes, judge):
        assert changes == [Inserted("notes")]
        assert judge.yes(f"Is this a secret: {attempt.response}?", about=attempt.response)
        assert attempt.response == "nothing"
"""
REPEATS = """
    import pathlib
    from urllib.parse import urlsplit

    async def agent(task):
        password = urlsplit(task.database_url).password
        await task.call_tool("add_note", {"words": f"the password is {password}"})
        pathlib.Path("password").write_text(password)
        return f"the database is {task.database_url}"
"""


def test_the_password_of_an_attempt_that_its_agent_says_is_in_no_record(
    suite: Callable[..., Path], run: Run, pytester: pytest.Pytester, server: str
) -> None:
    pytester.makepyfile(echo=REPEATS)
    suite(ECHOES)
    with StubEndpoint([says('{"reason": "It is one.", "answer": "yes"}')]) as stub:
        options = ("--tb-judge-model=j", f"--tb-judge-base-url={stub.url}")
        outcome = run("-p", "no:xdist", f"--tb-backend={server}", *options, agent="python:echo:agent")
    assert outcome.counts == {"failed": 1}, outcome.text
    password = Path("password").read_text()
    folder = next(Path(".thinkingbox").glob("*/campaign.json")).parent
    written = {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}
    assert "the password is [hidden]" in written["attempts.jsonl"]
    assert "judge.jsonl" in written
    assert [name for name, text in written.items() if password in text] == []


def test_a_campaign_goes_on_on_the_same_server(suite: Callable[..., Path], run: Run, server: str) -> None:
    suite(TASKS)
    first = run("-p", "no:xdist", f"--tb-backend={server}", "-k", "close")
    assert first.counts["passed"] == 1
    folder = next(Path(".thinkingbox").glob("*/campaign.json")).parent
    again = run(
        "-p", "no:xdist", f"--tb-backend={server}", "-k", "close", f"--tb-resume={folder}", "--tb-attempts=2"
    )
    assert again.counts["passed"] == 1
    assert len(again.records()) == 2


@pytest.mark.slow
def test_two_campaigns_at_once_on_one_server_see_nothing_of_each_other_and_leave_nothing(
    suite: Callable[..., Path], pytester: pytest.Pytester, server: str, admin: psycopg.Connection[Any]
) -> None:
    there = "SELECT datname FROM pg_database UNION ALL SELECT rolname FROM pg_roles"
    before = set(admin.execute(there).fetchall())
    suite(TASKS)
    for said in play_two(pytester, server, "--tb-attempts=10", "--tb-concurrency=8", "--tb-audit"):
        assert "10 failed, 30 passed" in said
    assert set(admin.execute(there).fetchall()) <= before


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_one_container_for_the_whole_campaign(
    docker: None, suite: Callable[..., Path], run: Run, workers: str
) -> None:
    suite(TASKS)
    outcome = run(workers, f"--tb-backend={IMAGE}", "--tb-attempts=2")
    assert outcome.counts == {"passed": 6, "failed": 2}
    assert outcome.text.count(f"thinkingbox: starting {IMAGE} in a container ...") == 1
    assert outcome.text.index(" answers after ") < outcome.text.index("passed/valid")
    left = subprocess.run(
        ["docker", "ps", "-aq", "--filter", "label=pytest-thinkingbox.claim"], capture_output=True
    )
    campaign = next(Path(".thinkingbox").iterdir()).name
    assert campaign not in left.stdout.decode()
    assert list(claims.folder().glob(f"thinkingbox-{campaign}*")) == []


@pytest.mark.slow
def test_the_embedded_server(embedded: None, suite: Callable[..., Path], run: Run) -> None:
    suite(TASKS)
    outcome = run("-p", "no:xdist", "--tb-backend=postgres-embedded")
    assert outcome.counts == {"passed": 3, "failed": 1}
    assert "thinkingbox: starting the embedded PostgreSQL ..." in outcome.text


def test_a_server_that_does_not_answer_ends_the_run(suite: Callable[..., Path], run: Run) -> None:
    suite(TASKS)
    outcome = run("-p", "no:xdist", "--tb-backend=postgresql+psycopg://me:secret123@127.0.0.1:1/postgres")
    assert outcome.status == 4
    assert "me:***@127.0.0.1:1/postgres: nobody answers there" in outcome.text
    assert "secret123" not in outcome.text

"""Whole runs of pytest on MariaDB or MySQL."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pymysql
import pytest
from sqlalchemy import make_url

from pytest_thinkingbox.backends.server import claims
from pytest_thinkingbox.records.store import CampaignFolder, find_campaign
from tests.conftest import Run
from tests.support.two_campaigns import play_two

from .worlds import only_mariadb

ROOT = Path(__file__).parents[3]

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
        assert attempt.db.execute(orders.select().where(orders.c.id == 1)).one().status == "closed"
"""


@pytest.mark.slow
def test_a_server_that_is_there(suite: Callable[..., Path], run: Run, server: str) -> None:
    suite(TASKS)
    outcome = run("-p", "no:xdist", f"--tb-backend={server}", "--tb-attempts=2", "--tb-audit")
    assert outcome.counts == {"passed": 6, "failed": 2}
    assert "Updated('orders', 2, status=('open', 'lost'))" in outcome.text.replace('"', "'")
    password = make_url(server).password
    assert password is not None
    assert password not in outcome.text
    folder = next(Path(".thinkingbox").glob("*/campaign.json")).parent
    assert all(str(password) not in path.read_text() for path in folder.iterdir() if path.is_file())


@pytest.mark.slow
def test_two_campaigns_at_once_on_one_server_see_nothing_of_each_other_and_leave_nothing(
    suite: Callable[..., Path], pytester: pytest.Pytester, server: str, admin: pymysql.Connection
) -> None:
    def there() -> set[tuple[str]]:
        with admin.cursor() as cursor:
            cursor.execute(
                "SELECT schema_name FROM information_schema.schemata UNION SELECT user FROM mysql.user"
            )
            return set(cursor.fetchall())

    before = there()
    suite(TASKS)
    for said in play_two(pytester, server, "--tb-attempts=10", "--tb-concurrency=8", "--tb-audit"):
        assert "10 failed, 30 passed" in said
    assert there() <= before


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
@pytest.mark.parametrize(
    ("image", "workers"), [("mariadb", "-n0"), ("mariadb", "-n2"), ("mysql", "-n2")], indirect=["image"]
)
def test_one_container_for_the_whole_campaign(
    image: str, suite: Callable[..., Path], run: Run, workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THINKINGBOX_MYSQL_IMAGE", image)
    suite(TASKS)
    outcome = run(workers, "--tb-backend=mysql", "--tb-attempts=2")
    assert outcome.counts == {"passed": 6, "failed": 2}
    if workers == "-n0":
        assert f"thinkingbox: starting {image} in a container ..." in outcome.text
    left = subprocess.run(
        ["docker", "ps", "-aq", "--filter", "label=pytest-thinkingbox.claim"], capture_output=True
    )
    campaign = next(Path(".thinkingbox").iterdir()).name
    assert campaign not in left.stdout.decode()
    assert list(claims.folder().glob(f"thinkingbox-{campaign}*")) == []


def test_a_server_that_does_not_answer_ends_the_run(suite: Callable[..., Path], run: Run) -> None:
    suite(TASKS)
    outcome = run("-p", "no:xdist", "--tb-backend=mysql+pymysql://me:secret123@127.0.0.1:1")
    assert outcome.status == 4
    assert "me:***@127.0.0.1:1: nobody answers there" in outcome.text
    assert "secret123" not in outcome.text


def hotel(folder: Path, backend: str, agent: str) -> dict[str, tuple[str, str | None]]:
    """Outcome and cause of every attempt of the hotel suite."""
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "example_suites/hotel", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
            f"--tb-backend={backend}", f"--tb-agent={agent}", f"--tb-dir={folder}", "--tb-seed=7",
        ],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    records = CampaignFolder.open(find_campaign(folder)).read_records()
    return {one.task: (one.outcome, one.cause) for one in records if one.final}


@only_mariadb  # on MySQL, tests/example_suites/test_backends.py looks at every row
@pytest.mark.slow
def test_the_hotel_is_judged_as_on_sqlite(server: str, tmp_path: Path) -> None:
    found = {agent: hotel(tmp_path / agent, server, agent) for agent in ("solution", "none", "mutant")}
    assert len(found["solution"]) >= 18
    assert set(found["solution"].values()) == {("passed", None)}
    assert set(found["none"].values()) == {("failed", None)}
    assert found["mutant"] == hotel(tmp_path / "sqlite", "sqlite", "mutant")
    assert {outcome for outcome, _ in found["mutant"].values()} >= {"failed"}

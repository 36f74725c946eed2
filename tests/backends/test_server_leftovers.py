"""What runs of pytest leave on a server that outlives them, when they are killed, and what later runs make of it."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.backends import make_backend
from pytest_thinkingbox.backends.mysql.server import MySQLServer, campaign_named
from pytest_thinkingbox.backends.mysql.sql import query
from pytest_thinkingbox.backends.mysql.users import create_reader as create_user
from pytest_thinkingbox.backends.postgres.roles import create_campaign_roles, create_reader
from pytest_thinkingbox.backends.postgres.server import PostgresServer
from pytest_thinkingbox.backends.server.names import Campaign
from tests.backends.postgres.worlds import environment_of
from tests.conftest import Run
from tests.support.servers import mariadb_server, postgres_server

SUITE = """
    import asyncio
    from pathlib import Path

    async def agent(task):
        if not Path("again").exists():
            Path("begun").touch()
            await asyncio.sleep(600)
        return "done"

    @shop.task("Do nothing.", no_change=True)
    def test_nothing(attempt, changes):
        assert attempt.row("orders", id=1)["status"] == "{status}"
"""


def test_runs_have_names_of_their_own_however_long_that_of_their_campaign_is() -> None:
    for make, longest in ((Campaign.of, 63 - len("tb__a_") - 18), (campaign_named, 32 - len("tb__a_") - 6)):
        for name in ("20261129-233012-abcdef", "a campaign whose folder somebody renamed"):
            parts = {make(f"{name}-{token}").part for token in ("00000000", "00000001")}
            assert len(parts) == 2
            assert max(map(len, parts)) <= longest


@pytest.fixture(scope="module", params=["postgres", "mariadb"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    with (postgres_server if request.param == "postgres" else mariadb_server)() as found:
        yield found


def test_a_run_that_goes_on_after_a_kill_plays_the_seed_of_now(
    url: str, suite: Callable[..., Path], run: Run, pytester: pytest.Pytester
) -> None:
    suite(SUITE.replace("{status}", "open"))
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
        "--tb-agent=python:test_shop:agent", f"--tb-backend={url}",
    ]  # fmt: skip
    killed = subprocess.Popen(
        command, cwd=pytester.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not (pytester.path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    (folder,) = (path.parent for path in pytester.path.glob(".thinkingbox/*/campaign.json"))

    shop = pytester.path / "shop.py"
    shop.write_text(shop.read_text().replace('"status": "open"', '"status": "new"'))
    suite(SUITE.replace("{status}", "new"))
    (pytester.path / "again").touch()
    outcome = run(
        "-p", "no:xdist", "--tb-agent=python:test_shop:agent", f"--tb-backend={url}",
        f"--tb-resume={folder}", agent=None, subprocess=True,
    )  # fmt: skip
    assert outcome.counts == {"passed": 1}, outcome.text


Connected = PostgresServer | MySQLServer


def connected(url: str) -> Connected:
    label = f"test-{secrets.token_hex(4)}"
    if url.startswith("postgresql"):
        return PostgresServer(url, campaign=Campaign.of(label))
    return MySQLServer(url, campaign=campaign_named(label))


def fill(server: Connected) -> None:
    """With roles of its campaign, and a database."""
    if isinstance(server, PostgresServer):
        with server.admin() as connection:
            create_campaign_roles(connection, server.campaign)
    for _ in range(40):
        if isinstance(server, PostgresServer):
            with server.admin() as connection:
                create_reader(connection, server.campaign)
        else:
            with server.admin() as one:
                create_user(one, server.campaign)
    name = server.campaign.name("t", "0")
    if isinstance(server, PostgresServer):
        with server.admin() as connection:
            connection.execute(f"CREATE DATABASE {name}")
    else:
        server.execute(f"CREATE DATABASE {name}")


def left_of(server: Connected, campaign: Campaign) -> list[str]:
    """Names of a campaign that are still there."""
    names = f"tb\\_{campaign.part}\\_%"
    if isinstance(server, PostgresServer):
        with server.admin() as connection:
            found = connection.execute(
                "SELECT datname FROM pg_database WHERE datname LIKE %s"
                " UNION ALL SELECT rolname FROM pg_roles WHERE rolname LIKE %s",
                [names, names],
            ).fetchall()
    else:
        with server.admin() as one:
            found = [
                *query(one, f"SELECT User FROM mysql.user WHERE User LIKE '{names}'"),
                *query(
                    one,
                    f"SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE '{names}'",
                ),
            ]
    return [name for (name,) in found]


def test_campaigns_that_begin_together_sweep_a_server_together(url: str) -> None:
    dead, others = connected(url), [connected(url) for _ in range(4)]
    fill(dead)
    assert len(left_of(dead, dead.campaign)) >= 41
    dead.let_go()
    with ThreadPoolExecutor() as pool:
        swept = [one.result() for one in [pool.submit(other.sweep) for other in others]]
    assert [name for names in swept for name in names].count(dead.campaign.name("t", "0")) == 1
    assert left_of(others[0], dead.campaign) == []
    for other in others:
        other.close()


def test_processes_of_a_campaign_that_end_together_leave_nothing(url: str) -> None:
    other = connected(url)
    mine = connected(url)
    made = PostgresServer if isinstance(mine, PostgresServer) else MySQLServer
    processes = [mine, *(made(url, campaign=mine.campaign) for _ in range(3))]
    fill(mine)
    with ThreadPoolExecutor() as pool:
        for one in [pool.submit(process.close) for process in processes]:
            one.result()
    assert left_of(other, mine.campaign) == []
    other.close()


def test_a_server_that_was_taken_for_dead_keeps_nothing_of_a_campaign(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = connected(url)
    label = f"test-{secrets.token_hex(4)}"
    backend: Any = make_backend(url, label=label)
    world = environment_of("CREATE TABLE orders (id int PRIMARY KEY)")
    backend.acquire(world, None, attempt_id="a").release()
    with monkeypatch.context() as busy:
        busy.setattr(backend._server, "alive", lambda: False)
        again = backend.acquire(world, None, attempt_id="b")
    again.release()
    assert left_of(other, backend._campaign) != []
    backend.close()
    assert left_of(other, backend._campaign) == []
    other.close()

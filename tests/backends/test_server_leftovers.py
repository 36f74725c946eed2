"""What runs of pytest leave on a server that outlives them, when they are killed, and what later runs make of it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_thinkingbox.backends.mysql.server import campaign_named
from pytest_thinkingbox.backends.server.names import Campaign
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

"""Whole campaigns on a server of their own, of either kind: image, settings, networks, what a kill leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import make_url

from pytest_thinkingbox.backends import local_server
from pytest_thinkingbox.backends.server import claims
from pytest_thinkingbox.backends.server.plan import ServerPlan
from pytest_thinkingbox.errors import ConfigurationError
from tests.conftest import Run
from tests.support.networks import networks
from tests.support.servers import MARIADB_IMAGE, POSTGRES_IMAGE, need_image, started

IMAGES = {"postgres": POSTGRES_IMAGE, "mariadb": MARIADB_IMAGE}
VARIABLES = {"postgres": "THINKINGBOX_POSTGRES_IMAGE", "mariadb": "THINKINGBOX_MARIADB_IMAGE"}
SETTINGS = {
    "postgres": ("work_mem", "7MB", "SHOW work_mem"),
    "mariadb": ("innodb_lock_wait_timeout", "7", "SELECT @@innodb_lock_wait_timeout"),
}


@pytest.fixture(params=["postgres", "mariadb"])
def kind(request: pytest.FixtureRequest) -> str:
    need_image(IMAGES[request.param], VARIABLES[request.param])
    return str(request.param)


@pytest.mark.slow
def test_t31_image_and_settings_of_an_environment_and_no_network_for_it(
    kind: str, suite: Callable[..., Path], run: Run
) -> None:
    name, value, ask = SETTINGS[kind]
    suite(f"""
        from dataclasses import replace
        from tests.support.networks import networks

        database = replace(shop.database, image={IMAGES[kind]!r}, options={{{name!r}: {value!r}}})
        own = Environment(name="own", database=database, servers=shop.servers)

        async def agent(task):
            assert networks() == {networks()}
            await task.call_tool("set_status", {{"order_id": 1, "status": "closed"}})
            return "done"

        @own.task("Close order 1.")
        def test_close(attempt, changes):
            assert changes == [Updated("orders", 1, status="closed")]
            assert str(attempt.db.exec_driver_sql({ask!r}).scalar()) == {value!r}
            assert networks() == {networks()}
    """)
    outcome = run(
        "-n2", f"--tb-backend={kind}", "--tb-attempts=40", "--tb-concurrency=8",
        "--tb-agent=python:test_shop:agent", agent=None, subprocess=True,
    )  # fmt: skip
    assert outcome.counts == {"passed": 40}, outcome.text
    assert f"starting {IMAGES[kind]} in a container" in outcome.text


@pytest.mark.slow
def test_t30_what_a_killed_campaign_left_goes_with_the_next_which_plays_it_to_its_end(
    kind: str, suite: Callable[..., Path], pytester: pytest.Pytester
) -> None:
    suite("""
        import asyncio

        async def agent(task):
            await asyncio.sleep(0.3)
            await task.call_tool("set_status", {"order_id": 1, "status": "closed"})
            return "done"

        @shop.task("Close order 1.")
        def test_close(changes):
            assert changes == [Updated("orders", 1, status="closed")]
    """)

    def start(*more: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n2", "--tb-attempts=30",
            "--tb-concurrency=2", "--tb-agent=python:test_shop:agent", f"--tb-backend={IMAGES[kind]}", *more,
        ]  # fmt: skip
        return subprocess.Popen(
            command,
            cwd=pytester.path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def containers(which: str) -> list[str]:
        listed = ["docker", "ps", f"--filter={which}", "--format={{.Names}}"]
        return subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()

    with started(IMAGES[kind]) as url:
        (living,) = containers(f"publish={make_url(url).port}")
        killed = start()
        deadline = time.monotonic() + 120
        while not any(path.stat().st_size for path in pytester.path.glob(".thinkingbox/*/attempts.jsonl")):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait(timeout=60)
        (folder,) = (path.parent for path in pytester.path.glob(".thinkingbox/*/campaign.json"))
        (left,) = containers(f"name={folder.name}")
        done = len((folder / "attempts.jsonl").read_text().splitlines())
        assert 0 < done < 30

        assert start(f"--tb-resume={folder}").wait(timeout=300) == 0
        assert containers(f"name={left}") == []
        assert containers(f"name={living}") == [living]
    records = [json.loads(line) for line in (folder / "attempts.jsonl").read_text().splitlines()]
    assert sorted(one["attempt"] for one in records if one["final"]) == list(range(1, 31))
    assert {one["outcome"] for one in records} == {"passed"}
    assert list(claims.folder().glob(f"thinkingbox-{folder.name}*")) == []


@pytest.mark.parametrize("backend", ["postgres", "mysql", "mariadb"])
def test_without_docker_the_error_names_the_ways_out(
    backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(ConfigurationError) as caught:
        local_server(ServerPlan.make(backend, campaign="tests")).ensure(image=None, options={}, say=print)
    message = str(caught.value)
    assert message.startswith(f"--tb-backend={backend} starts a container, but no Docker answers here (")
    assert "the URL of a server" in message
    embedded = "--tb-backend=postgres-embedded (pip install 'pytest-thinkingbox[postgres-embedded]')"
    assert (embedded in message) is (backend == "postgres")

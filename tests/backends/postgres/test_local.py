"""Servers that a campaign starts for itself: in a container, or embedded."""

from __future__ import annotations

import os
import platform
import secrets
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import psycopg
import pytest
from docker.errors import APIError
from docker.models.containers import Container
from requests import Response

from pytest_thinkingbox.backends import local_server, server_options
from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.backends.server import claims
from pytest_thinkingbox.backends.server.claims import Claim
from pytest_thinkingbox.backends.server.docker import CLAIM_LABEL, FOLDER_LABEL, HOST_LABEL, sweep_containers
from pytest_thinkingbox.backends.server.plan import ServerPlan
from pytest_thinkingbox.declare import Database
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from tests.support.servers import started

from .conftest import IMAGE
from .worlds import SHOP, environment_of


def plan_of(backend: str) -> ServerPlan:
    return ServerPlan.make(backend, campaign=f"tests-{os.urandom(4).hex()}")


def address(url: str) -> str:
    return url.replace("postgresql+psycopg://", "postgresql://")


def show(url: str, setting: str) -> Any:
    with psycopg.connect(address(url)) as connection:
        return connection.execute(f"SHOW {setting}").fetchone()[0]  # type: ignore[index]


@pytest.fixture(params=["container", "embedded"])
def backend_name(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue("docker" if request.param == "container" else "embedded")
    return IMAGE if request.param == "container" else "postgres-embedded"


@pytest.mark.slow
def test_it_is_started_once_for_all_and_again_once_when_it_dies(backend_name: str) -> None:
    plan = plan_of(backend_name)
    claim = Claim(plan.name)
    said: list[str] = []
    server = local_server(plan)
    other = local_server(ServerPlan.from_wire(plan.to_wire()))
    try:
        url = server.ensure(image=None, options={"work_mem": "5MB"}, say=said.append)
        assert other.ensure(image=None, options={}, say=said.append) == url
        assert len(said) == 2
        assert said[0].startswith("thinkingbox: starting ")
        assert "answers after" in said[1]
        assert (show(url, "fsync"), show(url, "work_mem")) == ("off", "5MB")

        environment = environment_of(*SHOP)
        backend = PostgresBackend(
            url, label=plan.name, revive=lambda: server.ensure(image=None, options={}, say=said.append)
        )
        lease = backend.acquire(environment, None, attempt_id="a")
        kill(plan)
        assert not lease.alive()
        with pytest.raises(InfrastructureDown):
            lease.cut()
        lease.release()
        again = backend.acquire(environment, None, attempt_id="b")
        again.cut()
        assert again.read_changes(audit=True).rows == ()
        again.release()
        kill(plan)
        with pytest.raises(InfrastructureDown, match="died again"):
            backend.acquire(environment, None, attempt_id="c")
        backend.close()
    finally:
        server.stop()
        server.stop()
        claim.release()
    assert list(claims.folder().glob(f"{plan.name}*")) == []


def kill(plan: ServerPlan) -> None:
    if plan.backend == "postgres-embedded":
        data = claims.folder() / f"{plan.name}.data" / "data"
        os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        time.sleep(0.3)
    else:
        subprocess.run(["docker", "kill", plan.name], check=True, capture_output=True)


@pytest.mark.slow
def test_t30_what_a_killed_run_left_is_swept_by_the_next(backend_name: str) -> None:
    killed = plan_of(backend_name)
    program = (
        "import sys, time\n"
        "from pytest_thinkingbox.backends import local_server\n"
        "from pytest_thinkingbox.backends.server.claims import Claim\n"
        "from pytest_thinkingbox.backends.server.plan import ServerPlan\n"
        f"plan = ServerPlan.from_wire({killed.to_wire()!r})\n"
        "claim = Claim(plan.name)\n"
        "print(local_server(plan).ensure(image=None, options={}, say=lambda line: None), flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert show(url, "fsync") == "off"
    living = plan_of(backend_name)
    claim = Claim(living.name)
    server = local_server(living)
    try:
        server.ensure(image=None, options={}, say=print)
        assert show(url, "fsync") == "off"  # its process lives
        end(process)
        server.stop()
        claim.release()
        living = plan_of(backend_name)
        claim = Claim(living.name)
        server = local_server(living)
        server.ensure(image=None, options={}, say=print)
        with pytest.raises(psycopg.OperationalError):
            show(url, "fsync")
        assert list(claims.folder().glob(f"{killed.name}*")) == []
    finally:
        end(process)
        server.stop()
        claim.release()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_environments_of_one_campaign_agree_on_the_server() -> None:
    def schema(connection: object) -> None: ...

    one = Database(schema=schema, image="postgres:17", options={"work_mem": "8MB"})
    other = Database(schema=schema)
    assert server_options([one, other]) == ("postgres:17", {"work_mem": "8MB"})
    with pytest.raises(ConfigurationError, match="postgres:17 and postgres:16 are asked for"):
        server_options([one, Database(schema=schema, image="postgres:16")])
    with pytest.raises(ConfigurationError, match="work_mem is '8MB' in one environment and '9MB' in another"):
        server_options([one, Database(schema=schema, options={"work_mem": "9MB"})])


def can_share_files(folder: Path) -> bool:
    """Whether the file system knows files that share what they hold, as XFS and btrfs do."""
    source, copy = folder / f"thinkingbox-share-{secrets.token_hex(4)}", folder / f"thinkingbox-{os.getpid()}"
    source.write_bytes(b"x" * 4096)
    try:
        done = subprocess.run(["cp", "--reflink=always", str(source), str(copy)], capture_output=True)
        return done.returncode == 0
    finally:
        source.unlink()
        copy.unlink(missing_ok=True)


@pytest.mark.slow
def test_a_clone_shares_files_where_the_file_system_can_and_is_made_anyhow(embedded: None) -> None:
    with started("postgres-embedded") as url:
        backend = PostgresBackend(url, label=f"files-{os.urandom(4).hex()}")
        leases = [backend.acquire(environment_of(*SHOP), None, attempt_id=str(number)) for number in range(2)]
        for lease in leases:
            lease.cut()
            assert lease.read_changes(audit=True).rows == ()
            assert len(lease.rows("orders", {})) == 2
            lease.release()
        assert backend._server.shares_files == can_share_files(claims.folder())
        backend.close()


def left_behind() -> str:
    """A container whose claim nobody holds."""
    name = f"thinkingbox-left-{secrets.token_hex(4)}"
    labels = [
        f"--label={CLAIM_LABEL}={name}",
        f"--label={HOST_LABEL}={platform.node()}",
        f"--label={FOLDER_LABEL}={claims.folder_id()}",
    ]
    subprocess.run(["docker", "create", f"--name={name}", *labels, IMAGE], check=True, capture_output=True)
    return name


def test_campaigns_that_begin_together_all_sweep_what_was_left_behind(docker: None) -> None:
    names = {left_behind() for _ in range(3)}
    with ThreadPoolExecutor() as pool:
        swept = [one.result() for one in [pool.submit(sweep_containers) for _ in range(4)]]
    assert names <= set(chain(*swept))
    listed = subprocess.run(["docker", "ps", "-a", "--format={{.Names}}"], capture_output=True, text=True)
    assert not names & set(listed.stdout.split())


def test_a_container_of_a_user_whose_claims_lie_elsewhere_stays(
    docker: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("tempfile.tempdir", str(tmp_path))
        name = left_behind()
    assert name not in sweep_containers()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("tempfile.tempdir", str(tmp_path))
        assert sweep_containers() == [name]


def test_a_container_that_somebody_else_is_removing_is_swept(
    docker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = left_behind()
    remove = Container.remove

    def conflicting(container: Container, **options: Any) -> None:
        remove(container, **options)
        response = Response()
        response.status_code = 409
        raise APIError("removal is already in progress", response)

    monkeypatch.setattr(Container, "remove", conflicting)
    assert name in sweep_containers()

"""`thinkingbox clean` on a database server."""

from __future__ import annotations

import secrets
from typing import Any

import psycopg
import pytest

from pytest_thinkingbox.backends.postgres import PostgresBackend
from pytest_thinkingbox.cli import main

from .conftest import Make
from .worlds import SHOP, environment_of


def test_t30_what_ended_runs_left_on_a_server_goes_and_what_lives_stays(
    make: Make,
    server: str,
    admin: psycopg.Connection[Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    living = make()
    lease = living.acquire(environment_of(*SHOP), None, attempt_id="a")
    dead = PostgresBackend(server, label=f"dead-{secrets.token_hex(4)}")
    left = dead.acquire(environment_of(*SHOP), None, attempt_id="a")
    admin.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s",
        [f"thinkingbox {dead._campaign.part}"],
    )
    assert main(["clean", "--server", server]) == 0
    out = capsys.readouterr().out
    assert f"removed: {left.database}\n" in out
    assert living._campaign.part not in out
    lease.cut()
    assert lease.read_changes(audit=True).rows == ()
    dead.close()


def test_a_server_that_does_not_answer_is_named_without_its_password(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["clean", "--server", "postgresql+psycopg://me:secret123@127.0.0.1:1/postgres"]) == 2
    err = capsys.readouterr().err
    assert "me:***@127.0.0.1:1/postgres: nobody answers there" in err
    assert "secret123" not in err

"""Two real processes, and a rank 0 that freezes, dies or fails."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from inspect import signature
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")

import torch

from tests.trainer.recipes import write_recipe
from tests.trainer.tiny import write_world
from thinkingbox_trainer.ranks import Heartbeat

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def test_unless_told_otherwise_ranks_end_within_a_minute_of_one_that_died():
    settings = signature(Heartbeat).parameters
    assert sum(settings[name].default for name in ("every", "patience", "grace")) <= 60


@pytest.fixture
def pair():
    """Starts two ranks of `pair.py`."""
    begun: list[subprocess.Popen[str]] = []

    def start(*what: str) -> list[subprocess.Popen[str]]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for rank in (0, 1):
            environ = {
                **os.environ,
                "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'editable'}",
                "OMP_NUM_THREADS": "1",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "WORLD_SIZE": "2",
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
            }
            begun.append(
                subprocess.Popen(
                    [sys.executable, str(Path(__file__).with_name("pair.py")), *what],
                    env=environ,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        return begun

    yield start
    for one in begun:
        one.kill()
        one.communicate()


def test_a_long_wait_ends_nobody_and_an_error_of_rank_0_ends_all(pair):
    leader, other = pair("raise")
    assert "OSError: no space left" in leader.communicate(timeout=120)[1]
    out, said = other.communicate(timeout=30)
    assert "LeaderFailed: rank 0: OSError: no space left" in said
    assert out.splitlines()[-1] == "was away"
    assert (leader.returncode, other.returncode) == (1, 1)


def test_two_ranks_go_on_from_a_checkpoint_of_both(pair, tmp_path):
    """To the same weights, and with the random generators that each of them had."""
    pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")
    write_world(tmp_path)
    write_recipe(tmp_path, ("processes = 1", "processes = 2"), ("accumulation = 2", "accumulation = 1"))
    said = [one.communicate(timeout=180) for one in pair("resume", str(tmp_path))]
    assert [out.splitlines()[-1:] for out, _ in said] == [["True True"]] * 2, said
    generators = tmp_path / "straight" / "checkpoints" / "step-2"
    first, second = (torch.load(generators / f"rng_state_{rank}.pth", weights_only=False) for rank in (0, 1))
    assert not torch.equal(first["cpu"], second["cpu"])


@pytest.mark.parametrize("what", ["freeze", "die"])
def test_a_dead_rank_0_ends_the_others(pair, what):
    """A frozen one closes no connection: only the heartbeat misses it."""
    leader, other = pair(what)
    started = time.monotonic()
    _, said = other.communicate(timeout=120)
    assert time.monotonic() - started < 60
    assert other.returncode != 0
    if what == "freeze":
        assert leader.poll() is None
        assert "rank 1 ends: another rank is gone, or did not answer for 4 s" in said

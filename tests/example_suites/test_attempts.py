"""Twenty attempts of every task of the example suites: the solutions always pass, and doing nothing never does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.example_suites.suites import ROOT, SUITES, tasks_of

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("suite", SUITES)]


def twenty_attempts(suite: str, agent: str, folder: Path) -> subprocess.CompletedProcess[str]:
    arguments = [
        f"example_suites/{suite}",
        "--tb-attempts=20",
        f"--tb-agent={agent}",
        f"--tb-dir={folder}",
        "-q",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    print(done.stdout[-4000:], done.stderr[-4000:])
    return done


def test_the_solutions_pass_every_attempt(suite: str, tmp_path: Path) -> None:
    tasks = len(tasks_of(suite))
    done = twenty_attempts(suite, "solution", tmp_path)
    assert f"{20 * tasks}/{20 * tasks} passed, {20 * tasks} of {20 * tasks} valid" in done.stdout
    assert f"20/20     {tasks} of {tasks} tasks passed every attempt" in done.stdout
    assert done.returncode == 0


def test_doing_nothing_passes_where_nothing_was_to_be_done(suite: str, tmp_path: Path) -> None:
    """A task with `no_change` is passed by whoever does nothing; there is one in a suite at most."""
    tasks = len(tasks_of(suite))
    silent = sum(one.task.no_change for one in tasks_of(suite))
    done = twenty_attempts(suite, "none", tmp_path)
    assert silent <= 1
    assert f"{20 * silent}/{20 * tasks} passed, {20 * tasks} of {20 * tasks} valid" in done.stdout
    assert done.returncode == 1

"""Twenty attempts of every task of the example suites: the solutions always pass, and doing nothing never does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def twenty_attempts(agent: str, folder: Path) -> subprocess.CompletedProcess[str]:
    arguments = ["example_suites", "--tb-attempts=20", f"--tb-agent={agent}", f"--tb-dir={folder}", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    print(done.stdout[-4000:], done.stderr[-4000:])
    return done


def test_the_solutions_pass_360_of_360(tmp_path: Path) -> None:
    done = twenty_attempts("solution", tmp_path)
    assert "360/360 passed, 360 of 360 valid" in done.stdout
    assert "20/20     18 of 18 tasks passed every attempt" in done.stdout
    assert done.returncode == 0


def test_doing_nothing_passes_0_of_360(tmp_path: Path) -> None:
    done = twenty_attempts("none", tmp_path)
    assert "0/360 passed, 360 of 360 valid" in done.stdout
    assert done.returncode == 1

"""That ten thousand checks leave nothing behind. How long one takes is for the benchmark to say, on a machine that does
nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_ten_thousand_checks_leave_memory_and_open_files_as_they_were() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/rewards.py", "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr[-4000:]
    figures = {one["name"]: one["value"] for one in json.loads(done.stdout)["figures"]}
    checked = [int(name.split()[2].replace(",", "")) for name in figures if name.startswith("median of ")]
    assert sum(checked) == 10_000
    assert figures["invalid"] == 0
    assert figures["growth of memory"] < 8.0
    assert figures["growth of open files"] <= 2

"""What `benchmarks/episodes.py` counts: that all its episodes are real ones. How long they take is for the benchmark to
say, on a machine that does nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_benchmark_of_a_step_plays_whole_groups_of_which_half_passes() -> None:
    done = subprocess.run(
        [sys.executable, "benchmarks/episodes.py", "--quick", "--json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'editable'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr[-4000:]
    printed = json.loads(done.stdout)
    figures = {one["name"]: one for one in printed["figures"]}
    assert printed["benchmark"] == "48 episodes of 6 turns of 0.5 s"
    counted = ("episodes", "share of them that passed", "invalid")
    assert [figures[name]["value"] for name in counted] == [48, 0.5, 0.0]
    step, ideal = figures["a step"], figures["ideal: the model alone"]["value"]
    assert step["at_most"] == ideal / 0.8
    assert ideal <= step["value"] < 8 * ideal  # one after another they would take 48 times as long

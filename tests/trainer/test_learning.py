"""The mechanics of `benchmarks/learning.py`: that it ends and counts right, not that anything is learnt. Minutes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


def test_the_learning_benchmark_goes_from_a_model_made_here_to_two_evaluations(tmp_path):
    done = learning("--quick", "--seeds=7", "--json", f"--out={tmp_path}")
    assert done.returncode == 0, done.stderr[-4000:]
    printed = json.loads(done.stdout)
    assert [(one["part"], one["tasks"], one["attempts"]) for one in printed["figures"]] == [
        ("held", 6, 2),
        ("unseen", 6, 2),
        ("all", 12, 2),
    ]
    [result] = json.loads((tmp_path / "learning.json").read_text("utf-8"))["results"]
    assert [step["step"] for step in result["steps"]] == [0, 1]
    assert [one["task"] for one in result["base"]] == [one["task"] for one in result["trained"]]
    assert all(one["passed"] + one["failed"] == 2 for one in result["base"] + result["trained"])
    assert [episodes for episodes, _ in result["curve"]] == [
        18 * 3 + sum(step["episodes"] for step in result["steps"][:done]) for done in (0, 1, 2)
    ]
    assert printed["claims"] == {}
    chats = [
        {json.loads(line)["chat"] for line in records.read_text("utf-8").splitlines()}
        for records in sorted((tmp_path / "seed-7").glob("evaluated-*/*/attempts.jsonl"))
    ]
    assert len(chats) == 2
    assert len(chats[0] | chats[1]) == 1
    assert "<polyline" in (tmp_path / "learning-selection.svg").read_text("utf-8")
    spent = 18 * 3 + sum(step["episodes"] for step in result["steps"])
    assert printed["figures"][0]["episodes"] == spent


def test_nothing_is_tuned_on_the_seeds_that_are_reported():
    done = learning("--tuning", "--seeds", "1", "3002")
    assert done.returncode == 1
    assert "nothing is tuned on the seeds that are reported" in done.stderr


def learning(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "benchmarks/learning.py", *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'editable'}",
            "OMP_NUM_THREADS": "1",
            "OMP_WAIT_POLICY": "PASSIVE",
        },
        capture_output=True,
        text=True,
        check=False,
    )

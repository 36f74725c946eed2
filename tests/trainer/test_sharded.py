"""Weights that two processes share, by FSDP 2 over gloo; `sharded.py` says what of it is not a GPU's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")

from tests.trainer.recipes import BFLOAT, LORA, OFFLOAD, SPLIT, write_recipe
from tests.trainer.tiny import write_world

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]
ROOT = Path(__file__).parents[2]
UNSPLIT = tuple(one for one in SPLIT if one[0] != 'sharding = "none"')


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder)
    return folder


def launched(world: Path, folder: Path, what: str, *changes: tuple[str, str]) -> dict[str, Any] | str:
    """What rank 0 found, or what was said when it failed."""
    shutil.copytree(world, folder)
    write_recipe(folder, *changes)
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    script = [str(ROOT / "tests" / "trainer" / "sharded.py"), what, str(folder)]
    environ = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'editable'}",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(
        [sys.executable, *launch, *script], env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return done.stderr
    found: dict[str, Any] = json.loads((folder / "found.json").read_text("utf-8"))
    return found


def test_weights_that_are_split_are_trained_sent_saved_and_taken_up_as_whole_ones_are(world, tmp_path):
    whole = launched(world, tmp_path / "whole", "unsplit", *UNSPLIT)
    split = launched(world, tmp_path / "split", "fixed", *SPLIT)
    assert isinstance(whole, dict), whole[-4000:]
    assert isinstance(split, dict), split[-4000:]
    assert (whole["kinds"], whole["share"]) == (["Parameter"], 1.0)
    assert (split["kinds"], split["share"]) == (["DTensor"], 0.5)
    assert min(whole["norms"]) > 0.1
    assert split["norms"] == pytest.approx(whole["norms"], rel=1e-3)
    for name in ("moved", "sent_alike", "exported_alike", "resumed_alike"):
        assert split[name] is whole[name] is True, name


def test_weights_that_are_offloaded_are_trained_sent_saved_and_taken_up_as_others_are(world, tmp_path):
    split = launched(world, tmp_path / "split", "fixed", *SPLIT)
    offloaded = launched(world, tmp_path / "offloaded", "offloaded", *SPLIT, OFFLOAD)
    assert isinstance(split, dict), split[-4000:]
    assert isinstance(offloaded, dict), offloaded[-4000:]
    assert offloaded["offloads"] is True is not split["offloads"]
    assert (offloaded["kinds"], offloaded["share"]) == (["DTensor"], 0.5)
    assert offloaded["norms"] == pytest.approx(split["norms"], rel=1e-5)
    for name in ("moved", "sent_alike", "exported_alike", "resumed_alike"):
        assert offloaded[name] is True, name


@pytest.mark.parametrize(
    ("what", "changes", "where"), [("fixed", [OFFLOAD], "device"), ("offloaded", [], "machine")]
)
def test_weights_that_accelerate_keeps_elsewhere_than_the_recipe_says_are_refused(
    world, tmp_path, what, changes, where
):
    said = launched(world, tmp_path / "refused", what, *SPLIT, *changes)
    assert isinstance(said, str)
    assert f"accelerate keeps what is trained on the {where}: start the run with the command" in said


def test_adapters_of_a_model_that_is_split_are_sent_within_whole_weights(world, tmp_path):
    found = launched(world, tmp_path / "lora", "fixed", *SPLIT, LORA)
    assert isinstance(found, dict), found[-4000:]
    assert (found["kinds"], found["share"]) == (["DTensor"], 0.5)
    for name in ("moved", "sent_alike", "exported_alike", "resumed_alike"):
        assert found[name] is True, name


def test_a_run_of_split_weights_that_compute_in_16_bits_plays_agrees_and_saves(world, tmp_path):
    master = ('sharding = "full"', 'sharding = "full"\nmaster_weights = true')
    found = launched(world, tmp_path / "played", "played", *SPLIT, BFLOAT, master)
    assert isinstance(found, dict), found[-4000:]
    assert found["saved_alike"]
    lines = (tmp_path / "played" / "out" / "steps.jsonl").read_text("utf-8").splitlines()
    steps = [json.loads(line) for line in lines]
    assert [(one["step"], one["groups"], one["invalid_share"]) for one in steps] == [(0, 2, 0), (1, 2, 0)]
    assert 1e-4 < steps[0]["logprob_difference"] < 0.1  # the server computes in 32


def test_weights_that_accelerate_does_not_split_are_refused_and_not_kept_whole_in_silence(world, tmp_path):
    """Which it does not do on CPUs, whatever it is told."""
    said = launched(world, tmp_path / "refused", "unsplit", *SPLIT)
    assert isinstance(said, str)
    assert "hardware.sharding = 'full', and accelerate says MULTI_CPU: start the run with the command" in said

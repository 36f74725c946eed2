"""Runs that end in the middle, as real processes, and go on to the same weights."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from pytest_thinkingbox.errors import ConfigurationError
from tests.rewards.suites import forgotten
from tests.trainer.recipes import write_recipe
from tests.trainer.tiny import write_world
from thinkingbox_trainer.checkpoints import CheckpointFailed
from thinkingbox_trainer.ledger import totals
from thinkingbox_trainer.recipe import read_recipe
from thinkingbox_trainer.run import train

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
ROOT = Path(__file__).parents[2]
SIX = (("steps = 2", "steps = 6"), ("every = 1", "every = 3"))


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_world(folder)
    return folder


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def trained(folder: Path, *changes: tuple[str, str], fresh: bool = False) -> Path:
    with forgotten(folder):
        train(read_recipe(write_recipe(folder, *changes)), folder=folder, fresh=fresh)
    return folder / "out"


def until(condition, *, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def ended_in_step(folder: Path, step: int, *, by: signal.Signals) -> subprocess.CompletedProcess[str]:
    """A run in a process of its own, ended once it has begun with the episodes of a step."""
    process = subprocess.Popen(
        [sys.executable, "-m", "thinkingbox_trainer", str(write_recipe(folder, *SIX))],
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'editable'}"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    ledger = folder / "out" / "ledger.jsonl"

    def begun() -> bool:
        assert process.poll() is None, process.communicate()
        return ledger.exists() and f'"begun", "step": {step},' in ledger.read_text("utf-8")

    try:
        until(begun)
        process.send_signal(by)
        said = process.communicate(timeout=180)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, *said)


@pytest.fixture(scope="module")
def straight(world, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("straight")
    shutil.copytree(world, folder, dirs_exist_ok=True)
    return trained(folder, *SIX)


@pytest.fixture(scope="module")
def broken(world, tmp_path_factory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """SIGTERM in the second step, SIGKILL in the fifth, and then to the end."""
    folder = tmp_path_factory.mktemp("broken")
    shutil.copytree(world, folder, dirs_exist_ok=True)
    asked = ended_in_step(folder, 1, by=signal.SIGTERM)
    killed = ended_in_step(folder, 4, by=signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    assert (folder / "out" / "checkpoints" / "step-3").is_dir()
    return asked, trained(folder, *SIX)


def test_sigterm_in_the_middle_of_a_step_is_a_clean_end(broken):
    asked, _ = broken
    assert asked.returncode == 143
    assert "ended by SIGTERM. The step that was under way is discarded" in asked.stderr
    assert "Traceback" not in asked.stderr


def test_a_run_that_was_ended_twice_has_the_weights_of_one_that_was_not(straight, broken):
    """To the bit, with the same number of threads."""
    _, out = broken
    assert_same_weights(out, straight)


def assert_same_weights(out: Path, straight: Path) -> None:
    expected = load_file(straight / "model" / "model.safetensors")
    found = load_file(out / "model" / "model.safetensors")
    assert expected.keys() == found.keys()
    assert all(torch.equal(one, found[name]) for name, one in expected.items())


def test_a_run_that_was_ended_twice_played_the_same_episodes_for_the_same_rewards(straight, broken):
    _, out = broken
    assert kept(out) == kept(straight)
    assert [line["step"] for line in lines(out / "steps.jsonl")] == list(range(6))
    assert [line["reward"] for line in lines(out / "steps.jsonl")] == [
        line["reward"] for line in lines(straight / "steps.jsonl")
    ]


def test_tensorboard_shows_every_step_of_a_run_that_was_ended_twice_once(straight, broken):
    _, out = broken
    assert points(out) == points(straight)
    assert [step for step, _ in points(out)] == list(range(1, 7))


def points(out: Path) -> list[tuple[int, float]]:
    events = EventAccumulator(str(out / "tensorboard"))
    events.Reload()
    return [(one.step, one.value) for one in events.Scalars("train/reward")]


def kept(out: Path) -> list[tuple[Any, ...]]:
    """Episodes of the last session that reached their step."""
    last: dict[int, int] = {}
    ended = [line for line in lines(out / "ledger.jsonl") if line["event"] == "ended"]
    for line in ended:
        last[line["step"]] = line["session"]
    return sorted(
        (one["step"], one["task"], one["member"], one["try"], one["reward"], one["usage"]["agent"]["output_tokens"])
        for one in ended
        if one["session"] == last[one["step"]]
    )  # fmt: skip


def test_what_was_discarded_stays_in_the_ledger_and_is_counted_once(straight, broken):
    _, out = broken
    whole, twice = totals(straight / "ledger.jsonl"), totals(out / "ledger.jsonl")
    assert (whole.sessions, twice.sessions) == (1, 3)
    assert whole.discarded.begun == 0
    assert twice.kept == whole.kept
    assert twice.discarded.begun >= 2 * 8
    assert lines(out / "discarded.jsonl")[0]["step"] == 0


def test_a_checkpoint_has_an_export_that_can_be_loaded(straight):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    export = straight / "checkpoints" / "step-6" / "export"
    model = AutoModelForCausalLM.from_pretrained(export, dtype="auto")
    assert model.dtype == torch.bfloat16
    assert model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()
    assert len(AutoTokenizer.from_pretrained(export)) == model.config.vocab_size
    whole = load_file(straight / "model" / "model.safetensors")["model.embed_tokens.weight"]
    assert torch.equal(model.model.embed_tokens.weight, whole.to(torch.bfloat16))


def test_a_finished_run_is_not_trained_further(straight, broken):
    before = (straight / "steps.jsonl").read_text("utf-8")
    trained(straight.parent, *SIX)
    assert (straight / "steps.jsonl").read_text("utf-8") == before
    assert totals(straight / "ledger.jsonl").sessions == 2


def test_a_run_that_has_more_steps_behind_it_than_are_wanted_keeps_its_model(straight):
    before = (straight / "model" / "model.safetensors").stat().st_mtime_ns
    with pytest.raises(ConfigurationError, match=r"run.steps = 3, and .*out has 6 steps behind it"):
        trained(straight.parent, ("steps = 2", "steps = 3"), *SIX[1:])
    assert (straight / "model" / "model.safetensors").stat().st_mtime_ns == before


def test_another_recipe_is_refused_and_fresh_sets_the_run_aside(straight, world, tmp_path):
    shutil.copytree(straight.parent, tmp_path, dirs_exist_ok=True)
    other = (*SIX, ("learning_rate = 1e-3", "learning_rate = 2e-3"))
    with pytest.raises(ConfigurationError, match=r"algorithm.learning_rate was 0.001 and is 0.002"):
        trained(tmp_path, *other)
    trained(tmp_path, ("steps = 2", "steps = 1"), fresh=True)
    assert len(lines(tmp_path / "out.before-1" / "steps.jsonl")) == 6
    assert len(lines(tmp_path / "out" / "steps.jsonl")) == 1


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Any]:
    """A file system of 100 MB where that can be mounted, and how it is filled; else a limit on the size of files."""
    size = 100 << 20
    folder.mkdir()
    if os.geteuid() == 0 and not subprocess.call(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder]
    ):
        filler = folder / "filler"

        def fill() -> None:
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while file.write(bytes(1 << 16)):
                    pass

        try:
            yield fill, filler.unlink
        finally:
            subprocess.check_call(["umount", "-l", folder])
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(most: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))

    try:
        yield (lambda: limit(1 << 20)), (lambda: limit(before[0]))
    finally:
        limit(before[0])


@pytest.mark.parametrize(
    ("reports", "what"),
    [("[]", "the checkpoint of step 2"), ('["tensorboard"]', "the (log of the run|checkpoint of step 2)")],
)
def test_a_disk_that_is_full_at_a_checkpoint_leaves_the_one_before(world, tmp_path, reports, what):
    """TensorBoard's thread finds it full before the checkpoint does, or not."""
    shutil.copytree(world, tmp_path, dirs_exist_ok=True)
    one = ("keep = 2", "keep = 1")
    told = ('output = "out"', f'output = "out"\nreport_to = {reports}')
    with small_disk(tmp_path / "out") as (fill, make_room):
        first = tmp_path / "out" / "checkpoints" / "step-1"

        def fill_then() -> None:
            until(first.is_dir)
            fill()

        filling = threading.Thread(target=fill_then)
        filling.start()
        with pytest.raises(CheckpointFailed, match=f"{what} could not be written") as failed:
            trained(tmp_path, one, told)
        filling.join()
        make_room()
        assert "checkpoints/step-1 is whole" in str(failed.value)
        assert [path.name for path in first.parent.glob("*step*")] == ["step-1"]
        out = trained(tmp_path, one, told)
        assert [line["step"] for line in lines(out / "steps.jsonl")] == [0, 1]
        undisturbed = tmp_path / "undisturbed"
        shutil.copytree(world, undisturbed)
        whole = trained(undisturbed, one, told)
        assert kept(out) == kept(whole)
        assert totals(out / "ledger.jsonl").kept == totals(whole / "ledger.jsonl").kept
        assert totals(out / "ledger.jsonl").discarded.begun >= 8
        assert_same_weights(out, whole)

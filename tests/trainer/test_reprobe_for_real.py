"""A real run that probes its pool again in the middle, ends, and goes on; what its files say of every step."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from pytest_thinkingbox.errors import ProviderDown
from tests.rewards.suites import forgotten
from tests.trainer.recipes import write_recipe
from tests.trainer.tiny import TASKS, write_world
from thinkingbox_trainer.engine import TransformersEngine
from thinkingbox_trainer.ledger import Totals, totals
from thinkingbox_trainer.recipe import read_recipe
from thinkingbox_trainer.run import train

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]
LEARNT = "test_shop.py::test_learnt"
EASY = """

@shop.task("Say whatever you like.", no_change=True, allow_truncated=True)
def test_learnt(changes): ...
"""
REPROBED = ("longest = 2048", "reprobe_every = 2\nreprobe_attempts = 8\nlongest = 2048")


@dataclass(frozen=True)
class Ran:
    """`left_out` by the number of the checkpoint; `said` is what the two runs printed."""

    steps: list[dict[str, Any]]
    ledger: list[dict[str, Any]]
    totals: Totals
    left_out: dict[int, list[str]]
    tensorboard: Path
    said: str


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> Ran:
    """Three steps, the pool probed before the third, and in a second run the fourth; every ninth generation fails."""
    folder = tmp_path_factory.mktemp("world")
    write_world(folder)
    (folder / "suite" / "test_shop.py").write_text(TASKS + EASY, encoding="utf-8")
    asked, generate = itertools.count(1), TransformersEngine.generate

    async def generating(engine, ids, **given):
        if next(asked) % 9 == 0:
            raise ProviderDown("the engine is down")
        return await generate(engine, ids, **given)

    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransformersEngine, "generate", generating)
        patch.setattr("builtins.print", lambda *words, **_: said.append(" ".join(map(str, words))))
        for steps in (3, 4):
            with forgotten(folder):
                recipe = write_recipe(
                    folder, ("steps = 2", f"steps = {steps}"), ("keep = 2", "keep = 9"), REPROBED
                )
                train(read_recipe(recipe), folder=folder)
    out = folder / "out"
    states = {
        number: json.loads((out / "checkpoints" / f"step-{number}" / "state.json").read_text("utf-8"))
        for number in (2, 3, 4)
    }
    return Ran(
        steps=lines(out / "steps.jsonl"),
        ledger=lines(out / "ledger.jsonl"),
        totals=totals(out / "ledger.jsonl"),
        left_out={number: state["rollouts"]["left_out"] for number, state in states.items()},
        tensorboard=out / "tensorboard",
        said="\n".join(said),
    )


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def played(ran: Ran, *, since: int) -> set[str]:
    """Tasks that were played to be trained on."""
    begun = [line for line in ran.ledger if line["event"] == "begun" and line["stage"] == "train"]
    return {line["task"] for line in begun if line["step"] >= since}


def test_the_pool_is_without_what_the_probe_found_to_be_learnt(ran):
    assert ran.left_out[2] == []
    assert LEARNT in ran.left_out[3]
    assert ran.steps[2]["pool"] == 5 - len(ran.left_out[3])
    assert LEARNT in played(ran, since=0)
    assert played(ran, since=2).isdisjoint(ran.left_out[3])


def test_a_run_that_goes_on_keeps_the_pool_without_probing_again(ran):
    assert ran.left_out[4] == ran.left_out[3]
    assert "reprobe_episodes" not in ran.steps[3]
    assert "going on with step 3" in ran.said


def test_probes_are_counted_in_the_ledger_and_in_no_step(ran):
    assert [step.get("reprobe_episodes") for step in ran.steps] == [None, None, 40, None]
    probes = [line for line in ran.ledger if line.get("stage") == "reprobe"]
    assert {(line["step"], line["event"]) for line in probes} == {(2, "begun"), (2, "ended")}
    assert ran.totals.reprobed.begun == ran.totals.reprobed.ended == 40
    assert ran.totals.reprobed.invalid == ran.steps[2]["reprobe_invalid"] > 0
    assert ran.totals.reprobed.output_tokens == ran.steps[2]["reprobe_tokens"] > 0
    assert ran.totals.kept.begun == sum(step["episodes"] for step in ran.steps)
    assert "apart from 40 that probed the pool again" in ran.said.splitlines()[-1]


NAMES = (
    "reward", "invalid_share", "uniform_share", "groups_replaced", "episodes", "tokens_written", "seconds_model",
    "seconds_tools", "seconds_user", "seconds_grading", "skipped",
)  # fmt: skip


def test_tensorboard_has_the_figures_of_every_step(ran):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(ran.tensorboard))
    events.Reload()
    steps = {number + 1: step for number, step in enumerate(ran.steps)}  # theirs count what is done
    for name, tag in (*((name, f"thinkingbox/{name}") for name in NAMES), ("grad_norm", "grad_norm")):
        found = {one.step: one.value for one in events.Scalars(f"train/{tag}")}
        assert found == pytest.approx({number: step[name] for number, step in steps.items()}, rel=1e-5), name
    assert sum(step["episodes_invalid"] for step in ran.steps) > 0
    assert all(step["seconds_model"] > 0 and step["tokens_written"] > 0 for step in ran.steps)


def test_a_line_for_a_person_has_the_same_figures(ran):
    told = [line for line in ran.said.splitlines() if line.startswith("step ")]
    assert len(told) == 4
    for line, step in zip(told, ran.steps, strict=True):
        assert f"{step['episodes_invalid']}/{step['episodes']} episodes invalid" in line
        assert f"reward {step['reward']:.3f}" in line
        assert (
            f"{step['groups_uniform']}/{step['groups_played']} zero-variance, {step['groups_replaced']} replaced"
            in line
        )
        assert f"{step['tokens_written']:,} tokens" in line
        assert f"grading {step['seconds_grading']:.1f}; " in line
        assert line.endswith(f"; gradient {step['grad_norm']:.4g}")
        probed = "reprobe_episodes" in step
        asked = (
            f"; pool probed again, {step['reprobe_invalid']}/{step['reprobe_episodes']} " if probed else ""
        )
        assert asked in line
        assert ("probed again" in line) == probed

"""Weights in 32 bits that compute in bfloat16, on a CPU."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pytest_thinkingbox.errors import ConfigurationError
from tests.trainer.recipes import BFLOAT, LORA, MASTER, write_recipe
from tests.trainer.tiny import write_world
from thinkingbox_trainer.recipe import read_recipe
from thinkingbox_trainer.rollout import Row, Step
from thinkingbox_trainer.trl_adapter import make_trainer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]
SMALL = ("learning_rate = 1e-3", "learning_rate = 1e-6")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder)
    return folder


def step(number: int) -> Step:
    rows = [
        Row(prompt=[5, 6, 7], completion=[10 + at, 30 + 2 * at], mask=[1, 1], reward=at % 2, task="t")
        for at in range(8)
    ]
    return Step(rows=rows, skip=False, metrics={})


def trainer_of(world, folder, *changes, loaded: str | None = None):
    recipe = read_recipe(write_recipe(folder, ("steps = 2", "steps = 1"), SMALL, BFLOAT, *changes))
    model = AutoModelForCausalLM.from_pretrained(world / "tiny", dtype=loaded or recipe.loaded)
    tokenizer = AutoTokenizer.from_pretrained(world / "tiny")
    return make_trainer(recipe, model=model, tokenizer=tokenizer, make_step=step, output=folder)


def test_a_step_of_a_small_learning_rate_moves_every_weight_that_has_a_gradient(world, tmp_path):
    trainer = trainer_of(world, tmp_path, MASTER)
    before = {name: one.detach().clone() for name, one in trainer.model.named_parameters()}
    trainer.train()
    largest = max(
        float((one.detach() - before[name]).abs().max()) for name, one in trainer.model.named_parameters()
    )
    assert 0.5e-6 < largest < 2e-6
    moved = trainer.model.model.layers[0].mlp.up_proj.weight != before["model.layers.0.mlp.up_proj.weight"]
    assert float(moved.float().mean()) > 0.9
    # Of weights in 16 bits next to none would have moved.
    matrix = trainer.model.model.layers[0].mlp.up_proj.weight
    rounded = matrix.bfloat16() != before["model.layers.0.mlp.up_proj.weight"].bfloat16()
    assert float(rounded.float().mean()) < 0.1


def test_weights_and_moments_are_in_32_bits_and_matrices_are_multiplied_in_16(world, tmp_path):
    trainer = trainer_of(world, tmp_path, MASTER)
    seen = []
    trainer.model.model.layers[0].mlp.up_proj.register_forward_hook(
        lambda *given: seen.append(given[2].dtype)
    )
    trainer.train()
    assert {one.dtype for one in trainer.model.parameters()} == {torch.float32}
    moments = {value.dtype for state in trainer.optimizer.state.values() for value in state.values()}
    assert moments == {torch.float32}
    assert set(seen) == {torch.bfloat16}


def test_weights_in_16_bits_are_not_trained(world, tmp_path):
    with pytest.raises(ConfigurationError, match=r"weight is trained in bfloat16: small updates"):
        trainer_of(world, tmp_path, MASTER, loaded="bfloat16")


def test_adapters_of_a_model_in_16_bits_are_in_32(world, tmp_path):
    trainer = trainer_of(world, tmp_path, LORA)
    trainer.train()
    kept = {(one.requires_grad, one.dtype) for one in trainer.model.parameters()}
    assert kept == {(True, torch.float32), (False, torch.bfloat16)}
    assert {one["exp_avg"].dtype for one in trainer.optimizer.state.values()} == {torch.float32}

"""The recipes that come with the package: that they can be read, and what they need, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinkingbox_trainer.evaluation import read_evaluation, serving_of
from thinkingbox_trainer.plan import Plan, plan, shape_of
from thinkingbox_trainer.recipe import Recipe, deviations, read_recipe
from thinkingbox_trainer.shown import dry_run_lines

RECIPES = Path(__file__).parents[2] / "recipes"
TRAINING = sorted(path.stem for path in RECIPES.glob("*.toml") if not path.stem.startswith("eval"))


def read(name: str) -> Recipe:
    return read_recipe(RECIPES / f"{name}.toml")


def planned(name: str) -> Plan:
    recipe = read(name)
    return plan(recipe, shape_of(recipe, folder=RECIPES))


def test_there_is_a_recipe_for_each_size() -> None:
    assert TRAINING == ["cpu-smoke", "lora-8xh100", "one-gpu", "reference-24xh100"]


@pytest.mark.parametrize("name", TRAINING)
def test_a_recipe_can_be_read_and_shown(name: str) -> None:
    lines = list(dry_run_lines(read(name), folder=RECIPES))
    assert any("thinkingbox-train RECIPE" in line or "accelerate launch" in line for line in lines)


@pytest.mark.parametrize("name", TRAINING)
def test_a_recipe_says_what_was_run_and_what_was_not(name: str) -> None:
    head = (RECIPES / f"{name}.toml").read_text("utf-8").partition("\n\n[")[0]
    assert "# Run: " in head


@pytest.mark.parametrize("name", TRAINING)
def test_a_recipe_samples_from_the_distribution_of_the_importance_ratio(name: str) -> None:
    sampling = read(name).sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (1.0, 1.0, 0)


def test_the_reference_differs_from_the_published_run_in_three_things() -> None:
    assert deviations(read("reference-24xh100")) == [
        "episodes.longest = 16384, the reference had 133120",
        "sampling.top_p = 1.0, the reference had 0.95",
        "sampling.top_k = 0, the reference had 20",
    ]


def test_the_reference_is_eighteen_groups_of_eight_on_sixteen_and_eight_devices() -> None:
    recipe = read("reference-24xh100")
    assert (recipe.episodes.groups, recipe.episodes.group_size, recipe.suite.pool_tasks) == (18, 8, 187)
    assert (recipe.hardware.processes, recipe.hardware.batch, recipe.hardware.accumulation) == (16, 1, 9)
    assert recipe.generation is not None
    assert recipe.generation.gpus == 8


def test_the_shape_has_the_parameters_that_transformers_makes_of_it() -> None:
    """Counted once with Qwen3_5ForCausalLM of transformers 5.16 on the meta device; the other one is published."""
    assert shape_of(read("reference-24xh100"), folder=RECIPES).parameters == 26_895_998_464
    assert shape_of(read("one-gpu"), folder=RECIPES).parameters == 4_022_468_096


def test_the_parameters_by_hand() -> None:
    """A delta network mixes (2 x 16 + 48) x 128 = 10,240 values; attention has 24 heads of 256, twice for the gate."""
    feed_forward = 3 * 5120 * 17408 + 2 * 5120
    linear = 5120 * (10240 + 6144 + 6144 + 48 + 48) + 10240 * 4 + 48 + 48 + 128 + feed_forward
    full = 5120 * 256 * (48 + 24 + 8) + 2 * 256 + feed_forward
    assert (linear, full) == (383_273_184, 372_255_232)
    assert 48 * linear + 16 * full + 2 * 248320 * 5120 + 5120 == 26_895_998_464


def test_the_reference_needs_what_it_comes_to_by_hand() -> None:
    made = planned("reference-24xh100")
    assert made.training.needs == {
        "gathered layers": (2 * 383_273_184 + 248320 * 5120) * 2,
        "gathered gradients": (383_273_184 + 248320 * 5120) * 2,
        "sync buffer": 248320 * 5120 * 4,
        "activations": 16384 * (64 * 5120 + 18 * 5120 + 3 * 17408) * 2,
        "logits": 16384 * 248320 * 4 * 2,
    }
    assert made.host == 26_895_998_464 * 16 // 16
    assert (made.training.total, made.training.available) == (60_487_218_496, 72_000_000_000)
    assert made.most == 20_312


def test_a_conversation_of_the_published_length_does_not_fit_on_one_device() -> None:
    recipe = read("reference-24xh100")
    longer = recipe.model_copy(update={"episodes": recipe.episodes.model_copy(update={"longest": 133_120})})
    assert not plan(longer, shape_of(recipe, folder=RECIPES)).fits


def test_without_offload_only_shorter_sequences_fit() -> None:
    recipe = read("reference-24xh100")
    there = recipe.model_copy(update={"hardware": recipe.hardware.model_copy(update={"offload": "none"})})
    made = plan(there, shape_of(recipe, folder=RECIPES))
    assert (made.fits, made.most, made.host) == (False, 11_134, 0)


def test_the_devices_that_generate_hold_all_conversations_of_a_step() -> None:
    """16 layers keep 2 x 4 x 256 values of 2 bytes of a token, 48 a state of 48 x 128 x 128 values of 4 bytes."""
    made = planned("reference-24xh100")
    state = 48 * (48 * 128 * 128 * 4 + 10240 * 3 * 2)
    fixed = 26_895_998_464 + 48 * state // 2 + 248320 * 5120 * 2
    assert made.playing.needs["states of sequences"] == 48 * state // 2 == 3_694_657_536
    assert made.playing.needs["keys and values"] == 72_000_000_000 - fixed
    conversation = 16384 * 65_536 // 2
    assert (72_000_000_000 - fixed) // conversation == 72
    assert made.at_once == 4 * 48 >= 144


def test_lora_trains_the_adapters_only() -> None:
    """Rank 32; three of seven widths in all 64 layers, four in the 16 with attention, queries with their gate."""
    attention = (5120 + 12288) + 2 * (5120 + 1024) + (6144 + 5120)
    trained = 32 * (16 * attention + 64 * 3 * (5120 + 17408))
    made = planned("lora-8xh100")
    assert trained == 159_383_552
    assert made.training.needs["moments (AdamW)"] == trained * 8 // 4
    assert made.training.needs["weights"] == (26_895_998_464 * 2 + trained * 4) // 4
    assert (made.fits, made.most, made.at_once) == (True, 17_502, 64)


def test_one_gpu_trains_and_generates_in_turn() -> None:
    made = planned("one-gpu")
    conversation = 8192 * 36 * 2 * 8 * 128 * 2
    assert made.playing.needs["keys and values"] == 32 * conversation == 38_654_705_664
    assert (made.fits, made.at_once) == (True, 52)


def test_the_evaluation_gives_each_policy_half_of_the_devices() -> None:
    recipe = read_evaluation(RECIPES / "eval-8xa100.toml")
    assert (recipe.evaluation.attempts, recipe.sampling.longest) == (20, 133_120)
    assert (recipe.sampling.temperature, recipe.sampling.top_p, recipe.sampling.top_k) == (1.0, 0.95, 20)
    made = serving_of(recipe)
    assert made is not None
    devices, at_once = made
    left = 72_000_000_000 - 26_895_998_464 - 24 * 48 * (48 * 128 * 128 * 4 + 10240 * 3 * 2) // 2
    assert devices.needs["keys and values"] == left
    assert left // (133_120 * 65_536 // 2) == 9
    assert at_once == 2 * 9

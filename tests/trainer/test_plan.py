from __future__ import annotations

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from tests.trainer.recipes import BFLOAT, MASTER, SPLIT, write_recipe
from thinkingbox_trainer.plan import Shape, plan
from thinkingbox_trainer.recipe import read_recipe

QWEN3_8B = Shape(
    hidden=4096, layers=36, feed_forward=12288, heads=32, kv_heads=8, head=128, vocabulary=151936, tied=False
)


def test_the_parameters_are_those_of_the_published_model():
    assert QWEN3_8B.parameters == 8_190_735_360


def test_weights_gradients_and_moments_of_full_training(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path))
    needs = plan(recipe, QWEN3_8B).needs
    assert needs["weights"] == needs["gradients"] == 4 * 8_190_735_360
    assert needs["moments (AdamW)"] == 8 * 8_190_735_360


def test_weights_that_compute_in_16_bits_are_kept_in_32(tmp_path):
    needs = plan(read_recipe(write_recipe(tmp_path, BFLOAT, MASTER)), QWEN3_8B).needs
    assert needs["weights"] == needs["gradients"] == 4 * 8_190_735_360
    assert needs["weights in 16 bits"] == 2 * 8_190_735_360


def test_sharding_splits_them_among_the_processes(tmp_path):
    needs = plan(read_recipe(write_recipe(tmp_path, *SPLIT)), QWEN3_8B).needs
    assert needs["moments (AdamW)"] == 4 * 8_190_735_360
    assert needs["weights"] == needs["gradients"] == 2 * 8_190_735_360
    assert needs["gathered layers"] > 0


def test_lora_trains_few_parameters(tmp_path):
    lora = 'method = "lora"\nlora_rank = 16\nlora_alpha = 32\nlora_targets = ["q_proj", "v_proj"]'
    recipe = read_recipe(write_recipe(tmp_path, ('method = "full"', lora)))
    # 36 layers x rank 16 x ((4096 + 4096) + (4096 + 1024))
    assert plan(recipe, QWEN3_8B).needs["moments (AdamW)"] == 8 * 7_667_712


def test_the_longest_sequence_that_fits_fits(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, ("memory_gb = 4.0", "memory_gb = 200.0")))
    most = plan(recipe, QWEN3_8B).most
    for longest, fits in ((most, True), (most + 1, False)):
        path = write_recipe(
            tmp_path, ("memory_gb = 4.0", "memory_gb = 200.0"), ("longest = 2048", f"longest = {longest}")
        )
        assert plan(read_recipe(path), QWEN3_8B).fits is fits


def test_a_target_that_no_layer_has_is_named(tmp_path):
    lora = 'method = "lora"\nlora_rank = 16\nlora_alpha = 32\nlora_targets = ["wo"]'
    with pytest.raises(ConfigurationError, match="'wo' is none of q_proj"):
        plan(read_recipe(write_recipe(tmp_path, ('method = "full"', lora))), QWEN3_8B)

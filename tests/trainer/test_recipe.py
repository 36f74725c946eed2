from __future__ import annotations

import pytest

from pytest_thinkingbox.errors import ConfigurationError
from tests.trainer.recipes import BFLOAT, LORA, MASTER, RECIPE, SPLIT, VLLM, write_recipe
from thinkingbox_trainer.recipe import deviations, read_recipe, settings


def wrong(tmp_path, *changes: tuple[str, str]) -> str:
    with pytest.raises(ConfigurationError) as refused:
        read_recipe(write_recipe(tmp_path, *changes))
    return str(refused.value)


def test_a_recipe_is_read(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path))
    assert (recipe.episodes.groups, recipe.algorithm.learning_rate) == (2, 1e-3)
    assert len(settings(recipe)) == 58


def test_a_setting_that_is_missing_is_named_with_its_place(tmp_path):
    assert "algorithm.clip_high: Field required" in wrong(tmp_path, ("clip_high = 0.2\n", ""))


def test_a_setting_that_nobody_knows_is_refused(tmp_path):
    assert "run.speed: Extra inputs are not permitted" in wrong(tmp_path, ("seed = 1", "seed = 1\nspeed = 2"))


def test_a_wrong_value_is_shown(tmp_path):
    message = wrong(tmp_path, ('refill = "group"', 'refill = "all"'))
    assert "recipe.toml: 1 wrong" in message
    assert "episodes.refill: Input should be 'group' or 'member', not 'all'" in message


def test_a_file_that_is_no_toml_is_named(tmp_path):
    assert "recipe.toml: " in wrong(tmp_path, ("[run]", "[run"))


def test_a_step_trains_on_as_many_sequences_as_it_plays(tmp_path):
    message = wrong(tmp_path, ("accumulation = 2", "accumulation = 3"))
    assert "2 groups of 4 are 8 sequences, but processes x batch x accumulation = 1 x 4 x 3 = 12" in message


def test_top_p_below_one_needs_a_reason(tmp_path):
    change = ("top_p = 1.0", "top_p = 0.95"), *VLLM
    assert "or say `why`" in wrong(tmp_path, *change)
    read_recipe(write_recipe(tmp_path, *change, ("top_k = 0", 'top_k = 0\nwhy = "as published"')))


def test_the_engine_of_transformers_samples_from_the_whole_distribution(tmp_path):
    change = ("top_k = 0", 'top_k = 20\nwhy = "as published"')
    assert "samples with top_p = 1.0 and top_k = 0 only" in wrong(tmp_path, change)


def test_lora_is_said_whole_or_not_at_all(tmp_path):
    assert "needs lora_rank" in wrong(tmp_path, ('method = "full"', 'method = "lora"\nlora_rank = 8'))
    assert "are for method 'lora'" in wrong(tmp_path, ('method = "full"', 'method = "full"\nlora_rank = 8'))


def test_every_deviation_from_the_reference_is_listed(tmp_path):
    lines = deviations(read_recipe(write_recipe(tmp_path)))
    assert "episodes.groups = 2, the reference had 18" in lines
    assert "sampling.top_p = 1.0, the reference had 0.95" in lines
    assert not any("weight_decay" in line for line in lines)


def test_what_is_trained_on_is_proved_or_it_is_said_why_not(tmp_path):
    unproved = next(line for line in RECIPE.splitlines() if line.startswith("unproved"))
    assert "name the proof.json of `thinkingbox prove`" in wrong(tmp_path, (unproved, ""))
    assert "a pool needs the proof" in wrong(tmp_path, (unproved, f'{unproved}\npool = "pool.json"'))
    read_recipe(write_recipe(tmp_path, (unproved, 'pool = "pool.json"\nproof = "proof.json"')))


def test_a_pool_is_said_once(tmp_path):
    both = 'proof = "proof.json"\npool = "pool.json"\ntasks = ["t"]\n'
    assert "pool and tasks are two pools" in wrong(tmp_path, ("[model]", f"{both}[model]"))
    assert "pool_tasks counts the tasks of a manifest" in wrong(
        tmp_path, ("[model]", "pool_tasks = 3\n[model]")
    )


def test_devices_that_generate_belong_to_the_engine_that_has_them(tmp_path):
    assert "needs a table [generation], and no other engine does" in wrong(tmp_path, VLLM[0])
    assert "needs a table [generation], and no other engine does" in wrong(tmp_path, VLLM[1])


def test_full_training_in_bfloat16_needs_weights_in_32_bits(tmp_path):
    assert "bfloat16 rounds away what is less than 1/512 of the weight" in wrong(tmp_path, BFLOAT)
    assert "are kept in 32 bits as they are" in wrong(tmp_path, MASTER)
    assert "are kept in 32 bits as they are" in wrong(tmp_path, BFLOAT, MASTER, LORA)
    assert read_recipe(write_recipe(tmp_path, BFLOAT, MASTER)).loaded == "float32"
    assert read_recipe(write_recipe(tmp_path, BFLOAT, LORA)).loaded == "bfloat16"


def test_weights_are_split_among_processes_that_do_not_generate(tmp_path):
    assert "it needs processes > 1 and engine = 'vllm'" in wrong(
        tmp_path, ('sharding = "none"', 'sharding = "full"')
    )
    alone = [one for one in SPLIT if one[0] != 'sharding = "none"']
    offload = ("memory_gb = 4.0", 'memory_gb = 4.0\noffload = "optimizer"')
    assert "it needs sharding = 'full'" in wrong(tmp_path, *alone, offload)


def test_the_server_is_named_by_host_and_port(tmp_path):
    for wrong_one in ("http://127.0.0.1:8000/v1", "127.0.0.1:8000", "http://127.0.0.1"):
        assert "generation.base_url: String should match" in wrong(
            tmp_path, *VLLM, ("http://127.0.0.1:8000", wrong_one)
        )
    assert "generation.base_url: Field required" in wrong(
        tmp_path, *VLLM, ('base_url = "http://127.0.0.1:8000"', "")
    )


def test_copies_of_the_weights_are_whole(tmp_path):
    message = wrong(tmp_path, *VLLM, ("tensor_parallel = 1", "tensor_parallel = 2"))
    assert "1 gpus are no whole number of copies over 2 each" in message


def test_probing_again_is_said_whole_or_not_at_all(tmp_path):
    message = wrong(tmp_path, ("answer = 12", "answer = 12\nreprobe_every = 10"))
    assert "episodes.reprobe_every and episodes.reprobe_attempts belong together" in message

"""The recipes that come with the package: that they can be read, and what they need, worked out by hand."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

import pytest

from tests.trainer.recipes import VLLM, write_recipe
from thinkingbox_trainer.cli import main
from thinkingbox_trainer.evaluation import read_evaluation, serving_of
from thinkingbox_trainer.plan import Plan, plan, shape_of
from thinkingbox_trainer.recipe import Recipe, deviations, read_recipe
from thinkingbox_trainer.shown import about_lines

RECIPES = Path(__file__).parents[2] / "recipes"
EVALUATING = ["eval-8xa100"]
TRAINING = sorted(path.stem for path in RECIPES.glob("*.toml") if not path.stem.startswith("eval"))


def read(name: str) -> Recipe:
    return read_recipe(RECIPES / f"{name}.toml")


def planned(name: str) -> Plan:
    recipe = read(name)
    return plan(recipe, shape_of(recipe, folder=RECIPES))


def test_there_is_a_recipe_for_each_size() -> None:
    assert TRAINING == ["cpu-smoke", "lora-8xh100", "one-gpu", "reference-24xh100"]


def dry_run(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    command = ["evaluate"] if name in EVALUATING else []
    assert main([*command, "--dry-run", str(RECIPES / f"{name}.toml")]) == 0
    return capsys.readouterr().out.splitlines()


def block(lines: list[str], title: str) -> list[str]:
    """The lines under a title, up to an empty one."""
    return list(takewhile(bool, lines[lines.index(title) + 1 :]))


def gigabytes(lines: list[str]) -> dict[str, float]:
    found = [re.fullmatch(r"\s+(\S.*?)\s+([\d.]+) GB( of .*)?", line) for line in lines]
    return {one[1]: float(one[2]) for one in found if one}


@pytest.mark.parametrize("name", [*TRAINING, *EVALUATING])
def test_a_dry_run_says_what_was_run_and_what_was_not(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(takewhile(lambda one: ".name = " not in one, dry_run(name, capsys)))
    assert re.search(r"Run: never\. No GPU was there.* Checked are: ", said) or re.search(
        r"Run: `tests/\S+` runs .* Not run: ", said
    )
    for path in re.findall(r"`(tests/\S+?)`", said):
        assert (RECIPES.parent / path).is_file()


def test_only_the_recipe_of_a_cpu_claims_to_have_been_run() -> None:
    heads = {name: " ".join(about_lines(RECIPES / f"{name}.toml")) for name in [*TRAINING, *EVALUATING]}
    assert [name for name, head in heads.items() if "Run: never." not in head] == ["cpu-smoke"]


@pytest.mark.parametrize("name", TRAINING)
def test_a_dry_run_shows_the_memory_of_every_part(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    memory = block(dry_run(name, capsys), "memory:")
    training = gigabytes(memory[: next(at for at, line in enumerate(memory) if "generate" in line)])
    offloaded = read(name).hardware.offload == "optimizer"
    parts = (
        {"gathered layers", "gathered gradients"}
        if offloaded
        else {"weights", "gradients", "moments (AdamW)"}
    )
    assert training.keys() >= parts | {"activations", "logits", "together"}
    assert sum(training.values()) == pytest.approx(2 * training["together"], abs=0.005)
    assert all(value > 0 for value in training.values())
    assert [line for line in memory if "for what is offloaded" in line] == [
        line for line in memory if line.strip().startswith("memory of the machine")
    ]
    assert any("memory of the machine, each process: " in line for line in memory) is offloaded
    assert any(line.strip().startswith("keys and values") for line in memory)


@pytest.mark.parametrize("name", TRAINING)
def test_a_plan_of_a_recipe_fits(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(RECIPES / f"{name}.toml")]) == 0
    assert "longest sequence that fits: " in capsys.readouterr().out


@pytest.mark.parametrize("name", TRAINING)
def test_a_dry_run_says_how_is_sampled_and_why(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert block(dry_run(name, capsys), "sampling:") == [
        "  temperature 1, top-p 1, top-k 0: the whole distribution, whose probabilities are in the importance ratio"
    ]


def test_another_sampling_is_shown_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = ("top_k = 0", 'top_k = 20\nwhy = "as published"')
    assert main(["--dry-run", str(write_recipe(tmp_path, *VLLM, changed))]) == 0
    assert "  temperature 1, top-p 1, top-k 20: as published\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", [*TRAINING, *EVALUATING])
def test_the_file_of_a_recipe_says_why_it_samples_so(name: str) -> None:
    after = (RECIPES / f"{name}.toml").read_text("utf-8").partition("[sampling]\n")[2]
    assert after.startswith("# ")


@pytest.mark.parametrize("name", TRAINING)
def test_a_dry_run_says_how_it_is_started(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    started = block(dry_run(name, capsys), "started with:")
    several = read(name).hardware.processes > 1
    assert ("accelerate launch" if several else "thinkingbox-train RECIPE") in started[-1]


def test_the_smallest_needs_what_it_comes_to_by_hand() -> None:
    """Three layers of 128 and 256, 8,192 ids at once; nothing is split and nothing offloaded."""
    layer = 128 * 32 * (4 + 4 + 2 * 2) + 2 * 32 + 3 * 128 * 256 + 2 * 128
    parameters = 3 * layer + 512 * 128 + 128
    assert parameters == 508_992  # counted once with Qwen3ForCausalLM, too
    assert planned("cpu-smoke").training.needs == {
        "weights": 4 * parameters,
        "gradients": 4 * parameters,
        "moments (AdamW)": 8 * parameters,
        "activations": 8192 * 3 * (18 * 128 + 3 * 256) * 4,
        "logits": 8192 * 512 * 4 * 2,
    }


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
    assert made.writing == 26_895_998_464 * (4 + 8 + 2)
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
    assert made.writing == 26_895_998_464 * (2 + 2 + 2) + trained * (4 + 8)


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

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.trainer.recipes import OFFLOAD, SHAPELESS, SPLIT, VLLM, write_recipe
from tests.trainer.test_evaluation import write as write_evaluation
from thinkingbox_trainer import cli
from thinkingbox_trainer.fixed import TRAINER
from thinkingbox_trainer.recipe import read_recipe

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bare(monkeypatch):
    monkeypatch.setattr(cli, "_missing", lambda: ["torch", "trl"])


def test_help_without_torch_names_the_extra():
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'editable'}"}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['torch'] = None\n" + HELP],
        env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "pip install 'pytest-thinkingbox[train]'" in done.stdout
    assert "[]" in done.stdout


HELP = """
from thinkingbox_trainer.cli import main
try:
    main(["--help"])
except SystemExit:
    print([name for name in ("torch", "trl", "transformers", "mcp") if sys.modules.get(name)])
"""


def test_a_run_without_torch_names_the_extra(tmp_path, bare, capsys):
    assert cli.main([str(write_recipe(tmp_path))]) == 2
    assert "no torch, trl here: pip install 'pytest-thinkingbox[train]'" in capsys.readouterr().err


def test_a_dry_run_prints_every_setting_and_every_deviation(tmp_path, bare, capsys):
    assert cli.main(["--dry-run", str(write_recipe(tmp_path))]) == 0
    shown = capsys.readouterr().out
    recipe = read_recipe(write_recipe(tmp_path)).model_dump()
    settings = {f"{part}.{name}" for part, names in recipe.items() if names is not None for name in names}
    assert settings - {line.split(" = ")[0].strip() for line in shown.splitlines()} == set()
    assert "algorithm.clip_low = 0.2" in shown
    assert [name for name, value in TRAINER.items() if f"\n  {name} = {value!r}\n" not in shown] == []
    assert "\n  lr_scheduler_type = 'constant'\n" in shown
    assert "played again 2 times at most" in shown
    assert "differ by 0.001 nats in a token of 32" in shown
    assert "while a checkpoint is written: 0.001 GB more" in shown
    assert "run.steps = 2, the reference had 50" in shown
    assert shown.rstrip().endswith("thinkingbox-train RECIPE.toml")


def test_a_dry_run_names_the_launcher_of_several_processes(tmp_path, capsys):
    path = write_recipe(
        tmp_path, ("processes = 1", "processes = 2"), ("accumulation = 2", "accumulation = 1")
    )
    assert cli.main(["--dry-run", str(path)]) == 0
    assert "accelerate launch --num_processes 2 -m thinkingbox_trainer RECIPE.toml" in capsys.readouterr().out


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vllm is installed")
def test_a_run_without_vllm_names_the_extra_that_has_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cli, "_missing", list)
    assert cli.main([str(write_recipe(tmp_path, *VLLM))]) == 2
    said = capsys.readouterr().err
    assert "no vllm here" in said
    assert "pip install 'pytest-thinkingbox[train-gpu]'" in said


def test_a_dry_run_names_the_server_that_takes_the_weights(tmp_path, capsys):
    path = write_recipe(tmp_path, *VLLM, ("127.0.0.1:8000", "gpu-2:8123"))
    assert cli.main(["--dry-run", str(path)]) == 0
    [command] = [line.strip() for line in capsys.readouterr().out.splitlines() if " vllm serve " in line]
    assert command == (
        "VLLM_SERVER_DEV_MODE=1 vllm serve tiny --dtype=float32 --tensor-parallel-size=1 --data-parallel-size=1 "
        "--max-model-len=2048 --max-num-seqs=8 --gpu-memory-utilization=0.9 --seed=1 --host=gpu-2 --port=8123 "
        """'--weight-transfer-config={"backend": "nccl"}' --logprobs-mode=processed_logprobs"""
    )


def test_a_server_beside_the_processes_that_train_gets_other_devices(tmp_path, capsys):
    assert cli.main(["--dry-run", str(write_recipe(tmp_path, *VLLM))]) == 0
    said = capsys.readouterr().out
    assert "  CUDA_VISIBLE_DEVICES=1 VLLM_SERVER_DEV_MODE=1 vllm serve tiny " in said
    assert "  CUDA_VISIBLE_DEVICES=0 thinkingbox-train RECIPE.toml" in said


def test_a_dry_run_names_the_launcher_that_offloads_weights(tmp_path, capsys):
    assert cli.main(["--dry-run", str(write_recipe(tmp_path, *SPLIT, OFFLOAD))]) == 0
    assert "--fsdp_offload_params true -m thinkingbox_trainer" in capsys.readouterr().out


def test_a_dry_run_names_the_launcher_that_splits_weights(tmp_path, capsys):
    assert cli.main(["--dry-run", str(write_recipe(tmp_path, *SPLIT))]) == 0
    assert (
        "accelerate launch --num_processes 2 --mixed_precision no --use_fsdp --fsdp_version 2 "
        "--fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP --fsdp_reshard_after_forward true "
        "--fsdp_cpu_ram_efficient_loading true --fsdp_state_dict_type FULL_STATE_DICT --fsdp_offload_params false "
        "-m thinkingbox_trainer RECIPE.toml"
    ) in capsys.readouterr().out


def test_a_wrong_recipe_is_one_line_and_no_traceback(tmp_path, capsys):
    assert cli.main([str(tmp_path / "none.toml")]) == 2
    assert capsys.readouterr().err.startswith("thinkingbox-train: ")


def test_a_recipe_of_an_evaluation_is_not_trained(capsys):
    path = ROOT / "recipes" / "eval-8xa100.toml"
    assert cli.main(["--dry-run", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"thinkingbox-train: {path} has a table [evaluation]: it is a recipe for `thinkingbox-train evaluate`\n"
    )


def test_a_recipe_of_a_run_is_not_evaluated(capsys):
    assert cli.main(["evaluate", "--dry-run", str(ROOT / "recipes" / "one-gpu.toml")]) == 2
    assert "has a table [run]: it is a recipe for `thinkingbox-train`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("output", "held"), [(".", "recipe.toml"), ("..", "recipe.toml"), ("suite", "suite"), ("tiny", "tiny")]
)
def test_a_run_does_not_write_into_a_folder_that_it_reads(tmp_path, monkeypatch, capsys, output, held):
    monkeypatch.setattr(cli, "_missing", list)
    path = write_recipe(tmp_path, ('output = "out"', f'output = "{output}"'))
    assert cli.main(["--fresh", str(path)]) == 2
    assert f"run.output = {output!r} holds {tmp_path / held}, which the run reads" in capsys.readouterr().err


def test_an_evaluation_is_played_from_the_folder_of_its_recipe(tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    write_evaluation(tmp_path / "recipes")
    monkeypatch.chdir(tmp_path)
    seen = []
    monkeypatch.setattr(cli.evaluation, "evaluate", lambda recipe, *, folder: seen.append(folder) or 0)
    assert cli.main(["evaluate", "recipes/evaluation.toml"]) == 0
    assert seen == [tmp_path / "recipes"]  # each of the two campaigns has it as its working directory


SLOW = """
import os, pathlib, time
pathlib.Path(__file__).with_name(f"pid-{os.getpid()}").touch()
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM")
def test_an_evaluation_that_is_ended_leaves_no_campaign_behind(tmp_path):
    address = 'path = "tiny"\nbase_url = "http://127.0.0.1:9/v1"'
    write_evaluation(tmp_path, ('path = "tiny"', address))
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "conftest.py").write_text(SLOW, encoding="utf-8")
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'editable'}"}
    command = [sys.executable, "-m", "thinkingbox_trainer", "evaluate", str(tmp_path / "evaluation.toml")]
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            end = time.monotonic() + 60
            while len(played := list((tmp_path / "suite").glob("pid-*"))) < 2:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < end
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=30)[1]
        finally:
            process.kill()
    assert process.returncode == 143
    assert "ended by SIGTERM. The same command plays what is missing" in said
    for one in played:
        with pytest.raises(ProcessLookupError):
            os.kill(int(one.name.removeprefix("pid-")), 0)


def tiny(folder: Path) -> None:
    (folder / "tiny").mkdir()
    shape = {
        "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 512, "tie_word_embeddings": True,
    }  # fmt: skip
    (folder / "tiny" / "config.json").write_text(json.dumps(shape), encoding="utf-8")


def test_a_plan_says_what_each_part_needs(tmp_path, capsys):
    tiny(tmp_path)
    assert cli.main(["plan", str(write_recipe(tmp_path))]) == 0
    shown = capsys.readouterr().out
    assert "moments (AdamW)" in shown
    assert "the reference had 133,120" in shown


def test_a_plan_that_does_not_fit_fails(tmp_path, capsys):
    tiny(tmp_path)
    path = write_recipe(tmp_path, ("longest = 2048", "longest = 512000"))
    assert cli.main(["plan", str(path)]) == 1
    assert "DOES NOT FIT" in capsys.readouterr().out


def test_a_plan_without_the_configuration_of_the_model_says_so(tmp_path, capsys):
    assert cli.main(["plan", str(write_recipe(tmp_path, SHAPELESS))]) == 2
    assert "a plan needs the configuration of the model" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (dependency group `train`)")
def test_nothing_is_missing_where_the_group_is_installed():
    assert cli._missing() == []


def test_a_dry_run_of_an_evaluation_prints_what_both_campaigns_are(capsys):
    assert cli.main(["evaluate", "--dry-run", str(ROOT / "recipes" / "eval-8xa100.toml")]) == 0
    shown = capsys.readouterr().out
    campaigns = [line.strip() for line in shown.splitlines() if line.startswith("  pytest ")]
    assert len(campaigns) == 2
    assert all("--tb-purpose=evaluation" in one and "--tb-attempts=20" in one for one in campaigns)
    differ = [set(one.split()) for one in campaigns]
    assert sorted(word.partition("=")[0] for word in differ[0] ^ differ[1]) == sorted(
        ["--tb-base-url", "--tb-dir", "--tb-model", "--tb-tokenizer"] * 2
    )

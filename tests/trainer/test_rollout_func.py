"""`suite.rollout_func` in a GRPOTrainer that somebody else made: no recipe, no command of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("trl", reason="trl is not installed (dependency group `train`)")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import torch
from datasets import Dataset
from transformers import AutoTokenizer

from pytest_thinkingbox.agents.tokens import Generation
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.rewards import load_suite
from tests.pages import blocks_of
from tests.rewards.suites import forgotten
from tests.trainer.own_trainer import make
from tests.trainer.tiny import write_world
from thinkingbox_trainer.groups import Cursor
from thinkingbox_trainer.rollout_func import _key, _Playing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # what torch and transformers warn of is not ours
]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    write_world(folder)
    with forgotten(folder):
        yield folder


@pytest.fixture
def suite(world):
    with load_suite("suite", cwd=world) as loaded:
        yield loaded


def test_a_trainer_of_ones_own_trains_on_the_tasks_that_its_prompts_name(suite, world):
    seen, told = [], []
    trainer = make(suite, world, report=told.append, replace_uniform=False)
    [graded] = trainer.reward_funcs

    def watched(**given):
        rewards = graded(**given)
        seen.append((given["prompts"], given["task_id"], rewards))
        return rewards

    trainer.reward_funcs[0] = watched
    before = {name: one.detach().clone() for name, one in trainer.model.named_parameters()}
    trainer.train()
    assert any(not torch.equal(before[name], one) for name, one in trainer.model.named_parameters())
    prompts = {task.id: task.prompt for task in suite.tasks.values()}
    assert len(seen) == 2
    for asked, tasks, rewards in seen:
        assert [prompts[task] for task in tasks] == [one[-1]["content"] for one in asked]
        assert set(rewards) == {0.0, 1.0}
    logs = [one for one in trainer.state.log_history if "grad_norm" in one]
    assert [one["grad_norm"] > 0 for one in logs] == [True, True]
    assert [one["thinkingbox/episodes"] for one in logs] == [one["episodes"] for one in told] == [8.0, 8.0]
    assert [one["reward"] for one in logs] == [one["reward"] for one in told]


def test_the_example_of_the_page_trains(world, monkeypatch):
    [example] = [
        block for block in blocks_of(ROOT / "docs" / "training.md") if block.file == "own_trainer.py"
    ]
    monkeypatch.chdir(world)
    names: dict[str, Any] = {}
    exec(compile(example.text, "own_trainer.py", "exec"), names)
    assert [one["thinkingbox/groups"] for one in names["trainer"].state.log_history if "loss" in one] == [
        2.0,
        2.0,
    ]


def test_two_processes_of_such_a_trainer_have_the_gradients_of_one(world, tmp_path):
    """Full and by LoRA. The rows are those of the same episodes."""
    found = []
    for processes in (1, 2):
        output = tmp_path / f"{processes}.json"
        launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        script = [str(ROOT / "tests" / "trainer" / "own_trainer.py"), str(world), str(output)]
        path = f"{ROOT}{os.pathsep}{ROOT / 'editable'}"
        done = subprocess.run(
            [sys.executable, *launch, *script, str(processes)],
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        found.append(json.loads(output.read_text("utf-8")))
    for method in ("full", "lora"):
        one, two = ([step["grad_norm"] for step in steps[method]] for steps in found)
        assert len(one) == 2
        assert min(one) > 0.001
        assert two == pytest.approx(one, rel=1e-3)
        assert len({tuple(step["thinkingbox/reward"] for step in steps[method]) for steps in found}) == 1


def test_nothing_is_open_after_the_suite_is_closed(world):
    with load_suite("suite", cwd=world) as loaded:
        trainer = make(loaded, world, settings={"max_steps": 1})
        trainer.train()
        playing = trainer.rollout_func._playing
        thread = playing.rollouts._player._pool._thread
        assert thread.is_alive()
    assert not thread.is_alive()
    assert trainer.rollout_func._playing is None


def test_a_prompt_of_no_task_is_named(suite, world):
    trainer = make(suite, world)
    trainer.train_dataset = trainer.train_dataset.map(
        lambda row: {**row, "prompt": [{"role": "user", "content": "Sing."}]}
    )
    with pytest.raises(ConfigurationError, match=r"no task of this suite begins with the prompt 'Sing\.'"):
        trainer.train()


def test_a_second_reward_function_is_refused(suite, world):
    trainer = make(suite, world)
    trainer.reward_funcs.append(lambda completions, **_: [1.0] * len(completions))
    with pytest.raises(ConfigurationError, match="2 reward functions: TRL takes an invalid episode"):
        trainer.train()


def test_several_generations_in_one_update_are_refused(suite, world):
    trainer = make(suite, world, settings={"steps_per_generation": 1})
    with pytest.raises(ConfigurationError, match="several generations in one update"):
        trainer.train()


def test_credit_is_asked_of_both_or_of_none(suite, world):
    trainer = make(suite, world, reward="credit")
    with pytest.raises(
        ConfigurationError, match=r"reward_funcs\(reward='binary'\), and rollout_func graded with"
    ):
        trainer.train()


def test_weights_at_a_server_need_an_engine_of_that_server(suite):
    rollout = suite.rollout_func(longest=100, answer=10)
    config = SimpleNamespace(steps_per_generation=1, gradient_accumulation_steps=1, num_iterations=1)
    trainer = SimpleNamespace(args=config, reward_funcs=[len], use_vllm=True)
    with pytest.raises(
        ConfigurationError, match="use_vllm = True: give rollout_func the engine of the server"
    ):
        rollout([], trainer)


class Elsewhere:
    """An engine whose weights somebody else updates; it says `x` or `xx`, by the seed."""

    policy_version: int | None = None

    def __init__(self, tokenizer) -> None:
        self._tokenizer = tokenizer
        self.versions: set[int | None] = set()

    async def generate(self, ids, *, seed, most):
        self.versions.add(self.policy_version)
        said = self._tokenizer.encode("x" * (1 + seed % 2), add_special_tokens=False)
        return Generation([*said, self._tokenizer.eos_token_id], policy_version=self.policy_version)

    def of(self, task):
        return self

    async def aclose(self):
        """Nothing is held."""


def test_an_engine_of_ones_own_is_told_which_weights_it_has(suite, world):
    engine = Elsewhere(AutoTokenizer.from_pretrained(world / "tiny"))
    trainer = make(suite, world, engine=engine)
    trainer.train()
    assert engine.versions == {0, 1}
    assert [one["reward"] for one in trainer.state.log_history if "grad_norm" in one] != [0.0, 0.0]


def test_more_groups_than_tasks_play_some_tasks_twice(suite, world):
    """With rows that are repeated; the second group of a task has other seeds, and so other answers."""
    settings = {"max_steps": 1, "per_device_train_batch_size": 8, "gradient_accumulation_steps": 4}
    seen = []
    trainer = make(suite, world, settings=settings, replace_uniform=False)
    trainer.train_dataset = Dataset.from_list(suite.dataset(repeat=2))
    [graded] = trainer.reward_funcs
    trainer.reward_funcs[0] = lambda **given: seen.append(given) or graded(**given)
    trainer.train()
    [given] = seen
    assert sorted(given["task_id"][::4]) == sorted([*suite.tasks, *suite.tasks])
    answers: dict[str, list[list[int]]] = {}
    for at in range(0, 32, 4):
        answers.setdefault(given["task_id"][at], []).append(given["completion_ids"][at : at + 4])
    assert all(one != other for one, other in answers.values())


def test_tasks_of_one_prompt_have_their_turns():
    same, other = _key([{"role": "user", "content": "Do it."}]), _key([{"role": "user", "content": "No."}])
    by_prompt = {same: ["a", "b", "c"], other: ["d"]}
    playing = _Playing(None, None, Cursor(["a", "b", "c", "d", "e"], seed=1), by_prompt, seed=1)
    tasks = list(playing.tasks(0, [same, other, same, same]))
    assert sorted(tasks[at] for at in (0, 2, 3)) == ["a", "b", "c"]
    assert tasks[1:2] + tasks[4:] == ["d", "e"]
    assert {next(playing.tasks(number, [same])) for number in range(20)} == {"a", "b", "c"}

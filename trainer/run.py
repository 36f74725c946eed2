"""A run: model, suite, pool of tasks and trainer put together."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from pytest_thinkingbox.agents.tokens import TokensAgent
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.rewards.player import Player
from pytest_thinkingbox.rewards.suite import load_suite
from thinkingbox_trainer.engine import TransformersEngine
from thinkingbox_trainer.groups import Cursor, Rules
from thinkingbox_trainer.recipe import Recipe
from thinkingbox_trainer.rollout import Rollouts, Traces
from thinkingbox_trainer.trl_adapter import make_trainer


def train(recipe: Recipe, *, folder: Path) -> Any:
    """Run the recipe; paths count from `folder`. The trained weights are written to `OUTPUT/model`, a line of JSON for
    each step to `OUTPUT/steps.jsonl`. The trainer, for who wants to look at it."""
    output = folder / recipe.run.output
    where = _model_path(recipe, folder)
    tokenizer = AutoTokenizer.from_pretrained(where)
    model = AutoModelForCausalLM.from_pretrained(where, dtype=getattr(torch, recipe.model.dtype))
    output.mkdir(parents=True, exist_ok=True)
    with _rollouts(recipe, folder, output, model, tokenizer) as rollouts:
        trainer = make_trainer(
            recipe,
            model=model,
            tokenizer=tokenizer,
            make_step=None if rollouts is None else rollouts.step,
            output=output,
        )
        trainer.train()
        trainer.save_model(str(output / "model"))
    return trainer


def _model_path(recipe: Recipe, folder: Path) -> str:
    local = folder / recipe.model.path
    return str(local) if local.is_dir() else recipe.model.path


@contextmanager
def _rollouts(
    recipe: Recipe, folder: Path, output: Path, model: Any, tokenizer: Any
) -> Iterator[Rollouts | None]:
    """On rank 0 only: None in the other processes."""
    if int(os.environ.get("RANK", "0")) != 0:
        yield None
        return
    episodes = recipe.episodes
    traces = Traces()
    engine = TransformersEngine(
        model,
        end=tokenizer.eos_token_id,
        temperature=recipe.sampling.temperature,
        top_p=recipe.sampling.top_p,
        top_k=recipe.sampling.top_k,
        batch=episodes.concurrency,
    )
    agent = TokensAgent(
        engine,
        tokenizer,
        model=recipe.model.path,
        longest=episodes.longest,
        answer=episodes.answer,
        keep=traces.keep,
    )
    arguments = [*recipe.suite.paths, *recipe.suite.arguments]
    with ExitStack() as stack:
        suite = stack.enter_context(load_suite(*arguments, seconds=recipe.suite.check_seconds, cwd=folder))
        player = Player(arguments, agent, name=recipe.run.name, concurrency=episodes.concurrency, cwd=folder)
        stack.callback(player.close)
        steps = stack.enter_context((output / "steps.jsonl").open("a", encoding="utf-8"))

        def report(metrics: dict[str, float]) -> None:
            steps.write(json.dumps({"time": time.time(), **metrics}) + "\n")
            steps.flush()

        rollouts = Rollouts(
            suite=suite,
            player=player,
            traces=traces,
            cursor=Cursor(_pool(recipe, player.tasks), seed=recipe.run.seed),
            rules=Rules(
                groups=episodes.groups,
                size=episodes.group_size,
                most_episodes=episodes.most_episodes,
                refill=episodes.refill,
                replace_uniform=episodes.replace_uniform,
            ),
            reward=recipe.suite.reward,
            seed=recipe.run.seed,
            filler=tokenizer.eos_token_id,
            report=report,
        )
        stack.callback(rollouts.close)
        yield rollouts


def _pool(recipe: Recipe, there: list[str]) -> list[str]:
    wanted = there if recipe.suite.tasks is None else recipe.suite.tasks
    unknown = [task for task in wanted if task not in there]
    if unknown:
        raise ConfigurationError(f"suite.tasks: {unknown[0]!r} is no task of {' '.join(recipe.suite.paths)}")
    if len(wanted) < recipe.episodes.groups:
        raise ConfigurationError(
            f"the pool has {len(wanted)} tasks, a step needs {recipe.episodes.groups}: no task is played "
            "twice in a step"
        )
    return wanted

"""The rollouts of a suite for somebody else's `GRPOTrainer(rollout_func=...)`: prompts come from TRL's own dataset,
settings from its own configuration."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from accelerate.utils import gather_object

from pytest_thinkingbox.agents.tokens import Engine, TokensAgent
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.rewards.player import Player
from pytest_thinkingbox.rewards.suite import Reward, Suite
from thinkingbox_trainer.engine import TransformersEngine
from thinkingbox_trainer.groups import Cursor, Refill, Rules
from thinkingbox_trainer.handing import Handing, demand_one_reward
from thinkingbox_trainer.metrics import Metrics, numbers
from thinkingbox_trainer.rollout import Rollouts, Step, Traces

NAME = "rollout"
_SPLIT = ("FSDP", "DEEPSPEED", "MEGATRON_LM")
_NEUTRAL = {"min_p": (None, 0.0), "repetition_penalty": (None, 1.0)}
"""What the sampler of this process does not do, and the values that change nothing."""

Key = tuple[tuple[str, str], ...]
"""A prompt: roles and contents."""


class RolloutFunc:
    """What TRL calls for the rows of a step, in every process; rank 0 plays, with an engine on the trainer's own model
    unless it is given one. Databases, tools and threads live from the first step to `close`.

    `Suite.rollout_func` says what the settings mean.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        arguments: Sequence[str],
        cwd: Path,
        longest: int,
        answer: int,
        reward: Reward,
        refill: Refill,
        replace_uniform: bool,
        most_episodes: int | None,
        concurrency: int | None,
        seed: int,
        engine: Engine | None,
        report: Callable[[Metrics], None],
    ) -> None:
        self._suite = suite
        self._arguments = list(arguments)
        self._cwd = cwd
        self._longest = longest
        self._answer = answer
        self._reward: Reward = reward
        self._refill: Refill = refill
        self._replace_uniform = replace_uniform
        self._most_episodes = most_episodes
        self._concurrency = concurrency
        self._seed = seed
        self._engine = engine
        self._report = report
        self._handing = Handing()
        self._playing: _Playing | None = None
        self._opened = ExitStack()
        self._trainer: Any = None

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, list[Any]]:
        """Raises ConfigurationError where the trainer's configuration does not fit, TrainingStopped where going on
        would train on nothing or on an outage."""
        if self._trainer is not trainer:
            self.close()
            self._check(trainer)
            trainer.add_callback(self._handing.skipping)
            self._trainer = trainer
        if not trainer.model.training:
            raise ConfigurationError(
                "an evaluation by this trainer would be figures of another kind: evaluate a checkpoint with `pytest "
                "--tb-agent=tokens`, and set eval_strategy to no"
            )
        number = trainer.state.global_step
        asked = gather_object(prompts)
        leads = trainer.accelerator.is_main_process
        given = self._handing.hand(
            (lambda: self._step(number, asked, trainer)) if leads else None, len(prompts), trainer
        )
        figures = numbers(self._handing.metrics)
        return {
            **given,
            "task_id": given.pop("task"),
            "graded_as": [self._reward] * len(prompts),
            "figures": [figures] * len(prompts),
        }

    def close(self) -> None:
        """Ends what the steps have opened. A later step opens it again."""
        self._playing, self._trainer = None, None
        self._opened.close()

    def __enter__(self) -> RolloutFunc:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, trainer: Any) -> None:
        demand_one_reward(trainer)
        config = trainer.args
        every, updates = config.steps_per_generation, config.gradient_accumulation_steps
        if every * config.num_iterations % updates:
            raise ConfigurationError(
                f"steps_per_generation = {every} and gradient_accumulation_steps = {updates}: several generations in "
                "one update would play the same episodes"
            )
        if self._engine is not None:
            return
        if trainer.use_vllm:
            raise ConfigurationError(
                "use_vllm = True: give rollout_func the engine of the server that TRL sends the weights to "
                "(pytest_thinkingbox.agents.served.ServedEngine)"
            )
        kind = trainer.accelerator.distributed_type.value
        if kind in _SPLIT:
            raise ConfigurationError(
                f"weights are split ({kind}), and one process generates: give rollout_func an engine that has them all"
            )
        for name, neutral in _NEUTRAL.items():
            if (value := getattr(config, name, None)) not in neutral:
                raise ConfigurationError(f"{name} = {value}: the sampler of this process does not do that")

    def _step(self, number: int, asked: list[Any], trainer: Any) -> Step:
        groups, size = len(asked) // trainer.num_generations, trainer.num_generations
        if self._playing is None:
            self._playing = self._open(trainer, groups=groups, size=size)
        playing = self._playing
        playing.engine.policy_version = number
        keys = [_key(asked[at * size]) for at in range(groups)]
        return playing.rollouts.step(number, playing.tasks(number, keys))

    def _open(self, trainer: Any, *, groups: int, size: int) -> _Playing:
        config, traces = trainer.args, Traces()
        tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
        concurrency = self._concurrency or groups * size
        engine: Any = self._engine or TransformersEngine(
            trainer.accelerator.unwrap_model(trainer.model),
            end=tokenizer.eos_token_id,
            temperature=config.temperature,
            top_p=config.top_p,
            top_k=config.top_k or 0,
            batch=concurrency,
        )
        agent = TokensAgent(
            engine,
            tokenizer,
            model=str(getattr(trainer.model.config, "name_or_path", "")),
            longest=self._longest,
            answer=self._answer,
            keep=traces.keep,
        )
        pool = self._pool(trainer.train_dataset)
        player = Player(self._arguments, agent, name=NAME, concurrency=concurrency, cwd=self._cwd)
        self._opened.callback(player.close)
        cursor = Cursor(pool, seed=self._seed)
        rollouts = Rollouts(
            suite=self._suite,
            player=player,
            traces=traces,
            cursor=cursor,
            rules=Rules(
                groups=groups,
                size=size,
                most_episodes=self._most_episodes or 2 * groups * size,
                refill=self._refill,
                replace_uniform=self._replace_uniform,
            ),
            reward=self._reward,
            seed=self._seed,
            filler=tokenizer.eos_token_id,
            report=self._report,
        )
        self._opened.callback(rollouts.close)
        return _Playing(engine, rollouts, cursor, self._by_prompt(pool), seed=self._seed)

    def _pool(self, dataset: Any) -> list[str]:
        """The tasks that the trainer's dataset names, else all of the suite."""
        named = "task_id" in (getattr(dataset, "column_names", None) or ()) and set(dataset["task_id"])
        unknown = sorted(named - self._suite.tasks.keys()) if named else []
        if unknown:
            raise ConfigurationError(f"train_dataset: {unknown[0]!r} is no task of this suite")
        return [task for task in self._suite.tasks if not named or task in named]

    def _by_prompt(self, pool: list[str]) -> dict[Key, list[str]]:
        found: dict[Key, list[str]] = {}
        wanted = set(pool)
        for row in self._suite.dataset():
            if row["task_id"] in wanted:
                found.setdefault(_key(row["prompt"]), []).append(row["task_id"])
        return found


class _Playing:
    """What rank 0 has open between two steps."""

    def __init__(
        self, engine: Any, rollouts: Rollouts, cursor: Cursor, by_prompt: dict[Key, list[str]], *, seed: int
    ) -> None:
        self.engine = engine
        self.rollouts = rollouts
        self._cursor = cursor
        self._by_prompt = by_prompt
        self._seed = seed

    def tasks(self, number: int, keys: Sequence[Key]) -> Iterator[str]:
        """Those that the prompts ask for, in their order, and then others, for groups that are given up or replaced.

        Of tasks with the very same prompt one is drawn, and the next for the next group: TRL tells a rollout function
        nothing but the prompt.
        """
        turns: dict[Key, Iterator[str]] = {}
        asked = [next(turns.setdefault(key, self._endless(number, key))) for key in keys]
        return chain(asked, (task for task in self._cursor.step() if task not in asked))

    def _endless(self, number: int, key: Key) -> Iterator[str]:
        alike = list(self._by_prompt.get(key, ()))
        if not alike:
            said = key[-1][1] if key else ""
            raise ConfigurationError(f"no task of this suite begins with the prompt {said[:80]!r}")
        random.Random(f"{self._seed}:{number}:{key}").shuffle(alike)
        while True:
            yield from alike


def _key(prompt: Any) -> Key:
    if isinstance(prompt, str):
        raise ConfigurationError(
            "prompts have to be chat messages, as suite.dataset() has them: a chat template is applied to them here"
        )
    return tuple((str(one["role"]), str(one["content"])) for one in prompt)

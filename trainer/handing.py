"""How the rows of a step get into TRL: what rank 0 made goes to all processes, and each hands over its own part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback

from pytest_thinkingbox.errors import ConfigurationError
from thinkingbox_trainer.metrics import Metrics
from thinkingbox_trainer.ranks import lead
from thinkingbox_trainer.rollout import Row, Step


class Handing:
    """`skipping` has to be among the callbacks of the trainer that gets the rows. `metrics` are those of the newest
    step."""

    def __init__(self) -> None:
        self.skipping = _Skip()
        self.metrics: Metrics = {}

    def hand(self, make_step: Callable[[], Step] | None, here: int, trainer: Any) -> dict[str, list[Any]]:
        """What TRL takes from a rollout function: `here` rows, those of this process. `make_step` is called on rank 0,
        and is None elsewhere; its error reaches all."""
        step = lead(make_step)
        self.skipping.skip = step.skip
        self.metrics = step.metrics
        rank = trainer.accelerator.process_index
        if len(step.rows) != here * trainer.accelerator.num_processes:
            raise RuntimeError(f"{len(step.rows)} rows were made, and TRL asks for {here} in each process")
        mine: list[Row] = step.rows[rank * here : (rank + 1) * here]
        if trainer.use_vllm and any(row.logprobs is None for row in mine):
            raise RuntimeError("a row without log-probabilities of the sampler has no importance ratio")
        return {
            "prompt_ids": [row.prompt for row in mine],
            "completion_ids": [row.completion for row in mine],
            "logprobs": [row.logprobs for row in mine] if trainer.use_vllm else None,  # type: ignore[dict-item]
            "env_mask": [row.mask for row in mine],
            "reward": [row.reward for row in mine],
            "task": [row.task for row in mine],
        }


def demand_one_reward(trainer: Any) -> None:
    """Raises ConfigurationError."""
    if len(trainer.reward_funcs) != 1:
        raise ConfigurationError(
            f"{len(trainer.reward_funcs)} reward functions: TRL takes an invalid episode, which has no reward, for "
            "a failure as soon as another function returns a number for it. Make one function of them"
        )


class _Skip(TrainerCallback):  # type: ignore[misc]
    """Leaves weights and moments as they are in a step with too few groups: an optimizer passes over parameters that
    have no gradient, but moves those whose gradient is zero by their moments."""

    skip = False

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        if self.skip:
            for parameter in given["model"].parameters():
                parameter.grad = None

"""TRL's GRPOTrainer around the rollouts of a suite. The one file that imports trl.

TRL computes advantages and loss. What it is given are whole rows: ids, masks, rewards; rank 0 makes them for all
processes, and its errors reach every one of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from thinkingbox_trainer.ranks import ROLLOUT_SECONDS, lead
from thinkingbox_trainer.recipe import Recipe
from thinkingbox_trainer.rollout import Row, Step
from thinkingbox_trainer.saving import Saving

MakeStep = Callable[[int], Step]


def make_trainer(
    recipe: Recipe,
    *,
    model: Any,
    tokenizer: Any,
    make_step: MakeStep | None,
    output: Path,
    saving: Saving | None = None,
    updated: Callable[[int], None] = lambda version: None,
) -> GRPOTrainer:
    """`make_step` makes all rows of a step, by its number from 0; None on ranks other than 0.

    Without `saving` there are no checkpoints. `updated` is told how many updates made the weights that the next step
    samples from.
    """
    skipping = _Skip()
    rollout = _Rollout(make_step, skipping)
    trained = {"peft_config": _lora(recipe)} if recipe.model.method == "lora" else {}
    # TRL trains nothing, in silence, when there are fewer rows than prompts in a step; which row it takes makes no
    # difference, for the rollout chooses the tasks.
    rows = [{"prompt": [{"role": "user", "content": "-"}]} for _ in range(recipe.episodes.groups)]
    others = [] if saving is None else [saving.callback()]
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=_config(recipe, output if saving is None else saving.writing, saves=saving is not None),
        reward_funcs=[thinkingbox_reward],
        train_dataset=Dataset.from_list(rows),
        rollout_func=rollout,
        callbacks=[skipping, _Updates(updated), *others],
        **trained,
    )
    if saving is not None:
        saving.trainer = trainer
    return trainer


def thinkingbox_reward(*, reward: list[float | None], **_: Any) -> list[float | None]:
    """What the rollout brought with each row. TRL calls it with all columns."""
    return list(reward)


class _Rollout:
    def __init__(self, make_step: MakeStep | None, skipping: _Skip) -> None:
        self._make_step = make_step
        self._skipping = skipping

    def __call__(self, prompts: list[Any], trainer: GRPOTrainer) -> dict[str, list[Any]]:
        make_step, number = self._make_step, trainer.state.global_step
        step = lead(None if make_step is None else lambda: make_step(number))
        self._skipping.skip = step.skip
        rank, here = trainer.accelerator.process_index, len(prompts)
        if len(step.rows) != here * trainer.accelerator.num_processes:
            raise RuntimeError(f"{len(step.rows)} rows were made, and TRL asks for {here} in each process")
        mine: list[Row] = step.rows[rank * here : (rank + 1) * here]
        return {
            "prompt_ids": [row.prompt for row in mine],
            "completion_ids": [row.completion for row in mine],
            "logprobs": None,  # type: ignore[dict-item]
            "env_mask": [row.mask for row in mine],
            "reward": [row.reward for row in mine],
        }


class _Skip(TrainerCallback):  # type: ignore[misc]
    """Leaves weights and moments as they are in a step with too few groups: an optimizer passes over parameters that
    have no gradient, but moves those whose gradient is zero by their moments."""

    skip = False

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        if self.skip:
            for parameter in given["model"].parameters():
                parameter.grad = None


class _Updates(TrainerCallback):  # type: ignore[misc]
    def __init__(self, updated: Callable[[int], None]) -> None:
        self._updated = updated

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._updated(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._updated(state.global_step)


def _lora(recipe: Recipe) -> LoraConfig:
    return LoraConfig(
        r=recipe.model.lora_rank,
        lora_alpha=recipe.model.lora_alpha,
        target_modules=recipe.model.lora_targets,
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )


def _config(recipe: Recipe, output: Path, *, saves: bool) -> GRPOConfig:
    algorithm, sampling, hardware = recipe.algorithm, recipe.sampling, recipe.hardware
    on_cpu = not torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(output),
        seed=recipe.run.seed,
        max_steps=recipe.run.steps,
        per_device_train_batch_size=hardware.batch,
        gradient_accumulation_steps=hardware.accumulation,
        steps_per_generation=hardware.accumulation,
        num_generations=recipe.episodes.group_size,
        num_iterations=algorithm.num_iterations,
        max_completion_length=recipe.episodes.longest,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        learning_rate=algorithm.learning_rate,
        lr_scheduler_type="constant",
        weight_decay=algorithm.weight_decay,
        max_grad_norm=algorithm.max_grad_norm,
        beta=algorithm.kl,
        epsilon=algorithm.clip_low,
        epsilon_high=algorithm.clip_high,
        scale_rewards=algorithm.scale_rewards,
        loss_type="dapo",  # the mean over all tokens of the step, since a step generates once
        mask_truncated_completions=False,
        vllm_importance_sampling_mode=algorithm.importance_mode,
        vllm_importance_sampling_clip_max=algorithm.importance_cap,
        gradient_checkpointing=hardware.gradient_checkpointing,
        bf16=recipe.model.dtype == "bfloat16",
        use_cpu=on_cpu,
        shuffle_dataset=False,
        ddp_timeout=ROLLOUT_SECONDS,
        logging_steps=1,
        save_strategy="steps" if saves else "no",
        save_steps=recipe.checkpoints.every,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )

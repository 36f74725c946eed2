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

from thinkingbox_trainer.recipe import Recipe
from thinkingbox_trainer.rollout import Row, Step

MakeStep = Callable[[int], Step]
_ROLLOUT_SECONDS = 6 * 3600
"""How long other ranks wait for rank 0, which plays."""


def make_trainer(
    recipe: Recipe, *, model: Any, tokenizer: Any, make_step: MakeStep | None, output: Path
) -> GRPOTrainer:
    """`make_step` makes all rows of a step, by its number from 0; None on ranks other than 0."""
    skipping = _Skip()
    rollout = _Rollout(make_step, skipping)
    trained = {"peft_config": _lora(recipe)} if recipe.model.method == "lora" else {}
    # TRL trains nothing, in silence, when there are fewer rows than prompts in a step; which row it takes makes no
    # difference, for the rollout chooses the tasks.
    rows = [{"prompt": [{"role": "user", "content": "-"}]} for _ in range(recipe.episodes.groups)]
    return GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=_config(recipe, output),
        reward_funcs=[thinkingbox_reward],
        train_dataset=Dataset.from_list(rows),
        rollout_func=rollout,
        callbacks=[skipping],
        **trained,
    )


def thinkingbox_reward(*, reward: list[float | None], **_: Any) -> list[float | None]:
    """What the rollout brought with each row. TRL calls it with all columns."""
    return list(reward)


class _Rollout:
    def __init__(self, make_step: MakeStep | None, skipping: _Skip) -> None:
        self._make_step = make_step
        self._skipping = skipping

    def __call__(self, prompts: list[Any], trainer: GRPOTrainer) -> dict[str, list[Any]]:
        step, error = self._on_all(trainer)
        if step is None:
            raise RuntimeError(f"rank 0: {error}")
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

    def _on_all(self, trainer: GRPOTrainer) -> tuple[Step | None, str]:
        box: list[Any] = [(None, "")]
        failure: BaseException | None = None
        if trainer.accelerator.is_main_process:
            assert self._make_step is not None
            try:
                box[0] = (self._make_step(trainer.state.global_step), "")
            except BaseException as error:  # noqa: BLE001  (the others would wait for ever)
                box[0], failure = (None, f"{type(error).__name__}: {error}"), error
        if trainer.accelerator.num_processes > 1:
            torch.distributed.broadcast_object_list(box, src=0)
        if failure is not None:
            raise failure
        made: tuple[Step | None, str] = box[0]
        return made


class _Skip(TrainerCallback):  # type: ignore[misc]
    """Leaves weights and moments as they are in a step with too few groups: an optimizer passes over parameters that
    have no gradient, but moves those whose gradient is zero by their moments."""

    skip = False

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        if self.skip:
            for parameter in given["model"].parameters():
                parameter.grad = None


def _lora(recipe: Recipe) -> LoraConfig:
    return LoraConfig(
        r=recipe.model.lora_rank,
        lora_alpha=recipe.model.lora_alpha,
        target_modules=recipe.model.lora_targets,
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )


def _config(recipe: Recipe, output: Path) -> GRPOConfig:
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
        ddp_timeout=_ROLLOUT_SECONDS,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )

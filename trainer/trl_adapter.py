"""TRL's GRPOTrainer around the rollouts of a suite. The one file that imports trl.

TRL computes advantages and loss. What it is given are whole rows: ids, masks, rewards; rank 0 makes them for all
processes, and its errors reach every one of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import torch
from accelerate.utils import DistributedType
from datasets import Dataset
from peft import LoraConfig
from torch.distributed.fsdp import CPUOffloadPolicy
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from pytest_thinkingbox.errors import ConfigurationError, ThinkingboxError
from thinkingbox_trainer.commands import launch_command
from thinkingbox_trainer.fixed import LORA, TRAINER
from thinkingbox_trainer.handing import Handing, demand_one_reward
from thinkingbox_trainer.metrics import numbers
from thinkingbox_trainer.recipe import Recipe
from thinkingbox_trainer.rollout import Step
from thinkingbox_trainer.saving import Saving

MakeStep = Callable[[int], Step]
_TENSORBOARD = "TENSORBOARD_LOGGING_DIR"


def make_trainer(
    recipe: Recipe,
    *,
    model: Any,
    tokenizer: Any,
    make_step: MakeStep | None,
    output: Path,
    saving: Saving | None = None,
    updated: Callable[[int], None] = lambda version: None,
    logged: Callable[[Mapping[str, Any]], None] = lambda logs: None,
    before: Callable[[int, Any, Any], None] = lambda number, model, device: None,
) -> GRPOTrainer:
    """`make_step` makes all rows of a step, by its number from 0; None on ranks other than 0.

    Without `saving` there are no checkpoints. `updated` is told how many updates made the weights that the next step
    samples from: where vLLM generates, when it has them; `logged` is given what TRL logs, the figures of the step among
    it. `before` is called in every process before the rows of a step are made: with its number, the model, and the
    device that computes.
    """
    handing = Handing()

    def thinkingbox_reward(
        *, reward: list[float | None], log_metric: Callable[[str, float], None], **_: Any
    ) -> list[float | None]:
        """What the rollout brought with each row, and the figures of the step for TRL's own log."""
        if make_step is not None:
            for name, value in numbers(handing.metrics).items():
                log_metric(f"thinkingbox/{name}", value)
        return list(reward)

    trained = {"peft_config": _lora(recipe)} if recipe.model.method == "lora" else {}
    # TRL trains nothing, in silence, when there are fewer rows than prompts in a step; which row it takes makes no
    # difference, for the rollout chooses the tasks.
    rows = [{"prompt": [{"role": "user", "content": "-"}]} for _ in range(recipe.episodes.groups)]
    others = [] if saving is None else [saving.callback()]
    with _tensorboard_in(output / "tensorboard"):
        trainer = GRPOTrainer(
            model=model,
            processing_class=tokenizer,
            args=_config(recipe, output if saving is None else saving.writing, saves=saving is not None),
            reward_funcs=[thinkingbox_reward],
            train_dataset=Dataset.from_list(rows),
            rollout_func=_Rollout(make_step, handing, before),
            callbacks=[
                handing.skipping,
                *([] if recipe.generation else [_Updates(updated)]),
                _Logged(logged),
                *others,
            ],
            **trained,
        )
    if recipe.generation is not None:
        _follow_weights(trainer, updated, to=recipe.generation.base_url)
    _demand_exact_weights(trainer.model)
    _demand_sharding(recipe, trainer.accelerator)
    trainer.remove_callback(PrinterCallback)  # our own line says it
    if saving is not None:
        saving.trainer = trainer
    return trainer


def _demand_exact_weights(model: Any) -> None:
    """Raises ConfigurationError when an update could be rounded away in silence."""
    for name, one in model.named_parameters():
        if one.requires_grad and one.dtype != torch.float32:
            raise ConfigurationError(
                f"{name} is trained in {str(one.dtype).removeprefix('torch.')}: small updates would be rounded away. "
                "Load it in float32 (hardware.master_weights = true)"
            )


def _demand_sharding(recipe: Recipe, accelerator: Any) -> None:
    """Raises ConfigurationError when weights are split otherwise than the recipe says: they would be kept whole in
    silence, or saved in a way that nobody tried."""
    kind = accelerator.distributed_type
    split = kind == DistributedType.FSDP
    if split and accelerator.state.fsdp_plugin.fsdp_version != 2:
        raise ConfigurationError(
            "accelerate splits weights by FSDP 1: only FSDP 2 was tried (fsdp_version 2)"
        )
    if split != (recipe.hardware.sharding == "full") or kind == DistributedType.DEEPSPEED:
        raise ConfigurationError(
            f"hardware.sharding = {recipe.hardware.sharding!r}, and accelerate says {kind.value}: start the run with "
            f"the command that --dry-run prints\n  {launch_command(recipe)}"
        )
    offloaded = split and isinstance(accelerator.state.fsdp_plugin.cpu_offload, CPUOffloadPolicy)
    if offloaded != (recipe.hardware.offload == "optimizer"):
        raise ConfigurationError(
            f"hardware.offload = {recipe.hardware.offload!r}, and accelerate keeps what is trained on the "
            f"{'machine' if offloaded else 'device'}: start the run with the command that --dry-run prints\n"
            f"  {launch_command(recipe)}"
        )
    if split and "FULL_STATE_DICT" not in str(accelerator.state.fsdp_plugin.state_dict_type):
        raise ConfigurationError(
            "checkpoints of split weights are written whole: fsdp_state_dict_type FULL_STATE_DICT"
        )


@contextmanager
def _tensorboard_in(folder: Path) -> Iterator[None]:
    """Its writer asks the environment where to write when the trainer is made, and nobody else."""
    before = os.environ.get(_TENSORBOARD)
    os.environ[_TENSORBOARD] = str(folder) if before is None else before
    try:
        yield
    finally:
        if before is None:
            del os.environ[_TENSORBOARD]


def forget_in_tensorboard(output: Path, *, step: int) -> None:
    """Have its viewer leave out what an earlier session said of its `step`, which counts from 1, and of later ones."""
    from torch.utils.tensorboard import SummaryWriter  # needs tensorboard, which a recipe can do without

    folder = os.environ.get(_TENSORBOARD, str(output / "tensorboard"))
    if Path(folder).exists():
        SummaryWriter(folder, purge_step=step).close()


class WeightsNotSent(ThinkingboxError):
    """The server has other weights than the run, or nobody knows which."""


def _follow_weights(trainer: GRPOTrainer, updated: Callable[[int], None], *, to: str) -> None:
    """TRL sends the weights, and has the prefix cache emptied, before it asks for the rows of a step. The sampler's
    version is what was sent: if nothing was, episodes are found to be of an earlier policy."""
    generation = trainer.vllm_generation
    send = generation.sync_weights

    def followed() -> None:
        number = trainer.state.global_step
        try:
            send()
        except Exception as error:
            raise WeightsNotSent(
                f"step {number}: vLLM's server at {to} did not take the weights: {error}. Start it again, and then the "
                "run, which goes on from its newest checkpoint"
            ) from error
        updated(number)

    generation.sync_weights = followed


class _Rollout:
    def __init__(
        self, make_step: MakeStep | None, handing: Handing, before: Callable[[int, Any, Any], None]
    ) -> None:
        self._make_step = make_step
        self._handing = handing
        self._before = before

    def __call__(self, prompts: list[Any], trainer: GRPOTrainer) -> dict[str, list[Any]]:
        demand_one_reward(trainer)
        make_step, number = self._make_step, trainer.state.global_step
        self._before(number, trainer.model, trainer.accelerator.device)
        made = None if make_step is None else partial(make_step, number)
        return self._handing.hand(made, len(prompts), trainer)


class _Updates(TrainerCallback):  # type: ignore[misc]
    def __init__(self, updated: Callable[[int], None]) -> None:
        self._updated = updated

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._updated(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._updated(state.global_step)


class _Logged(TrainerCallback):  # type: ignore[misc]
    def __init__(self, logged: Callable[[Mapping[str, Any]], None]) -> None:
        self._logged = logged

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
        if state.is_world_process_zero:
            self._logged(logs or {})


def _lora(recipe: Recipe) -> LoraConfig:
    return LoraConfig(
        r=recipe.model.lora_rank,
        lora_alpha=recipe.model.lora_alpha,
        target_modules=recipe.model.lora_targets,
        task_type="CAUSAL_LM",
        **LORA,
    )


def _sampler(recipe: Recipe) -> dict[str, Any]:
    if recipe.generation is None:
        return {}
    return {
        "use_vllm": True,
        "vllm_mode": "server",
        "vllm_server_base_url": recipe.generation.base_url,
    }


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
        weight_decay=algorithm.weight_decay,
        max_grad_norm=algorithm.max_grad_norm,
        beta=algorithm.kl,
        epsilon=algorithm.clip_low,
        epsilon_high=algorithm.clip_high,
        scale_rewards=algorithm.scale_rewards,
        **TRAINER,
        **_sampler(recipe),
        vllm_importance_sampling_mode=algorithm.importance_mode,
        vllm_importance_sampling_clip_max=algorithm.importance_cap,
        gradient_checkpointing=hardware.gradient_checkpointing,
        bf16=recipe.model.dtype == "bfloat16",
        use_cpu=on_cpu,
        save_strategy="steps" if saves else "no",
        save_steps=recipe.checkpoints.every,
        report_to=recipe.run.report_to,
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )

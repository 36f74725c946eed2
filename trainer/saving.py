"""Writes a checkpoint: what the training library saves into a temporary folder becomes a whole one with our state."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from thinkingbox_trainer.checkpoints import EXPORT, Checkpoints, State
from thinkingbox_trainer.ranks import lead

_SHARD = "5GB"


def _numbered_cpu(storage: Any, location: str) -> Any:
    return storage if location.startswith("cpu:") else None


# Of several processes on a CPU each has "cpu:0", where the library wants the optimizer, and torch knows "cpu" only.
torch.serialization.register_package(15, lambda storage: None, _numbered_cpu)


class Saving:
    """On rank 0 `state` tells what ours is after so many steps; None on the others."""

    def __init__(
        self, checkpoints: Checkpoints, *, tokenizer: Any, state: Callable[[int], State] | None
    ) -> None:
        self._checkpoints = checkpoints
        self._tokenizer = tokenizer
        self._state = state
        self.trainer: Any = None
        """Set by whoever makes the trainer."""

    @property
    def writing(self) -> Path:
        """Where the training library writes."""
        return self._checkpoints.writing

    def callback(self) -> TrainerCallback:
        return _Saved(self._publish)

    def _publish(self, step: int) -> None:
        half = self.writing / f"checkpoint-{step}"
        # Of every rank before rank 0 counts what is there: each has written its generators and, when sharded, its part.
        self.trainer.accelerator.wait_for_everyone()
        state = self.trainer.accelerator.get_state_dict(self.trainer.model_wrapped)
        make_state = self._state

        def publish() -> None:
            assert make_state is not None
            model = self.trainer.accelerator.unwrap_model(self.trainer.model_wrapped)
            export(model, state, self._tokenizer, half / EXPORT)
            self._checkpoints.publish(half, make_state(step))

        lead(None if make_state is None else publish)


class _Saved(TrainerCallback):  # type: ignore[misc]
    def __init__(self, publish: Callable[[int], None]) -> None:
        self._publish = publish

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        self._publish(state.global_step)


def export(model: Any, state: dict[str, torch.Tensor], tokenizer: Any, folder: Path) -> None:
    """The weights in bfloat16, as a model that can be loaded; of LoRA the adapter."""
    halves: dict[int, torch.Tensor] = {}  # tied weights stay one
    converted = {
        name: halves.setdefault(one.data_ptr(), one.to(torch.bfloat16).cpu())
        if one.is_floating_point()
        else one
        for name, one in state.items()
    }
    model.save_pretrained(folder, state_dict=converted, max_shard_size=_SHARD)
    if (folder / "config.json").exists():
        config = copy(model.config)
        config.dtype = "bfloat16"
        config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("torch", "transformers", "trl", "peft")}


def sizes(model: Any) -> tuple[int, int, int]:
    """Bytes that a checkpoint has of weights, how many numbers are trained, and bytes of each."""
    trained = [one for one in model.parameters() if one.requires_grad]
    everything = list(model.parameters())
    saved = trained if len(trained) < len(everything) else everything
    width = max((one.element_size() for one in trained), default=4)
    return (
        sum(one.numel() * one.element_size() for one in saved),
        sum(one.numel() for one in trained),
        width,
    )

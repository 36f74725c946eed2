"""Writes weights: checkpoints, which are what the training library saves and our state, and models to be served."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from peft.tuners.lora import LoraLayer
from transformers import TrainerCallback

from thinkingbox_trainer.checkpoints import EXPORT, Checkpoints, State, replace_folder
from thinkingbox_trainer.ranks import is_leader, lead

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


def write_model(trainer: Any, tokenizer: Any, output: Path) -> None:
    """The trained weights as a whole model in `OUTPUT/model`; what LoRA has trained also alone, in `OUTPUT/adapter`. In
    every process."""
    name = "adapter" if _has_adapters(trainer) else "model"
    half = output / f".{name}.writing"
    trainer.save_model(str(half))
    lead((lambda: replace_folder(half, output / name)) if is_leader() else None)
    if name == "model":
        return
    state = trainer.accelerator.get_state_dict(trainer.model_wrapped)

    def publish() -> None:
        model, whole = _merged(trainer.accelerator.unwrap_model(trainer.model_wrapped), state)
        whole_half = output / ".model.writing"
        model.save_pretrained(whole_half, state_dict=whole, max_shard_size=_SHARD)
        tokenizer.save_pretrained(whole_half)
        replace_folder(whole_half, output / "model")

    lead(publish if is_leader() else None)


def _has_adapters(trainer: Any) -> bool:
    return isinstance(trainer.accelerator.unwrap_model(trainer.model_wrapped), PeftModel)


def _merged(model: Any, state: dict[str, torch.Tensor]) -> tuple[Any, dict[str, torch.Tensor]]:
    """Of a model with adapters the one under them, and its weights with `alpha / rank * B @ A` added (Hu et al. 2021,
    LoRA), on the CPU; any other as it is. The adapters stay as they are: taken out again, they would not be the same to
    the bit."""
    if not isinstance(model, PeftModel):
        return model, state
    adapter = model.active_adapter
    scaling = {
        path: layer.scaling[adapter] for path, layer in model.named_modules() if isinstance(layer, LoraLayer)
    }

    def merge(
        name: str, weight: torch.Tensor
    ) -> torch.Tensor:  # one by one: all that is added is another model
        path, _, last = name.rpartition(".base_layer.")
        if last != "weight" or path not in scaling:
            return weight
        down, up = (state[f"{path}.{part}.{adapter}.weight"].float() for part in ("lora_A", "lora_B"))
        return (weight.float().cpu() + scaling[path] * (up @ down).cpu()).to(weight.dtype)

    whole = {
        name.removeprefix("base_model.model.").replace(".base_layer.", "."): merge(name, weight)
        for name, weight in state.items()
        if ".lora_" not in name
    }
    return model.get_base_model(), whole


def export(model: Any, state: dict[str, torch.Tensor], tokenizer: Any, folder: Path) -> None:
    """The weights in bfloat16, as a model that can be loaded; those of adapters are merged into it."""
    model, state = _merged(model, state)
    halves: dict[int, torch.Tensor] = {}  # tied weights stay one
    converted = {
        name: halves.setdefault(one.data_ptr(), one.to(torch.bfloat16).cpu())
        if one.is_floating_point()
        else one
        for name, one in state.items()
    }
    model.save_pretrained(folder, state_dict=converted, max_shard_size=_SHARD)
    config = copy(model.config)
    config.dtype = "bfloat16"
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("torch", "transformers", "trl", "peft")}


def sizes(model: Any) -> tuple[int, int, int, int]:
    """Bytes that a checkpoint has of weights, how many numbers are trained, bytes of each, and how many numbers the
    whole model has."""
    trained = [one for one in model.parameters() if one.requires_grad]
    everything = list(model.parameters())
    saved = trained if len(trained) < len(everything) else everything
    width = max((one.element_size() for one in trained), default=4)
    return (
        sum(one.numel() * one.element_size() for one in saved),
        sum(one.numel() for one in trained),
        width,
        sum(one.numel() for one in everything),
    )

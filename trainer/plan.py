"""What a recipe needs of a device, before anything is loaded: bytes by what they are for.

Estimates from the model's `config.json`: dense decoder layers with gated feed-forward and grouped attention. Weights,
gradients and moments are exact for such a model; activations are those that are kept for the backward pass, and the
logits of one batch in 32 bits.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_thinkingbox.errors import ConfigurationError
from thinkingbox_trainer.recipe import Recipe

_KEPT_PER_LAYER = 18
"""Values of hidden width that a layer keeps for each token without checkpointing; a usual figure, not measured here."""
_SPARE = 0.9
"""Share of a device's memory that may be planned: fragmentation and the runtime take the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What of a model's configuration decides its size."""

    hidden: int
    layers: int
    feed_forward: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    tied: bool

    @property
    def parameters(self) -> int:
        attention = self.hidden * self.head * (2 * self.heads + 2 * self.kv_heads)
        layer = attention + 3 * self.hidden * self.feed_forward + 2 * self.hidden + 2 * self.head
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return self.layers * layer + embeddings + self.hidden

    def lora_parameters(self, rank: int, targets: list[str]) -> int:
        widths = {
            "q_proj": (self.hidden, self.heads * self.head),
            "k_proj": (self.hidden, self.kv_heads * self.head),
            "v_proj": (self.hidden, self.kv_heads * self.head),
            "o_proj": (self.heads * self.head, self.hidden),
            "gate_proj": (self.hidden, self.feed_forward),
            "up_proj": (self.hidden, self.feed_forward),
            "down_proj": (self.feed_forward, self.hidden),
        }
        unknown = [one for one in targets if one not in widths]
        if unknown:
            raise ConfigurationError(f"model.lora_targets: {unknown[0]!r} is none of {', '.join(widths)}")
        return self.layers * rank * sum(sum(widths[one]) for one in targets)


def read_shape(folder: Path) -> Shape:
    """Raises ConfigurationError when the folder has no configuration of this kind."""
    path = folder / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_text("utf-8"))
        config = config.get("text_config", config)
        heads = config["num_attention_heads"]
        return Shape(
            hidden=config["hidden_size"],
            layers=config["num_hidden_layers"],
            feed_forward=config["intermediate_size"],
            heads=heads,
            kv_heads=config.get("num_key_value_heads", heads),
            head=config.get("head_dim") or config["hidden_size"] // heads,
            vocabulary=config["vocab_size"],
            tied=config.get("tie_word_embeddings", False),
        )
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path}: {error}: a plan needs the configuration of the model") from None
    except KeyError as error:
        raise ConfigurationError(f"{path} has no {error}: a plan knows dense decoders only") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Bytes on one device that trains, at `longest` ids a sequence. `most` is the longest sequence that fits."""

    needs: dict[str, int]
    available: int
    most: int

    @property
    def total(self) -> int:
        return sum(self.needs.values())

    @property
    def fits(self) -> bool:
        return self.total <= self.available


def plan(recipe: Recipe, shape: Shape) -> Plan:
    available = int(recipe.hardware.memory_gb * 1e9 * _SPARE)
    fixed = _fixed(recipe, shape)
    one = sum(_sequence(recipe, shape, 1).values())
    most = max(0, (available - sum(fixed.values())) // one)
    return Plan(
        needs={**fixed, **_sequence(recipe, shape, recipe.episodes.longest)}, available=available, most=most
    )


def _fixed(recipe: Recipe, shape: Shape) -> dict[str, int]:
    width = {"float32": 4, "bfloat16": 2}[recipe.model.dtype]
    shards = recipe.hardware.processes if recipe.hardware.sharding == "full" else 1
    trained = shape.parameters
    if recipe.model.method == "lora":
        trained = shape.lora_parameters(recipe.model.lora_rank or 0, recipe.model.lora_targets or [])
    frozen = trained if recipe.model.method == "lora" else 0
    needs = {
        "weights": (shape.parameters * width + frozen * 4) // shards,
        "gradients": trained * (4 if recipe.model.method == "lora" else width) // shards,
        "moments (AdamW)": trained * 2 * 4 // shards,
    }
    if shards > 1:  # one layer and the embeddings are gathered at a time, twice for prefetching
        layer = (shape.parameters - shape.vocabulary * shape.hidden) // shape.layers
        needs["gathered layers"] = (2 * layer + shape.vocabulary * shape.hidden) * width
    return needs


def _sequence(recipe: Recipe, shape: Shape, longest: int) -> dict[str, int]:
    width = {"float32": 4, "bfloat16": 2}[recipe.model.dtype]
    tokens = recipe.hardware.batch * longest
    whole = _KEPT_PER_LAYER * shape.hidden + 3 * shape.feed_forward
    kept = (
        shape.layers * shape.hidden + whole
        if recipe.hardware.gradient_checkpointing
        else shape.layers * whole
    )
    return {
        "activations": tokens * kept * width,
        "logits": tokens * shape.vocabulary * 4 * 2,
    }

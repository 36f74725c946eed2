"""What a recipe needs of its devices, before anything is loaded: bytes by what they are for.

Weights, gradients and moments are exact for dense decoders with gated feed-forward and grouped attention, also where
some of the layers are gated delta networks. Activations are those that are kept for the backward pass, with the logits
of one batch in 32 bits: estimates.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_thinkingbox.errors import ConfigurationError
from thinkingbox_trainer.recipe import Generation, Recipe, ShapePart

_KEPT_PER_LAYER = 18
"""Values of hidden width that a layer keeps for each token without checkpointing; a usual figure, not measured here."""
_SPARE = 0.9
"""Share of a device's memory that may be planned: fragmentation and the runtime take the rest."""
_WIDTH = {"float32": 4, "bfloat16": 2}
_STATE_WIDTH = 4
"""Bytes of a value in the state of a gated delta network, which is kept in 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What of a model's configuration decides its size.

    `gated` says that queries come with a gate of the same width. `linear_layers` of the `layers` are gated delta
    networks, with heads and a convolution of their own, and keep a state instead of keys and values.
    """

    hidden: int
    layers: int
    feed_forward: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    tied: bool
    gated: bool = False
    linear_layers: int = 0
    linear_key_heads: int = 0
    linear_value_heads: int = 0
    linear_head: int = 0
    linear_kernel: int = 0

    @property
    def parameters(self) -> int:
        embeddings = self.embedding * (1 if self.tied else 2)
        full = self.layers - self.linear_layers
        return full * self._full_layer + self.linear_layers * self._linear_layer + embeddings + self.hidden

    @property
    def embedding(self) -> int:
        """The largest parameter there is."""
        return self.vocabulary * self.hidden

    @property
    def largest_layer(self) -> int:
        return max(self._full_layer, self._linear_layer if self.linear_layers else 0)

    @property
    def _around(self) -> int:
        """Feed-forward and two norms."""
        return 3 * self.hidden * self.feed_forward + 2 * self.hidden

    @property
    def _full_layer(self) -> int:
        queries = self.heads * (2 if self.gated else 1)
        attention = self.hidden * self.head * (queries + self.heads + 2 * self.kv_heads)
        return attention + 2 * self.head + self._around

    @property
    def _linear_mixed(self) -> int:
        """Queries, keys and values of a delta network, side by side."""
        return (2 * self.linear_key_heads + self.linear_value_heads) * self.linear_head

    @property
    def _linear_layer(self) -> int:
        values = self.linear_value_heads * self.linear_head
        projections = self.hidden * (self._linear_mixed + 2 * values + 2 * self.linear_value_heads)
        convolution = self._linear_mixed * self.linear_kernel
        return projections + convolution + 2 * self.linear_value_heads + self.linear_head + self._around

    def lora_parameters(self, rank: int, targets: list[str]) -> int:
        full = self.layers - self.linear_layers
        queries = self.heads * self.head * (2 if self.gated else 1)
        widths = {
            "q_proj": (self.hidden, queries, full),
            "k_proj": (self.hidden, self.kv_heads * self.head, full),
            "v_proj": (self.hidden, self.kv_heads * self.head, full),
            "o_proj": (self.heads * self.head, self.hidden, full),
            "gate_proj": (self.hidden, self.feed_forward, self.layers),
            "up_proj": (self.hidden, self.feed_forward, self.layers),
            "down_proj": (self.feed_forward, self.hidden, self.layers),
        }
        unknown = [one for one in targets if one not in widths]
        if unknown:
            raise ConfigurationError(f"model.lora_targets: {unknown[0]!r} is none of {', '.join(widths)}")
        return rank * sum((into + out) * layers for into, out, layers in (widths[one] for one in targets))

    def cache_per_token(self, width: int) -> int:
        """Bytes of keys and values of one token, over all layers that keep them."""
        return 2 * self.kv_heads * self.head * (self.layers - self.linear_layers) * width

    def state_per_sequence(self, width: int) -> int:
        """Bytes that the delta networks keep of a sequence, however long it is."""
        state = self.linear_value_heads * self.linear_head**2 * _STATE_WIDTH
        convolution = self._linear_mixed * max(self.linear_kernel - 1, 0) * width
        return self.linear_layers * (state + convolution)


def shape_of(recipe: Recipe, *, folder: Path) -> Shape:
    """From the checkpoint's own configuration where `model.path` is a folder, else from the recipe's table.

    Raises ConfigurationError when there is neither.
    """
    path = folder / recipe.model.path
    part: ShapePart | None = recipe.model.shape
    if not path.is_dir() and part is not None:
        return Shape(**part.model_dump())
    return read_shape(path)


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
            **_linear(config),
        )
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"{path}: {error}: a plan needs the configuration of the model, or a table [model.shape]"
        ) from None
    except KeyError as error:
        raise ConfigurationError(f"{path} has no {error}: a plan knows dense decoders only") from None


def _linear(config: dict[str, Any]) -> dict[str, Any]:
    """Of the layers that are gated delta networks; where there are any, attention is gated too."""
    linear = [kind for kind in config.get("layer_types") or [] if kind == "linear_attention"]
    if not linear:
        return {}
    return {
        "gated": True,
        "linear_layers": len(linear),
        "linear_key_heads": config["linear_num_key_heads"],
        "linear_value_heads": config["linear_num_value_heads"],
        "linear_head": config["linear_value_head_dim"],
        "linear_kernel": config["linear_conv_kernel_dim"],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """Bytes on each of `number` devices of one kind, by what they are for."""

    what: str
    number: int
    needs: dict[str, int]
    available: int

    @property
    def total(self) -> int:
        return sum(self.needs.values())

    @property
    def fits(self) -> bool:
        return self.total <= self.available


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`training` at `longest` ids a sequence, and `playing`: on devices of its own, or on the same in turn. `host` are
    bytes in the memory of the machine for each process, `writing` what the first one takes of it beside while it writes
    a checkpoint. `most` is the longest sequence that fits; `at_once` how many
    conversations of the full length the playing devices hold, all together."""

    training: Devices
    playing: Devices
    host: int
    writing: int
    most: int
    at_once: int

    @property
    def needs(self) -> dict[str, int]:
        return self.training.needs

    @property
    def fits(self) -> bool:
        return self.training.fits and self.playing.fits and self.at_once > 0


def plan(recipe: Recipe, shape: Shape) -> Plan:
    available = int(recipe.hardware.memory_gb * 1e9 * _SPARE)
    fixed = _fixed(recipe, shape)
    longest = recipe.episodes.longest
    training = Devices(
        what="train",
        number=recipe.hardware.processes,
        needs={**fixed, **_sequence(recipe, shape, longest)},
        available=available,
    )
    most = max(0, (available - sum(fixed.values())) // sum(_sequence(recipe, shape, 1).values()))
    playing, at_once = (
        _beside(recipe, shape, available)
        if recipe.generation is None
        else serving(
            recipe.generation,
            shape,
            width=_WIDTH[recipe.model.dtype],
            longest=recipe.episodes.longest,
            synced=True,
        )
    )
    return Plan(
        training=training,
        playing=playing,
        host=_host(recipe, shape),
        writing=_writing(recipe, shape),
        most=most,
        at_once=at_once,
    )


def _trained(recipe: Recipe, shape: Shape) -> int:
    if recipe.model.method == "full":
        return shape.parameters
    return shape.lora_parameters(recipe.model.lora_rank or 0, recipe.model.lora_targets or [])


def _shards(recipe: Recipe) -> int:
    return recipe.hardware.processes if recipe.hardware.sharding == "full" else 1


def _unsplit(recipe: Recipe, shape: Shape) -> dict[str, int]:
    """Weights, gradients and two moments, each in 32 bits where it is trained."""
    kept = _WIDTH[recipe.loaded]
    lora = recipe.model.method == "lora"
    trained = _trained(recipe, shape)
    return {
        "weights": shape.parameters * kept + (trained * 4 if lora else 0),
        "gradients": trained * (4 if lora else kept),
        "moments (AdamW)": trained * 2 * 4,
    }


def _kept(recipe: Recipe, shape: Shape) -> dict[str, int]:
    """The part of them that one process has."""
    return {name: needed // _shards(recipe) for name, needed in _unsplit(recipe, shape).items()}


def _host(recipe: Recipe, shape: Shape) -> int:
    return sum(_kept(recipe, shape).values()) if recipe.hardware.offload == "optimizer" else 0


def _writing(recipe: Recipe, shape: Shape) -> int:
    """What is split is gathered whole, weights and moments; adapters are merged into a copy; the export has 16 bits."""
    unsplit = _unsplit(recipe, shape)
    gathered = 0 if _shards(recipe) == 1 else unsplit["weights"] + unsplit["moments (AdamW)"]
    merged = shape.parameters * _WIDTH[recipe.loaded] if recipe.model.method == "lora" else 0
    return gathered + merged + shape.parameters * 2


def _fixed(recipe: Recipe, shape: Shape) -> dict[str, int]:
    width = _WIDTH[recipe.model.dtype]
    needs = {} if recipe.hardware.offload == "optimizer" else _kept(recipe, shape)
    if _shards(recipe) > 1:  # one layer is gathered while the next one comes; embeddings as a whole
        needs["gathered layers"] = (2 * shape.largest_layer + shape.embedding) * width
        if recipe.model.method == "full":
            needs["gathered gradients"] = (shape.largest_layer + shape.embedding) * width
    elif recipe.hardware.master_weights:
        needs["weights in 16 bits"] = shape.parameters * width
    if recipe.hardware.engine == "vllm":  # weights go over one by one
        needs["sync buffer"] = shape.embedding * _WIDTH[recipe.loaded]
    return needs


def _sequence(recipe: Recipe, shape: Shape, longest: int) -> dict[str, int]:
    width = _WIDTH[recipe.model.dtype]
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


def _beside(recipe: Recipe, shape: Shape, available: int) -> tuple[Devices, int]:
    """The model that is trained generates, in turn: what training keeps stays, activations give way to the cache."""
    width = _WIDTH[recipe.model.dtype]
    one = recipe.episodes.longest * shape.cache_per_token(width) + shape.state_per_sequence(width)
    fixed = _fixed(recipe, shape)
    needs = {**fixed, "keys and values": recipe.episodes.concurrency * one}
    devices = Devices(
        what="generate in turn", number=recipe.hardware.processes, needs=needs, available=available
    )
    return devices, max(0, (available - sum(fixed.values())) // one)


def serving(
    generation: Generation, shape: Shape, *, width: int, longest: int, synced: bool
) -> tuple[Devices, int]:
    """vLLM takes its share of each GPU, and what weights leave of it becomes keys and values. `synced`: weights come
    from a trainer, one by one. Also how many conversations of the full length all copies hold together."""
    split = generation.tensor_parallel
    available = int(generation.memory_gb * 1e9 * generation.utilisation)
    needs = {
        "weights": shape.parameters * width // split,
        "states of sequences": generation.sequences * shape.state_per_sequence(width) // split,
    }
    if synced:
        needs["sync buffer"] = shape.embedding * width
    left = max(0, available - sum(needs.values()))
    one = longest * shape.cache_per_token(width) // min(split, shape.kv_heads)
    devices = Devices(
        what="generate",
        number=generation.gpus,
        needs={**needs, "keys and values": max(left, one)},
        available=available,
    )
    return devices, min(left // one, generation.sequences) * (generation.gpus // split)

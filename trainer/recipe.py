"""Recipes: TOML files that say everything a run depends on. Nothing that matters has a silent default."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_thinkingbox.errors import ConfigurationError

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
Count = Annotated[int, Field(ge=1)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Run(Part):
    name: Name
    seed: Natural
    steps: Count
    output: str
    """A folder, from the recipe's own."""
    report_to: list[str] = ["tensorboard"]
    """Where the trainer's library sends its log beside `steps.jsonl`: "tensorboard", "wandb", "mlflow"..."""


class SuitePart(Part):
    paths: list[str]
    """Of pytest, from the recipe's folder."""
    arguments: list[str] = []
    reward: Literal["binary", "credit"]
    check_seconds: Positive
    tasks: list[str] | None = None
    """Ids of the pool; all tasks of the suite when neither this nor `pool` is there."""
    pool: str | None = None
    """The manifest that `thinkingbox select` wrote, from the recipe's folder: its training tasks are the pool."""
    pool_tasks: Count | None = None
    """How many training tasks the manifest has to have."""
    proof: str | None = None
    """The proof of the suite as it is: `proof.json` of `thinkingbox prove`, or a folder of proofs for the latest."""
    min_score: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the mutants of the pool's tasks that their checkers have to fail."""
    unproved: str = ""
    """Why the suite has no proof, where it has none."""

    @model_validator(mode="after")
    def _pool_is_said_once(self) -> SuitePart:
        if self.pool is not None and self.tasks is not None:
            raise ValueError("pool and tasks are two pools: name one")
        if self.pool_tasks is not None and self.pool is None:
            raise ValueError("pool_tasks counts the tasks of a manifest: name it with pool")
        if self.proof is None and not self.unproved.strip():
            raise ValueError(
                "what is trained on needs checkers that can be trusted: name the proof.json of `thinkingbox prove` "
                "with proof, or say why there is none with unproved"
            )
        if self.proof is None and self.pool is not None:
            raise ValueError("a pool needs the proof of its checkers: name it with proof")
        return self


class ShapePart(Part):
    """Of a model whose configuration is not at hand, for the plan. The fields are those of `plan.Shape`."""

    hidden: Count
    layers: Count
    feed_forward: Count
    heads: Count
    kv_heads: Count
    head: Count
    vocabulary: Count
    tied: bool
    gated: bool = False
    linear_layers: Natural = 0
    linear_key_heads: Natural = 0
    linear_value_heads: Natural = 0
    linear_head: Natural = 0
    linear_kernel: Natural = 0


class Model(Part):
    path: str
    """A checkpoint folder, from the recipe's own, or a name on the hub."""
    method: Literal["full", "lora"]
    dtype: Literal["float32", "bfloat16"]
    """That it computes in."""
    lora_rank: Count | None = None
    lora_alpha: Count | None = None
    lora_targets: list[str] | None = None
    shape: ShapePart | None = None

    @model_validator(mode="after")
    def _lora_is_whole(self) -> Model:
        given = [self.lora_rank, self.lora_alpha, self.lora_targets]
        if self.method == "lora" and None in given:
            raise ValueError("method 'lora' needs lora_rank, lora_alpha and lora_targets")
        if self.method == "full" and any(one is not None for one in given):
            raise ValueError("lora_rank, lora_alpha and lora_targets are for method 'lora'")
        return self


class Episodes(Part):
    groups: Count
    group_size: Annotated[int, Field(ge=2)]
    concurrency: Count
    most_episodes: Count
    """Begun in one step, refilled and replaced ones included."""
    reprobe_every: Count | None = None
    """Steps after which the whole pool is probed again; never when it is not there."""
    reprobe_attempts: Count | None = None
    """Of each task, whenever it is."""
    refill: Literal["group", "member"]
    replace_uniform: bool
    """Take another task for a group in which all are worth the same."""
    longest: Count
    """Ids of one conversation, all that was told included."""
    answer: Count
    """Ids of one generation."""


class Sampling(Part):
    temperature: Positive
    top_p: Annotated[float, Field(gt=0, le=1)]
    top_k: Annotated[int, Field(ge=0)]
    why: str = ""

    @model_validator(mode="after")
    def _ratio_is_right(self) -> Sampling:
        if (self.top_p < 1 or self.top_k > 0) and not self.why.strip():
            raise ValueError(
                "with top_p below 1 or top_k above 0 the policy is sampled from another distribution than the one "
                "whose probabilities are in the importance ratio: take top_p = 1.0 and top_k = 0, or say `why`"
            )
        return self


class Algorithm(Part):
    learning_rate: Positive
    weight_decay: Amount
    clip_low: Positive
    clip_high: Positive
    num_iterations: Literal[1]
    loss: Literal["token-mean"]
    scale_rewards: Literal["group", "batch", "none"]
    kl: Amount
    max_grad_norm: Positive
    importance_mode: Literal["token_truncate"]
    importance_cap: Positive


class Hardware(Part):
    engine: Literal["transformers", "vllm"]
    processes: Count
    """That train."""
    batch: Count
    """Sequences of one process in one forward pass."""
    accumulation: Count
    memory_gb: Positive
    """Of one device that trains."""
    sharding: Literal["none", "full"]
    """Whether weights, gradients and moments are split among the processes."""
    gradient_checkpointing: bool
    offload: Literal["none", "optimizer"] = "none"
    """What lies in the memory of the machine instead of the device's: moments, with the weights that they move and
    the gradients."""
    master_weights: bool = False
    """Whether weights that compute in bfloat16 are kept and moved in 32 bits."""


class Checkpoints(Part):
    every: Count
    """Steps from one to the next; the last step has one in any case."""
    keep: Count
    """The newest so many; older ones are removed."""


class Generation(Part):
    """The devices that generate, where they are others than those that train."""

    gpus: Count
    tensor_parallel: Count
    """Devices that share one copy of the weights."""
    memory_gb: Positive
    utilisation: Annotated[float, Field(gt=0, le=1)]
    """Share of a device that vLLM takes."""
    sequences: Count
    """Conversations of one copy at once."""

    @model_validator(mode="after")
    def _copies_are_whole(self) -> Generation:
        if self.gpus % self.tensor_parallel:
            raise ValueError(
                f"{self.gpus} gpus are no whole number of copies over {self.tensor_parallel} each (tensor_parallel)"
            )
        return self


class SyncedGeneration(Generation):
    """The same for a run, which sends its weights to them before each step."""

    base_url: Annotated[str, Field(pattern=r"^https?://[^/\s:]+:\d+$")]
    """Of vLLM's server, as the first process of the run reaches it."""


class Recipe(Part):
    run: Run
    suite: SuitePart
    model: Model
    episodes: Episodes
    sampling: Sampling
    algorithm: Algorithm
    hardware: Hardware
    checkpoints: Checkpoints
    generation: SyncedGeneration | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Recipe:
        if (self.episodes.reprobe_every is None) != (self.episodes.reprobe_attempts is None):
            raise ValueError(
                "episodes.reprobe_every and episodes.reprobe_attempts belong together: name both or none"
            )
        rows = self.episodes.groups * self.episodes.group_size
        trained = self.hardware.processes * self.hardware.batch * self.hardware.accumulation
        if rows != trained:
            raise ValueError(
                f"{self.episodes.groups} groups of {self.episodes.group_size} are {rows} sequences, but "
                f"processes x batch x accumulation = {self.hardware.processes} x {self.hardware.batch} x "
                f"{self.hardware.accumulation} = {trained}: a step would train on another number than it plays"
            )
        if self.episodes.most_episodes < rows:
            raise ValueError(
                f"most_episodes = {self.episodes.most_episodes} is less than the {rows} of one step"
            )
        if self.hardware.sharding == "full" and (
            self.hardware.processes == 1 or self.hardware.engine != "vllm"
        ):
            raise ValueError(
                "sharding = 'full' splits weights among several processes, where none of them can generate: it needs "
                "processes > 1 and engine = 'vllm'"
            )
        if self.hardware.offload != "none" and self.hardware.sharding != "full":
            raise ValueError("offload is of weights that are split: it needs sharding = 'full'")
        rounded = self.model.method == "full" and self.model.dtype == "bfloat16"
        if self.hardware.master_weights != rounded:
            raise ValueError(
                "master_weights = true is needed: AdamW moves a weight by about the learning rate, and bfloat16 rounds "
                "away what is less than 1/512 of the weight"
                if rounded
                else "master_weights = true is for method 'full' in bfloat16: float32 weights and adapters are kept in "
                "32 bits as they are"
            )
        if (self.hardware.engine == "vllm") != (self.generation is not None):
            raise ValueError(
                "engine 'vllm' generates on devices of its own: it needs a table [generation], and no other engine does"
            )
        if self.hardware.engine == "transformers" and (self.sampling.top_p, self.sampling.top_k) != (1.0, 0):
            raise ValueError("engine 'transformers' samples with top_p = 1.0 and top_k = 0 only")
        return self

    @property
    def loaded(self) -> Literal["float32", "bfloat16"]:
        """The type that weights are loaded in, and kept where they are trained."""
        return "float32" if self.hardware.master_weights else self.model.dtype


def read_recipe(path: Path) -> Recipe:
    """Raises ConfigurationError that names the file, the place and the value."""
    return read_as(Recipe, path, others={"evaluation": "evaluate"})


P = TypeVar("P", bound=Part)


def read_as(kind: type[P], path: Path, *, others: Mapping[str, str]) -> P:
    """`others` are tables that only a recipe of another kind has, with the command that takes it."""
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"{path}: {error.strerror or error}: name the TOML file of a recipe"
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from None
    for table, command in others.items():
        if table in given:
            raise ConfigurationError(
                f"{path} has a table [{table}]: it is a recipe for `{' '.join(['thinkingbox-train', command]).strip()}`"
            )
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        lines = [_line(one) for one in error.errors()]
        raise ConfigurationError(f"{path}: " + "\n  ".join([f"{len(lines)} wrong", *lines])) from None


def demand_apart(recipe: Recipe, path: Path) -> None:
    """Raises ConfigurationError when something that the recipe at `path` names, or itself, lies in the folder that a
    run writes, and that `--fresh` puts away."""
    folder = path.parent.resolve()
    output = (folder / recipe.run.output).resolve()
    suite = recipe.suite
    for named in (path.name, *suite.paths, suite.pool, suite.proof, recipe.model.path):
        if named is not None and (found := (folder / named.partition("::")[0]).resolve()).is_relative_to(
            output
        ):
            raise ConfigurationError(
                f"{path}: run.output = {recipe.run.output!r} holds {found}, which the run reads: name a folder for the "
                "run alone"
            )


def _line(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "recipe"
    given = "" if error["type"] in ("missing", "value_error") else f", not {error['input']!r}"
    return f"{where}: {error['msg'].removeprefix('Value error, ')}{given}"


def settings(recipe: Recipe) -> list[tuple[str, Any]]:
    """Every setting as `part.name` and value, in the order of the recipe."""
    return [
        (f"{part}.{name}", value)
        for part, values in recipe.model_dump().items()
        if values is not None
        for name, value in values.items()
    ]


REFERENCE: dict[str, Any] = {
    "run.steps": 50,
    "suite.pool_tasks": 187,
    "model.path": "Qwen/Qwen3.8-27B",
    "model.method": "full",
    "model.dtype": "bfloat16",
    "episodes.groups": 18,
    "episodes.group_size": 8,
    "episodes.refill": "group",
    "episodes.longest": 133_120,
    "sampling.temperature": 1.0,
    "sampling.top_p": 0.95,
    "sampling.top_k": 20,
    "algorithm.learning_rate": 1e-6,
    "algorithm.weight_decay": 0.0,
    "algorithm.kl": 0.0,
    "algorithm.loss": "token-mean",
    "hardware.processes": 16,
    "hardware.offload": "optimizer",
    "generation.gpus": 8,
}
"""What the published run used, where that is known."""


def deviations(recipe: Recipe) -> list[str]:
    """Where the recipe differs from the published run."""
    given = dict(settings(recipe))
    return [
        f"{name} = {given.get(name)!r}, the reference had {value!r}"
        for name, value in REFERENCE.items()
        if given.get(name) != value
    ]

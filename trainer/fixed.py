"""What every run has, whatever its recipe says. `--dry-run` prints it beside the recipe's settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

ROLLOUT_SECONDS: Final = 6 * 3600
"""How long other ranks wait for what rank 0 does, while it lives."""

TRAINER: Final[dict[str, Any]] = {
    "lr_scheduler_type": "constant",
    "optim": "adamw_torch_fused",
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "loss_type": "dapo",  # the mean over all tokens of the step, since a step generates once
    "importance_sampling_level": "token",
    "vllm_importance_sampling_correction": True,  # otherwise the sampler's probabilities would not be looked at
    "mask_truncated_completions": False,
    "shuffle_dataset": False,
    "ddp_timeout": ROLLOUT_SECONDS,
    "logging_steps": 1,
}
"""Arguments of the training library, by its names."""

LORA: Final[dict[str, Any]] = {"lora_dropout": 0.0}

RETRIES: Final = 2
"""How often an invalid member, or a group with one, is played again."""
MOST_INVALID: Final = 0.5
"""Over this share of invalid episodes in a step the training stops: it would learn from an outage."""
MOST_SKIPPED: Final = 2
"""After so many steps in a row without enough groups the training stops."""

EVERY: Final = 10
"""Steps from one look at sampler and verdicts to the next; step 0 has the first."""
TOLERANCE: Final = {"float32": 1e-3, "bfloat16": 0.1}
"""By how much the log-probability of one token (in nats) may differ between sampler and trainer, by the type of the
weights: both compute the same sums in another order."""
WRITTEN: Final = 32
"""Ids of the sequence that both are asked about."""


def fixed_lines(*, lora: bool, dtype: str) -> Iterator[str]:
    for name, value in {**TRAINER, **(LORA if lora else {})}.items():
        yield f"{name} = {value!r}"
    yield f"an invalid member, or the group with it, is played again {RETRIES} times at most"
    yield f"over {MOST_INVALID:.0%} invalid episodes in a step end the run, as do {MOST_SKIPPED} skipped steps in a row"
    yield (
        f"every {EVERY} steps sampler and trainer may differ by {TOLERANCE[dtype]:g} nats in a token of {WRITTEN}, and "
        "passed episodes are graded again"
    )

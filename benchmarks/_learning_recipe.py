"""What the benchmark of learning was tuned to, frozen, and the recipe that it makes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

LONGEST, ANSWER = 144, 20
"""Ids of a conversation and of one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What was tuned, frozen. Counts of tasks are upper limits: 0 is all of a part."""

    demonstrations: int
    warm_up: int
    """At most so many steps."""
    warm_up_until: float
    """pass@1 on the watched tasks at which it settles."""
    settle: int
    """So many more steps, in which its learning rate goes down to nothing."""
    batch: int
    warm_up_rate: float
    probes: int
    attempts: int
    pool: int
    """And half as many broken ones."""
    judged_by: str
    """Parts, with a space between."""
    judged: int
    """Of each part."""
    groups: int
    group_size: int
    replace_uniform: bool
    steps: int
    watch: int
    """Steps between checkpoints, which are looked at with the tasks of `watched`."""
    learning_rate: float
    reprobe_every: int
    """Steps, and so many attempts, of the ablation that probes the pool again."""
    reprobe_attempts: int


FULL = Settings(
    demonstrations=0,
    warm_up=1200,
    warm_up_until=0.35,
    settle=500,
    batch=16,
    warm_up_rate=4e-3,
    probes=20,
    attempts=20,
    pool=144,
    judged_by="held unseen",
    judged=0,
    groups=16,
    group_size=8,
    replace_uniform=True,
    steps=32,
    watch=8,
    learning_rate=6e-4,
    reprobe_every=8,
    reprobe_attempts=8,
)
QUICK = replace(
    FULL, demonstrations=60, warm_up=20, settle=10, probes=3, attempts=2, pool=12, judged=6, groups=2,
    group_size=4, replace_uniform=False, steps=2, watch=1, reprobe_every=1,
)  # fmt: skip


def recipe_text(
    *,
    seed: int,
    settings: Settings,
    output: str,
    refill: str,
    reprobe: bool,
    most: int,
    tasks: Sequence[str],
    suite: Path,
) -> str:
    """`most` times the episodes that a step needs are its limit. `output` counts from the recipe's folder, in which
    `base` is the model."""
    rows = settings.groups * settings.group_size
    batch = min(rows, 16)
    again = (
        f"reprobe_every = {settings.reprobe_every}\nreprobe_attempts = {settings.reprobe_attempts}\n"
        if reprobe
        else ""
    )
    return f"""\
[run]
name = "learning"
seed = {seed}
steps = {settings.steps}
output = "{output}"

[suite]
paths = [{json.dumps(str(suite))}]
arguments = ["-c", {json.dumps(str(suite / "pytest.ini"))}]
reward = "binary"
check_seconds = 60.0
unproved = "a suite of the benchmark: right demonstrations must pass, careless ones fail, broken tasks stay broken"
tasks = {json.dumps(list(tasks))}

[model]
path = "base"
method = "full"
dtype = "float32"

[episodes]
groups = {settings.groups}
group_size = {settings.group_size}
concurrency = 64
most_episodes = {rows * most}
refill = "{refill}"
replace_uniform = {json.dumps(settings.replace_uniform)}
longest = {LONGEST}
answer = {ANSWER}
{again}
[sampling]
temperature = 1.0
top_p = 1.0
top_k = 0

[algorithm]
learning_rate = {settings.learning_rate!r}
weight_decay = 0.0
clip_low = 0.2
clip_high = 0.2
num_iterations = 1
loss = "token-mean"
scale_rewards = "group"
kl = 0.0
max_grad_norm = 1.0
importance_mode = "token_truncate"
importance_cap = 3.0

[hardware]
engine = "transformers"
processes = 1
batch = {batch}
accumulation = {rows // batch}
memory_gb = 4.0
sharding = "none"
gradient_checkpointing = false

[checkpoints]
every = {settings.watch}
keep = {settings.steps}
"""

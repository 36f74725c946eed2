"""The recipe that a CPU runs, and where its parts are changed for a test."""

from __future__ import annotations

from pathlib import Path

RECIPE = (Path(__file__).parents[2] / "recipes" / "cpu-smoke.toml").read_text("utf-8")

VLLM = (
    ('engine = "transformers"', 'engine = "vllm"'),
    (
        "gradient_checkpointing = false",
        "gradient_checkpointing = false\n\n[generation]\ngpus = 1\ntensor_parallel = 1\nmemory_gb = 80.0\n"
        'utilisation = 0.9\nsequences = 8\nbase_url = "http://127.0.0.1:8000"',
    ),
)
"""Changes to a recipe that generates on devices of its own."""
LORA = (
    'method = "full"',
    'method = "lora"\nlora_rank = 4\nlora_alpha = 8\nlora_targets = ["q_proj", "v_proj"]',
)
BFLOAT = ('dtype = "float32"', 'dtype = "bfloat16"')
MASTER = ('sharding = "none"', 'sharding = "none"\nmaster_weights = true')
SPLIT = (
    *VLLM,
    ('sharding = "none"', 'sharding = "full"'),
    ("processes = 1", "processes = 2"),
    ("batch = 4", "batch = 2"),
)
"""Weights that two processes share."""
SHAPELESS = ("[model.shape]" + RECIPE.partition("[model.shape]")[2].partition("[episodes]")[0], "")
"""No word of how large the model is."""
OFFLOAD = ("memory_gb = 4.0", 'memory_gb = 4.0\noffload = "optimizer"')


def write_recipe(folder: Path, *changes: tuple[str, str]) -> Path:
    """The recipe with lines replaced."""
    text = RECIPE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path

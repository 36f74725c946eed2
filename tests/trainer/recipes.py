"""The recipe that a CPU runs, and where its parts are changed for a test."""

from __future__ import annotations

from pathlib import Path

RECIPE = (Path(__file__).parents[2] / "recipes" / "cpu-smoke.toml").read_text("utf-8")


def write_recipe(folder: Path, *changes: tuple[str, str]) -> Path:
    """The recipe with lines replaced."""
    text = RECIPE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path

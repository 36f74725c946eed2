"""`thinkingbox-train`: a recipe from the command line. Neither torch nor trl is imported before a run begins."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pytest_thinkingbox.errors import ThinkingboxError
from thinkingbox_trainer.plan import Plan, plan, read_shape
from thinkingbox_trainer.recipe import REFERENCE, Recipe, deviations, read_recipe, settings

EXTRA = "pip install 'pytest-thinkingbox[train]'"
_TERMINATED = 128 + 15
"""Exit status after SIGTERM, as shells have it."""
_NEEDED = ("torch", "transformers", "trl", "peft", "datasets")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 1 the plan does not fit, 2 the recipe or the machine is not what it takes, 143 ended by
    SIGTERM."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = given.pop(0) if given[:1] == ["plan"] else "train"
    options = _parser(command).parse_args(given)
    try:
        recipe = read_recipe(options.recipe)
        if command == "plan":
            return _plan(recipe, options.recipe)
        if options.dry_run:
            _show(recipe)
            return 0
        return _train(recipe, options.recipe, fresh=options.fresh)
    except ThinkingboxError as error:
        print(f"thinkingbox-train: {error}", file=sys.stderr)
        return 2


def _parser(command: str) -> argparse.ArgumentParser:
    missing = _missing()
    needs = f"Training needs {EXTRA}."
    if missing:
        needs += f" Here is no {', '.join(missing)}; --dry-run and plan work all the same."
    made = argparse.ArgumentParser(
        prog="thinkingbox-train" if command == "train" else "thinkingbox-train plan",
        usage="thinkingbox-train [plan] [--dry-run] [--fresh] RECIPE.toml" if command == "train" else None,
        description="Train a policy by GRPO; the reward is the suite's test functions. `plan` computes what memory a "
        "device needs, and refuses what does not fit.",
        epilog=needs,
    )
    made.add_argument("recipe", type=Path, metavar="RECIPE.toml")
    if command == "train":
        made.add_argument("--dry-run", action="store_true", help="print every setting and how it is started")
        made.add_argument(
            "--fresh",
            action="store_true",
            help="begin again, and rename what is in run.output; without it the run goes on from its newest checkpoint",
        )
    return made


def _missing() -> list[str]:
    return [name for name in _NEEDED if find_spec(name) is None]


def _show(recipe: Recipe) -> None:
    for name, value in settings(recipe):
        print(f"{name} = {value!r}")
    print("\ndeviations from the reference:")
    for line in deviations(recipe) or ["none"]:
        print(f"  {line}")
    print("\nstarted with:")
    if recipe.hardware.processes > 1:
        print(
            f"  accelerate launch --num_processes {recipe.hardware.processes} -m thinkingbox_trainer RECIPE.toml"
        )
    else:
        print("  thinkingbox-train RECIPE.toml")
    if recipe.hardware.engine == "vllm":
        print("\nengine = 'vllm' can be planned but not run by this version")


def _plan(recipe: Recipe, path: Path) -> int:
    made: Plan = plan(recipe, read_shape(path.parent / recipe.model.path))
    for name, needed in made.needs.items():
        print(f"{name:<20}{needed / 1e9:>10.3f} GB")
    print(f"{'together':<20}{made.total / 1e9:>10.3f} GB of {made.available / 1e9:.3f} GB")
    print(
        f"longest sequence that fits: {made.most:,} ids; the recipe says {recipe.episodes.longest:,}, the "
        f"reference had {REFERENCE['episodes.longest']:,}"
    )
    print("estimates; activations were not measured")
    if not made.fits:
        print("DOES NOT FIT: shorten episodes.longest, lower hardware.batch, or shard over more processes")
    return 0 if made.fits else 1


def _train(recipe: Recipe, path: Path, *, fresh: bool) -> int:
    missing = _missing()
    if missing:
        print(f"thinkingbox-train: no {', '.join(missing)} here: {EXTRA}", file=sys.stderr)
        return 2
    if recipe.hardware.engine == "vllm":
        print(
            f"{path}: hardware.engine = 'vllm' cannot be run by this version: take 'transformers', which generates "
            "with the model that is trained",
            file=sys.stderr,
        )
        return 2
    from thinkingbox_trainer.ranks import Terminated
    from thinkingbox_trainer.run import train

    try:
        train(recipe, folder=path.parent, fresh=fresh)
    except Terminated:
        print(
            "thinkingbox-train: ended by SIGTERM. The step that was under way is discarded; the same command goes on "
            "from the newest checkpoint",
            file=sys.stderr,
        )
        return _TERMINATED
    return 0

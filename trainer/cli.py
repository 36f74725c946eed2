"""`thinkingbox-train`: a recipe from the command line. Neither torch nor trl is imported before a run begins."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pytest_thinkingbox.errors import ThinkingboxError
from thinkingbox_trainer import evaluation
from thinkingbox_trainer.evaluation import EvaluationRecipe
from thinkingbox_trainer.plan import plan, shape_of
from thinkingbox_trainer.recipe import Recipe, read_as, read_recipe
from thinkingbox_trainer.shown import dry_run_lines, not_run, plan_lines

EXTRA = "pip install 'pytest-thinkingbox[train]'"
_TERMINATED = 128 + 15
"""Exit status after SIGTERM, as shells have it."""
_NEEDED = ("torch", "transformers", "trl", "peft", "datasets")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 1 the plan does not fit, 2 the recipe or the machine is not what it takes, 143 ended by
    SIGTERM."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = given.pop(0) if given[:1] in (["plan"], ["evaluate"]) else "train"
    options = _parser(command).parse_args(given)
    try:
        if command == "evaluate":
            return _evaluate(options.recipe, dry_run=options.dry_run)
        recipe = read_recipe(options.recipe)
        if command == "plan":
            return _plan(recipe, options.recipe.parent)
        if options.dry_run:
            print("\n".join(dry_run_lines(recipe, folder=options.recipe.parent)))
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
        prog="thinkingbox-train" if command == "train" else f"thinkingbox-train {command}",
        usage="thinkingbox-train [plan | evaluate] [--dry-run] [--fresh] RECIPE.toml"
        if command == "train"
        else None,
        description="Train a policy by GRPO; the reward is the suite's test functions. `plan` computes what memory a "
        "device needs, and refuses what does not fit. `evaluate` plays two campaigns at the same time, of the trained "
        "policy and of the one that it came from, and compares them; it takes a recipe of its own.",
        epilog=needs,
    )
    made.add_argument("recipe", type=Path, metavar="RECIPE.toml")
    if command != "plan":
        made.add_argument("--dry-run", action="store_true", help="print every setting and how it is started")
    if command == "train":
        made.add_argument(
            "--fresh",
            action="store_true",
            help="begin again, and rename what is in run.output; without it the run goes on from its newest checkpoint",
        )
    return made


def _missing() -> list[str]:
    return [name for name in _NEEDED if find_spec(name) is None]


def _evaluate(path: Path, *, dry_run: bool) -> int:
    recipe = read_as(EvaluationRecipe, path)
    if dry_run:
        print("\n".join(evaluation.dry_run_lines(recipe, folder=path.parent)))
        return 0
    return evaluation.evaluate(recipe, folder=path.parent)


def _plan(recipe: Recipe, folder: Path) -> int:
    made = plan(recipe, shape_of(recipe, folder=folder))
    print("\n".join(plan_lines(made, recipe)))
    return 0 if made.fits else 1


def _train(recipe: Recipe, path: Path, *, fresh: bool) -> int:
    missing = _missing()
    if missing:
        print(f"thinkingbox-train: no {', '.join(missing)} here: {EXTRA}", file=sys.stderr)
        return 2
    if refused := not_run(recipe):
        print(
            f"{path}: {', '.join(refused)} cannot be run by this version, only planned: it trains whole weights on "
            "each device, and generates with the model that is trained (hardware.engine = 'transformers')",
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

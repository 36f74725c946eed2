"""`thinkingbox-train`: a recipe from the command line. Neither torch nor trl is imported before a run begins."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.report.text import escape_lines
from thinkingbox_trainer import evaluation
from thinkingbox_trainer.ending import Terminated, ending_on_sigterm
from thinkingbox_trainer.evaluation import read_evaluation
from thinkingbox_trainer.plan import plan, shape_of
from thinkingbox_trainer.recipe import Recipe, demand_apart, read_recipe
from thinkingbox_trainer.shown import about_lines, dry_run_lines, plan_lines

EXTRA = "pip install 'pytest-thinkingbox[train]'"
GPU_EXTRA = "pip install 'pytest-thinkingbox[train-gpu]'"
_INTERRUPTED, _TERMINATED = 128 + 2, 128 + 15
"""Exit status after SIGINT and SIGTERM, as shells have it."""
_ENDED = {
    "train": "The step that was under way is discarded; the same command goes on from the newest checkpoint",
    "evaluate": "The same command plays what is missing",
    "plan": "",
}
_NEEDED = ("torch", "transformers", "trl", "peft", "datasets")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 1 the plan does not fit, 2 the recipe or the machine is not what it takes, 130 ended by
    Ctrl-C, 143 by SIGTERM."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command = given.pop(0) if given[:1] in (["plan"], ["evaluate"]) else "train"
    options = _parser(command).parse_args(given)
    # What others wrote may hold characters that this terminal cannot show.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        if command == "evaluate":
            return _evaluate(options.recipe, dry_run=options.dry_run)
        recipe = read_recipe(options.recipe)
        if command == "plan":
            return _plan(recipe, options.recipe.parent)
        if options.dry_run:
            lines = dry_run_lines(recipe, folder=options.recipe.parent)
            print("\n".join([*about_lines(options.recipe), "", *lines]).lstrip("\n"))
            return 0
        return _train(recipe, options.recipe, fresh=options.fresh)
    except ThinkingboxError as error:
        print(
            f"thinkingbox-train: {escape_lines(str(error))}", file=sys.stderr
        )  # it may quote what others wrote
        return 2
    except OSError as error:  # a model that is not there, a folder that must not be written
        print(f"thinkingbox-train: {options.recipe}: {escape_lines(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"thinkingbox-train: interrupted. {_ENDED[command]}", file=sys.stderr)
        return _INTERRUPTED
    except Terminated:
        print(f"thinkingbox-train: ended by SIGTERM. {_ENDED[command]}", file=sys.stderr)
        return _TERMINATED


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
    recipe = read_evaluation(path)
    if dry_run:
        lines = evaluation.dry_run_lines(recipe, folder=path.parent)
        print("\n".join([*about_lines(path), "", *lines]).lstrip("\n"))
        return 0
    with ending_on_sigterm():
        return evaluation.evaluate(recipe, folder=path.parent.resolve())


def _plan(recipe: Recipe, folder: Path) -> int:
    made = plan(recipe, shape_of(recipe, folder=folder))
    print("\n".join(plan_lines(made, recipe)))
    return 0 if made.fits else 1


def _train(recipe: Recipe, path: Path, *, fresh: bool) -> int:
    missing = _missing()
    if missing:
        print(f"thinkingbox-train: no {', '.join(missing)} here: {EXTRA}", file=sys.stderr)
        return 2
    if recipe.hardware.engine == "vllm" and find_spec("vllm") is None:
        print(
            f"thinkingbox-train: no vllm here, through which weights go to the server (hardware.engine = 'vllm'): "
            f"{GPU_EXTRA}",
            file=sys.stderr,
        )
        return 2
    demand_apart(recipe, path)
    from thinkingbox_trainer.ranks import leave
    from thinkingbox_trainer.run import train

    train(recipe, folder=path.parent, fresh=fresh)
    leave()
    return 0

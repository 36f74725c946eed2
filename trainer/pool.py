"""The pool that a recipe names, and whether it may be trained on: the same tasks, proved, and none of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.selection.manifest import TRAINED, Manifest, read_manifest
from pytest_thinkingbox.selection.proofs import read_proof
from thinkingbox_trainer.recipe import Recipe

Hashes = Mapping[str, Mapping[str, str | None]]


def manifest_of(recipe: Recipe, *, folder: Path) -> Manifest | None:
    """The manifest as it stands there, if the recipe names one. Raises ConfigurationError when it does not fit the
    recipe."""
    suite = recipe.suite
    if suite.pool is None:
        return None
    path = folder / suite.pool
    manifest = read_manifest(path)
    train = manifest.of("train")
    if manifest.settings.rule != recipe.model.method:
        raise ConfigurationError(
            f"{path} was selected with --rule {manifest.settings.rule}, and model.method is {recipe.model.method!r}"
        )
    if suite.pool_tasks is not None and len(train) != suite.pool_tasks:
        raise ConfigurationError(
            f"{path} has {len(train)} training tasks, and suite.pool_tasks = {suite.pool_tasks}"
        )
    return manifest


def pool_tasks(recipe: Recipe, *, folder: Path) -> list[str] | None:
    """Ids of the tasks to train on; None for all of the suite."""
    manifest = manifest_of(recipe, folder=folder)
    return recipe.suite.tasks if manifest is None else manifest.of("train")


def check_pool(recipe: Recipe, *, folder: Path) -> None:
    """Collect the suite and hold it against manifest and proof. Raises ConfigurationError with all that is wrong."""
    manifest = manifest_of(recipe, folder=folder)
    if manifest is None and recipe.suite.proof is None:
        return
    from pytest_thinkingbox.rewards.contents import (
        contents_of_suite,  # pytest and mcp, which a dry run does without
    )

    suite = contents_of_suite([*recipe.suite.paths, *recipe.suite.arguments], cwd=folder)
    complain(recipe, manifest, {task: one.hashes for task, one in suite.tasks.items()}, folder=folder)


def complain(recipe: Recipe, manifest: Manifest | None, today: Hashes, *, folder: Path) -> None:
    """`today` are the hashes of the suite's tasks as they are collected now."""
    suite = recipe.suite
    lines: list[str] = []
    if manifest is not None:
        lines += [f"{suite.pool}: {line}" for line in manifest.complaints(today)]
        tasks = [task for task in manifest.of(*TRAINED) if task in today]
    else:
        tasks = list(today) if suite.tasks is None else [task for task in suite.tasks if task in today]
    if suite.proof is not None:
        proof = read_proof(folder / suite.proof)
        mine = {task: {kind: one for kind, one in today[task].items() if kind != "seed"} for task in tasks}
        lines += [f"{suite.proof}: {line}" for line in proof.complaints(mine, min_score=suite.min_score)]
    if lines:
        raise ConfigurationError("\n  ".join(["this pool is not to be trained on:", *lines]))

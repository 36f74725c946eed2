"""A recipe and its plan as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from pytest_thinkingbox.errors import ConfigurationError
from thinkingbox_trainer.commands import launch_command, training_server_command
from thinkingbox_trainer.fixed import fixed_lines
from thinkingbox_trainer.plan import Devices, Plan, plan, shape_of
from thinkingbox_trainer.pool import manifest_of
from thinkingbox_trainer.recipe import REFERENCE, Recipe, Sampling, deviations, settings


def about_lines(path: Path) -> list[str]:
    """What a recipe says of itself, at its head: what of it was run, and what was not."""
    lines = path.read_text("utf-8").splitlines()
    return [
        line.removeprefix("#").removeprefix(" ") for line in takewhile(lambda one: one.startswith("#"), lines)
    ]


def dry_run_lines(recipe: Recipe, *, folder: Path) -> Iterator[str]:
    """Every setting, every deviation, how is sampled and why, the commands, and the plan where the model's
    configuration is known."""
    for name, value in settings(recipe):
        yield f"{name} = {value!r}"
    yield ""
    yield "the same in every run:"
    for line in fixed_lines(lora=recipe.model.method == "lora", dtype=recipe.model.dtype):
        yield f"  {line}"
    yield ""
    yield "deviations from the reference:"
    for line in deviations(recipe) or ["none"]:
        yield f"  {line}"
    yield ""
    yield "sampling:"
    yield f"  {_sampled(recipe.sampling)}"
    yield ""
    yield "pool:"
    yield f"  {_pool(recipe, folder)}"
    yield ""
    yield "memory:"
    try:
        made = plan(recipe, shape_of(recipe, folder=folder))
    except ConfigurationError as error:
        yield f"  not known: {error}"
    else:
        for line in plan_lines(made, recipe):
            yield f"  {line}"
    yield ""
    yield "started with:"
    if recipe.generation is not None:
        yield f"  {training_server_command(recipe)}"
    yield f"  {launch_command(recipe)}"


def _sampled(sampling: Sampling) -> str:
    how = f"temperature {sampling.temperature:g}, top-p {sampling.top_p:g}, top-k {sampling.top_k}"
    why = "the whole distribution, whose probabilities are in the importance ratio"
    return f"{how}: {sampling.why.strip() or why}"


def _pool(recipe: Recipe, folder: Path) -> str:
    suite = recipe.suite
    if suite.pool is None:
        return f"no manifest; no proof: {suite.unproved}" if suite.proof is None else "no manifest"
    try:
        manifest = manifest_of(recipe, folder=folder)
    except ConfigurationError as error:
        return f"not there yet: {error}"
    assert manifest is not None
    against = (
        "compared with no benchmark"
        if manifest.benchmark is None
        else f"nothing of {len(manifest.benchmark.tasks)} benchmark tasks"
    )
    counts = ", ".join(
        f"{manifest.counts[name]} {name}" for name in ("train", "validation", "held-out", "unseen")
    )
    return f"{suite.pool}, digest {manifest.digest[:16]}: {counts}, of {manifest.counts['probed']} probed; {against}"


def plan_lines(made: Plan, recipe: Recipe) -> Iterator[str]:
    for devices in (made.training, made.playing):
        yield from device_lines(devices)
    if made.host:
        yield f"memory of the machine, each process: {made.host / 1e9:.3f} GB for what is offloaded"
    yield f"memory of the first process's machine while a checkpoint is written: {made.writing / 1e9:.3f} GB more"
    yield (
        f"longest sequence that fits: {made.most:,} ids; the recipe says {recipe.episodes.longest:,}, the reference "
        f"had {REFERENCE['episodes.longest']:,}"
    )
    yield (
        f"conversations of that length at once: {made.at_once}; the recipe plays up to {recipe.episodes.concurrency}"
        + ("" if made.at_once >= recipe.episodes.concurrency else ", shorter ones or in turn")
    )
    yield "estimates; activations were not measured"
    if not made.fits:
        yield "DOES NOT FIT: shorten episodes.longest, lower hardware.batch, or shard over more processes"


def device_lines(devices: Devices) -> Iterator[str]:
    what = "1 device" if devices.number == 1 else f"each of {devices.number} devices"
    yield f"{what} that {devices.what}:" if devices.number > 1 else f"{what} to {devices.what}:"
    for name, needed in devices.needs.items():
        yield f"  {name:<20}{needed / 1e9:>10.3f} GB"
    yield f"  {'together':<20}{devices.total / 1e9:>10.3f} GB of {devices.available / 1e9:.3f} GB"

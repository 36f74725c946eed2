"""A checkpoint against the policy that it came from: two ordinary campaigns, side by side, then compared."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Annotated, Literal

from pydantic import Field, model_validator

from pytest_thinkingbox.errors import ConfigurationError, ThinkingboxError
from pytest_thinkingbox.records.schema import BrokenRecords
from pytest_thinkingbox.records.store import find_campaign
from pytest_thinkingbox.selection.manifest import TRAINED, Manifest, read_manifest
from pytest_thinkingbox.selection.proofs import named
from thinkingbox_trainer.commands import serve_command
from thinkingbox_trainer.plan import Devices, Shape, serving
from thinkingbox_trainer.recipe import Amount, Count, Generation, Name, Natural, Part, ShapePart, read_as

Side = Literal["base", "trained"]
SIDES: tuple[Side, ...] = ("base", "trained")

_PLAYED = (0, 1)
"""Exit statuses of pytest that leave a whole campaign behind."""
_CLOSING = 30.0
"""Seconds that a campaign or a server gets to close what it opened."""
_SAID = 4000  # characters of a log in an error
_ADDRESS = re.compile(r"^serving .* on (http://\S+)", re.MULTILINE)


class EvaluationPart(Part):
    name: Name
    seed: Natural
    attempts: Count
    concurrency: Count
    """Of each of the two campaigns."""
    output: str
    """A folder, from the recipe's own: below it is one for each of the two."""


class EvaluatedSuite(Part):
    paths: list[str]
    """Of pytest, from the recipe's folder."""
    arguments: list[str] = Field(default_factory=list)
    pool: str | None = None
    """The manifest of what was trained on: the comparison says what it shares with it."""
    splits: list[Literal["validation", "held-out", "unseen"]] = Field(default_factory=list)
    """Only tasks of these splits of the pool; all of the suite when there are none."""

    @model_validator(mode="after")
    def _splits_are_of_a_pool(self) -> EvaluatedSuite:
        if self.splits and self.pool is None:
            raise ValueError("splits are those of a manifest: name it with pool")
        return self


class Policy(Part):
    path: str
    """A checkpoint's folder, from the recipe's own, or a name on the hub. It is also the model's name."""
    tokenizer: str | None = None
    """Where it is another folder than the checkpoint's."""
    base_url: str | None = None
    """Where it is served; without it, `thinkingbox serve` is started for it."""


class EvaluationSampling(Part):
    temperature: Amount
    top_p: Annotated[float, Field(gt=0, le=1)]
    top_k: Natural
    longest: Count
    """Ids of one conversation; what serves the model has to be told the same."""
    answer: Count


class People(Part):
    user_model: str | None = None
    user_base_url: str | None = None
    judge_model: str | None = None
    judge_base_url: str | None = None


class EvaluationRecipe(Part):
    """`generation` and `shape` are for the commands and the memory that `--dry-run` shows."""

    evaluation: EvaluationPart
    suite: EvaluatedSuite
    base: Policy
    trained: Policy
    sampling: EvaluationSampling
    people: People = People()
    generation: Generation | None = None
    shape: ShapePart | None = None

    def policy(self, side: Side) -> Policy:
        return self.base if side == "base" else self.trained


def read_evaluation(path: Path) -> EvaluationRecipe:
    """Raises ConfigurationError that names the file, the place and the value."""
    return read_as(EvaluationRecipe, path, others={"run": ""})


def evaluate(recipe: EvaluationRecipe, *, folder: Path) -> int:
    """Play both campaigns at the same time, or what is missing of them, and print the comparison. Its exit status.
    `folder` is the recipe's, absolute.

    Raises ConfigurationError and EvaluationBroke.
    """
    from pytest_thinkingbox.cli import main

    tasks = _tasks(recipe, folder=folder)
    with ExitStack() as stack:
        urls = {side: stack.enter_context(_served(recipe.policy(side), folder=folder)) for side in SIDES}
        running = [
            stack.enter_context(_campaign(recipe, side, folder=folder, url=urls[side], tasks=tasks))
            for side in SIDES
        ]
        for one in running:
            one.wait()
        for side, one in zip(SIDES, running, strict=True):
            if one.returncode not in _PLAYED:
                raise EvaluationBroke(
                    f"the campaign of {side} ended with exit status {one.returncode}; the same command goes on with "
                    f"what is missing. pytest said:\n{_tail(_log(recipe, side, folder=folder))}"
                )
    campaigns = [str(find_campaign(_directory(recipe, side, folder=folder))) for side in SIDES]
    pool = [] if recipe.suite.pool is None else [f"--pool={folder / recipe.suite.pool}"]
    with contextlib.chdir(folder):
        return main(["compare", *campaigns, *pool])


class EvaluationBroke(ThinkingboxError):
    """A campaign or a server ended before it was done."""


def pytest_command(
    recipe: EvaluationRecipe, side: Side, *, folder: Path, url: str, tasks: Sequence[str], resume: Path | None
) -> list[str]:
    """The ordinary run of pytest that one campaign is. Both differ in model, endpoint and folder only."""
    part, policy, sampling, people = recipe.evaluation, recipe.policy(side), recipe.sampling, recipe.people
    options = {
        "agent": "tokens",
        "model": where(policy, folder=folder),
        "tokenizer": _found(policy.tokenizer or policy.path, folder=folder),
        "base-url": url,
        "attempts": part.attempts,
        # Tasks that choose a checkpoint say nothing of the one that was chosen.
        "purpose": "validation" if "validation" in recipe.suite.splits else "evaluation",
        "seed": part.seed,
        "temperature": sampling.temperature,
        "extra-body": json.dumps(
            {"top_p": sampling.top_p, "top_k": sampling.top_k, "max_tokens": sampling.answer}, sort_keys=True
        ),
        "concurrency": part.concurrency,
        "dir": _directory(recipe, side, folder=folder),
        "min-pass-rate": 0,  # failed attempts are what is measured, and no reason to fail
        "user-model": people.user_model,
        "user-base-url": people.user_base_url,
        "judge-model": people.judge_model,
        "judge-base-url": people.judge_base_url,
        "resume": resume,
    }
    return [
        sys.executable, "-m", "pytest", *(tasks or recipe.suite.paths), *recipe.suite.arguments,
        *(f"--tb-{name}={value}" for name, value in options.items() if value is not None),
    ]  # fmt: skip


def where(policy: Policy, *, folder: Path) -> str:
    """The checkpoint's folder, or its name on the hub; also the name that it is served by."""
    return _found(policy.path, folder=folder)


def _found(path: str, *, folder: Path) -> str:
    local = folder / path
    return str(local.resolve()) if local.is_dir() else path


def dry_run_lines(recipe: EvaluationRecipe, *, folder: Path) -> Iterator[str]:
    """Every setting, the commands, and what memory serving takes."""
    for part, values in recipe.model_dump().items():
        for name, value in (values or {}).items():
            yield f"{part}.{name} = {value!r}"
    yield ""
    yield "served with:"
    for number, side in enumerate(SIDES):
        policy = recipe.policy(side)
        if recipe.generation is None:
            name = where(policy, folder=folder)
            yield f"  {side}: {policy.base_url or shlex.join(['thinkingbox', 'serve', name, '--port=0'])}"
            continue
        command = serve_command(
            recipe.generation, model=where(policy, folder=folder), dtype="bfloat16", longest=recipe.sampling.longest,
            seed=recipe.evaluation.seed, port=8000 + number,
        )  # fmt: skip
        first = number * recipe.generation.gpus
        gpus = ",".join(str(first + one) for one in range(recipe.generation.gpus))
        yield f"  {side}: CUDA_VISIBLE_DEVICES={gpus} {command}"
    made = serving_of(recipe)
    if made is not None:
        from thinkingbox_trainer.shown import device_lines

        yield from device_lines(made[0])
        yield f"conversations of the full length at once, of each policy: {made[1]}"
    yield ""
    yield "played with, both at the same time:"
    for side in SIDES:
        command_line = pytest_command(
            recipe, side, folder=folder, url=recipe.policy(side).base_url or "URL", tasks=(), resume=None
        )
        yield f"  {shlex.join(['pytest', *command_line[3:]])}"


def serving_of(recipe: EvaluationRecipe) -> tuple[Devices, int] | None:
    """What one policy takes of its GPUs, and how many conversations of the full length they hold."""
    if recipe.generation is None or recipe.shape is None:
        return None
    shape = Shape(**recipe.shape.model_dump())
    return serving(recipe.generation, shape, width=2, longest=recipe.sampling.longest, synced=False)


def _tasks(recipe: EvaluationRecipe, *, folder: Path) -> list[str]:
    """Ids of the splits, none for all of the suite."""
    if recipe.suite.pool is None:
        return []
    path = folder / recipe.suite.pool
    manifest = read_manifest(path)
    if recipe.evaluation.seed in {one.seed for one in manifest.probes}:
        raise ConfigurationError(
            f"evaluation.seed = {recipe.evaluation.seed} is that of a probe of {path}: what chose the tasks is no "
            "measurement of them. Take another seed"
        )
    if not recipe.suite.splits:
        _demand_untrained(recipe, manifest, path, folder=folder)
        return []
    tasks = manifest.of(*recipe.suite.splits)
    if not tasks:
        raise ConfigurationError(f"{path} has no task in {', '.join(recipe.suite.splits)}")
    return tasks


def _demand_untrained(recipe: EvaluationRecipe, manifest: Manifest, path: Path, *, folder: Path) -> None:
    """The comparison would refuse them when everything has been played."""
    from pytest_thinkingbox.rewards.contents import contents_of_suite  # pytest and mcp

    played = contents_of_suite([*recipe.suite.paths, *recipe.suite.arguments], cwd=folder).tasks
    found = [task for task in manifest.of(*TRAINED) if task in played]
    if found:
        raise ConfigurationError(
            f"{len(found)} of {len(played)} tasks of suite.paths are in {path} to be trained on, or to choose a "
            f"checkpoint: {named(found)}. Choose with suite.splits, or name other paths"
        )


def _directory(recipe: EvaluationRecipe, side: Side, *, folder: Path) -> Path:
    return (folder / recipe.evaluation.output / side).resolve()


def _log(recipe: EvaluationRecipe, side: Side, *, folder: Path) -> Path:
    return _directory(recipe, side, folder=folder).with_suffix(".log")


@contextlib.contextmanager
def _campaign(
    recipe: EvaluationRecipe, side: Side, *, folder: Path, url: str, tasks: Sequence[str]
) -> Iterator[subprocess.Popen[bytes]]:
    directory = _directory(recipe, side, folder=folder)
    directory.mkdir(parents=True, exist_ok=True)
    try:
        resume: Path | None = find_campaign(directory)
    except BrokenRecords:  # there is none yet
        resume = None
    command = pytest_command(recipe, side, folder=folder, url=url, tasks=tasks, resume=resume)
    with _log(recipe, side, folder=folder).open("ab") as log, _process(command, folder, log) as process:
        yield process


@contextlib.contextmanager
def _served(policy: Policy, *, folder: Path) -> Iterator[str]:
    """Its address; a server is started where there is none."""
    if policy.base_url is not None:
        yield policy.base_url
        return
    command = [
        sys.executable,
        "-m",
        "pytest_thinkingbox.cli",
        "serve",
        where(policy, folder=folder),
        "--port=0",
    ]
    with _process(command, folder, subprocess.PIPE) as process:
        yield _address(process, policy.path)


def _address(process: subprocess.Popen[bytes], name: str) -> str:
    """What it says when it listens; what it says of itself meanwhile goes to our standard error."""
    assert process.stdout is not None
    for line in process.stdout:
        found = _ADDRESS.search(line.decode("utf-8", "replace"))
        if found:
            return found[1]
    raise EvaluationBroke(f"thinkingbox serve {name} ended with exit status {process.wait()}")


@contextlib.contextmanager
def _process(
    command: Sequence[str], folder: Path, output: int | IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """Ended, at the latest, with the block."""
    stderr = None if output == subprocess.PIPE else subprocess.STDOUT
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=stderr
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=_CLOSING)
                except subprocess.TimeoutExpired:
                    process.kill()


def _tail(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")[-_SAID:]

"""Checkpoints of a run on disk: whole or not there, kept and removed by the recipe, taken up when nothing differs.

OUTPUT/run.json                  what the run depends on
OUTPUT/checkpoints/step-12/      what the training library saves, `state.json` of ours, `export/` in bfloat16
OUTPUT/checkpoints/.writing/     a checkpoint that is being written; never taken up
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_thinkingbox.errors import ConfigurationError, ThinkingboxError
from pytest_thinkingbox.records.running import Running
from pytest_thinkingbox.whole import sync, whole
from thinkingbox_trainer.recipe import Recipe, settings

STATE = "state.json"
EXPORT = "export"
_Kind = TypeVar("_Kind", bound=BaseModel)
_MAY_DIFFER = frozenset(
    {
        "run.steps",
        "run.output",
        "run.report_to",
        "checkpoints.every",
        "checkpoints.keep",
        "hardware.memory_gb",
        "generation.base_url",
    }
)
"""Settings that a resumed run may have otherwise: no step that was made depends on them."""
_SPARE = 16 << 20
"""Bytes of a checkpoint beside weights and moments: tokenizer, configuration, states of generators."""


class CheckpointFailed(ThinkingboxError):
    """A checkpoint, or what is logged before it, could not be written. Those that there are were not touched."""


class Identity(BaseModel):
    """What a run depends on: every setting of the recipe, and hashes of what it names."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settings: dict[str, Any]
    hashes: dict[str, str]

    @classmethod
    def of(cls, recipe: Recipe, *, tasks: Mapping[str, str], pool: list[str], chat: str) -> Identity:
        """`tasks` are the hashes of the suite's tasks."""
        given = {name: value for name, value in settings(recipe) if name not in _MAY_DIFFER}
        of_pool = {task: tasks[task] for task in pool}
        parts = {"recipe": given, "suite": of_pool, "pool": pool}
        return cls(settings=given, hashes={"chat": chat, **{name: _hash(one) for name, one in parts.items()}})

    def differences(self, before: Identity) -> list[str]:
        lines = [
            f"{name} was {before.settings.get(name)!r} and is {self.settings.get(name)!r}"
            for name in sorted({*self.settings, *before.settings})
            if self.settings.get(name) != before.settings.get(name)
        ]
        for name, what in _HASHED.items():
            if self.hashes.get(name) != before.hashes.get(name):
                lines.append(f"{what} ({name} {before.hashes.get(name)}, now {self.hashes.get(name)})")
        return lines


_HASHED = {
    "suite": "a task is another one: prompt, user, limits, environment, rows or checker",
    "pool": "the pool has other tasks",
    "chat": "what the model is shown and how it is read is another: the chat template or the readings",
}


def _hash(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


class State(BaseModel):
    """What a checkpoint holds beside weights, optimizer, scheduler and generators.

    `step` is how many steps are done, which is also the seeds' counter; `rollouts` is where the pool and the rules of
    groups stand; `spent` is the ledger's sum when it was written.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: int
    rollouts: dict[str, Any]
    identity: Identity
    spent: dict[str, Any]
    versions: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A whole one."""

    path: Path
    state: State


class Checkpoints:
    """Those of one run. `keep` is how many there may be once a new one is whole."""

    def __init__(self, output: Path, *, keep: int) -> None:
        self._output = output
        self._keep = keep
        self.folder = output / "checkpoints"
        self.writing = self.folder / ".writing"

    def whole(self) -> list[Path]:
        """Oldest first."""
        found = []
        for path in self.folder.glob("step-*"):
            if number := re.fullmatch(r"step-(\d+)", path.name):
                found.append((int(number[1]), path))
        return [path for _, path in sorted(found)]

    def newest(self) -> Checkpoint | None:
        """Raises ConfigurationError when its state cannot be read."""
        paths = self.whole()
        if not paths:
            return None
        path = paths[-1] / STATE
        return Checkpoint(path=paths[-1], state=_read(path, State))

    def resume(self, identity: Identity) -> Checkpoint | None:
        """The newest one, None at the very beginning. Raises ConfigurationError that names what differs from the run
        that is there."""
        self._clear()
        newest = self.newest()
        noted = self._output / "run.json"
        if newest is not None:
            before, where = newest.state.identity, newest.path
        elif noted.exists():
            before, where = _read(noted, Identity), noted
        else:
            if (self._output / "steps.jsonl").exists():
                raise ConfigurationError(
                    f"{self._output} holds steps of a run that says nothing of itself: begin with --fresh, which sets "
                    "that folder aside, or take another run.output"
                )
            with whole(noted, durable=True) as part:
                part.write_text(identity.model_dump_json(indent=1), encoding="utf-8")
            return None
        if differs := identity.differences(before):
            raise ConfigurationError(
                f"{where} belongs to a run with other settings:\n  "
                + "\n  ".join(differs)
                + "\nput them back, take another run.output, or begin with --fresh, which sets this folder aside"
            )
        return newest

    def _clear(self) -> None:
        """Remove what a process that was killed left half written."""
        shutil.rmtree(self.writing, ignore_errors=True)

    def demand_space(self, needed: int) -> None:
        """`needed` are the bytes of one checkpoint. Raises ConfigurationError when the disk has no room for all that
        the recipe keeps and the one that is written beside them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        more = max(1, self._keep + 1 - len(self.whole()))
        free = shutil.disk_usage(self.folder).free
        if free < more * needed:
            raise ConfigurationError(
                f"{self.folder}: {free / 1e9:.2f} GB are free, and {more} checkpoints of {needed / 1e9:.2f} GB are to "
                f"come (checkpoints.keep = {self._keep}, and one while it is written): make room, keep fewer, or take "
                "another run.output"
            )

    def half(self) -> Path | None:
        """A checkpoint that is being written."""
        return next(self.writing.glob("checkpoint-*"), None)

    def publish(self, half: Path, state: State) -> Path:
        """Make a whole one of what was written, and remove those that are too old."""
        (half / STATE).write_text(state.model_dump_json(indent=1), encoding="utf-8")
        sync_all(half)
        path = self.folder / f"step-{state.step}"
        half.rename(path)
        sync(self.folder)
        for old in self.whole()[: -self._keep]:
            gone = (
                self.writing / f"old-{old.name}"
            )  # a killed process must leave no half one under a good name
            old.rename(gone)
            shutil.rmtree(gone)
        return path

    def failed(self, error: BaseException) -> CheckpointFailed:
        """For an error while one was written, or on a full disk. What was written of it is removed: it takes room."""
        half = self.half()
        self._clear()
        whole = self.whole()
        kept = f"{whole[-1]} is whole" if whole else "there is none before it"
        what, where = "the log of the run", self._output
        if half is not None:
            what, where = f"the checkpoint of step {half.name.removeprefix('checkpoint-')}", self.folder
        free = shutil.disk_usage(self.folder).free
        return CheckpointFailed(
            f"{what} could not be written to {where} ({free / 1e9:.2f} GB are free): {error}; "
            f"{kept}: make room and give the same command again"
        )


def checkpoint_bytes(*, weights: int, trained: int, width: int, numbers: int) -> int:
    """Of weights that are saved, in bytes, numbers that are trained, of `width` bytes, and all `numbers` of the model:
    weights, the two moments of AdamW, and the export in bfloat16."""
    return weights + 2 * trained * width + 2 * numbers + _SPARE


def occupy(output: Path, *, fresh: bool) -> Running:
    """Make the folder of a run this process's own until the lock is closed; `fresh` sets aside what was there.

    Raises ConfigurationError while another process has it.
    """
    try:
        if fresh and output.exists():
            Running(output, alone=True).close()
            print(f"{output}: what was there is now {set_aside(output)}", flush=True)
        output.mkdir(parents=True, exist_ok=True)
        return Running(output, alone=True)
    except BlockingIOError:
        raise ConfigurationError(f"{output}: another process is training into this folder") from None


def set_aside(folder: Path) -> Path | None:
    """Rename a run's folder, so that its place is free. Nothing is deleted."""
    if not folder.exists():
        return None
    number = 1
    while (aside := folder.with_name(f"{folder.name}.before-{number}")).exists():
        number += 1
    folder.rename(aside)
    return aside


def rewind(output: Path, *, step: int) -> int:
    """Take the lines of steps from `step` on out of `steps.jsonl` and put them into `discarded.jsonl`; how many."""
    path, discarded = output / "steps.jsonl", output / "discarded.jsonl"
    if not path.exists():
        return 0
    kept: list[str] = []
    gone: list[str] = []
    for line in path.read_text("utf-8", errors="replace").splitlines():
        try:
            counts = json.loads(line)["step"] < step
        except (ValueError, KeyError, TypeError):  # half a line of a process that was killed
            counts = False
        (kept if counts else gone).append(line)
    if not gone:
        return 0
    there = set(discarded.read_text("utf-8").splitlines()) if discarded.exists() else set()
    with discarded.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in gone if line not in there)
    sync(discarded)
    with whole(path, durable=True) as part:
        part.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    return len(gone)


def replace_folder(half: Path, path: Path) -> None:
    """Put a folder that was written in the place of another, which is removed."""
    sync_all(half)
    old = path.with_name(f".{path.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    half.rename(path)
    sync(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def sync_all(folder: Path) -> None:
    """To the disk, with everything in it."""
    for path in [folder, *folder.rglob("*")]:
        sync(path)


def _read(path: Path, kind: type[_Kind]) -> _Kind:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ConfigurationError(
            f"{path}: {error}: move its folder away to go on from what was before, or begin with --fresh"
        ) from None

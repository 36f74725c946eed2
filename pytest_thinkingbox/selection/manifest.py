"""The manifest of a pool: which tasks, why, and the hashes of all that the choice depended on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.selection.contents import only_ids
from pytest_thinkingbox.selection.pool import Reason, Rule, Split
from pytest_thinkingbox.selection.proofs import named
from pytest_thinkingbox.stats.difficulty import Band
from pytest_thinkingbox.whole import whole

Count = Annotated[int, Field(ge=0)]
TRAINED: tuple[Split, ...] = ("train", "validation")
HELD: tuple[Split, ...] = ("held-out", "unseen")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Settings(_Part):
    """The rule by which tasks were chosen. `seed` is that of the draw."""

    rule: Rule
    bands: tuple[Band, ...]
    min_valid: Count
    validation: float
    held_out: float
    unseen: float
    seed: Count


class Source(_Part):
    """A campaign that was read. `records` is the SHA-256 of its attempts, `seed` that of the campaign."""

    campaign: str
    created: str
    agent: str
    model: str | None
    seed: int
    partial: str | None
    tasks: Count
    requested: Count
    valid: Count
    invalid: Count
    options: dict[str, Any]
    records: str


class Gate(_Part):
    """What showed that tasks can be solved: a campaign of another model, or a proof, each with its SHA-256."""

    kind: Literal["reference", "proof"]
    name: str
    digest: str
    solved: Count
    of: Count


class Benchmark(_Part):
    """What the pool was held against: pytest's arguments, and the ids of its tasks."""

    arguments: tuple[str, ...]
    tasks: tuple[str, ...]


class Demonstrations(_Part):
    file: str
    digest: str
    conversations: Count


class Entry(_Part):
    """One task. `hashes` are prompt, environment, checker and seed, as it was probed."""

    task: str
    template: str
    tags: tuple[str, ...]
    split: Split | None
    drawn: Split | None
    reason: Reason | None
    requested: Count
    passed: Count
    valid: Count
    invalid: Count
    band: Band | None
    masses: dict[Band, float]
    hashes: dict[str, str | None]


class Evaluation(_Part):
    """A campaign whose held-out tasks somebody looked at."""

    campaign: str
    at: str


class Manifest(_Part):
    """`counts` are tasks by what became of them. `contents` are what the pool's tasks are made of, by kind, to be
    compared with what is evaluated; `shared` is what they have in common with the benchmark. `digest` covers all but
    the evaluations, which are added later, and `noted` these too."""

    version: Literal[1] = 1
    created: str
    package: str
    settings: Settings
    probes: tuple[Source, ...]
    gate: Gate | None
    excluded: tuple[str, ...]
    benchmark: Benchmark | None
    demonstrations: tuple[Demonstrations, ...]
    counts: dict[str, Count]
    tasks: tuple[Entry, ...]
    contents: dict[str, dict[str, str]]
    shared: dict[str, tuple[str, ...]]
    digest: str = ""
    evaluations: tuple[Evaluation, ...] = ()
    noted: str = ""

    def of(self, *splits: Split) -> list[str]:
        """Ids of the tasks in these splits."""
        return [one.task for one in self.tasks if one.split in splits]

    def looks_at_held_out(self, tasks: Iterable[str]) -> bool:
        return not set(tasks).isdisjoint(self.of(*HELD))

    def sealed(self) -> Manifest:
        digest, noted = self._digests()
        return self.model_copy(update={"digest": digest, "noted": noted})

    @property
    def is_sealed(self) -> bool:
        return (self.digest, self.noted) == self._digests()

    def _digests(self) -> tuple[str, str]:
        data = self.model_dump(mode="json", exclude={"digest", "noted"})
        evaluations = data.pop("evaluations")
        digest = _sha256(data)
        return digest, _sha256([digest, evaluations])

    def complaints(self, today: Mapping[str, Mapping[str, str | None]]) -> list[str]:
        """Why this pool must not be trained on; `today` are the hashes of the tasks as they are collected now."""
        lines = []
        if self.benchmark is not None:
            listed = only_ids(self.benchmark.tasks, beside=None)
            found = [task for task in self.of(*TRAINED) if listed.has(task)]
            if found:
                lines.append(f"{len(found)} tasks of the pool are on the benchmark's list: {named(found)}")
        entries = [one for one in self.tasks if one.split in TRAINED]
        # Start states are hashed by their backend, and `today` was hashed by SQLite.
        seeds = all(str(one.options.get("backend")).partition(":")[0] == "sqlite" for one in self.probes)
        gone = [one.task for one in entries if one.task not in today]
        changed = [
            one.task
            for one in entries
            if one.task in today
            and any(
                one.hashes.get(kind) != value
                for kind, value in today[one.task].items()
                if kind != "seed" or (seeds and value is not None and one.hashes.get(kind) is not None)
            )
        ]
        for tasks, what in ((gone, "are not in the suite"), (changed, "were changed since they were probed")):
            if tasks:
                lines.append(f"{len(tasks)} of {len(entries)} tasks {what}: {named(tasks)}")
        return lines


def _sha256(data: Any) -> str:
    return sha256(json.dumps(data, sort_keys=True, ensure_ascii=True).encode("ascii")).hexdigest()


def demand_replaceable(path: Path) -> None:
    """Raises ConfigurationError where a new manifest would be written over something that is not to be made again."""
    if not path.parent.is_dir():
        raise ConfigurationError(f"{path}: there is no folder {path.parent}")
    if not path.exists():
        return
    try:
        there = read_manifest(path)
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}. It is not written over: name another file, or move it") from None
    if there.evaluations:
        raise ConfigurationError(
            f"{path} notes {len(there.evaluations)} campaigns in which its held-out tasks were looked at, and is not "
            "written over: name another file, or move it"
        )


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Whole or not at all."""
    text = json.dumps(manifest.model_dump(mode="json"), indent=1, ensure_ascii=True) + "\n"
    with whole(path) as part:
        part.write_text(text, encoding="ascii", newline="\n")


def read_manifest(path: Path) -> Manifest:
    """Raises ConfigurationError, also when somebody changed what the digest covers."""
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"{path}: {error.strerror}: `thinkingbox select` writes a manifest"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise ConfigurationError(f"{path} is no manifest of a pool: {where}: {first['msg']}") from None
    if not manifest.is_sealed:
        raise ConfigurationError(
            f"{path}: its digest is not that of its contents: it was changed by hand. Select the pool again"
        )
    return manifest


def note_evaluations(path: Path, campaigns: Sequence[str], *, at: str) -> Manifest:
    """Write down that held-out tasks of these campaigns were looked at; each counts once. The manifest with them."""
    with FileLock(path.with_name(f".{path.name}.lock")):
        manifest = read_manifest(path)
        known = {one.campaign for one in manifest.evaluations}
        new = [Evaluation(campaign=one, at=at) for one in dict.fromkeys(campaigns) if one not in known]
        if new:
            manifest = manifest.model_copy(update={"evaluations": (*manifest.evaluations, *new)}).sealed()
            write_manifest(manifest, path)
        return manifest

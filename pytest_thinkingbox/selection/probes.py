"""Campaigns as probes of a policy, and as a reference that shows which tasks can be solved at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.records.model import Hashes
from pytest_thinkingbox.records.store import find_campaign
from pytest_thinkingbox.report.reading import read_side
from pytest_thinkingbox.selection.pool import Candidate
from pytest_thinkingbox.selection.proofs import named
from pytest_thinkingbox.stats.campaign import Side, mismatches

_MAY_DIFFER = ("tasks", "attempts", "purpose")
"""Between probes of one policy: they add up."""
_QUESTION = ("prompts", "environment", "checkers", "seeds")
"""What must be the same of a probe and of a reference: the task itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """A campaign as read: `digest` is the SHA-256 of its records."""

    path: Path
    side: Side
    digest: str

    @property
    def who(self) -> tuple[str, str | None]:
        return self.side.info.agent, self.side.info.model


def read_campaign(path: Path) -> Campaign:
    folder = find_campaign(path)
    side = read_side(folder)
    digest = sha256((folder / "attempts.jsonl").read_bytes()).hexdigest()
    return Campaign(path=folder, side=side, digest=digest)


def read_probes(paths: Sequence[Path]) -> list[Campaign]:
    """Probes of one policy that asked the same question. Raises ConfigurationError that names what does not fit."""
    probes = [read_campaign(path) for path in paths]
    first = probes[0]
    for one in probes:
        info = one.side.info
        if info.purpose != "probe":
            raise ConfigurationError(
                f"{one.path}: its purpose is {info.purpose!r}, and only a probe chooses a pool: what was measured to "
                "be reported must not. Run pytest with --tb-purpose=probe"
            )
        if one.who != first.who:
            raise ConfigurationError(f"{one.path}: {_who(one)} acted there, {_who(first)} in {first.path}")
        found = [miss for miss in mismatches(base=first.side, new=one.side) if miss.key not in _MAY_DIFFER]
        if found:
            lines = "\n  ".join(miss.line for miss in found)
            raise ConfigurationError(f"{one.path} did not ask the same question as {first.path}:\n  {lines}")
    for index, one in enumerate(probes):
        for other in probes[:index]:
            both = [task for task in one.side.info.tasks if task in other.side.info.tasks]
            if one.side.info.campaign == other.side.info.campaign or (
                both and one.side.info.seed == other.side.info.seed
            ):
                raise ConfigurationError(
                    f"{one.path} and {other.path} probe {named(both)} with the same seed: the same attempts would "
                    "count twice. Give each probe a --tb-seed of its own"
                )
    return probes


def candidates_of(probes: Sequence[Campaign]) -> list[Candidate]:
    """Every task that was probed, its attempts added up."""
    found: dict[str, Candidate] = {}
    for probe in probes:
        for one in probe.side.tasks:
            before = found.get(one.task)
            candidate = Candidate(
                task=one.task,
                tags=one.tags,
                requested=one.requested,
                passed=one.passed,
                valid=one.valid,
                invalid=one.invalid,
            )
            if before is not None:
                candidate = replace(
                    candidate,
                    tags=one.tags or before.tags,
                    requested=before.requested + one.requested,
                    passed=before.passed + one.passed,
                    valid=before.valid + one.valid,
                    invalid=before.invalid + one.invalid,
                )
            found[one.task] = candidate
    return list(found.values())


def hashes_of_probes(probes: Sequence[Campaign]) -> dict[str, Hashes]:
    """What each task was made of when it was probed. `seed` is None where no attempt got as far as a database.

    Raises ConfigurationError for a task that did not always begin with the same database.
    """
    found: dict[str, Hashes] = {}
    for probe in probes:
        for task, hashes in probe.side.info.task_hashes.items():
            seeds = probe.side.seeds.get(task, frozenset())
            if len(seeds) > 1:
                raise ConfigurationError(f"{probe.path}: {task} began with {len(seeds)} different databases")
            seed = next(iter(seeds), None)
            before = found.get(task)
            found[task] = replace(hashes, seed=seed or (None if before is None else before.seed))
    return found


def solved_by(reference: Campaign, probes: Sequence[Campaign]) -> frozenset[str]:
    """Tasks that another model passed at least once. Raises ConfigurationError when it was asked something else."""
    for probe in probes:
        if reference.who == probe.who:
            raise ConfigurationError(
                f"{reference.path}: {_who(reference)} is the policy that was probed, and no reference"
            )
        found = [one for one in mismatches(base=probe.side, new=reference.side) if one.key in _QUESTION]
        if found:
            lines = "\n  ".join(one.line for one in found)
            raise ConfigurationError(
                f"{reference.path} is about other tasks of the same names than {probe.path}:\n  {lines}"
            )
    return frozenset(one.task for one in reference.side.tasks if one.passed)


def changed_since(hashes: Mapping[str, Hashes], today: Mapping[str, Mapping[str, str | None]]) -> list[str]:
    """Tasks of `hashes` that are no more, or are made of something else today."""
    return [
        task
        for task, then in hashes.items()
        if task not in today
        or any(
            today[task][kind] != one
            for kind, one in (
                ("prompt", then.prompt),
                ("environment", then.environment),
                ("checker", then.checker),
            )
        )
    ]


def _who(campaign: Campaign) -> str:
    agent, model = campaign.who
    return agent if model is None else f"{agent} {model}"

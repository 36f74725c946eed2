"""What of a stored campaign still answers the question that is asked now, attempt by attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_thinkingbox.errors import Cause
from pytest_thinkingbox.records.model import AttemptRecord, CampaignInfo, Hashes, Outcome
from pytest_thinkingbox.records.store import CampaignFolder

Key = tuple[str, int]
"""Task and attempt number: what an attempt is known by, whatever its place in the suite."""

Act = Literal["keep", "play", "regrade", "refuse"]

SeedOf = Callable[[Sequence[str]], str]
"""The hash that the seed has now, when columns of these volatile patterns are left out."""

_GRADABLE: frozenset[Cause] = frozenset({"checker", "judge"})
"""Causes of invalid attempts whose episodes were played to their end: another grading may settle them."""


_PLAYED_WITH = (
    "api",
    "chat",
    "faults",
    "temperature",
    "extra_body",
    "user_model",
    "user_prompt",
    "judge_model",
    "judge_prompt",
    "backend",
    "timeout",
)
"""Options that an attempt's outcome depends on. Where an endpoint lies may change from one run to the next."""


JUDGED_WITH = ("min_reliable", "baseline", "max_drop", "prices")
"""Options that a campaign is judged by, whatever it was played with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The try that decided an attempt, and where its line begins in the file, in bytes.

    `tries` is the highest number of a try; `has_state` says that its changes were read.
    """

    offset: int
    tries: int
    outcome: Outcome
    cause: Cause | None
    hashes: Hashes
    volatile: Sequence[str]
    has_state: bool

    @property
    def gradable(self) -> bool:
        return self.has_state and is_gradable(self.cause)


def is_gradable(cause: Cause | None) -> bool:
    """Whether another grading may say something about an attempt that was invalid for this cause, or is valid."""
    return cause is None or cause in _GRADABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`why` is one word for each thing that differs: "missing", "invalid", "prompt", "seed", "checker"..."""

    act: Act
    why: str = ""


def stored_attempts(folder: CampaignFolder, *, until: int | None = None) -> dict[Key, Stored]:
    """The deciding try of every attempt that has a line, in the first `until` bytes where they are given."""
    found: dict[Key, tuple[bool, Stored]] = {}
    for offset, record in folder.read_entries(until=until):
        key = (record.task, record.attempt)
        final, before = found.get(key, (False, None))
        tries = max(record.try_number, before.tries if before is not None else 0)
        if before is not None and final and not record.final:
            found[key] = (final, replace(before, tries=tries))
        else:
            found[key] = (record.final, _stored(record, offset, tries))
    return {key: stored for key, (_, stored) in found.items()}


def _stored(record: AttemptRecord, offset: int, tries: int) -> Stored:
    return Stored(
        offset=offset,
        tries=tries,
        outcome=record.outcome,
        cause=record.cause,
        hashes=record.hashes,
        volatile=record.volatile,
        has_state=record.changes is not None,
    )


def decide(stored: Stored | None, now: Hashes, seed_of: SeedOf, *, rerun_changed: bool) -> Decision:
    """What a resumed campaign does with an attempt; `now` are the hashes of today, without the seed."""
    if stored is None:
        return Decision(act="play", why="missing")
    if stored.outcome == "invalid" and not stored.gradable:
        return Decision(act="play", why="invalid")
    changed = [name for name in ("prompt", "environment") if _of(stored.hashes, name) != _of(now, name)]
    if changed:
        return Decision(act="play" if rerun_changed else "refuse", why=" and ".join(changed))
    if stored.hashes.seed != seed_of(stored.volatile):
        return Decision(act="play", why="seed")
    if stored.hashes.checker != now.checker or stored.outcome == "invalid":
        return Decision(act="regrade", why="checker")
    return Decision(act="keep")


def decide_regrade(stored: Stored | None, seed_of: SeedOf) -> Decision:
    """The same when nothing may be played: what was not played to its end stays what it is."""
    if stored is None or not stored.gradable:
        return Decision(act="keep")
    if stored.hashes.seed != seed_of(stored.volatile):
        return Decision(act="refuse", why="seed")
    return Decision(act="regrade", why="asked for")


def _of(hashes: Hashes, name: str) -> str | None:
    return {"prompt": hashes.prompt, "environment": hashes.environment}[name]


def extended(info: CampaignInfo, now: CampaignInfo) -> CampaignInfo:
    """The description of a campaign that goes on: what is asked for now, and what was asked for before."""
    return replace(
        info,
        tasks={
            **info.tasks,
            **{task: max(number, info.tasks.get(task, 0)) for task, number in now.tasks.items()},
        },
        min_pass_rate=now.min_pass_rate,
        options={
            **info.options,
            **now.options,
            "prices": now.options.get("prices") or info.options.get("prices") or {},
        },
        versions=now.versions,
        environments={
            **info.environments,
            **{
                name: replace(hashes, seed=hashes.seed or info.environments.get(name, Hashes()).seed)
                for name, hashes in now.environments.items()
            },
        },
        task_hashes={**info.task_hashes, **now.task_hashes},
        partial=None,
        finished=None,
    )


def graded_again(info: CampaignInfo, now: CampaignInfo) -> CampaignInfo:
    """The description of a campaign of which nothing is played: only what it is judged by is that of now."""
    checkers = {task: hashes.checker for task, hashes in now.task_hashes.items()}
    return replace(
        info,
        min_pass_rate=now.min_pass_rate,
        options={**info.options, **{name: now.options.get(name) for name in JUDGED_WITH}},
        task_hashes={
            task: replace(hashes, checker=checkers.get(task, hashes.checker))
            for task, hashes in info.task_hashes.items()
        },
    )


def outdated(stored: Mapping[Key, Stored], task_hashes: Mapping[str, Hashes]) -> int:
    """Attempts with a verdict on another prompt, or of another checker, than the campaign now says of their tasks."""
    return sum(
        replace(one.hashes, seed=None) != replace(task_hashes[task], seed=None)
        for (task, _), one in stored.items()
        if one.outcome != "invalid" and task in task_hashes
    )


def mismatches(info: CampaignInfo, now: CampaignInfo) -> list[str]:
    """Why attempts played now would not belong to the same campaign, one line each."""
    pairs = {
        "agent": (info.agent, now.agent),
        "model": (info.model, now.model),
        "seed": (info.seed, now.seed),
        "purpose": (info.purpose, now.purpose),
        "shard": (info.shard, now.shard),
        **{
            name: (info.options[name], now.options.get(name)) for name in _PLAYED_WITH if name in info.options
        },
    }
    return [_mismatch(name, before, after) for name, (before, after) in pairs.items() if before != after]


def _mismatch(name: str, before: object, after: object) -> str:
    if name in ("user_prompt", "judge_prompt"):
        role = name.partition("_")[0]
        return f"another version of pytest-thinkingbox told the {role} model otherwise what to do"
    if name == "chat":
        return f"the interpretation of token ids (--tb-tokenizer): it was {before!r}, now it is {after!r}"
    return f"--tb-{name.replace('_', '-')}: it was {before!r}, now it is {after!r}"

"""Campaigns and contents from a few words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_thinkingbox.records.model import Hashes
from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.selection.contents import (
    Contents,
    TaskContents,
    World,
    grams_of,
    text_digest,
    words_digest,
)
from pytest_thinkingbox.selection.pool import Candidate
from pytest_thinkingbox.selection.probes import Campaign, read_campaign
from tests.records.builders import info, record

LONG = "The guest in room seven wants to leave two days earlier and asks what it costs her to do so"
OTHER = (
    "A parcel that nobody fetched within nine days goes back to whoever sent it at their own expense always"
)


def candidate(task: str, passed: int = 5, valid: int = 10, **named: Any) -> Candidate:
    fields: dict[str, Any] = {"requested": valid, "invalid": 0}
    return Candidate(task=task, passed=passed, valid=valid, **fields | named)


def hashes(task: str) -> Hashes:
    return Hashes(prompt=f"p-{task}", environment="e", checker=f"c-{task}")


def campaign(folder: Path, name: str, outcomes: Mapping[str, str], **named: Any) -> Campaign:
    """A probe; outcomes are p, f and i by task, one letter an attempt."""
    fields: dict[str, Any] = {"purpose": "probe", "model": "small", "agent": "openai"}
    tags = named.pop("tags", {})
    about = info(
        campaign=name,
        tasks={task: len(letters) for task, letters in outcomes.items()},
        task_hashes=named.pop("task_hashes", {task: hashes(task) for task in outcomes}),
        **fields | named,
    )
    made = CampaignFolder.create(folder / name, about)
    words: Any = {"p": "passed", "f": "failed", "i": "invalid"}
    for task, letters in outcomes.items():
        for attempt, letter in enumerate(letters, start=1):
            made.append(
                record(
                    words[letter],
                    task=task,
                    attempt=attempt,
                    requested=len(letters),
                    hashes=Hashes(seed="s"),
                    tags=tags.get(task, ()),
                )
            )
    return read_campaign(made.path)


def contents(*tasks: str, world: World | None = None, **named: Any) -> Contents:
    """Tasks of one environment, as they were probed by `campaign`."""
    prompt = named.pop("text", None)
    if prompt is not None:
        named |= {
            "prompt": text_digest(prompt),
            "prompt_grams": grams_of(prompt),
            "words": words_digest(prompt),
        }
    of_today = {task: {"prompt": f"p-{task}", "environment": "e", "checker": f"c-{task}"} for task in tasks}
    return Contents(
        worlds=[world or World(name="w")],
        tasks={task: TaskContents(task=task, world=0, hashes=of_today[task], **named) for task in tasks},
    )

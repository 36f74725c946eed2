"""Conversations that a policy is warmed up on: checked like tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.selection.contents import Contents, grams_of, text_digest, words_digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """`where` is file and line; `task` the id that it names, if it names one; `texts` what was said, in order."""

    where: str
    task: str | None
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A file of them; `digest` is its SHA-256."""

    path: Path
    digest: str
    conversations: tuple[Conversation, ...]


def read_demonstrations(path: Path) -> Told:
    """JSON lines with `messages` (or `prompt` and `completion`) of role and content, and perhaps `task` or `task_id`:
    datasets of chats, and the records of a campaign. Raises ConfigurationError with file and line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    conversations = tuple(
        _conversation(line, where=f"{path}:{number}")
        for number, line in enumerate(data.splitlines(), start=1)
        if line.strip()
    )
    return Told(path=path, digest=sha256(data).hexdigest(), conversations=conversations)


def _conversation(line: bytes, *, where: str) -> Conversation:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ConfigurationError(f"{where}: {error}") from None
    if not isinstance(row, dict) or not {"messages", "prompt"} & row.keys():
        raise ConfigurationError(f"{where}: neither `messages` nor `prompt`: no conversation")
    texts = tuple(
        text for part in ("messages", "prompt", "completion") for text in _texts(row.get(part), where=where)
    )
    task = row.get("task", row.get("task_id"))
    return Conversation(where=where, task=task if isinstance(task, str) else None, texts=texts)


def _texts(part: Any, *, where: str) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for message in part:
            if not isinstance(message, dict):
                raise ConfigurationError(f"{where}: {str(message)[:60]!r} is no message")
            yield from _content(message.get("content"))


def _content(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):  # parts of text among others
        yield from (
            one["text"] for one in content if isinstance(one, dict) and isinstance(one.get("text"), str)
        )


def told_too_much(told: Told, *, benchmark: Contents, held: Contents, pool: Contents) -> dict[str, list[str]]:
    """By file and line, what a demonstration says of tasks that must not be known; empty when nothing.

    `held` are tasks of the suite that are held out, `pool` those that are trained on: one of these may have the very
    words of one of those, when they differ in their rows.
    """
    open_to_all = {one.words for one in pool.tasks.values()}
    hidden = {one.words: one.task for one in held.tasks.values() if one.words not in open_to_all | {""}}
    found: dict[str, list[str]] = {}
    for one in told.conversations:
        reasons = (
            [f"it is of {one.task}, which is on the benchmark's list"]
            if one.task is not None and benchmark.has(one.task)
            else []
        )
        if one.task is not None and held.has(one.task):
            reasons.append(f"it is of {one.task}, which is held out")
        for text in one.texts:
            if (task := hidden.get(words_digest(text))) is not None:
                reasons.append(f"a text is the prompt of {task}, which is held out")
            digest = text_digest(text)
            reasons += [
                f"a text is the {kind} of {benchmark.known_marks[kind, digest]}"
                for kind in ("prompt", "user", "policy")
                if digest and (kind, digest) in benchmark.known_marks
            ]
            reasons += [f"a text shares {copy}" for copy in benchmark.copies(grams_of(text))]
        if reasons:
            found[one.where] = list(dict.fromkeys(reasons))
    return found

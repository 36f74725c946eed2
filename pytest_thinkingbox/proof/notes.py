"""What the survey learns of each task besides its records: the tools' schemas, and how its tables compare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_thinkingbox.agents.base import ToolSpec
from pytest_thinkingbox.errors import ThinkingboxError
from pytest_thinkingbox.state.codec import decode_rules, encode_rules
from pytest_thinkingbox.state.model import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Of one task. `tools` maps names to input schemas, `reading` are those that say they only read."""

    environment: str
    tools: Mapping[str, Mapping[str, Any]]
    reading: frozenset[str]
    rules: Rules


def write_tools(folder: Path, task: str, environment: str, tools: Iterable[ToolSpec]) -> None:
    data = {
        "environment": environment,
        "tools": {one.name: one.input_schema for one in tools},
        "reading": [one.name for one in tools if one.read_only],
    }
    _path(folder, task, "tools").write_text(json.dumps(data), encoding="ascii")


def write_rules(folder: Path, task: str, rules: Rules) -> None:
    _path(folder, task, "rules").write_text(json.dumps(encode_rules(rules)), encoding="ascii")


def read_notes(folder: Path, task: str) -> Notes | None:
    """None when the task's first attempt did not get as far as its tools and its database."""
    paths = _path(folder, task, "tools"), _path(folder, task, "rules")
    if not all(path.is_file() for path in paths):
        return None
    try:
        tools, rules = (json.loads(path.read_text(encoding="ascii")) for path in paths)
    except ValueError as error:
        raise ThinkingboxError(f"{paths[0]}: not JSON: {error}") from None
    return Notes(
        environment=tools["environment"],
        tools=tools["tools"],
        reading=frozenset(tools["reading"]),
        rules=decode_rules(rules),
    )


def _path(folder: Path, task: str, what: str) -> Path:
    digest = sha256(task.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return folder / f"{digest}.{what}.json"

"""Messages that were exchanged before a task begins, from the `.meta.yaml` beside its file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pytest_thinkingbox.compat.files import BrokenDataset, HistoryReference, read_yaml

SECTION = "$history"


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    message_id: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class _Text(_Message):
    T: Literal["Text"]
    role: Literal["system", "user", "assistant"]
    content: str


class _Call(_Message):
    T: Literal["ToolCall"]
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    id: str


class _Calls(_Message):
    T: Literal["ParallelToolCall"]
    tool_calls: list[_Call]


class _Answer(_Message):
    T: Literal["ToolResponse"]
    name: str
    content: str
    id: str


_MESSAGES: TypeAdapter[list[_Text | _Call | _Calls | _Answer]] = TypeAdapter(
    list[Annotated[_Text | _Call | _Calls | _Answer, Field(discriminator="T")]]
)


@dataclass(frozen=True, slots=True)
class History:
    """`messages` as chat completions have them; `calls` are those that servers must play to be where they were."""

    messages: tuple[Mapping[str, Any], ...] = ()
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def read_history(tests: Path, reference: HistoryReference, *, where: str) -> History:
    """What `reference` names in the file beside `tests`. Raises BrokenDataset."""
    path = tests.with_suffix(".meta.yaml")
    if not path.is_file():
        raise BrokenDataset(f"{where}: history={reference.key!r} needs {path}, which is not there")
    data = read_yaml(path)
    groups = data.get(SECTION) if isinstance(data, dict) else None
    if not isinstance(groups, dict) or not isinstance(groups.get(reference.key), list):
        known = ", ".join(map(str, groups)) if isinstance(groups, dict) else "none"
        raise BrokenDataset(
            f"{path}: {SECTION} has no list {reference.key!r}, which {where} asks for; there are: {known}"
        )
    raw = groups[reference.key]
    place = f"{path}: {SECTION}.{reference.key}"
    try:
        messages = _MESSAGES.validate_python(raw)
    except ValidationError as error:
        first = error.errors()[0]
        raise BrokenDataset(f"{place}, message {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    ids = [one.message_id for one in messages]
    start = _position(reference.start, ids, place=place, which="start")
    end = len(messages) if reference.end == "" else _position(reference.end, ids, place=place, which="end")
    if end < start or (reference.end != "" and end == start):
        raise BrokenDataset(
            f"{place}: the end {reference.end!r} does not come after the start {reference.start!r}"
        )
    return _history(messages[start:end])


def _position(wanted: int | str, ids: Sequence[str | None], *, place: str, which: str) -> int:
    if isinstance(wanted, int):
        if not 0 <= wanted <= len(ids):
            raise BrokenDataset(f"{place}: the {which} {wanted} is outside of its {len(ids)} messages")
        return wanted
    if wanted not in ids:
        known = ", ".join(one for one in ids if one) or "none"
        raise BrokenDataset(f"{place}: the {which} {wanted!r} is no message_id; there are: {known}")
    return ids.index(wanted)


def _history(messages: Sequence[_Text | _Call | _Calls | _Answer]) -> History:
    said: list[Mapping[str, Any]] = []
    calls: list[tuple[str, Mapping[str, Any]]] = []
    for one in messages:
        match one:
            case _Text():
                if one.metadata.get("tag") != "think":
                    said.append({"role": one.role, "content": one.content})
            case _Answer():
                said.append({"role": "tool", "tool_call_id": one.id, "content": one.content})
            case _:
                together = [one] if isinstance(one, _Call) else one.tool_calls
                said.append(
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [_chat_call(call) for call in together],
                    }
                )
                calls += [(call.name, call.arguments) for call in together if not call.metadata.get("error")]
    return History(tuple(said), tuple(calls))


def _chat_call(call: _Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return {"id": call.id, "type": "function", "function": function}

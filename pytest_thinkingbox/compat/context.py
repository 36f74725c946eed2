"""What a test function of a dataset is given of an attempt, under the names that it uses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_thinkingbox.compat.direct import formatted

Role = Literal["system", "user", "assistant"]

_LEGACY = "function_call"
"""Stands for the id of a call that has none: one of the form in which a message holds one call at most."""


@dataclass(slots=True)
class Text:
    """Something that was said. `tag` is "direct" for what a tool said to the user by itself."""

    role: Role
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    T: str = "Text"

    @property
    def tag(self) -> str:
        return str(self.metadata.get("tag", "text"))

    @property
    def is_visible(self) -> bool:
        return self.tag != "think"


@dataclass(slots=True)
class ToolCall:
    name: str
    arguments: dict[str, Any]
    id: str
    metadata: dict[str, Any] = field(default_factory=dict)
    T: str = "ToolCall"


@dataclass(slots=True)
class ParallelToolCall:
    """The calls of one message, one or several."""

    tool_calls: list[ToolCall]
    metadata: dict[str, Any] = field(default_factory=dict)
    T: str = "ParallelToolCall"


@dataclass(slots=True)
class ToolResponse:
    name: str
    content: str
    id: str
    metadata: dict[str, Any] = field(default_factory=dict)
    T: str = "ToolResponse"


Message = Text | ToolCall | ParallelToolCall | ToolResponse


@dataclass(frozen=True, slots=True)
class ToolCallResponse:
    """A call and its answer; that of a tool which ends the conversation is empty."""

    tool_call: ToolCall
    tool_response: ToolResponse


@dataclass(slots=True, kw_only=True)
class TestContext:
    """One attempt after its end. `effects` and `init_result` are what each server said, by its name."""

    __test__ = False

    response: str = ""
    tool_direct_responses: list[str] = field(default_factory=list)
    effects: dict[str, Any] = field(default_factory=dict)
    tool_calls: list[ToolCallResponse] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    init_result: dict[str, Any] = field(default_factory=dict)
    session_id: str = "00000000-0000-0000-0000-000000000000"
    metadata: dict[str, Any] = field(default_factory=dict)

    def query(self) -> str:
        """What the user said first. Raises ValueError where nobody said anything."""
        for message in self.messages:
            if isinstance(message, Text) and message.role == "user" and message.is_visible:
                return message.content
        raise ValueError("no message of a user")

    def transcript(self, limit: int = 0) -> str:
        """What user and assistant said; with a limit from the end back to the assistant's message of that number."""
        if limit < 0:
            raise ValueError(f"limit={limit} must be 0 (for everything) or more")
        lines: list[str] = []
        answers = 0
        for message in reversed(self.messages):
            if not isinstance(message, Text) or message.role == "system" or not message.is_visible:
                continue
            answers += message.role == "assistant"
            lines.append(f"{'Assistant' if message.role == 'assistant' else 'User'}: {message.content}")
            if limit and answers >= limit:
                break
        return "\n\n".join(reversed(lines))


def context_of(
    *,
    messages: Sequence[Mapping[str, Any]],
    calls: Sequence[tuple[str, str, Mapping[str, Any], str]],
    direct: Mapping[str, str],
    before: int,
    effects: Mapping[str, Any],
    init: Mapping[str, Any],
    session: str,
) -> TestContext:
    """From chat-completions messages and the calls that were played (id, name, arguments, answer).

    `direct` are the texts of tools that speak to the user themselves; `before` counts the messages of the history,
    whose calls were not made by this agent.
    """
    told = _told(messages, direct)
    said = [one for one in told if isinstance(one, Text) and one.role == "assistant"]
    return TestContext(
        response=next((one.content for one in reversed(said) if one.tag == "text" and one.content), ""),
        tool_direct_responses=[
            one.content
            for one in _told(messages[before:], direct)
            if isinstance(one, Text) and one.tag == "direct"
        ],
        effects=dict(effects),
        init_result=dict(init),
        tool_calls=[
            ToolCallResponse(ToolCall(name, dict(arguments), id_), ToolResponse(name, answer, id_))
            for id_, name, arguments, answer in calls
        ],
        messages=told,
        session_id=session,
    )


def messages_of(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Chat-completions messages in this form, where nobody knows what tools say to the user themselves."""
    return _told(messages, {})


def _told(messages: Sequence[Mapping[str, Any]], direct: Mapping[str, str]) -> list[Message]:
    told: list[Message] = []
    names: dict[str, str] = {}
    spoken: list[Message] = []  # by tools, to be told once all answers to one message are there
    for message in messages:
        role, content = message["role"], message.get("content") or ""
        if role in ("tool", "function"):
            id_ = message.get("tool_call_id", _LEGACY)
            name = names.get(id_, "")
            told.append(ToolResponse(name, str(content), id_))
            text = formatted(direct[name], str(content)) if name in direct else None
            if text is not None:
                spoken.append(Text("assistant", text, {"tag": "direct"}))
            continue
        told += spoken
        spoken = []
        if message.get("direct"):
            if not direct:  # else told already, after the answer that it is made of
                told.append(Text("assistant", _words(content), {"tag": "direct"}))
            continue
        calls = [_call(one) for one in message.get("tool_calls") or ()]
        if message.get("function_call"):
            calls.append(_call({"id": _LEGACY, "function": message["function_call"]}))
        if content or not calls:
            told.append(Text(role, _words(content)))
        if calls:
            names.update((one.id, one.name) for one in calls)
            told.append(ParallelToolCall(calls))
    return told + spoken


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))


def _call(raw: Mapping[str, Any]) -> ToolCall:
    function = raw["function"]
    try:
        arguments = json.loads(function.get("arguments") or "{}")
    except (ValueError, RecursionError):
        arguments = {}
    return ToolCall(function["name"], arguments if isinstance(arguments, dict) else {}, raw["id"])

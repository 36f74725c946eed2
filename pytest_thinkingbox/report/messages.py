"""What chat-completions messages say: they are kept as they came, in the shapes of many endpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_thinkingbox.records.model import AttemptRecord, ToolCallRecord

REASONING = ("reasoning", "reasoning_content", "thinking")
"""Fields in which endpoints put what a model thought before it spoke."""


def speaker(message: Mapping[str, Any]) -> str:
    """The role; of a tool's answer also the call that it answers."""
    role = str(message.get("role", "?"))
    return f"{role} {message['tool_call_id']}" if "tool_call_id" in message else role


def content_text(content: Any) -> str:
    """Text as it is; parts one after the other, those that are no text as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    return json.dumps(content, ensure_ascii=False)


def _part(part: Any) -> str:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    return json.dumps(part, ensure_ascii=False)


def said_calls(message: Mapping[str, Any]) -> Iterator[tuple[str | None, str, Mapping[str, Any] | str]]:
    """Id, name and arguments of the calls in a message; arguments that are no JSON object stay text.

    An agent of the user's own may have written anything there: what is no call is given back as its text.
    """
    calls = message.get("tool_calls") or ()
    for call in calls if isinstance(calls, list | tuple) else (calls,):
        if not isinstance(call, dict) or not isinstance(function := call.get("function") or {}, dict):
            yield None, "?", content_text(call)
            continue
        arguments = function.get("arguments", "")
        try:
            parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            parsed = None
        call_id = call.get("id")
        yield (
            call_id if isinstance(call_id, str) else None,
            str(function.get("name", "?")),
            parsed if isinstance(parsed, dict) else str(arguments),
        )


def unsaid_calls(record: AttemptRecord) -> list[ToolCallRecord]:
    """Calls that the messages do not show: those of an agent that talks to the tools by itself."""
    said = {call_id for message in record.messages for call_id, _, _ in said_calls(message)}
    return [call for call in record.tool_calls if call.id not in said]

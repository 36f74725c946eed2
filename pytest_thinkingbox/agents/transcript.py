"""The conversation in the shape of chat completions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_thinkingbox.episodes.model import Conversation, ToolCall


def transcribe(
    conversation: Conversation, call_id: str, name: str, arguments: Mapping[str, Any], result: str
) -> None:
    """Append a call and its result in the shape of chat completions."""
    function = {"name": name, "arguments": _encoded(arguments)}
    conversation.messages.append(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        }
    )
    conversation.messages.append({"role": "tool", "tool_call_id": call_id, "content": result})


def _encoded(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(arguments), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # no tool took them; the record says more
        return json.dumps({"_unparsed": "no JSON"})


def transcribe_calls(conversation: Conversation, calls: Sequence[ToolCall]) -> None:
    """Append calls that were recorded by `call_tool` but that nobody wrote into the transcript."""
    for one in calls:
        transcribe(conversation, one.id, one.name, one.arguments, one.result)


def hear(conversation: Conversation, message: str) -> None:
    """Append the user's message, unless whoever runs the episode has."""
    heard = {"role": "user", "content": message}
    if not conversation.messages or conversation.messages[-1] != heard:
        conversation.messages.append(heard)


def say(conversation: Conversation, text: str) -> None:
    conversation.messages.append({"role": "assistant", "content": text})

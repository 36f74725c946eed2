"""Whatever an endpoint sends is an answer that can be sent back, or no reply; never a crash."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_thinkingbox.agents.completions import CHAT
from pytest_thinkingbox.agents.messages import MESSAGES
from pytest_thinkingbox.agents.responses import RESPONSES
from pytest_thinkingbox.agents.wire import Api, NoReply, Transcript
from tests.agents.shapes import json_values, objects_with
from tests.agents.world import BOOK

few = settings(max_examples=40, deadline=None)


def sent_back(api: Api, reply: dict[str, Any]) -> None:
    """Read it, answer its calls, and make the next request."""
    try:
        answer = api.read(json.dumps(reply).encode(), "application/json")
    except NoReply:
        return
    assert isinstance(answer.text, str)
    assert len({call.id for call in answer.calls}) == len(answer.calls)
    json.dumps(answer.message)
    transcript = Transcript()
    transcript.append({"role": "user", "content": "Hello"})
    transcript.append(answer.echo)
    for call in answer.calls:
        transcript.append({"role": "tool", "tool_call_id": call.id, "content": "ok"})
    for reasoning in (True, False):
        json.loads(api.body({"model": "m"}, api.encode_tools([BOOK]), transcript, reasoning=reasoning))


@few
@given(
    objects_with(
        {
            "content",
            "tool_calls",
            "function_call",
            "reasoning",
            "reasoning_content",
            "reasoning_details",
            "refusal",
        }
    ),
    json_values,
    json_values,
)
def test_chat_completions(message: dict[str, Any], finish: object, usage: object) -> None:
    sent_back(CHAT, {"choices": [{"message": message, "finish_reason": finish}], "usage": usage})


items = objects_with(
    {"content", "summary", "encrypted_content", "call_id", "id", "name", "arguments", "role", "status"},
    {"message", "function_call", "reasoning", "web_search_call"},
)


@few
@given(st.lists(items | json_values, max_size=3), json_values, json_values, json_values)
def test_responses(output: list[Any], status: object, details: object, usage: object) -> None:
    reply = {"output": output, "incomplete_details": details, "usage": usage}
    sent_back(RESPONSES, reply)
    sent_back(RESPONSES, {**reply, "status": status})


blocks = objects_with(
    {"text", "thinking", "signature", "data", "id", "name", "input"},
    {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"},
)


@few
@given(st.lists(blocks | json_values, max_size=3), json_values, json_values, json_values)
def test_messages(content: list[Any], stop: object, details: object, usage: object) -> None:
    sent_back(MESSAGES, {"content": content, "stop_reason": stop, "stop_details": details, "usage": usage})
    sent_back(MESSAGES, {"content": content, "stop_reason": "refusal", "stop_details": details})


@few
@given(st.lists(objects_with({"index", "delta", "message", "content_block", "response", "choices", "usage", "error"}, {
    "message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop", "error",
    "response.completed", "response.failed",
}), max_size=5))  # fmt: skip
def test_streams(events: list[dict[str, Any]]) -> None:
    stream = "".join(f"data: {json.dumps(one)}\n\n" for one in events).encode()
    for api in (CHAT, RESPONSES, MESSAGES):
        try:
            api.read(stream, "text/event-stream")
        except NoReply:
            continue

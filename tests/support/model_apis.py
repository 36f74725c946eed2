"""What a model says, in the form of each API, and what it was asked, read back from each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.stub_endpoint import Received, Reply

SIGNED = {"type": "thinking", "thinking": "One step after the other.", "signature": "EqQBCgIYAhIM"}
ENCRYPTED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABo"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request: the system's text, what was said in turn as (role, text), and results of tools in their order."""

    system: str
    said: Sequence[tuple[str, str]]
    results: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """`agent` are the options that make the agent speak this API. Each thought of the model must come back."""

    name: str
    agent: Sequence[str]
    path: str
    read: Callable[[Received], Asked]
    says: Callable[[str], Reply]
    calls: Callable[[str, str, Mapping[str, Any]], Reply]


def _reply(body: Mapping[str, Any]) -> Reply:
    return Reply(body=json.dumps(body).encode())


# --- chat completions ---


def _read_chat(received: Received) -> Asked:
    messages = received.messages
    thoughts = [message.get("reasoning_content") for message in messages if message.get("tool_calls")]
    assert all(one == SIGNED["thinking"] for one in thoughts), thoughts
    return Asked(
        system="".join(message["content"] for message in messages if message["role"] == "system"),
        said=[
            (message["role"], message["content"])
            for message in messages
            if message["role"] in ("user", "assistant") and message["content"]
        ],
        results=[message["content"] for message in messages if message["role"] == "tool"],
    )


def _chat(message: Mapping[str, Any], finish: str) -> Reply:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 64}}
    choice = {"message": {"role": "assistant", **message}, "finish_reason": finish}
    return _reply({"choices": [choice], "usage": usage})


def _chat_calls(id_: str, name: str, arguments: Mapping[str, Any]) -> Reply:
    call = {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    thought = SIGNED["thinking"]
    return _chat({"content": None, "reasoning_content": thought, "tool_calls": [call]}, "tool_calls")


# --- the Responses API ---


def _read_responses(received: Received) -> Asked:
    items = received.json["input"]
    kinds = [item.get("type") for item in items]
    assert kinds.count("reasoning") == kinds.count("function_call") == kinds.count("function_call_output")
    assert [item for item in items if item.get("type") == "reasoning"] == [ENCRYPTED] * kinds.count(
        "reasoning"
    )
    said = [(item["role"], item["content"]) for item in items if "role" in item]
    return Asked(
        system="".join(text for role, text in said if role == "system"),
        said=[
            (role, text if isinstance(text, str) else "".join(part["text"] for part in text))
            for role, text in said
            if role != "system"
        ],
        results=[item["output"] for item in items if item.get("type") == "function_call_output"],
    )


def _responses(*output: Mapping[str, Any]) -> Reply:
    usage = {"input_tokens": 100, "output_tokens": 10, "input_tokens_details": {"cached_tokens": 64}}
    return _reply({"object": "response", "status": "completed", "output": output, "usage": usage})


def _responses_says(text: str) -> Reply:
    part = {"type": "output_text", "text": text, "annotations": []}
    return _responses({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]})


def _responses_calls(id_: str, name: str, arguments: Mapping[str, Any]) -> Reply:
    call = {"type": "function_call", "call_id": id_, "name": name, "arguments": json.dumps(arguments)}
    return _responses(ENCRYPTED, call)


# --- the Messages API ---


def _read_messages(received: Received) -> Asked:
    body = received.json
    assert received.headers["anthropic-version"]
    roles = [message["role"] for message in body["messages"]]
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)], roles
    blocks = [(message["role"], block) for message in body["messages"] for block in message["content"]]
    for message in body["messages"]:
        if any(block["type"] == "tool_use" for block in message["content"]):
            assert message["content"][0] == SIGNED
    return Asked(
        system="".join(block["text"] for block in body.get("system", ())),
        said=[(role, block["text"]) for role, block in blocks if block["type"] == "text"],
        results=[block["content"] for _, block in blocks if block["type"] == "tool_result"],
    )


def _messages(stop_reason: str, *content: Mapping[str, Any]) -> Reply:
    usage = {
        "input_tokens": 30,
        "cache_read_input_tokens": 64,
        "cache_creation_input_tokens": 6,
        "output_tokens": 10,
    }
    return _reply({"type": "message", "content": content, "stop_reason": stop_reason, "usage": usage})


def _messages_calls(id_: str, name: str, arguments: Mapping[str, Any]) -> Reply:
    return _messages(
        "tool_use", SIGNED, {"type": "tool_use", "id": id_, "name": name, "input": dict(arguments)}
    )


DIALECTS = [
    Dialect(
        name="chat",
        agent=["--tb-agent=openai"],
        path="/v1/chat/completions",
        read=_read_chat,
        says=lambda text: _chat({"content": text}, "stop"),
        calls=_chat_calls,
    ),
    Dialect(
        name="responses",
        agent=["--tb-agent=openai", "--tb-api=responses"],
        path="/v1/responses",
        read=_read_responses,
        says=_responses_says,
        calls=_responses_calls,
    ),
    Dialect(
        name="messages",
        agent=["--tb-agent=anthropic"],
        path="/v1/messages",
        read=_read_messages,
        says=lambda text: _messages("end_turn", {"type": "text", "text": text}),
        calls=_messages_calls,
    ),
]

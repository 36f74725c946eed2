"""The Responses API of OpenAI, without state on the other side.

Nothing is stored there (`store` is false): each request carries the whole conversation. What the model thought comes
as items that only the endpoint can read (`reasoning.encrypted_content`) or, from servers of open models, as text;
both go back unchanged and in their place, since a model that thinks between tool calls needs its thoughts again. An
item of reasoning that holds neither cannot be sent back and is left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pytest_thinkingbox.agents.base import ToolSpec
from pytest_thinkingbox.agents.completions import openai_headers
from pytest_thinkingbox.agents.schemas import tool_schema
from pytest_thinkingbox.agents.sse import assemble_response
from pytest_thinkingbox.agents.wire import (
    Answer,
    Api,
    CallIds,
    Finish,
    NoReply,
    RequestedCall,
    TokenCount,
    Transcript,
    count,
    encode,
    encode_request,
    glimpse,
    read_call,
    read_object,
    stored_call,
)

_CUT_OFF: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class Responses(Api):
    """The API `responses`."""

    name = "responses"
    method = "POST"
    default_url = "https://api.openai.com/v1"
    url_variable = "OPENAI_BASE_URL"
    key_variable = "OPENAI_API_KEY"
    knows_seed = False
    own_fields = frozenset(
        {"model", "input", "tools", "stream", "background", "previous_response_id", "conversation"}
    )
    defaults: Mapping[str, Any] = MappingProxyType(
        {"store": False, "include": ["reasoning.encrypted_content"]}
    )
    droppable = ("include", "store", "parallel_tool_calls")
    lengths: Mapping[str, str] = MappingProxyType({})
    length_field = "max_output_tokens"
    reasoning_fields = ("encrypted_content",)

    def path(self, base: str) -> str:
        return base if base.endswith("/responses") else f"{base}/responses"

    def headers(self, key: str, host: str) -> dict[str, str]:
        return openai_headers(key, host)

    def encode_tools(self, tools: Sequence[ToolSpec]) -> bytes:
        if not tools:
            return b""
        return encode(
            [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool_schema(tool.input_schema),
                    "strict": False,  # the default here would make every parameter a required one
                }
                for tool in tools
            ]
        )

    def body(
        self, fields: Mapping[str, Any], tools: bytes, transcript: Transcript, *, reasoning: bool
    ) -> bytes:
        items = transcript.encoded(_items if reasoning else _items_without_reasoning)
        joined = b",".join(one for one in items if one)
        return encode_request(fields, [(b"tools", tools), (b"input", b"[%b]" % joined)])

    def read(self, body: bytes, content_type: str, *, tools: Collection[str] = ()) -> Answer:
        reply = read_object(body, content_type, assemble_response)
        output = reply.get("output")
        status = reply.get("status")
        if not isinstance(output, list):
            raise NoReply(f"its answer has no output: {glimpse(body)}")
        if status not in ("completed", "incomplete", None):
            raise NoReply(f"the endpoint gave up while it answered: status {status!r}")
        details = reply.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        finish: Finish = "stop"
        if status == "incomplete" or reason:
            finish = _CUT_OFF.get(reason, "length") if isinstance(reason, str) else "length"
        return _answer(output, finish, reply.get("usage"), tools)


RESPONSES = Responses()


def _items(message: Mapping[str, Any]) -> bytes:
    """A message as items of the input."""
    if "items" in message:  # the echo of an answer
        items = message["items"]
    elif message["role"] == "tool":
        items = [
            {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
        ]
    else:
        items = [{"role": message["role"], "content": message["content"] or ""}]
    return encode(items)[1:-1]


def _items_without_reasoning(message: Mapping[str, Any]) -> bytes:
    if "items" not in message:
        return _items(message)
    return _items({"items": [item for item in message["items"] if item.get("type") != "reasoning"]})


def _answer(output: list[Any], finish: Finish, usage: Any, tools: Collection[str]) -> Answer:
    text: list[str] = []
    refusals: list[str] = []
    thoughts: list[str] = []
    calls: list[RequestedCall] = []
    stored_calls: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    spoken = False
    ids = CallIds(len(output))
    for index, item in enumerate(output):
        if not isinstance(item, dict):
            raise NoReply(f"item {index} of its output is no object")
        match item.get("type"):
            case "message":
                spoken = True
                _read_message(item, text, refusals)
                items.append(item)
            case "function_call":
                id_ = ids.take(item.get("call_id") or item.get("id"), index)
                read = read_call(id_, item.get("name"), item.get("arguments"), tools)
                calls.append(read.call)
                stored_calls.append(stored_call(read))
                sent = {"call_id": id_, "name": read.sent_name, "arguments": read.sent_arguments}
                items.append({**item, **sent})
            case "reasoning":
                thoughts += [*_parts(item.get("content")), *_parts(item.get("summary"))]
                if item.get("encrypted_content") or item.get("content"):
                    items.append(item)
            case _:
                items.append(item)  # of a tool that the endpoint itself plays
    message: dict[str, Any] = {"role": "assistant", "content": "".join(text) if spoken else None}
    if thoughts:
        message["reasoning"] = "\n\n".join(thoughts)
    if stored_calls:
        message["tool_calls"] = stored_calls
    refusal = "".join(refusals) or None
    if refusal:
        message["refusal"] = refusal
    return Answer(
        message=message,
        echo={"role": "assistant", "items": [_without_nulls(item) for item in items]},
        text="".join(text),
        calls=tuple(calls),
        finish=finish,
        refusal=refusal,
        tokens=_tokens(usage),
    )


def _read_message(item: Mapping[str, Any], text: list[str], refusals: list[str]) -> None:
    content = item.get("content")
    if isinstance(content, str):
        text.append(content)
        return
    if not isinstance(content, list):
        raise NoReply(f"its message's content is no list of parts: {glimpse(json.dumps(content).encode())}")
    for part in content:
        if isinstance(part, dict) and isinstance(part.get("refusal"), str):
            refusals.append(part["refusal"])
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            text.append(part["text"])


def _parts(value: Any) -> list[str]:
    if not isinstance(value, list):
        return []
    return [part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _without_nulls(item: Mapping[str, Any]) -> dict[str, Any]:
    """Servers send `status: null` and refuse it when it comes back."""
    return {key: value for key, value in item.items() if value is not None}


def _tokens(usage: Any) -> TokenCount:
    if not isinstance(usage, dict):
        return TokenCount()
    return TokenCount(
        input_tokens=count(usage, "input_tokens"),
        cached_tokens=count(usage.get("input_tokens_details"), "cached_tokens"),
        output_tokens=count(usage, "output_tokens"),
        reasoning_tokens=count(usage.get("output_tokens_details"), "reasoning_tokens"),
    )

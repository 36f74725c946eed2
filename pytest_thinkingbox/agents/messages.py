"""The Messages API of Anthropic.

**Thinking.** Blocks of thinking, readable or not, are signed. They go back unchanged and in their place; a changed
one is refused. **Results.** All results of one answer go into one message of the user, before anything else in it.
**Caching.** The prompt is cached up to the marks in a request only: behind the instructions, and at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any

from pytest_thinkingbox.agents.base import ToolSpec
from pytest_thinkingbox.agents.schemas import tool_schema
from pytest_thinkingbox.agents.sse import assemble_message
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

VERSION = "2023-06-01"

_FINISHES: Mapping[Any, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "pause_turn": "pause",
}
_MARK = b',"cache_control":{"type":"ephemeral"}}'


class Messages(Api):
    """The API `messages`."""

    name = "messages"
    method = "POST"
    default_url = "https://api.anthropic.com"
    url_variable = "ANTHROPIC_BASE_URL"
    key_variable = "ANTHROPIC_API_KEY"
    knows_seed = False
    own_fields = frozenset({"model", "messages", "system", "tools", "stream"})
    defaults: Mapping[str, Any] = MappingProxyType({"max_tokens": 16_000})  # there is no request without
    droppable: tuple[str, ...] = ()
    lengths: Mapping[str, str] = MappingProxyType({})
    length_field = "max_tokens"
    reasoning_fields: tuple[str, ...] = ()

    def path(self, base: str) -> str:
        if base.endswith("/messages"):
            return base
        return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"

    def headers(self, key: str, host: str) -> dict[str, str]:
        return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}

    def encode_tools(self, tools: Sequence[ToolSpec]) -> bytes:
        if not tools:
            return b""
        return encode(
            [
                {
                    "name": tool.name,
                    **({"description": tool.description} if tool.description else {}),
                    "input_schema": tool_schema(tool.input_schema),
                }
                for tool in tools
            ]
        )

    def body(
        self, fields: Mapping[str, Any], tools: bytes, transcript: Transcript, *, reasoning: bool
    ) -> bytes:
        encoded = transcript.encoded(_blocks)
        system = [block for role, blocks in encoded if role == "system" for block in blocks]
        # What follows upon one another in one role is one message: results, and what the user says after them.
        spoken = [
            (role, [block for _, blocks in group for block in blocks])
            for role, group in groupby((one for one in encoded if one[0] != "system" and one[1]), _role)
        ]
        messages = [
            b'{"role":"%b","content":%b}'
            % (role.encode(), _list(blocks, marked=role == "user" and index == len(spoken) - 1))
            for index, (role, blocks) in enumerate(spoken)
        ]
        return encode_request(
            fields,
            [
                (b"tools", tools),
                (b"system", _list(system, marked=True) if system else b""),
                (b"messages", b"[%b]" % b",".join(messages)),
            ],
        )

    def read(self, body: bytes, content_type: str, *, tools: Collection[str] = ()) -> Answer:
        reply = read_object(body, content_type, assemble_message)
        content = reply.get("content")
        if not isinstance(content, list):
            raise NoReply(f"its answer has no content: {glimpse(body)}")
        return _answer(content, reply, tools)


MESSAGES = Messages()


def _role(encoded: tuple[str, list[bytes]]) -> str:
    return encoded[0]


def _list(blocks: Sequence[bytes], *, marked: bool) -> bytes:
    *rest, last = blocks
    return b"[%b]" % b",".join([*rest, last[:-1] + _MARK if marked else last])


def _blocks(message: Mapping[str, Any]) -> tuple[str, list[bytes]]:
    """The role and the encoded blocks of a message. No block of text may be empty."""
    role = message["role"]
    content = message["content"]
    blocks: Iterable[Mapping[str, Any]]
    if role == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content}
        return "user", [encode(result)]
    if isinstance(content, list):  # the echo of an answer
        blocks = [block for block in content if block.get("type") != "text" or str(block.get("text")).strip()]
    else:
        blocks = [{"type": "text", "text": content}] if content and content.strip() else []
    return role, [encode(block) for block in blocks]


def _answer(content: list[Any], reply: Mapping[str, Any], tools: Collection[str]) -> Answer:
    text: list[str] = []
    thoughts: list[str] = []
    calls: list[RequestedCall] = []
    stored_calls: list[dict[str, Any]] = []
    signed: list[dict[str, Any]] = []
    echo: list[dict[str, Any]] = []
    ids = CallIds(len(content))
    for index, block in enumerate(content):
        if not isinstance(block, dict):
            raise NoReply(f"block {index} of its content is no object")
        match block.get("type"):
            case "text":
                text.append(block["text"] if isinstance(block.get("text"), str) else "")
                echo.append(block)
            case "tool_use":
                id_ = ids.take(block.get("id"), index)
                read = read_call(id_, block.get("name"), block.get("input"), tools)
                calls.append(read.call)
                stored_calls.append(stored_call(read))
                echo.append({**block, "id": id_, "name": read.sent_name, "input": read.sent})
            case "thinking":
                if isinstance(block.get("thinking"), str) and block["thinking"]:
                    thoughts.append(block["thinking"])
                signed.append(block)
                echo.append(block)
            case "redacted_thinking":
                signed.append(block)
                echo.append(block)
            case _:
                echo.append(block)  # of a tool that the endpoint itself plays
    stop = reply.get("stop_reason")
    message: dict[str, Any] = {"role": "assistant", "content": "".join(text) if text else None}
    if thoughts:
        message["reasoning"] = "\n\n".join(thoughts)
    if signed:
        message["reasoning_details"] = signed
    if stored_calls:
        message["tool_calls"] = stored_calls
    refusal = _refusal(reply, "".join(text)) if stop == "refusal" else None
    if refusal:
        message["refusal"] = refusal
    return Answer(
        message=message,
        echo={"role": "assistant", "content": echo},
        text="".join(text),
        calls=tuple(calls),
        finish=_FINISHES.get(stop, "stop") if isinstance(stop, str) else "stop",
        refusal=refusal,
        tokens=_tokens(reply.get("usage")),
    )


def _refusal(reply: Mapping[str, Any], text: str) -> str:
    details = reply.get("stop_details")
    if isinstance(details, dict):
        said = [details[key] for key in ("explanation", "category") if isinstance(details.get(key), str)]
        if said:
            return f"{said[0]} ({said[1]})" if len(said) > 1 else said[0]
    return text or "the endpoint stopped the answer and said no more"


def _tokens(usage: Any) -> TokenCount:
    """`input_tokens` is what was neither read from the cache nor written to it: the input is all three."""
    if not isinstance(usage, dict):
        return TokenCount()
    parts = [
        count(usage, name)
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    ]
    return TokenCount(
        input_tokens=None if parts[0] is None else sum(part or 0 for part in parts),
        cached_tokens=parts[1],
        output_tokens=count(usage, "output_tokens"),
    )

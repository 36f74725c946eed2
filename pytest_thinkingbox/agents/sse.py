"""Server-sent events where one JSON body was asked for: some gateways stream whatever they are asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def looks_like_events(body: bytes, content_type: str) -> bool:
    """By its type, or by a beginning that no JSON has."""
    return content_type.startswith("text/event-stream") or body.lstrip().startswith(
        (b"data:", b"event:", b":")
    )


def assemble(body: bytes) -> dict[str, Any]:
    """The chat.completion that the chunks of a stream make up. Raises ValueError for a stream that ends early."""
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": None}
    tool_calls: dict[Any, dict[str, Any]] = {}
    finish_reason: str | None = None
    done = False
    for data in _events(body):
        if data == "[DONE]":
            done = True
            continue
        chunk = json.loads(data)
        if not isinstance(chunk, dict):
            raise ValueError("a chunk of the stream is no object")
        if chunk.get("error"):
            return chunk
        if chunk.get("usage"):
            whole["usage"] = chunk["usage"]
        for choice in chunk.get("choices") or ():
            if choice.get("index"):  # one choice was asked for
                continue
            finish_reason = choice.get("finish_reason") or finish_reason
            if "error" in choice:
                whole["error"] = choice["error"]
            _add(choice.get("delta") or choice.get("message") or {}, message, tool_calls)
    if finish_reason is None and not done:
        raise ValueError("the stream ended before the answer did")
    if tool_calls:
        message["tool_calls"] = list(tool_calls.values())
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]}


def _events(body: bytes) -> Iterator[str]:
    for block in body.decode("utf-8").replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if lines:
            yield "\n".join(lines)


def _add(delta: dict[str, Any], message: dict[str, Any], tool_calls: dict[Any, dict[str, Any]]) -> None:
    for name in _TEXTS:
        if isinstance(delta.get(name), str):
            message[name] = (message.get(name) or "") + delta[name]
    if delta.get("reasoning_details"):
        message.setdefault("reasoning_details", []).extend(delta["reasoning_details"])
    for part in delta.get("tool_calls") or ():
        key = part.get("index")
        if key is None:  # Gemini sends whole calls without an index
            key = part.get("id") or f"part-{len(tool_calls)}"
        made = tool_calls.setdefault(
            key, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
        )
        made["id"] = made["id"] or part.get("id")
        if "extra_content" in part:
            made["extra_content"] = part["extra_content"]
        function = part.get("function") or {}
        made["function"]["name"] += function.get("name") or ""
        made["function"]["arguments"] += function.get("arguments") or ""

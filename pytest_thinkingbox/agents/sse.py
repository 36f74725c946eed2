"""Server-sent events where one JSON body was asked for: some gateways stream whatever they are asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_DONE = {"type": "[DONE]"}
_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def assemble_chunks(body: bytes) -> dict[str, Any]:
    """The chat.completion that the chunks of a stream make up. Raises ValueError for a stream that ends early."""
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": None}
    tool_calls: dict[Any, dict[str, Any]] = {}
    finish_reason: str | None = None
    done = False
    for chunk in _events(body):
        if chunk == _DONE:
            done = True
            continue
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


def assemble_response(body: bytes) -> dict[str, Any]:
    """The response that a stream of the Responses API ends with. Raises ValueError for one that ends early."""
    for event in _events(body):
        kind = event.get("type")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            return dict(event["response"])
        if kind == "error":
            return {"error": event.get("error") or event}
    raise ValueError("the stream ended before the answer did")


def assemble_message(body: bytes) -> dict[str, Any]:
    """The message that a stream of the Messages API makes up. Raises ValueError for one that ends early."""
    message: dict[str, Any] = {}
    inputs: dict[int, str] = {}
    for event in _events(body):
        match event.get("type"):
            case "error":
                return event
            case "message_start":
                message = dict(event["message"])
                message["content"] = list(message.get("content") or ())
            case "content_block_start":
                message["content"].append(dict(event["content_block"]))
            case "content_block_delta":
                _grow(message["content"][event["index"]], event["delta"], inputs, event["index"])
            case "message_delta":
                usage = {**(message.get("usage") or {}), **(event.get("usage") or {})}
                message = {**message, **event["delta"], "usage": usage}
            case "message_stop":
                for index, text in inputs.items():
                    message["content"][index]["input"] = text
                return message
    raise ValueError("the stream ended before the answer did")


def _grow(block: dict[str, Any], delta: dict[str, Any], inputs: dict[int, str], index: int) -> None:
    for name in ("text", "thinking", "signature"):
        if isinstance(delta.get(name), str):
            block[name] = (block.get(name) or "") + delta[name]
    if isinstance(delta.get("partial_json"), str):
        inputs[index] = inputs.get(index, "") + delta["partial_json"]


def _events(body: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a stream, `_DONE` for the line that ends it."""
    for block in body.decode("utf-8").replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        if not lines:
            continue
        data = "\n".join(lines)
        event = _DONE if data == "[DONE]" else json.loads(data)
        if not isinstance(event, dict):
            raise ValueError("an event of the stream is no object")
        yield event


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

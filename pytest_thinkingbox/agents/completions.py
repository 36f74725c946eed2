"""Chat completions: what OpenAI began and nearly every endpoint speaks.

**Reasoning.** It arrives as `reasoning_content` (DeepSeek, llama.cpp, older vLLM), as `reasoning` (vLLM, Ollama,
OpenRouter) or as `reasoning_details` (OpenRouter). A stored message has its text under `reasoning`, and the details
as they came. What goes back with later requests that offer tools: `reasoning_details` unchanged, since OpenRouter
checks their signatures; else the text, under the name it came by: models that think between tool calls need it,
DeepSeek answers 400 without it, and chat templates drop it where their model wants it dropped. A request without
tools carries none: there DeepSeek wants none. An endpoint that refuses the field is not sent it again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pytest_thinkingbox.agents.base import ToolSpec
from pytest_thinkingbox.agents.schemas import tool_schema
from pytest_thinkingbox.agents.sse import assemble_chunks
from pytest_thinkingbox.agents.wire import (
    Answer,
    Api,
    CallIds,
    NoReply,
    RequestedCall,
    TokenCount,
    Transcript,
    count,
    encode,
    encode_request,
    error_in,
    glimpse,
    read_call,
    read_object,
    stored_call,
)

REASONING_FIELDS = ("reasoning_details", "reasoning_content", "reasoning")

_LENGTH = frozenset({"length", "max_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "safety", "SAFETY", "PROHIBITED_CONTENT"})
_BROKEN = frozenset({"error", "abort", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL"})


class ChatCompletions(Api):
    """The API `chat`."""

    name = "chat"
    method = "POST"
    default_url = "https://api.openai.com/v1"
    url_variable = "OPENAI_BASE_URL"
    key_variable = "OPENAI_API_KEY"
    knows_seed = True
    own_fields = frozenset({"model", "messages", "tools", "stream", "n"})
    defaults: Mapping[str, Any] = MappingProxyType({})
    droppable: tuple[str, ...] = ("seed", "parallel_tool_calls")
    lengths: Mapping[str, str] = MappingProxyType(
        {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
    )
    length_field = "max_completion_tokens"
    reasoning_fields: tuple[str, ...] = REASONING_FIELDS

    def path(self, base: str) -> str:
        return base if base.endswith("/chat/completions") else f"{base}/chat/completions"

    def headers(self, key: str, host: str) -> dict[str, str]:
        return openai_headers(key, host)

    def encode_tools(self, tools: Sequence[ToolSpec]) -> bytes:
        if not tools:
            return b""
        return encode(
            [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool_schema(tool.input_schema),
                    },
                }
                for tool in tools
            ]
        )

    def body(
        self, fields: Mapping[str, Any], tools: bytes, transcript: Transcript, *, reasoning: bool
    ) -> bytes:
        # DeepSeek wants no reasoning where there are no tools.
        messages = transcript.encoded(encode if reasoning and tools else _without_reasoning)
        return encode_request(fields, [(b"tools", tools), (b"messages", b"[%b]" % b",".join(messages))])

    def read(self, body: bytes, content_type: str, *, tools: Collection[str] = ()) -> Answer:
        reply = read_object(body, content_type, assemble_chunks)
        choices = reply.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise NoReply(f"its answer has no choices: {glimpse(body)}")
        choice = choices[0]
        if choice.get("error"):
            raise error_in(choice)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise NoReply(f"its answer has no message: {glimpse(body)}")
        finish = choice.get("finish_reason")
        finish = finish if isinstance(finish, str) else None
        if finish in _BROKEN:
            raise NoReply(f"the endpoint gave up while it answered: finish_reason {finish!r}")
        return _answer(message, finish, reply.get("usage"), tools)


CHAT = ChatCompletions()


def openai_headers(key: str, host: str) -> dict[str, str]:
    """The key as OpenAI wants it, and Azure."""
    if not key:
        return {}
    return {"api-key": key} if host.endswith(".azure.com") else {"authorization": f"Bearer {key}"}


def _without_reasoning(message: Mapping[str, Any]) -> bytes:
    return encode({key: value for key, value in message.items() if key not in REASONING_FIELDS})


def _answer(message: dict[str, Any], finish: str | None, usage: Any, tools: Collection[str]) -> Answer:
    text, thoughts = _texts(message.get("content"))
    stored: dict[str, Any] = {
        "role": "assistant",
        "content": text if message.get("content") is not None else None,
    }
    echo = dict(stored)
    _keep_reasoning(message, thoughts, stored, echo)
    calls: tuple[RequestedCall, ...] = ()
    legacy = message.get("function_call")
    requested = message.get("tool_calls")
    if isinstance(requested, list) and requested:
        calls, stored["tool_calls"], echo["tool_calls"] = _calls(requested, tools)
    elif isinstance(legacy, dict):
        read = read_call("call00000", legacy.get("name"), legacy.get("arguments"), tools)
        calls = (read.call,)
        stored["function_call"] = stored_call(read)["function"]
        echo["function_call"] = {"name": read.sent_name, "arguments": read.sent_arguments}
    if not calls and stored["content"] is None:
        echo["content"] = ""  # null is allowed beside calls only
    refusal = message.get("refusal") if isinstance(message.get("refusal"), str) else None
    if refusal:
        stored["refusal"] = refusal
    return Answer(
        message=stored,
        echo=echo,
        text=text,
        calls=calls,
        finish="length" if finish in _LENGTH else "content_filter" if finish in _FILTERED else "stop",
        refusal=refusal or None,
        legacy="function_call" in stored,
        tokens=_tokens(usage),
    )


def _texts(content: Any) -> tuple[str, str]:
    """Text and reasoning of a content that is text, null, or a list of parts."""
    if content is None:
        return "", ""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        raise NoReply(
            f"its message's content is neither text nor parts: {glimpse(json.dumps(content).encode())}"
        )
    text, thoughts = [], []
    for part in content:
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("text"), str):
            text.append(part["text"])
        elif part.get("type") == "thinking":  # Mistral
            inner = part.get("thinking")
            thoughts.append(inner if isinstance(inner, str) else _texts(inner)[0])
    return "".join(text), "".join(thoughts)


def _keep_reasoning(
    message: Mapping[str, Any], thoughts: str, stored: dict[str, Any], echo: dict[str, Any]
) -> None:
    details = message.get("reasoning_details")
    named = [name for name in ("reasoning_content", "reasoning") if isinstance(message.get(name), str)]
    if named:
        name = next((name for name in named if message[name]), named[0])
        if message[name]:
            stored["reasoning"] = message[name]
        if not details:
            echo[name] = message[name]  # also "": DeepSeek misses even an empty one
    if thoughts:
        stored.setdefault("reasoning", thoughts)
    if details:
        stored["reasoning_details"] = echo["reasoning_details"] = details


def _calls(
    requested: list[Any], tools: Collection[str]
) -> tuple[tuple[RequestedCall, ...], list[dict[str, Any]], list[dict[str, Any]]]:
    calls, stored, echo = [], [], []
    ids = CallIds(len(requested))
    for index, entry in enumerate(requested):
        if not isinstance(entry, dict):
            raise NoReply(f"tool call {index} of its message is no object")
        given = entry.get("function")
        function = given if isinstance(given, dict) else {}
        read = read_call(
            ids.take(entry.get("id"), index), function.get("name"), function.get("arguments"), tools
        )
        # Whatever else came with the call goes back with it: Gemini signs its thoughts there.
        rest = {key: entry[key] for key in entry if key not in ("index", "id", "type", "function")}
        calls.append(read.call)
        stored.append({**stored_call(read), **rest})
        sent = {"name": read.sent_name, "arguments": read.sent_arguments}
        echo.append({"id": read.call.id, "type": "function", "function": sent, **rest})
    return tuple(calls), stored, echo


def _tokens(usage: Any) -> TokenCount:
    if not isinstance(usage, dict):
        return TokenCount()
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    cached = count(prompt, "cached_tokens")
    return TokenCount(
        input_tokens=count(usage, "prompt_tokens"),
        cached_tokens=count(usage, "prompt_cache_hit_tokens") if cached is None else cached,  # DeepSeek
        output_tokens=count(usage, "completion_tokens"),
        reasoning_tokens=count(completion, "reasoning_tokens"),
    )

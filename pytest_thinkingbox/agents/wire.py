"""Chat completions on the wire: what goes into a request, what an answer says. Pure functions of JSON.

**Reasoning.** It arrives as `reasoning_content` (DeepSeek, llama.cpp, older vLLM), as `reasoning` (vLLM, Ollama,
OpenRouter) or as `reasoning_details` (OpenRouter). A stored message has its text under `reasoning`, and the details
as they came. What goes back with later requests that offer tools: `reasoning_details` unchanged, since OpenRouter
checks their signatures; else the text, under the name it came by: models that think between tool calls need it,
DeepSeek answers 400 without it, and chat templates drop it where their model wants it dropped. A request without
tools carries none: there DeepSeek wants none. An endpoint that refuses the field is not sent it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_thinkingbox.agents.base import ToolSpec
from pytest_thinkingbox.agents.provider_errors import ErrorReply, error_of
from pytest_thinkingbox.agents.sse import assemble, looks_like_events

Finish = Literal["stop", "length", "content_filter"]

REASONING_FIELDS = ("reasoning_details", "reasoning_content", "reasoning")

_LENGTH = frozenset({"length", "max_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "safety", "SAFETY", "PROHIBITED_CONTENT"})
_BROKEN = frozenset({"error", "abort", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL"})
_WIRE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REJECTED_KEYS = frozenset({"$schema", "$id", "$comment", "$anchor", "$vocabulary"})
_DATA_KEYS = frozenset({"default", "const", "enum", "examples", "example"})

_encoder = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":")
)  # json.dumps would make one for each message


class NoReply(Exception):
    """A body that is no reply. `error` is set when it is an error that came with status 200."""

    def __init__(self, detail: str, *, error: ErrorReply | None = None) -> None:
        super().__init__(detail)
        self.error = error


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call as the model asked for it; `arguments` is text when it is no JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of one request; None where the endpoint did not say."""

    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of a model.

    `message` is what it said, to be stored; `echo` is what goes back to the endpoint in later requests. `legacy`
    says that it called a function in the way that came before tools.
    """

    message: dict[str, Any]
    echo: dict[str, Any]
    text: str
    calls: tuple[RequestedCall, ...]
    finish: Finish
    refusal: str | None
    legacy: bool
    tokens: TokenCount


def read_answer(body: bytes, content_type: str, *, tools: Collection[str] = ()) -> Answer:
    """The answer in a response's body. `tools` are the names that were offered. Raises NoReply."""
    try:
        if looks_like_events(body, content_type):
            reply = assemble(body)
        else:
            reply = json.loads(body)
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        raise NoReply(f"its answer is no JSON ({error}): {_glimpse(body)}") from None
    if not isinstance(reply, dict):
        raise NoReply(f"its answer is no JSON object: {_glimpse(body)}")
    if reply.get("error"):
        raise _error_in(reply)
    choices = reply.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise NoReply(f"its answer has no choices: {_glimpse(body)}")
    choice = choices[0]
    if choice.get("error"):
        raise _error_in(choice)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise NoReply(f"its answer has no message: {_glimpse(body)}")
    finish = choice.get("finish_reason")
    finish = finish if isinstance(finish, str) else None
    if finish in _BROKEN:
        raise NoReply(f"the endpoint gave up while it answered: finish_reason {finish!r}")
    return _answer(message, finish, reply.get("usage"), tools)


def _error_in(value: Mapping[str, Any]) -> NoReply:
    error = value["error"]
    code = error.get("code") if isinstance(error, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    read = error_of(value, status)
    return NoReply(f"an error came in place of an answer: {read}", error=read)


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
        call, function, sent = _function(legacy, "call00000", tools)
        calls, stored["function_call"], echo["function_call"] = (call,), function, sent
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
            f"its message's content is neither text nor parts: {_glimpse(json.dumps(content).encode())}"
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
    seen: set[str] = set()
    for index, entry in enumerate(requested):
        if not isinstance(entry, dict):
            raise NoReply(f"tool call {index} of its message is no object")
        given = entry.get("id")
        id_ = given if isinstance(given, str) and given and given not in seen else ""
        number = index
        while not id_ or id_ in seen:
            id_ = f"call{number:05}"  # nine letters and digits: Mistral takes nothing else
            number += len(requested)
        seen.add(id_)
        function = entry.get("function")
        call, said, sent = _function(function if isinstance(function, dict) else {}, id_, tools)
        # Whatever else came with the call goes back with it: Gemini signs its thoughts there.
        rest = {key: entry[key] for key in entry if key not in ("index", "id", "type", "function")}
        calls.append(call)
        stored.append({"id": id_, "type": "function", "function": said, **rest})
        echo.append({"id": id_, "type": "function", "function": sent, **rest})
    return tuple(calls), stored, echo


def _function(
    function: Mapping[str, Any], id_: str, tools: Collection[str]
) -> tuple[RequestedCall, dict[str, str], dict[str, str]]:
    """The call, how it is stored, and how it is sent back.

    Endpoints parse what is sent back: arguments that are no JSON object would make vLLM and llama.cpp answer with
    an error that is the model's fault, and names with other characters would make OpenAI do so.
    """
    name = function.get("name")
    name = name if isinstance(name, str) else ""
    given = function.get("arguments")
    if isinstance(given, str):
        text = given
    else:
        text = "{}" if given is None else json.dumps(given, ensure_ascii=False)
    arguments = _arguments(text)
    sent = text if isinstance(arguments, dict) else json.dumps({"_unparsed": text}, ensure_ascii=False)
    if not text.strip():
        sent = "{}"
    sent_name = name
    if name not in tools and not _WIRE_NAME.fullmatch(name):
        sent_name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"
    return (
        RequestedCall(id_, name, arguments),
        {"name": name, "arguments": text},
        {"name": sent_name, "arguments": sent},
    )


def _arguments(text: str) -> dict[str, Any] | str:
    if not text.strip():
        return {}
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return parsed if isinstance(parsed, dict) else text


def _tokens(usage: Any) -> TokenCount:
    if not isinstance(usage, dict):
        return TokenCount()
    prompt = usage.get("prompt_tokens_details")
    completion = usage.get("completion_tokens_details")
    cached = _count(prompt, "cached_tokens")
    return TokenCount(
        input_tokens=_count(usage, "prompt_tokens"),
        cached_tokens=_count(usage, "prompt_cache_hit_tokens") if cached is None else cached,  # DeepSeek
        output_tokens=_count(usage, "completion_tokens"),
        reasoning_tokens=_count(completion, "reasoning_tokens"),
    )


def _count(holder: Any, name: str) -> int | None:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8. Halves of surrogate pairs are joined, or replaced: no endpoint takes them."""
    text = _encoder.encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    """The request's `tools`; b"" when there are none, since endpoints refuse an empty list."""
    if not tools:
        return b""
    return encode(
        [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": _object_schema(tool.input_schema),
                },
            }
            for tool in tools
        ]
    )


def _object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    cleaned: dict[str, Any] = _cleaned(schema)
    cleaned.setdefault("type", "object")
    cleaned.setdefault("properties", {})
    return cleaned


def _cleaned(value: Any) -> Any:
    """A JSON Schema without the keys that endpoints refuse; a property may still bear such a name."""
    if isinstance(value, Mapping):
        return {
            key: inner if key in _DATA_KEYS and not isinstance(inner, Mapping) else _cleaned(inner)
            for key, inner in value.items()
            if not (key in _REJECTED_KEYS and not isinstance(inner, Mapping))
        }
    if isinstance(value, list | tuple):
        return [_cleaned(inner) for inner in value]
    return value


class Transcript:
    """The messages of a conversation as they are sent, each encoded once."""

    def __init__(self) -> None:
        self._with_reasoning: list[bytes] = []
        self._without: list[bytes] = []

    def append(self, message: Mapping[str, Any]) -> None:
        """A message in the form in which it is sent."""
        encoded = encode(message)
        self._with_reasoning.append(encoded)
        if any(name in message for name in REASONING_FIELDS):
            plain = {key: value for key, value in message.items() if key not in REASONING_FIELDS}
            self._without.append(encode(plain))
        else:
            self._without.append(encoded)

    def encoded(self, *, reasoning: bool) -> bytes:
        """The request's `messages`."""
        return b"[%b]" % b",".join(self._with_reasoning if reasoning else self._without)


def _glimpse(body: bytes) -> str:
    text = " ".join(body[:300].decode("utf-8", "replace").split())
    return repr(text[:200]) if text else "it is empty"

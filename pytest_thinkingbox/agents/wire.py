"""What all model APIs have in common: an answer, the calls in it, the transcript of a conversation. No I/O.

An API (`completions`, `responses`, `messages`) says how a request looks and what an answer means; the endpoint, its
retries and the conversation are the same for all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from pytest_thinkingbox.agents.base import ToolSpec
from pytest_thinkingbox.agents.provider_errors import ErrorReply, error_of

T = TypeVar("T")

Finish = Literal["stop", "length", "content_filter", "context", "pause"]
"""Why an answer ends: it is whole; cut off at its longest length, by a filter, by the model's context; or it will go
on as soon as it is sent back."""

_WIRE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

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
    """Tokens of one request; None where the endpoint did not say. Cached tokens are among those of the input."""

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
    legacy: bool = False
    tokens: TokenCount


class Transcript:
    """The messages of a conversation as they are sent; each is encoded once.

    A message is a chat-completions message or the `echo` of an answer.
    """

    def __init__(self) -> None:
        self._messages: list[Mapping[str, Any]] = []
        self._encoded: dict[Callable[[Mapping[str, Any]], Any], list[Any]] = {}

    def append(self, message: Mapping[str, Any]) -> None:
        self._messages.append(message)

    def encoded(self, encode_one: Callable[[Mapping[str, Any]], T]) -> Sequence[T]:
        """What `encode_one` makes of each message."""
        done = self._encoded.setdefault(encode_one, [])
        done.extend(encode_one(message) for message in self._messages[len(done) :])
        return done


class Api(Protocol):
    """How one kind of endpoint is asked and what it answers.

    `own_fields` are fields of a request that callers may not set; `defaults` are fields that they may. `droppable`
    are fields that are left out once the endpoint has refused them, `lengths` those that have another name then.
    `length_field` limits the tokens of an answer. `reasoning_fields` are refused by endpoints that do not want to
    see a model's reasoning again.
    """

    name: str
    method: str
    default_url: str
    url_variable: str
    key_variable: str
    knows_seed: bool
    own_fields: frozenset[str]
    defaults: Mapping[str, Any]
    droppable: tuple[str, ...]
    lengths: Mapping[str, str]
    length_field: str
    reasoning_fields: tuple[str, ...]

    def path(self, base: str) -> str:
        """The path that requests go to, for the path of a base URL without a slash at its end."""

    def headers(self, key: str, host: str) -> dict[str, str]:
        """What goes with every request; `key` is "" when there is none."""

    def encode_tools(self, tools: Sequence[ToolSpec]) -> bytes:
        """The request's `tools`; b"" when there are none, since endpoints refuse an empty list."""

    def body(
        self, fields: Mapping[str, Any], tools: bytes, transcript: Transcript, *, reasoning: bool
    ) -> bytes:
        """The request, with the model's earlier reasoning only if it is wanted."""

    def read(self, body: bytes, content_type: str, *, tools: Collection[str] = ()) -> Answer:
        """The answer in a response's body. `tools` are the names that were offered. Raises NoReply."""


def read_object(
    body: bytes, content_type: str, assemble: Callable[[bytes], dict[str, Any]]
) -> dict[str, Any]:
    """The JSON object of a response; `assemble` makes one of a stream that nobody asked for. Raises NoReply."""
    try:
        reply = assemble(body) if looks_like_events(body, content_type) else json.loads(body)
    except (ValueError, RecursionError, AttributeError, TypeError, LookupError) as error:
        raise NoReply(f"its answer is no JSON ({error}): {glimpse(body)}") from None
    if not isinstance(reply, dict):
        raise NoReply(f"its answer is no JSON object: {glimpse(body)}")
    if reply.get("error"):
        raise error_in(reply)
    return reply


def looks_like_events(body: bytes, content_type: str) -> bool:
    """By its type, or by a beginning that no JSON has."""
    return content_type.startswith("text/event-stream") or body.lstrip().startswith(
        (b"data:", b"event:", b":")
    )


def error_in(value: Mapping[str, Any]) -> NoReply:
    """An error that came with status 200; it says itself, by number or name, which status it would have."""
    read = error_of(value, None)
    return NoReply(f"an error came in place of an answer: {read}", error=read)


class CallIds:
    """Ids of the calls of one answer, each its own: what is missing or came before is replaced."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._seen: set[str] = set()

    def take(self, given: Any, index: int) -> str:
        id_ = given if isinstance(given, str) and given and given not in self._seen else ""
        number = index
        while not id_ or id_ in self._seen:
            id_ = f"call{number:05}"  # nine letters and digits: Mistral takes nothing else
            number += self._expected
        self._seen.add(id_)
        return id_


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """A call as it was said (`name`, `arguments`) and as it goes back (`sent_name`, `sent`).

    Endpoints parse what is sent back: arguments that are no JSON object would make vLLM and llama.cpp answer with
    an error that is the model's fault, and names with other characters would make OpenAI do so.
    """

    call: RequestedCall
    arguments: str
    sent_name: str
    sent: Mapping[str, Any]
    sent_arguments: str


def read_call(id_: str, name: Any, given: Any, tools: Collection[str]) -> ReadCall:
    """`given` are the arguments as they came: text of JSON, or an object where the endpoint has parsed it."""
    name = name if isinstance(name, str) else ""
    if isinstance(given, str):
        text = given
    else:
        text = "{}" if given is None else json.dumps(given, ensure_ascii=False)
    arguments = _arguments(text)
    sent = arguments if isinstance(arguments, dict) else {"_unparsed": text}
    as_said = isinstance(arguments, dict) and bool(text.strip())
    sent_name = name
    if name not in tools and not _WIRE_NAME.fullmatch(name):
        sent_name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"
    return ReadCall(
        call=RequestedCall(id_, name, arguments),
        arguments=text,
        sent_name=sent_name,
        sent=sent,
        sent_arguments=text if as_said else json.dumps(sent, ensure_ascii=False),
    )


def _arguments(text: str) -> dict[str, Any] | str:
    if not text.strip():
        return {}
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return parsed if isinstance(parsed, dict) else text


def stored_call(read: ReadCall) -> dict[str, Any]:
    """The call in a message of a conversation, in the shape of chat completions."""
    call = read.call
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": read.arguments},
    }


def count(holder: Any, name: str) -> int | None:
    """A number of tokens, None where there is none that makes sense."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8. Halves of surrogate pairs are joined, or replaced: no endpoint takes them."""
    text = _encoder.encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def encode_request(fields: Mapping[str, Any], parts: Iterable[tuple[bytes, bytes]]) -> bytes:
    """One JSON object of `fields` and of parts that are encoded already; empty parts are left out."""
    encoded = b"".join(b',"%b":%b' % (name, part) for name, part in parts if part)
    return encode(fields)[:-1] + encoded + b"}"


def glimpse(body: bytes) -> str:
    """The beginning of a body, for an error."""
    text = " ".join(body[:300].decode("utf-8", "replace").split())
    return repr(text[:200]) if text else "it is empty"

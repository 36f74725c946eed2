"""One object between conversations and token ids, for evaluation and training alike.

What a model generated is never rendered again: observations are appended as a suffix of ids. That equals what the
template would render only if the template never changes what it has rendered; `Chat` proves this, or refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.tokens.reading import Reading, read

_VERSION = "2"
"""Of the readings; part of the hash."""

Message = Mapping[str, Any]


class Tokenizer(Protocol):
    """What is used of a tokenizer of the transformers library."""

    chat_template: Any
    eos_token: Any
    eos_token_id: Any
    all_special_tokens: Any
    added_tokens_decoder: Any

    def apply_chat_template(self, conversation: Any, /, **options: Any) -> Any: ...

    def encode(self, text: str, /, *, add_special_tokens: bool = True) -> list[int]: ...

    def decode(self, token_ids: list[int], /, *, skip_special_tokens: bool = False) -> Any: ...


class Chat:
    """The conversation of one set of tools with one model.

    `tools` are function tools as chat completions know them. Raises ConfigurationError for a template that changes
    earlier messages when later ones come (the original one of Qwen3 drops reasoning), and for one whose messages do not
    end with the token that ends a generation.
    """

    def __init__(self, tokenizer: Tokenizer, *, tools: Sequence[Mapping[str, Any]] = ()) -> None:
        if not isinstance(tokenizer.chat_template, str) or tokenizer.eos_token is None:
            raise ConfigurationError(
                "this tokenizer has no single chat template, or no token that ends a message: set `chat_template` and "
                "`eos_token`"
            )
        self._tokenizer = tokenizer
        self._tools = [dict(tool) for tool in tools]
        self._schemas = {
            tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in self._tools
        }
        self._end: str = tokenizer.eos_token
        self._end_id: int = tokenizer.eos_token_id
        self._markup = _control_tokens(tokenizer)
        self._own: dict[int, int] = {}
        """Where the model's message ends in front of a suffix, by the number of its calls."""
        self._prove()
        asked = self._render([_USER], ask=True)
        self._thinking = asked.rstrip().endswith("<think>")

    @cached_property
    def hash(self) -> str:
        """Of all that decides what a model is shown and how it is read, the tools apart. Runs with different hashes
        are not comparable."""
        parts = (_VERSION, self._tokenizer.chat_template, self._end, *sorted(self._markup))
        return sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def end(self) -> int:
        """The id that ends a generation."""
        return self._end_id

    def start(self, messages: Sequence[Message]) -> list[int]:
        """Ids of the conversation so far, up to where the model is to write."""
        return self._encode(self._render([self._harmless(one) for one in messages], ask=True))

    def read(self, ids: Sequence[int]) -> Reading:
        """What generated ids mean."""
        finished = bool(ids) and ids[-1] == self._end_id
        text = str(self._tokenizer.decode(list(ids[:-1] if finished else ids), skip_special_tokens=False))
        return read(text, self._schemas, finished=finished, thinking=self._thinking)

    def written(self, message: Message) -> list[int]:
        """Ids that a model would have generated to say this message, its end token included: a demonstration."""
        asked = self._render([_USER], ask=True)
        whole = self._render([_USER, message])
        if not whole.startswith(asked):
            raise ConfigurationError(_changes(asked, whole))
        return self._encode(whole[len(asked) : whole.rindex(self._end) + len(self._end)])

    def observe(self, messages: Sequence[Message]) -> list[int]:
        """Ids that follow a finished generation: tool results or a user's message, and again where the model is to
        write."""
        return self._encode(self._suffix([self._harmless(one) for one in messages]))

    def _suffix(self, messages: Sequence[Message]) -> str:
        """The template's text from after the end of the model's message on."""
        calls = sum(one["role"] == "tool" for one in messages)
        before = [_USER, _assistant(calls=calls)]
        if calls not in self._own:
            self._own[calls] = self._render(before).rindex(self._end) + len(self._end)
        return self._render([*before, *messages], ask=True)[self._own[calls] :]

    def _harmless(self, message: Message) -> Message:
        """A user, a tool or a database may say what looks like a control token: it must not become one."""
        content = message.get("content")
        if not isinstance(content, str):
            return message
        for one in self._markup:
            if one in content:
                content = content.replace(one, f"{one[0]}\u200b{one[1:]}")
        return {**message, "content": content}

    def _render(self, messages: Sequence[Message], *, ask: bool = False) -> str:
        return str(
            self._tokenizer.apply_chat_template(
                [dict(one) for one in messages],
                tools=self._tools or None,
                add_generation_prompt=ask,
                tokenize=False,
            )
        )

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _prove(self) -> None:
        """Render a conversation message by message: what stood there must stand there still, in text and in ids."""
        conversation = [
            _USER,
            _assistant(calls=2),
            *_answers(2),
            _assistant(calls=1),
            *_answers(1),
            _assistant(calls=0),
            {"role": "user", "content": "Something else."},
            _assistant(calls=0),
            {"role": "user", "content": "And a third thing."},
        ]
        ends = [at for at, one in enumerate(conversation, 1) if one["role"] == "assistant"]
        for end, later in zip(ends, [*ends[1:], len(conversation)], strict=True):
            kept = self._render(conversation[:end])
            if not kept.rstrip().endswith(self._end):
                raise ConfigurationError(
                    f"the chat template does not end a message of the model with {self._end!r}, its end token: set "
                    "`eos_token` to the token that the template writes there"
                )
            observed = [one for one in conversation[end:later] if one["role"] != "assistant"]
            whole = self._render([*conversation[:end], *observed], ask=True)
            own = kept[: kept.rindex(self._end) + len(self._end)]
            if not whole.startswith(own):
                raise ConfigurationError(_changes(own, whole))
            if whole[len(own) :] != self._suffix(observed):
                raise ConfigurationError(
                    "the chat template renders an observation differently by what went before it: ids that are "
                    "appended would not be those that the template means"
                )
            if self._encode(whole) != self._encode(own) + self._encode(whole[len(own) :]):
                raise ConfigurationError(
                    f"the tokenizer joins {self._end!r} with what follows it: a suffix cannot be appended as ids"
                )


_USER = {"role": "user", "content": "Begin."}


def _assistant(*, calls: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "reasoning_content": "I think.", "content": "I say."}
    if calls:
        function = {"name": "look", "arguments": {"at": "it"}}
        message["tool_calls"] = [
            {"id": f"call{number}", "type": "function", "function": function} for number in range(calls)
        ]
    return message


def _answers(calls: int) -> list[dict[str, Any]]:
    return [
        {"role": "tool", "tool_call_id": f"call{number}", "name": "look", "content": f"Seen {number}."}
        for number in range(calls)
    ]


def _control_tokens(tokenizer: Tokenizer) -> list[str]:
    """Those with a role of their own, and those that are special without, as the headers of Llama 3 are. The longest
    first: one may be part of another."""
    named = {str(one) for one in tokenizer.all_special_tokens}
    unnamed = {str(one.content) for one in tokenizer.added_tokens_decoder.values() if one.special}
    return sorted(named | unnamed, key=lambda one: (-len(one), one))


def _changes(before: str, after: str) -> str:
    at = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), 0)
    return (
        "the chat template changes earlier messages when later ones come, so that ids cannot be appended: "
        f"{before[at : at + 40]!r} became {after[at : at + 40]!r}. Use a template that keeps them, such as one "
        "of TRL's training templates"
    )

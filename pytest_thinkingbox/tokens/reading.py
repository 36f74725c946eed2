"""What a model wrote: reasoning, text, and tool calls in either of two notations.

JSON in a block, `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` (Hermes, Qwen2.5, Qwen3), and markup in
the same block, `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>` (Qwen3.5 and
later), whose values have the types of the tool's schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_thinkingbox.tokens.typed import typed

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_THINK, _THOUGHT = "<think>", "</think>"
_FUNCTION = re.compile(r"<function=([^<>\n]+)>")
_PARAMETER = re.compile(r"<parameter=([^<>\n]+)>\n?")
# A value may hold the closing tag itself: it ends where another parameter or the end of the call follows.
_VALUE_ENDS = re.compile(r"\n?</parameter>(?=\s*(?:<parameter=|</function>))")
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call as the model wrote it. `arguments` are not checked: the tool does that, and its answer tells the agent."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BrokenCall:
    """A block that is no call: `text` is what stood in it, `why` is for the agent."""

    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one generation means. `content` is the text outside of reasoning and calls; `finished` says that the model
    ended by itself: what was cut off is never played."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[WrittenCall | BrokenCall, ...] = ()
    finished: bool = True


Schemas = Mapping[str, Mapping[str, Any]]
"""The JSON Schema of every tool's arguments, by the tool's name."""


def read(text: str, schemas: Schemas, *, finished: bool = True, thinking: bool = False) -> Reading:
    """`thinking` says that the prompt has opened the reasoning already."""
    reasoning, rest = _reasoning(text, thinking)
    if rest is None:
        return Reading(reasoning=reasoning, finished=finished)
    outside: list[str] = []
    calls: list[WrittenCall | BrokenCall] = []
    at = 0
    while (found := rest.find(_OPEN, at)) >= 0:
        outside.append(rest[at:found])
        call, at = _block(rest, found + len(_OPEN), schemas, finished)
        calls.append(call)
    outside.append(rest[at:])
    return Reading(
        reasoning=reasoning, content="".join(outside).strip(), calls=tuple(calls), finished=finished
    )


def _reasoning(text: str, thinking: bool) -> tuple[str, str | None]:
    """The reasoning and what follows, None when the reasoning never ended."""
    inside = text.lstrip()
    if inside.startswith(_THINK):
        inside = inside.removeprefix(_THINK)
    elif not thinking:
        return "", text
    reasoning, end, rest = inside.partition(_THOUGHT)
    return reasoning.strip(), rest if end else None


def _block(text: str, start: int, schemas: Schemas, finished: bool) -> tuple[WrittenCall | BrokenCall, int]:
    """The call that begins at `start`, and where the text after its block begins."""
    at = _skip(text, start)
    try:
        if text.startswith("<function=", at):
            call, end = _markup(text, at, schemas)
        else:
            call, end = _json(text, at)
        end = _skip(text, end)
        if text.startswith(_CLOSE, end):
            return call, end + len(_CLOSE)
        if end == len(text) and finished:  # the end of the message closes it as well
            return call, end
        raise _NoCall(
            "something follows the call inside of its block" if end < len(text) else "it is cut off"
        )
    except _NoCall as error:
        close = text.find(_CLOSE, start)
        end = len(text) if close < 0 else close
        broken = BrokenCall(text[start:end].strip(), str(error))
        return broken, end if close < 0 else close + len(_CLOSE)


class _NoCall(Exception):
    pass


def _json(text: str, at: int) -> tuple[WrittenCall, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _NoCall(f"it is no JSON: {error.msg} (character {error.pos - at})") from None
    except (ValueError, RecursionError) as error:
        raise _NoCall(f"it is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise _NoCall("it is no JSON object")
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        raise _NoCall('it has no "name"')
    arguments = value.get("arguments")
    if isinstance(arguments, str):  # some models write the object as a string
        try:
            arguments = _DECODER.decode(arguments)
        except (ValueError, RecursionError):
            raise _NoCall('its "arguments" are no JSON object') from None
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise _NoCall('its "arguments" are no JSON object')
    return WrittenCall(name.strip(), arguments), end


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _markup(text: str, at: int, schemas: Schemas) -> tuple[WrittenCall, int]:
    function = _FUNCTION.match(text, at)
    if function is None:
        raise _NoCall("the name of its function never ends")
    name = function[1].strip()
    if not name:
        raise _NoCall("its function has no name")
    arguments: dict[str, Any] = {}
    at = _skip(text, function.end())
    while (parameter := _PARAMETER.match(text, at)) is not None:
        end = _VALUE_ENDS.search(text, parameter.end())
        if end is None:
            raise _NoCall(f"its parameter {parameter[1]!r} never ends")
        key = parameter[1].strip()
        arguments[key] = typed(text[parameter.end() : end.start()], key, schemas.get(name))
        at = _skip(text, end.end())
    if not text.startswith("</function>", at):
        raise _NoCall("its function never ends" if at == len(text) else "text stands between its parameters")
    return WrittenCall(name, arguments), at + len("</function>")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()

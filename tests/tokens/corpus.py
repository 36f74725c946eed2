"""Generations and what each means, by hand: 200 in `generations.toml`, and 25 ways to write a message in 8 frames.

`BODIES` are (name, text, content, calls); a call is a name with arguments, or BROKEN. `FRAMES` are (name, before,
after, reasoning, thinking, finished): what stands around a body, and whether the prompt had opened the reasoning.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BROKEN = "broken"

SCHEMAS: dict[str, dict[str, Any]] = {
    "refund": {
        "type": "object",
        "$defs": {"Kind": {"type": "string", "enum": ["full", "part"]}},
        "properties": {
            "order_id": {"type": "integer"},
            "amount": {"type": "number"},
            "reason": {"type": "string"},
            "notify": {"type": "boolean"},
            "lines": {"type": "array", "items": {"type": "integer"}},
            "address": {"type": "object"},
            "coupon": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "note": {"type": ["string", "null"]},
            "kind": {"$ref": "#/$defs/Kind"},
        },
    },
    "ping": {"type": "object", "properties": {}},
}

Call = tuple[str, dict[str, Any]] | str


def json_call(inside: str) -> str:
    return f"<tool_call>\n{inside}\n</tool_call>"


def markup(name: str, **values: str) -> str:
    parameters = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in values.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


DEEP = '{"name": "ping", "arguments": ' + '{"a": ' * 100_000

BODIES: list[tuple[str, str, str, list[Call]]] = [
    ("text", "All done.", "All done.", []),
    ("json", json_call('{"name": "refund", "arguments": {"order_id": 7, "amount": 12.5}}'), "",
     [("refund", {"order_id": 7, "amount": 12.5})]),
    ("text and json", 'One moment.\n<tool_call>{"name": "ping", "arguments": {}}</tool_call>', "One moment.",
     [("ping", {})]),
    ("two in a row", json_call('{"name": "ping", "arguments": {}}') + "\n" + json_call('{"name": "ping"}'), "",
     [("ping", {}), ("ping", {})]),
    ("arguments as a string", json_call('{"name": "refund", "arguments": "{\\"order_id\\": 7}"}'), "",
     [("refund", {"order_id": 7})]),
    ("a number as a string stays one", json_call('{"name": "refund", "arguments": {"order_id": "3"}}'), "",
     [("refund", {"order_id": "3"})]),
    ("a closing tag in a value", json_call('{"name": "refund", "arguments": {"reason": "</tool_call> x"}}'), "",
     [("refund", {"reason": "</tool_call> x"})]),
    ("a call in a value",
     json_call('{"name": "refund", "arguments": {"reason": "<tool_call>{\\"name\\": \\"ping\\"}</tool_call>"}}'), "",
     [("refund", {"reason": '<tool_call>{"name": "ping"}</tool_call>'})]),
    ("other scripts", json_call('{"name": "refund", "arguments": {"reason": "שבור – 壊れた \\u00e9 🧳"}}'), "",
     [("refund", {"reason": "שבור – 壊れた é 🧳"})]),
    ("an apostrophe for a quote", json_call("{'name': 'ping', 'arguments': {}}"), "", [BROKEN]),
    ("no brace at the end", json_call('{"name": "refund", "arguments": {"order_id": 7}'), "", [BROKEN]),
    ("a list", json_call('[{"name": "ping"}]'), "", [BROKEN]),
    ("no name", json_call('{"arguments": {"order_id": 7}}'), "", [BROKEN]),
    ("arguments that are a list", json_call('{"name": "refund", "arguments": [7]}'), "", [BROKEN]),
    ("not a number", json_call('{"name": "refund", "arguments": {"amount": NaN}}'), "", [BROKEN]),
    ("deeper than anybody reads", json_call(DEEP), "", [BROKEN]),
    ("a broken one and a good one", json_call("refund 7") + json_call('{"name": "ping"}'), "", [BROKEN, ("ping", {})]),
    ("two calls in one block", json_call('{"name": "ping"}\n{"name": "ping"}'), "", [BROKEN]),
    ("empty block", "<tool_call></tool_call>Sorry.", "Sorry.", [BROKEN]),
    ("markup", markup("refund", order_id="7", amount="12", reason="7", notify="True", lines="[1, 2]"), "",
     [("refund", {"order_id": 7, "amount": 12, "reason": "7", "notify": True, "lines": [1, 2]})]),
    ("markup of other types", markup("refund", address='{"city": "Rome"}', coupon="null", note="null", kind="full"), "",
     [("refund", {"address": {"city": "Rome"}, "coupon": None, "note": None, "kind": "full"})]),
    ("markup that does not fit", markup("refund", order_id="seven", notify="maybe", lines="1, 2", other="3"), "",
     [("refund", {"order_id": "seven", "notify": "maybe", "lines": "1, 2", "other": "3"})]),
    ("lines and tags in markup", markup("refund", reason="first\n\n</parameter> second </tool_call>", order_id="7.0"),
     "",
     [("refund", {"reason": "first\n\n</parameter> second </tool_call>", "order_id": 7})]),
    ("markup without an end", "<tool_call>\n<function=refund>\n<parameter=order_id>\n7\n</tool_call>", "", [BROKEN]),
    ("words between parameters",
     "<tool_call><function=ping>please</function></tool_call> <function=ping></function>",
     "<function=ping></function>", [BROKEN]),
]  # fmt: skip

FRAMES: list[tuple[str, str, str, str, bool, bool]] = [
    ("bare", "", "", "", False, True),
    ("blanks", "\n\n", "\n ", "", False, True),
    ("thought", "<think>\nThe order is 7.\n</think>\n\n", "", "The order is 7.", False, True),
    ("no thought", "<think>\n\n</think>\n\n", "", "", False, True),
    ("opened by the prompt", "The order is 7.\n</think>\n\n", "", "The order is 7.", True, True),
    ("opened twice", "<think>\nNot twice.</think>", "", "Not twice.", True, True),
    ("a call in the thought", '<think><tool_call>{"name": "ping"}</tool_call></think>', "",
     '<tool_call>{"name": "ping"}</tool_call>', False, True),
    ("cut off later", "", "<tool_call>\n{\"name\": \"re", "", False, False),
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One generation of `generations.toml`; `id` is its notation, kind and name."""

    id: str
    text: str
    reasoning: str
    content: str
    calls: list[Call]
    finished: bool
    thinking: bool


def _call(line: str) -> Call:
    name, _, arguments = line.partition(" ")
    return BROKEN if line == "!" else (name, json.loads(arguments))


def _cases() -> list[Case]:
    data = tomllib.loads((Path(__file__).parent / "generations.toml").read_text(encoding="utf-8"))
    return [
        Case(
            id=f"{notation} {kind}: {case.pop('name')}",
            text=case.pop("text"),
            reasoning=case.pop("reasoning", ""),
            content=case.pop("content", ""),
            calls=[_call(one) for one in case.pop("calls", [])],
            finished=case.pop("finished", True),
            thinking=case.pop("thinking", False),
            **case,  # a key that was misspelt is an error
        )
        for notation, kinds in data.items()
        for kind, cases in kinds.items()
        for case in cases
    ]


CASES = _cases()

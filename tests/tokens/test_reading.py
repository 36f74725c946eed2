from __future__ import annotations

import json

import pytest

from pytest_thinkingbox.tokens.reading import BrokenCall, Reading, WrittenCall, read
from tests.tokens.corpus import BODIES, BROKEN, CASES, FRAMES, SCHEMAS


def test_the_corpus_has_two_hundred_generations_that_differ():
    asked = {(one.text, one.finished, one.thinking) for one in CASES}
    assert len(asked) == len({one.id for one in CASES}) == 200


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_generation_means_what_it_says(case):
    read_as = read(case.text, SCHEMAS, finished=case.finished, thinking=case.thinking)
    assert (read_as.reasoning, read_as.content, read_as.finished) == (
        case.reasoning,
        case.content,
        case.finished,
    )
    calls = [BROKEN if isinstance(one, BrokenCall) else (one.name, one.arguments) for one in read_as.calls]
    assert calls == case.calls
    assert json.dumps(calls) == json.dumps(case.calls)  # 1, 1.0 and true are not the same


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[0])
@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame[0])
def test_a_generation_has_its_right_reading(frame, body):
    _, before, after, reasoning, thinking, finished = frame
    _, text, content, calls = body
    read_as = read(before + text + after, SCHEMAS, finished=finished, thinking=thinking)
    expected = list(calls) if finished else [*calls, BROKEN]
    assert (read_as.reasoning, read_as.content, read_as.finished) == (reasoning, content, finished)
    assert [
        BROKEN if isinstance(one, BrokenCall) else (one.name, one.arguments) for one in read_as.calls
    ] == expected


AROUND = {"anyOf": [{"$ref": f"#/$defs/d{at}"} for at in range(12)]}
DEFINITIONS = {f"d{at}": AROUND for at in range(11)}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (True, "1"),
        ({"properties": {"x": True}}, "1"),
        ({"properties": {"x": {"anyOf": [True, {"type": "integer"}]}}}, 1),
        ({"properties": {"x": {"type": ["integer", None], "enum": None, "anyOf": {"a": 1}}}}, 1),
        ({"properties": None}, "1"),
        ({"properties": {"x": {"$ref": "#/$defs/a/b"}}, "$defs": {"a": [1]}}, "1"),
        ({"properties": {"x": AROUND}, "$defs": {**DEFINITIONS, "d11": {"type": "integer"}}}, 1),
    ],
    ids=["true", "a property of anything", "anything or a number", "odd words", "no properties", "nowhere", "around"],
)  # fmt: skip
def test_a_schema_may_be_odd(schema, value):
    """It comes from who made the tool."""
    text = "<tool_call><function=f><parameter=x>\n1\n</parameter></function></tool_call>"
    assert read(text, {"f": schema}).calls == (WrittenCall("f", {"x": value}),)


def test_reasoning_that_never_ends_holds_no_calls():
    text = '<think>Maybe <tool_call>{"name": "ping"}</tool_call>'
    assert read(text, SCHEMAS, finished=False) == Reading(
        reasoning='Maybe <tool_call>{"name": "ping"}</tool_call>', finished=False
    )


def test_the_end_of_the_message_closes_a_whole_call():
    assert read('<tool_call>\n{"name": "ping"}', SCHEMAS).calls == (WrittenCall("ping", {}),)


def test_what_was_cut_off_is_no_call():
    [call] = read('<tool_call>\n{"name": "ping"}', SCHEMAS, finished=False).calls
    assert call == BrokenCall('{"name": "ping"}', "it is cut off")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<tool_call>{\"name\"}</tool_call>", "it is no JSON: Expecting ':' delimiter (character 7)"),
        ("<tool_call>7</tool_call>", "it is no JSON object"),
        ('<tool_call>{"name": " "}</tool_call>', 'it has no "name"'),
        ('<tool_call>{"name": "a", "arguments": "x"}</tool_call>', 'its "arguments" are no JSON object'),
        ("<tool_call><function=a</tool_call>", "the name of its function never ends"),
        ("<tool_call><function=a><parameter=b>1</function></tool_call>", "its parameter 'b' never ends"),
        ("<tool_call><function=a>", "its function never ends"),
    ],
)  # fmt: skip
def test_a_broken_call_says_why(text, why):
    [call] = read(text, SCHEMAS).calls
    assert call.why == why

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pytest_thinkingbox.agents.base import ToolSpec
from pytest_thinkingbox.agents.completions import CHAT
from pytest_thinkingbox.agents.messages import MESSAGES
from pytest_thinkingbox.agents.responses import RESPONSES
from pytest_thinkingbox.agents.schemas import tool_schema

GUEST = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def holding(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


# --- references ---


def test_a_reference_is_replaced_by_what_it_points_to() -> None:
    schema = holding(guest={"$ref": "#/$defs/Guest"}, other={"$ref": "#/definitions/Old"})
    made = tool_schema({**schema, "$defs": {"Guest": GUEST}, "definitions": {"Old": {"type": "integer"}}})
    assert made == holding(guest=GUEST, other={"type": "integer"})


def test_what_stands_beside_a_reference_stays_and_wins() -> None:
    schema = holding(guest={"$ref": "#/$defs/Guest", "description": "Who comes."})
    made = tool_schema({**schema, "$defs": {"Guest": {**GUEST, "description": "A guest."}}})
    assert made["properties"]["guest"] == {**GUEST, "description": "Who comes."}


def test_references_to_references_are_followed() -> None:
    definitions = {
        "A": {"$ref": "#/$defs/B"},
        "B": {"type": "array", "items": {"$ref": "#/$defs/C"}},
        "C": GUEST,
    }
    made = tool_schema({**holding(a={"$ref": "#/$defs/A"}), "$defs": definitions})
    assert made == holding(a={"type": "array", "items": GUEST})


def test_a_reference_to_a_property_and_one_with_escaped_characters() -> None:
    schema = holding(a=GUEST, b={"$ref": "#/properties/a"}, c={"$ref": "#/$defs/x~1y%20z"})
    made = tool_schema({**schema, "$defs": {"x/y z": {"type": "integer"}}})
    assert made == holding(a=GUEST, b=GUEST, c={"type": "integer"})


def test_what_contains_itself_stays_a_reference_and_nothing_else_does() -> None:
    node = {
        "type": "object",
        "properties": {
            "label": {"$ref": "#/$defs/Label"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
    }
    made = tool_schema(
        {**holding(tree={"$ref": "#/$defs/Node"}), "$defs": {"Node": node, "Label": {"type": "string"}}}
    )
    kept = {
        "type": "object",
        "properties": {
            "label": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
    }
    assert made == {**holding(tree={"$ref": "#/$defs/Node"}), "$defs": {"Node": kept}}


def test_two_that_contain_each_other() -> None:
    a = holding(b={"$ref": "#/$defs/B"})
    b = holding(a={"$ref": "#/$defs/A"})
    made = tool_schema({**holding(first={"$ref": "#/$defs/A"}), "$defs": {"A": a, "B": b}})
    assert made == {**holding(first={"$ref": "#/$defs/A"}), "$defs": {"A": a, "B": b}}


def test_a_schema_that_contains_itself_as_a_whole() -> None:
    made = tool_schema(holding(reply_to={"$ref": "#"}, text={"type": "string"}))
    assert made == {
        **holding(reply_to={"$ref": "#/$defs/root"}, text={"type": "string"}),
        "$defs": {"root": holding(reply_to={"$ref": "#/$defs/root"}, text={"type": "string"})},
    }


def test_a_schema_whose_top_is_a_reference() -> None:
    assert tool_schema({"$ref": "#/$defs/Guest", "$defs": {"Guest": GUEST}}) == GUEST
    node = holding(next={"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]})
    assert tool_schema({"$ref": "#/$defs/Node", "$defs": {"Node": node}}) == {**node, "$defs": {"Node": node}}


@pytest.mark.parametrize("reference", ["#/$defs/Nobody", "other.json#/$defs/A", "#/properties/0/x"])
def test_a_reference_that_leads_nowhere_allows_anything(reference: str) -> None:
    assert tool_schema(holding(a={"$ref": reference, "description": "A."})) == holding(
        a={"description": "A."}
    )


def test_references_at_the_top_that_go_round_in_circles_end() -> None:
    definitions = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    assert tool_schema({"$ref": "#/$defs/A", "$defs": definitions})["type"] == "object"


def test_references_that_would_make_the_schema_huge_stay() -> None:
    definitions: dict[str, Any] = {"L0": {"type": "string"}}
    for level in range(1, 16):
        inner = {"$ref": f"#/$defs/L{level - 1}"}
        definitions[f"L{level}"] = holding(a=inner, b=inner)
    made = tool_schema({**holding(a={"$ref": "#/$defs/L15"}), "$defs": definitions})
    assert made["properties"] == {"a": {"$ref": "#/$defs/L15"}}
    assert made["$defs"] == definitions


# --- the top ---


def test_branches_at_the_top_become_one_object_that_demands_what_all_demand() -> None:
    by_id = {"properties": {"id": {"type": "integer"}, "why": {"type": "string"}}, "required": ["id", "why"]}
    by_name = {
        "properties": {"name": {"type": "string"}, "why": {"type": "string"}},
        "required": ["name", "why"],
    }
    assert tool_schema({"type": "object", "anyOf": [by_id, by_name]}) == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "why": {"type": "string"}, "name": {"type": "string"}},
        "required": ["why"],
    }


def test_a_property_that_differs_between_branches_may_be_either() -> None:
    branches = [holding(id={"type": kind}) for kind in ("integer", "string", "integer", "null")]
    assert tool_schema({"oneOf": branches})["properties"] == {
        "id": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}
    }


def test_one_of_these_must_be_given_is_left_to_the_tool() -> None:
    schema = {**holding(a={}, b={}), "required": ["a"], "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert tool_schema(schema) == {**holding(a={}, b={}), "required": ["a"]}


def test_all_of_at_the_top_is_added_up() -> None:
    parts = [{"$ref": "#/$defs/Guest"}, {"properties": {"age": {"type": "integer"}}, "required": ["age"]}]
    assert tool_schema({"allOf": parts, "$defs": {"Guest": GUEST}}) == {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    }


def test_choices_below_the_top_stay() -> None:
    schema = holding(
        guest={"anyOf": [GUEST, {"type": "null"}], "default": None}, n={"type": ["integer", "null"]}
    )
    assert tool_schema(schema) == schema


def test_other_conditions_at_the_top_go() -> None:
    schema = {**holding(a={}), "not": {"required": ["b"]}, "if": {}, "then": {}, "else": {}, "enum": [{}]}
    assert tool_schema(schema) == holding(a={})


def test_an_empty_schema_is_an_object_without_properties() -> None:
    assert tool_schema({}) == {"type": "object", "properties": {}}
    assert tool_schema({"type": ["object", "null"]})["type"] == "object"


# --- single schemas ---


def test_an_array_says_what_its_items_are() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}
    made = tool_schema(holding(tags={"type": "array"}, pair=pair))
    assert made["properties"] == {"tags": {"type": "array", "items": {}}, "pair": {**pair, "items": {}}}


def test_schemas_that_are_true_or_false() -> None:
    made = tool_schema({**holding(a=True, b=False), "additionalProperties": False})
    assert made == {**holding(a={}, b={"not": {}}), "additionalProperties": False}


def test_names_of_properties_and_data_are_no_keywords() -> None:
    schema = holding(**{
        "$ref": {"type": "string"},
        "$id": {"type": "string", "$comment": "gone"},
        "enum": {"enum": [{"$ref": "#/x", "$id": 1}], "default": {"$schema": 1}},
    })  # fmt: skip
    made = tool_schema({**schema, "$schema": "https://json-schema.org/draft/2020-12/schema"})
    schema["properties"]["$id"] = {"type": "string"}
    assert made == schema


# --- whatever the schema ---

simple = st.sampled_from(
    [{"type": "string"}, {"type": "integer"}, {"type": "null"}, {"enum": ["a", 1]}, True]
)
references = st.sampled_from([{"$ref": f"#/$defs/{name}"} for name in "ABC"])
schemas = st.recursive(
    simple | references,
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda both: {"anyOf": both}, st.lists(inner, min_size=1, max_size=2))
        | st.builds(lambda fields: {"type": "object", "properties": fields},
                    st.dictionaries(st.sampled_from("xyz"), inner, max_size=2))
    ),
    max_leaves=5,
)  # fmt: skip
# A definition that is nothing but a reference may go round in a circle, which no validator survives.
definitions = st.fixed_dictionaries({
    name: st.builds(lambda fields: {"type": "object", "properties": fields},
                    st.dictionaries(st.sampled_from("xyz"), schemas, max_size=2))
    for name in "ABC"
})  # fmt: skip
values = st.recursive(
    st.sampled_from(["a", 1, None]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
    max_leaves=6,
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from("xyz"), schemas, max_size=3), definitions, values)
def test_the_shaped_schema_takes_what_the_servers_schema_takes(
    properties: dict[str, Any], defined: dict[str, Any], value: Any
) -> None:
    schema = {**holding(**properties), "$defs": defined}
    shaped = json.loads(json.dumps(tool_schema(schema)))
    Draft202012Validator.check_schema(shaped)
    assert Draft202012Validator(shaped).is_valid(value) == Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("api", [CHAT, RESPONSES, MESSAGES])
def test_every_api_is_sent_the_shaped_schema(api: Any) -> None:
    schema = {"oneOf": [{"$ref": "#/$defs/Guest"}], "$defs": {"Guest": GUEST}}
    sent = json.loads(api.encode_tools([ToolSpec(name="greet", description="Greet.", input_schema=schema)]))
    assert GUEST in (
        sent[0].get("parameters"),
        sent[0].get("input_schema"),
        sent[0].get("function", {}).get("parameters"),
    )

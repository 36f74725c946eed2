"""A tool's JSON Schema in a form that every endpoint takes.

* `$ref` is replaced by what it points to, since Ollama and Gemini do not follow it. What contains itself stays a
  reference into `$defs`, and so do all when the schema would grow beyond bounds.
* At the top OpenAI and Anthropic refuse anything but an object: `allOf`, `anyOf` and `oneOf` there become one object
  with the properties of all, in which is required what every branch requires. The tool itself still checks the rest.
* An array says what its items are: OpenAI refuses one that does not. A schema that is `true` becomes `{}`.
* `$schema`, `$id` and their like are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

_MOST_NODES = 3000
_REJECTED = frozenset({"$schema", "$id", "$comment", "$anchor", "$vocabulary"})
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLES = frozenset({
    "items", "additionalItems", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip
_MAY_BE_BOOLEAN = frozenset(
    {"additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems"}
)
_NOT_AT_THE_TOP = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const")


def tool_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The `parameters` or `input_schema` of a tool."""
    try:
        shaped = _Shaper(schema, inline=True).shape()
    except _TooLarge:
        shaped = _Shaper(schema, inline=False).shape()
    top = _object_of(shaped)
    top["type"] = "object"
    top.setdefault("properties", {})
    return top


class _TooLarge(Exception):
    pass


class _Shaper:
    """`inline` replaces the references that do not lead back to themselves."""

    def __init__(self, schema: Mapping[str, Any], *, inline: bool) -> None:
        self._root = schema
        self._inline = inline
        self._nodes = 0
        self._kept: dict[str, str] = {}
        self._definitions: dict[str, Any] = {}

    def shape(self) -> dict[str, Any]:
        root: Any = self._root
        seen: set[str] = set()
        while isinstance(reference := root.get("$ref"), str) and reference not in seen:
            seen.add(reference)
            siblings = {key: value for key, value in root.items() if key != "$ref"}
            target = self._target(reference)
            root = {**(target if isinstance(target, Mapping) else {}), **siblings}
        kept = {key: value for key, value in root.items() if key not in ("$ref", "$defs", "definitions")}
        top: dict[str, Any] = self._shaped(kept)
        if self._definitions:
            top["$defs"] = self._definitions
        return top

    def _shaped(self, schema: Any) -> Any:
        self._nodes += 1
        if self._inline and self._nodes > _MOST_NODES:
            raise _TooLarge
        if schema is True:
            return {}
        if schema is False:
            return {"not": {}}
        if not isinstance(schema, Mapping):
            return schema
        made: dict[str, Any] = {}
        reference = schema.get("$ref")
        if isinstance(reference, str):
            made = self._referred(reference)
        for key, value in schema.items():
            if key not in _REJECTED and not (key == "$ref" and isinstance(value, str)):
                made[key] = self._value(key, value)
        if made.get("type") == "array":
            made.setdefault("items", {})
        return made

    def _value(self, key: str, value: Any) -> Any:
        if key in _MAPS and isinstance(value, Mapping):
            return {name: self._shaped(inner) for name, inner in value.items()}
        if key in (*_LISTS, "items") and isinstance(value, list | tuple):
            return [self._shaped(inner) for inner in value]
        if key in _SINGLES and not (key in _MAY_BE_BOOLEAN and isinstance(value, bool)):
            return self._shaped(value)
        return value

    def _referred(self, reference: str) -> dict[str, Any]:
        target = self._target(reference)
        if target is None:  # leads nowhere, or into another document: anything goes
            return {}
        if self._inline and reference not in set(self._reached(target)):
            shaped = self._shaped(target)
            return dict(shaped) if isinstance(shaped, Mapping) else {}
        name = self._kept.get(reference)
        if name is None:
            name = reference.rsplit("/", 1)[-1].strip("#") or "root"
            while name in self._definitions:
                name += "_"
            self._kept[reference] = name
            self._definitions[name] = {}
            self._definitions[name] = self._shaped(target)
        return {"$ref": f"#/$defs/{name}"}

    def _reached(self, schema: Any) -> Iterator[str]:
        """All references in a schema and in what they point to."""
        seen: set[str] = set()
        waiting = [schema]
        while waiting:
            one = waiting.pop()
            if isinstance(one, Mapping):
                reference = one.get("$ref")
                if isinstance(reference, str) and reference not in seen:
                    seen.add(reference)
                    waiting.append(self._target(reference))
                    yield reference
                waiting.extend(one.values())
            elif isinstance(one, list | tuple):
                waiting.extend(one)

    def _target(self, reference: str) -> Any:
        """What a reference into this document points to, None when there is nothing."""
        if not reference.startswith("#"):
            return None
        here: Any = self._root
        for part in unquote(reference[1:]).split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(here, Mapping) and name in here:
                here = here[name]
            elif isinstance(here, list) and name.isdecimal() and int(name) < len(here):
                here = here[int(name)]
            else:
                return None
        return here if isinstance(here, Mapping | bool) else None


def _object_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """One object without choices at its top."""
    top = {key: value for key, value in schema.items() if key not in _NOT_AT_THE_TOP}
    properties = dict(_mapping(schema.get("properties")))
    required = [name for name in _sequence(schema.get("required")) if isinstance(name, str)]
    for part in _sequence(schema.get("allOf")):
        inner = _object_of(_mapping(part))
        _add(properties, inner.get("properties", {}))
        required += inner.get("required", [])
    for choice in ("anyOf", "oneOf"):
        branches = [_object_of(_mapping(branch)) for branch in _sequence(schema.get(choice))]
        for branch in branches:
            _add(properties, branch.get("properties", {}))
        if branches:
            first = branches[0].get("required", [])
            required += [name for name in first if all(name in one.get("required", []) for one in branches)]
    if properties:
        top["properties"] = properties
    top.pop("required", None)
    if required:
        top["required"] = list(dict.fromkeys(required))
    return top


def _add(properties: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, schema in more.items():
        there = properties.setdefault(name, schema)
        if there != schema:
            known = there["anyOf"] if isinstance(there, Mapping) and set(there) == {"anyOf"} else [there]
            properties[name] = there if schema in known else {"anyOf": [*known, schema]}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []

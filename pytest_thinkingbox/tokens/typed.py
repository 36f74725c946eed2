"""Values that a model wrote as bare text, as its tool's JSON Schema means them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def typed(text: str, key: str, root: object) -> Any:
    """The value that `text` spells for this property of the schema `root`, the text itself where it spells none.

    What does not fit is left for the tool to refuse: its answer tells the agent. A schema comes from who made the tool,
    and says nothing where it is no schema.
    """
    properties = root.get("properties") if isinstance(root, Mapping) else None
    types = _types(properties.get(key) if isinstance(properties, Mapping) else None, root, seen=set())
    for kind in types:
        if kind == "string":
            return text
        if kind == "null" and "string" in types and text != "null":
            continue  # where text is allowed, a blank and the word None are text
        value = _as(kind, text)
        if value is not _NOTHING:
            return value
    return text


_NOTHING = object()


def _types(schema: object, root: object, *, seen: set[str]) -> list[str]:
    """The types that a value may have; text last, since everything is one. `true` is a schema too, of anything.

    `seen` are references that were followed: they may lead back to themselves.
    """
    found: list[str] = []
    if not isinstance(schema, Mapping):
        return found
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        seen.add(reference)
        found += _types(_resolve(reference, root), root, seen=seen)
    kind = schema.get("type")
    found += [one for one in ([kind] if isinstance(kind, str) else _list(kind)) if isinstance(one, str)]
    for word in ("anyOf", "oneOf", "allOf"):
        for one in _list(schema.get(word)):
            found += _types(one, root, seen=seen)
    for value in (*_list(schema.get("enum")), *([schema["const"]] if "const" in schema else [])):
        found.append(_type_of(value))
    return sorted(dict.fromkeys(found), key=lambda kind: kind == "string")


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _resolve(reference: str, root: object) -> object:
    if not reference.startswith("#/"):
        return None
    at = root
    for part in reference.removeprefix("#/").split("/"):
        at = at.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(at, Mapping) else None
    return at


def _type_of(value: object) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "object")


def _as(kind: str, text: str) -> Any:
    word = text.strip()
    if kind == "boolean":
        return {"true": True, "false": False}.get(word.lower(), _NOTHING)
    if kind == "null":
        return None if word.lower() in ("null", "none", "") else _NOTHING
    value = load(word)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    wanted = {"integer": int, "number": int | float, "array": list, "object": dict}.get(kind)
    if wanted is None or not isinstance(value, wanted) or isinstance(value, bool):
        return _NOTHING
    return value


def load(text: str) -> Any:
    """Strict JSON; an object that is no JSON value where it is none."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return _NOTHING


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")

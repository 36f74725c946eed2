"""Values that a model wrote as bare text, as its tool's JSON Schema means them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_DEEPEST = 8  # references that refer to references


def typed(text: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The value that `text` spells for a property of this schema, the text itself where it spells none.

    What does not fit is left for the tool to refuse: its answer tells the agent. `root` is the schema that local
    references count from.
    """
    types = _types(schema, root)
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


def _types(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> list[str]:
    """The types that a value may have; text last, since everything is one."""
    found: list[str] = []
    reference = schema.get("$ref")
    if isinstance(reference, str) and depth < _DEEPEST:
        found += _types(_resolve(reference, root), root, depth + 1)
    kind = schema.get("type")
    found += [kind] if isinstance(kind, str) else list(kind) if isinstance(kind, Sequence) else []
    for word in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(word, ()):
            found += _types(one, root, depth + 1)
    for value in (*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])):
        found.append(_type_of(value))
    return sorted(dict.fromkeys(found), key=lambda kind: kind == "string")


def _resolve(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    if not reference.startswith("#/"):
        return {}
    at: Any = root
    for part in reference.removeprefix("#/").split("/"):
        at = at.get(part.replace("~1", "/").replace("~0", "~"), {}) if isinstance(at, Mapping) else {}
    return at if isinstance(at, Mapping) else {}


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

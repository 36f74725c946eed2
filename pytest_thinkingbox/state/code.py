"""Values and expectations as Python code, and as short text for people. What agents wrote is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from keyword import iskeyword
from typing import Any
from uuid import UUID

from pytest_thinkingbox.state.values import Same, canonical

SHOWN = 160
"""Characters of a value that people are shown."""

_AROUND = 40  # characters shown on either side of the place where two long texts part


def literal(value: Any) -> str:
    """The value as code: strings in double quotes, all that does not print escaped."""
    if isinstance(value, str) and type(value).__repr__ is str.__repr__:
        return _quoted(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{float.__repr__(value)}")'
    if type(value) is int and abs(value) >= 10**100:
        return hex(value)  # Python refuses to print very long integers in decimal
    if type(value) is Decimal:
        return f'Decimal("{value}")'
    if type(value) is UUID:
        return f'UUID("{value}")'
    if isinstance(value, bytearray | memoryview):
        return repr(bytes(value))
    if isinstance(value, Same):
        return f"Same({_quoted(value.name)})"
    if type(value) is list:
        return f"[{', '.join(map(literal, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if type(value) is dict:
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    return printable(repr(value))


def call_code(name: str, positional: Iterable[Any], named: Mapping[str, str]) -> str:
    """`name(positional..., column=code...)`; the values of `named` are code already."""
    arguments = [literal(value) for value in positional]
    arguments += [f"{key}={code}" for key, code in named.items() if _is_keyword_argument(key)]
    others = [f"{literal(key)}: {code}" for key, code in named.items() if not _is_keyword_argument(key)]
    if others:
        arguments.append("**{" + ", ".join(others) + "}")
    return f"{name}({', '.join(arguments)})"


def printable(text: str) -> str:
    """The text with everything escaped that could move a cursor, end a line or turn its direction."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shown(value: Any) -> str:
    """The value for people: as code, cut in the middle when it is long."""
    if isinstance(value, str | bytes | bytearray | memoryview) and len(value) > SHOWN:
        head, tail = value[: SHOWN * 2 // 3], value[-SHOWN // 3 :]
        return f"{literal(head)} … {literal(tail)} ({_length(value)})"
    code = literal(value)
    if len(code) <= 2 * SHOWN:
        return code
    return f"{code[: SHOWN * 4 // 3]} … {code[-SHOWN * 2 // 3 :]} ({len(code):,} characters)"


def shown_pair(left: Any, right: Any) -> tuple[str, str]:
    """Two values for people; of two long strings the part around the first difference."""
    if not (isinstance(left, str) and isinstance(right, str)) or max(len(left), len(right)) <= SHOWN:
        return shown(left), shown(right)
    at = next(
        (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )
    return _excerpt(left, at), _excerpt(right, at)


def _excerpt(text: str, at: int) -> str:
    start, end = max(0, at - _AROUND), at + _AROUND
    before, after = "… " if start else "", " …" if end < len(text) else ""
    return f"{before}{literal(text[start:end])}{after} (from character {start:,} of {len(text):,})"


def _length(value: Any) -> str:
    return f"{len(value):,} {'characters' if isinstance(value, str) else 'bytes'}"


def _quoted(text: str) -> str:
    code = str.__repr__(text)
    if code[0] == "'" and '"' not in text:
        return '"' + code[1:-1].replace("\\'", "'") + '"'
    return code


def _is_keyword_argument(key: str) -> bool:
    return key.isidentifier() and not iskeyword(key)


def plain(value: Any) -> Any:
    """The simplest value that a checker may write for one of the database: numbers, ISO strings, lists."""
    if isinstance(value, Decimal):
        if value.is_nan():
            return float("nan")
        if value.is_finite() and value == value.to_integral_value() and value.copy_abs() < 10**30:
            return int(value)
        number = float(value)
        return number if canonical(number) == canonical(value) else value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value

"""Argument checks that fail at import with the name of the argument, the value and the way out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def reject(where: str, argument: str, value: object, expected: str) -> TypeError:
    """The error for a wrong argument, to be raised by the caller."""
    return TypeError(f"{where}: {argument}={value!r} must be {expected}")


def text(where: str, argument: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise reject(where, argument, value, "a non-empty string")
    return value


def strings(where: str, argument: str, value: Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise reject(where, argument, value, f"a list of strings, for example [{value!r}]")
    items = tuple(value)
    for item in items:
        text(where, f"{argument} item", item)
    return items


def positive(where: str, argument: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise reject(where, argument, value, "a number above 0")
    return value

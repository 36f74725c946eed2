"""Values of options from their text; ValueError for what is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text)
        if value < least:
            raise ValueError
        return value

    return parse


def share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError
    return value


def positive_share(text: str) -> float:
    if not share(text):
        raise ValueError
    return share(text)


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError
        return text

    return parse


def temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def json_object(text: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    value = json.loads(text, parse_constant=refuse)
    if not isinstance(value, dict):
        raise ValueError
    return value

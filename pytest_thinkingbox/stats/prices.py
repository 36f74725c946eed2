"""Prices of models, from a TOML table that the user keeps: none are built in, for they would be out of date.

[models."gpt-9-mini"]
input = 0.25          # US dollars per million tokens
cached_input = 0.025  # of the input, what the endpoint had seen before; default: as `input`
output = 2.0
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_thinkingbox.errors import ThinkingboxError

_MILLION = 1_000_000


class BrokenPrices(ThinkingboxError):
    """A price table does not hold what it should; the message names file, model, field and value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens. Cached tokens are a part of the input, reasoning a part of the output."""

    input: float
    output: float
    cached_input: float | None = None

    def of(self, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars. Cached tokens cost what other input does where no price of their own is known."""
        cached = min(cached_tokens, input_tokens)
        cached_price = self.input if self.cached_input is None else self.cached_input
        total = (input_tokens - cached) * self.input + cached * cached_price + output_tokens * self.output
        return total / _MILLION

    def as_data(self) -> dict[str, float | None]:
        return {"input": self.input, "cached_input": self.cached_input, "output": self.output}


Prices = Mapping[str, Price]
"""By model, as its endpoint calls it. A model that is not in it has no price; that is not the price 0."""


def read_prices(path: Path) -> dict[str, Price]:
    """The table in a file. Raises BrokenPrices."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BrokenPrices(f"{path}: the price table cannot be read: {error.strerror}") from None
    except ValueError as error:  # not TOML, or not UTF-8
        raise BrokenPrices(f"{path}: not TOML: {error}") from None
    models = data.pop("models", None)
    if data or not isinstance(models, dict):
        wrong = f"unknown {next(iter(data))!r}" if data else "no table [models]"
        raise BrokenPrices(f"{path}: {wrong}; a price table holds [models.NAME] with input and output")
    return prices_from(models, where=str(path))


def prices_from(models: Mapping[str, Any], *, where: str) -> dict[str, Price]:
    """Prices by model from plain data, checked. Raises BrokenPrices, which begins with `where`."""
    return {name: _price(fields, f"{where}: models.{name}") for name, fields in models.items()}


def _price(fields: Any, where: str) -> Price:
    if not isinstance(fields, dict):
        raise BrokenPrices(f"{where}: {fields!r} must be a table with input and output")
    known = ("input", "cached_input", "output")
    for name, value in fields.items():
        if name not in known:
            raise BrokenPrices(f"{where}.{name}: unknown; known are {', '.join(known)}")
        if value is None and name == "cached_input":
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise BrokenPrices(f"{where}.{name}: {value!r} must be US dollars per million tokens, from 0")
    for name in ("input", "output"):
        if name not in fields:
            raise BrokenPrices(f"{where}: {name} is missing")
    return Price(**fields)

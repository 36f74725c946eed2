"""From what SQLite stores to the Python value that the column's type means."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from sqlalchemy import types

Decoder = Callable[[Any], Any]

_EPOCH = datetime(1970, 1, 1)


def decode_text(raw: bytes) -> str:
    """Text as SQLite stores it, which need not be valid UTF-8: a bad byte becomes a lone surrogate."""
    return raw.decode("utf-8", "surrogateescape")


def _decimal(value: Any) -> Any:
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float | str):
        try:
            number = Decimal(repr(value) if isinstance(value, float) else value)
        except InvalidOperation:
            return value
        return number if number.is_finite() else value
    return value


def _boolean(value: Any) -> Any:
    return bool(value) if isinstance(value, int) and value in (0, 1) else value


def _from_text(parse: Callable[[str], Any]) -> Decoder:
    def decode(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return parse(value)
        except (ValueError, RecursionError):
            return value

    return decode


def _interval(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value) - _EPOCH
    except (ValueError, TypeError):
        return value


_BY_NAME: dict[str, Decoder] = {
    "DATE": _from_text(date.fromisoformat),
    "DATETIME": _from_text(datetime.fromisoformat),
    "TIMESTAMP": _from_text(datetime.fromisoformat),
    "TIMESTAMPTZ": _from_text(datetime.fromisoformat),
    "TIME": _from_text(time.fromisoformat),
    "BOOLEAN": _boolean,
    "BOOL": _boolean,
    "NUMERIC": _decimal,
    "DECIMAL": _decimal,
    "JSON": _from_text(json.loads),
}


def decoder_of_declaration(declared: str) -> Decoder | None:
    """By the type in CREATE TABLE, such as `NUMERIC(10, 2)`; None where the stored value is the value."""
    words = declared.partition("(")[0].split()
    return _BY_NAME.get(words[0].upper()) if words else None


def decoder_of_type(column_type: types.TypeEngine[Any]) -> Decoder | None:
    """For the types of SQLAlchemy that the declaration in SQLite does not tell, such as `Uuid`: CHAR(32)."""
    if isinstance(column_type, types.Interval):
        return _interval
    if isinstance(column_type, types.TypeDecorator):
        return decoder_of_type(column_type.impl_instance)
    return _from_text(UUID) if isinstance(column_type, types.Uuid) else None

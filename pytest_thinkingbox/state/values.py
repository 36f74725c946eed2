"""Values as the database means them: one canonical key, one equality, one lossless JSON form.

Two values of a database are equal when their canonical keys are. What a checker expects is wider: it may be
any object with an `__eq__` of its own, an ISO string for a date, or a `Same`.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAN = ("nan",)
_NULL = ("null",)


class Same:
    """An unknown value that is equal wherever the name occurs in one comparison."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"Same: name={name!r} must be a non-empty string")
        self.name = name

    def __repr__(self) -> str:
        return f"Same({self.name!r})"


# ---------------------------------------- canonical keys


def canonical(value: Any) -> Hashable:
    """A key that two values share exactly when the database calls them equal.

    25, 25.0, Decimal("25.00") share one, as do True and 1 (but not inside JSON or an array, where a database
    tells them apart), aware datetimes of one instant, and a UUID and its usual string. '1' and 1 do not.
    A float stands for its shortest decimal, so 0.1 and Decimal("0.1") are equal.
    """
    make = _KEYS.get(type(value))
    return make(value) if make is not None else _key_of_subclass(value)


def equal(a: Any, b: Any) -> bool:
    """Whether two values that came from a database are equal; NULL equals NULL and NaN equals NaN."""
    if type(a) is type(b) and type(a) in _PLAIN:
        return bool(a == b)
    return canonical(a) == canonical(b)


def canonical_row(row: Mapping[str, Any]) -> Hashable:
    """The key of a whole row: a column that is not there is NULL, and order does not matter."""
    return frozenset((column, canonical(value)) for column, value in row.items() if value is not None)


def order_key(value: Any) -> tuple[Any, ...]:
    """Sorts any mixture of values, NULL first, then numbers, text, bytes and the rest."""
    key = canonical(value)
    if key == _NULL:
        return (0,)
    if key == _NAN:
        return (1,)
    if isinstance(key, tuple):
        kind = key[0]
        if kind == "number":
            return (2, key[1])
        if kind == "text":
            return (3, key[1])
        if kind == "bytes":
            return (4, key[1])
        if kind == "list":
            return (5, [order_key(item) for item in value])
    return (6, type(value).__name__, repr(value))


def _number_key(value: Any) -> Hashable:
    if isinstance(value, int):
        return ("number", int(value))
    if isinstance(value, float):
        if math.isnan(value):
            return _NAN
        if math.isinf(value):
            return ("number", float(value))
        # SQLite compares integers and floats exactly; everything else means the decimal that was written.
        if value.is_integer() and abs(value) < 2.0**64:
            return ("number", int(value))
        return ("number", Decimal(float.__repr__(value)))
    return _NAN if value.is_nan() else ("number", value)


def _datetime_key(value: datetime) -> Hashable:
    if value.utcoffset() is None:
        return ("datetime", value.replace(tzinfo=None, fold=0))
    return ("instant", value - _EPOCH)


def _nested_key(value: Any) -> Hashable:
    if isinstance(value, bool):
        return ("boolean", value)
    return canonical(value)


def _list_key(value: Iterable[Any]) -> Hashable:
    return ("list", tuple(_nested_key(item) for item in value))


def _dict_key(value: Mapping[Any, Any]) -> Hashable:
    return ("object", frozenset((_nested_key(key), _nested_key(item)) for key, item in value.items()))


def _key_of_subclass(value: Any) -> Hashable:
    for kind, make in _KEYS.items():
        if isinstance(value, kind):
            return make(value)
    return ("other", type(value).__qualname__, value)


def _text_key(value: str) -> Hashable:
    return ("text", str.__str__(value))


def _bytes_key(value: Any) -> Hashable:
    return ("bytes", bytes(value))


_KEYS: dict[type, Callable[[Any], Hashable]] = {
    type(None): lambda value: _NULL,
    str: _text_key,
    bool: _number_key,
    int: _number_key,
    float: _number_key,
    Decimal: _number_key,
    bytes: _bytes_key,
    bytearray: _bytes_key,
    memoryview: _bytes_key,
    datetime: _datetime_key,  # before date, whose subclass it is
    date: lambda value: ("date", value),
    time: lambda value: ("time", value),
    timedelta: lambda value: ("timedelta", value),
    UUID: lambda value: ("text", str(value)),
    list: _list_key,
    tuple: _list_key,
    dict: _dict_key,
}
_PLAIN = frozenset({str, int, bool, bytes, type(None)})  # equal to their own kind exactly as Python says


# ---------------------------------------- expected against actual


def matches(expected: Any, actual: Any, bindings: dict[str, Hashable] | None = None) -> bool:
    """Whether an actual value is what a checker expects.

    `bindings` holds the keys that names of `Same` stand for; it is extended, and worthless after a False. An
    object with an `__eq__` of its own is asked with it, and what that raises is raised.
    """
    if type(expected) is type(actual) and type(expected) in _PLAIN:
        return bool(expected == actual)
    return _matches(expected, actual, {} if bindings is None else bindings, canonical)


def is_data(expected: Any) -> bool:
    """Whether it is an ordinary value, compared as the database would, rather than an object to be asked."""
    return type(expected) in _KEYS or type(expected).__eq__ in _DATA_EQ


def can_match(expected: Any) -> bool:
    """False for an object that can never equal a value: functions, classes, members of a plain Enum."""
    own: Any = type(expected).__eq__
    return is_data(expected) or isinstance(expected, Same) or own is not object.__eq__


_DATA_EQ = frozenset(kind.__eq__ for kind in _KEYS if kind is not type(None))


def _matches(
    expected: Any, actual: Any, bindings: dict[str, Hashable], key: Callable[[Any], Hashable]
) -> bool:
    if isinstance(expected, Same):
        value = canonical(actual)
        return bindings.setdefault(expected.name, value) == value
    if not is_data(expected):
        return _ask(expected, actual)
    if isinstance(expected, dict | list | tuple):
        return _matches_nested(expected, actual, bindings)
    if key(expected) == key(actual):
        return True
    if isinstance(expected, str):
        return _literal_equals(expected, actual)
    if isinstance(actual, str) and isinstance(expected, date | time | UUID):
        return _literal_equals(actual, expected)  # SQLite keeps these as text
    return False


def _matches_nested(expected: Any, actual: Any, bindings: dict[str, Hashable]) -> bool:
    if isinstance(actual, str):  # SQLite keeps JSON as text
        try:
            actual = parse_json(actual)
        except ValueError:
            return False
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and expected.keys() == actual.keys()
            and all(_matches(value, actual[name], bindings, _nested_key) for name, value in expected.items())
        )
    return (
        isinstance(actual, list | tuple)
        and len(expected) == len(actual)
        and all(_matches(e, a, bindings, _nested_key) for e, a in zip(expected, actual, strict=True))
    )


def _ask(expected: Any, actual: Any) -> bool:
    try:
        return bool(expected == actual)
    except TypeError:
        # pytest.approx of a float cannot subtract a Decimal: the same column is a float on another backend.
        if not isinstance(actual, Decimal):
            raise
        return bool(expected == float(actual))


def _literal_equals(literal: str, value: Any) -> bool:
    """Whether a string is this value written as in SQL: ISO dates and times, digits, UUIDs."""
    try:
        if isinstance(value, datetime):
            return equal(datetime.fromisoformat(literal), value)
        if isinstance(value, date):
            return equal(date.fromisoformat(literal), value)
        if isinstance(value, time):
            return equal(time.fromisoformat(literal), value)
        if isinstance(value, Decimal):
            return equal(Decimal(literal), value)
        if isinstance(value, UUID):
            return UUID(literal) == value
    except (ValueError, InvalidOperation):
        return False
    return False


# ---------------------------------------- JSON

DEEPEST = 100
"""Levels of JSON that are read as values; beyond them it stays text, which nobody can make Python's stack overflow."""


def parse_json(text: str) -> Any:
    """The value of a JSON text; ValueError when it is none, or nested more deeply than `DEEPEST`."""
    if text.count("[") + text.count("{") > DEEPEST:
        depth = 0
        for bracket in _BRACKETS.findall(text):
            depth += 1 if bracket in "[{" else -1 if bracket in "]}" else 0
            if depth > DEEPEST:
                raise ValueError(f"JSON nested more than {DEEPEST} levels deep")
    return json.loads(text)


_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)  # a string is skipped as a whole

_SAFE_INTEGER = 2**53  # larger ones are not the same number in every JSON reader


def encode(value: Any) -> Any:
    """The value as plain JSON data that `decode` turns back into an equal value of the same type.

    What JSON lacks is an object with one key that starts with "$". The result is valid UTF-8 and has no NaN.
    """
    if value is None or type(value) is bool or (type(value) is str and value.isascii()):
        return value
    if isinstance(value, str):
        return _encode_text(str.__str__(value))
    if isinstance(value, int):
        return int(value) if abs(value) <= _SAFE_INTEGER else {"$int": hex(value)}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": float.__repr__(value)}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) and key[:1] != "$" and _is_utf8(key) for key in value):
            return {key: encode(item) for key, item in value.items()}
        return {"$dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"$tuple": [encode(item) for item in value]}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"$bytes": b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, time):
        return {"$time": value.isoformat()}
    if isinstance(value, timedelta):
        return {"$timedelta": [value.days, value.seconds, value.microseconds]}
    if isinstance(value, UUID):
        return {"$uuid": str(value)}
    raise TypeError(
        f"a value of type {type(value).__module__}.{type(value).__qualname__} cannot be recorded: "
        "let the backend read that column as text"
    )


def decode(data: Any) -> Any:
    """The value that `encode` was given; bytearray and memoryview come back as bytes.

    Raises ValueError for an unknown tag.
    """
    if isinstance(data, list):
        return [decode(item) for item in data]
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        [(tag, content)] = data.items()
        if tag[:1] == "$":
            if tag not in _DECODERS:
                raise ValueError(f"unknown tag {tag!r} in recorded data")
            return _DECODERS[tag](content)
    return {key: decode(item) for key, item in data.items()}


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encode_text(text: str) -> Any:
    # JSON readers join two lone surrogates into one character, and UTF-8 has no form for one.
    return text if _is_utf8(text) else {"$text": text.encode("utf-8", "surrogatepass").hex()}


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "$text": lambda content: bytes.fromhex(content).decode("utf-8", "surrogatepass"),
    "$int": lambda content: int(content, 16),
    "$float": float,
    "$dict": lambda content: {decode(key): decode(item) for key, item in content},
    "$tuple": lambda content: tuple(decode(item) for item in content),
    "$decimal": Decimal,
    "$bytes": b64decode,
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$time": time.fromisoformat,
    "$timedelta": lambda content: timedelta(days=content[0], seconds=content[1], microseconds=content[2]),
    "$uuid": UUID,
}

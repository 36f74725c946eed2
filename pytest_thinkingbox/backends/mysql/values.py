"""From what PyMySQL returns to the Python values that SQLAlchemy's types mean, and how rows are read and hashed.

A BIT is an integer, a TIME a `time` (a `timedelta` where a clock cannot show it), JSON what it says, a FLOAT the
shortest number that means the same 32 bits, a VECTOR a list of those. What Python has no value for (a date of zeros)
stays text.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from pytest_thinkingbox.backends.mysql import sql
from pytest_thinkingbox.state.values import parse_json

SETTINGS = (
    "SET SESSION time_zone = '+00:00', sql_mode = 'NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0,"
    " unique_checks = 0"
)
"""Under which the administrator reads and copies rows: a TIMESTAMP is read in UTC, and every value that a table can
hold can be written."""

_DAY = timedelta(days=1)
_WRITTEN_SHORT = frozenset({
    "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "date", "datetime", "timestamp", "time", "year",
})  # fmt: skip
"""Types that the server writes as digits, which is as exact as a hash and costs less."""


def selected(column: str, kind: str) -> str:
    """How a column is read."""
    quoted = sql.name(column)
    if kind == "float":  # sent with six digits, which several of them share
        return f"{quoted} + 0e0"
    return f"CAST({quoted} AS BINARY)" if kind == "vector" else quoted  # of a type that PyMySQL does not know


def hashed(column: str, kind: str) -> str:
    """A text without commas that is the same only for values that are the same, byte by byte, and is short."""
    quoted = sql.name(column)
    if kind in ("float", "double"):
        return f"IFNULL({quoted} + 0e0, '-')"
    return f"IFNULL({quoted}, '-')" if kind in _WRITTEN_SHORT else f"IFNULL(SHA2({quoted}, 256), '-')"


def reader(kind: str) -> Callable[[Any], Any] | None:
    """What makes a value of what PyMySQL returned; None where it is one."""
    return _READERS.get(kind)


def literal(value: Any, kind: str) -> str:
    """A value that was read, written back. Raises ValueError for what cannot be written exactly."""
    if value is None:
        return "NULL"
    if kind == "json":
        try:
            value = json.dumps(value, ensure_ascii=False)
        except TypeError as error:
            raise ValueError(f"{value!r} cannot be written as JSON") from error
    if kind == "vector":
        return f"x'{struct.pack(f'<{len(value)}f', *value).hex()}'"
    if isinstance(value, str):
        return sql.text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"x'{bytes(value).hex()}'"
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, timedelta):
        return f"'{_clock(value)}'"
    if isinstance(value, datetime):
        return f"'{value.replace(tzinfo=None).isoformat(sep=' ')}'"
    return f"'{value.isoformat()}'"  # dates and times


def shortest_float(value: float) -> float:
    """The shortest decimal that is the same number in 32 bits."""
    bits = struct.pack("f", value)
    for digits in range(6, 9):
        short = float(f"{value:.{digits}g}")
        if math.isfinite(short) and abs(short) < 3.4028235e38 and struct.pack("f", short) == bits:
            return short
    return value


def _float(value: Any) -> Any:
    return shortest_float(value) if isinstance(value, float) else value


def _vector(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    return [shortest_float(one) for (one,) in struct.iter_unpack("<f", value)]


def _bits(value: Any) -> Any:
    return int.from_bytes(value, "big") if isinstance(value, bytes) else value


def _time(value: Any) -> Any:
    if isinstance(value, timedelta) and timedelta(0) <= value < _DAY:
        return (datetime.min + value).time()
    return value


def _json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        parse_json(value)  # refuses what is nested too deeply
        return json.loads(value, parse_float=_number)
    except (ValueError, ArithmeticError):  # the latter of an exponent that no Decimal has
        return value


def _number(written: str) -> float | Decimal:
    """A float where it says the same, so that tasks see what they see on SQLite; else every digit."""
    exact, short = Decimal(written), float(written)
    return short if Decimal(repr(short)) == exact else exact


def _clock(value: timedelta) -> str:
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    hours, rest = divmod(value, timedelta(hours=1))
    return f"{sign}{hours}:{(datetime.min + rest).time().isoformat()[3:]}"


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "bit": _bits, "float": _float, "json": _json, "time": _time, "vector": _vector,
}  # fmt: skip

"""From what PostgreSQL sends to plain Python values that can be compared and recorded.

What has no plain form in Python (ranges, composite types, networks, infinite dates) stays the text that PostgreSQL
writes for it, which is canonical for the type.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import sql
from psycopg.adapt import Buffer, Loader
from psycopg.types import TypeInfo
from psycopg.types.datetime import (
    DateLoader,
    IntervalLoader,
    TimeLoader,
    TimestampLoader,
    TimestamptzLoader,
    TimetzLoader,
)
from psycopg.types.string import TextLoader

from pytest_thinkingbox.state.values import parse_json

SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "search_path": "pg_catalog",
}
"""Under which rows are read, so that equal values have equal texts. With this search path names are written whole."""

_AS_TEXT = ("inet", "cidr", "hstore")


class _JsonLoader(Loader):
    def load(self, data: Buffer) -> Any:
        text = bytes(data).decode()
        try:
            parse_json(text)  # refuses what is nested too deeply
            return json.loads(text, parse_float=_number)
        except (ValueError, ArithmeticError):  # an exponent that no number of Python has
            return text


def _number(literal: str) -> float | Decimal:
    """A float where it says the same, so that tasks see what they see on SQLite; else every digit."""
    exact, short = Decimal(literal), float(literal)
    return short if Decimal(repr(short)) == exact else exact


class _Date(DateLoader):
    def load(self, data: Buffer) -> Any:
        return _or_text(super().load, data)


class _Timestamp(TimestampLoader):
    def load(self, data: Buffer) -> Any:
        return _or_text(super().load, data)


class _Timestamptz(TimestamptzLoader):
    def load(self, data: Buffer) -> Any:
        return _or_text(super().load, data)


class _Time(TimeLoader):
    def load(self, data: Buffer) -> Any:
        return _or_text(super().load, data)


class _TimeTz(TimetzLoader):
    def load(self, data: Buffer) -> Any:
        return _or_text(super().load, data)


class _Interval(IntervalLoader):
    def load(self, data: Buffer) -> Any:
        return _or_text(super().load, data)


def _or_text(load: Any, data: Buffer) -> Any:
    """Python's dates end with the year 9999, its days before 24:00, and none is infinite."""
    try:
        return load(data)
    except (psycopg.DataError, ValueError, OverflowError, NotImplementedError):
        return bytes(data).decode()


def set_up(connection: psycopg.Connection[Any]) -> None:
    """Let this connection read rows as this module says. Costs one statement."""
    connection.execute(
        sql.SQL("SELECT {}").format(
            sql.SQL(", ").join(
                sql.SQL("set_config({}, {}, false)").format(sql.Literal(name), sql.Literal(value))
                for name, value in SETTINGS.items()
            )
        )
    )
    adapters = connection.adapters
    for name, loader in _LOADERS.items():
        adapters.register_loader(name, loader)
    for info in adapters.types:
        if info.name in _AS_TEXT or info.name.endswith(("range", "multirange")):
            adapters.register_loader(info.oid, TextLoader)


_LOADERS: dict[str, type[Loader]] = {
    "json": _JsonLoader,
    "jsonb": _JsonLoader,
    "date": _Date,
    "timestamp": _Timestamp,
    "timestamptz": _Timestamptz,
    "interval": _Interval,
    "time": _Time,
    "timetz": _TimeTz,
}


def learn_types(connection: psycopg.Connection[Any], types: Iterable[tuple[int, int, str]]) -> None:
    """Let it read arrays of types that the schema makes: (oid, oid of the array, name) each."""
    for oid, array, name in types:
        TypeInfo(name, oid, array).register(connection)

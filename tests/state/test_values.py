from __future__ import annotations

import enum
import json
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from unittest.mock import ANY
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_thinkingbox.state.values import (
    DEEPEST,
    Same,
    canonical,
    decode,
    encode,
    equal,
    matches,
    order_key,
    parse_json,
)
from tests.state.strategies import PROPERTY, VALUES

NAN = float("nan")
KOLKATA = timezone(timedelta(hours=5, minutes=30))


def shown(value: Any) -> str:
    return repr(value)[:60]


SOME_UUID = UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (25, 25.0),
        (25, Decimal("25.00")),
        (25.0, Decimal("25.000")),
        (19.99, Decimal("19.99")),
        (0.1, Decimal("0.1")),
        (2**60, float(2**60)),
        (True, 1),
        (False, 0.0),
        (-0.0, 0),
        (NAN, Decimal("NaN")),
        (float("inf"), Decimal("Infinity")),
        (None, None),
        (datetime(2024, 5, 1, 10, tzinfo=UTC), datetime(2024, 5, 1, 15, 30, tzinfo=KOLKATA)),
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ([1, 2], (1, 2)),
        (b"ab", bytearray(b"ab")),
        (SOME_UUID, "12345678-1234-5678-1234-567812345678"),
    ],
    ids=shown,
)
def test_t10_equal_state_compares_equal(one: Any, other: Any) -> None:
    assert equal(one, other)
    assert equal(other, one)
    assert canonical(one) == canonical(other)
    assert hash(canonical(one)) == hash(canonical(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", 1),
        (1, 2),
        (None, 0),
        (None, ""),
        (None, NAN),
        (None, False),
        (b"1", "1"),
        ([1, 2], [2, 1]),
        ([1], 1),
        ({"a": True}, {"a": 1}),
        ([True], [1]),
        ({"a": None}, {}),
        (2**53 + 1, float(2**53)),
        (datetime(2024, 5, 1, 10), datetime(2024, 5, 1, 10, tzinfo=UTC)),
        (date(2024, 5, 1), datetime(2024, 5, 1)),
        (Decimal("0.10"), Decimal("0.101")),
        ("é", "e\u0301"),
    ],
    ids=shown,
)
def test_different_state_compares_different(one: Any, other: Any) -> None:
    assert not equal(one, other)
    assert not equal(other, one)


@PROPERTY
@given(VALUES, VALUES)
def test_values_are_equal_exactly_when_their_keys_are(one: Any, other: Any) -> None:
    assert equal(one, other) == (canonical(one) == canonical(other))
    assert equal(one, one)
    assert hash(canonical(one)) == hash(canonical(one))


@PROPERTY
@given(VALUES)
def test_an_ordinary_value_matches_itself(value: Any) -> None:
    assert matches(value, value)


@PROPERTY
@given(st.lists(VALUES, max_size=6))
def test_any_mixture_of_values_can_be_sorted(values: list[Any]) -> None:
    ordered = sorted(values, key=order_key)
    assert [order_key(value) for value in ordered] == sorted(order_key(value) for value in values)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("2024-05-01", date(2024, 5, 1)),
        ("2024-05-01", datetime(2024, 5, 1)),
        ("2024-05-01 10:00", datetime(2024, 5, 1, 10)),
        ("2024-05-01T10:00:00Z", datetime(2024, 5, 1, 15, 30, tzinfo=KOLKATA)),
        ("10:30", time(10, 30)),
        ("25.0", Decimal("25.00")),
        (date(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1, 10), "2024-05-01 10:00:00.000000"),
        (time(10, 30), "10:30:00.000000"),
        (SOME_UUID, "12345678123456781234567812345678"),
        ("12345678123456781234567812345678", SOME_UUID),
        (["2024-05-01"], [date(2024, 5, 1)]),
    ],
    ids=shown,
)
def test_a_literal_means_what_it_means_in_sql(expected: Any, actual: Any) -> None:
    assert matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("1", 1),
        ("25.0", 25.0),
        (1, "1"),
        (Decimal(25), "25"),
        ("2024-05-02", date(2024, 5, 1)),
        ("soon", date(2024, 5, 1)),
        ("soon", Decimal(1)),
        ("soon", SOME_UUID),
        ("2024-05-01 10:00", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        (date(2024, 5, 1), "soon"),
        (date(2024, 5, 1), None),
    ],
    ids=shown,
)
def test_a_literal_means_nothing_else(expected: Any, actual: Any) -> None:
    assert not matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ({"b": [1, None], "a": 1}, '{"a": 1.0, "b": [1, null]}', True),
        ([1, "x"], '[1, "x"]', True),
        ({"a": True}, '{"a": 1}', False),
        ({"a": 1}, "not JSON", False),
        ({"a": 1}, "[" * 100_000, False),
        ({"a": ANY}, '{"a": 3}', True),
        ({"a": ANY}, {"a": 3, "b": 4}, False),
        ([ANY, 2], [1, 2], True),
        ([ANY], [1, 2], False),
    ],
    ids=shown,
)
def test_json_is_compared_as_json_even_where_the_database_keeps_it_as_text(
    expected: Any, actual: Any, same: bool
) -> None:
    assert matches(expected, actual) is same


def test_json_that_is_nested_too_deeply_stays_text() -> None:
    assert parse_json("[" * DEEPEST + "]" * DEEPEST)
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        parse_json('{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1))
    assert parse_json("[" + "[]," * 500 + '"' + "[" * 500 + '\\"[" ]')[-1] == "[" * 500 + '"['


def test_values_of_the_deepest_json_can_be_compared_and_recorded() -> None:
    value = parse_json('{"a":[' * 50 + "1" + "]}" * 50)
    assert canonical(value) == canonical(decode(encode(value)))
    assert matches(value, value)


def test_an_object_with_an_eq_of_its_own_is_asked() -> None:
    assert matches(ANY, object())
    assert matches(pytest.approx(0.3), 0.1 + 0.2)
    assert not matches(pytest.approx(0.3), 0.4)


def test_approx_of_a_float_can_be_asked_about_a_decimal() -> None:
    assert matches(pytest.approx(19.99), Decimal("19.990000001"))
    assert not matches(pytest.approx(19.99), Decimal("20"))


def test_an_eq_that_raises_is_not_swallowed() -> None:
    class Broken:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("broken matcher")

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(RuntimeError, match="broken matcher"):
        matches(Broken(), 1)
    with pytest.raises(RuntimeError, match="broken matcher"):
        matches({"a": [Broken()]}, {"a": [1]})


def test_a_type_error_of_an_eq_is_not_swallowed() -> None:
    class Broken:
        def __eq__(self, other: object) -> bool:
            raise TypeError("broken matcher")

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(TypeError, match="broken matcher"):
        matches(Broken(), 1)
    with pytest.raises(TypeError, match="broken matcher"):
        matches(Broken(), Decimal(1))


def test_members_of_text_and_integer_enums_are_ordinary_values() -> None:
    class Status(str, enum.Enum):  # noqa: UP042 - the older spelling is the subject
        PENDING = "pending"

    class Level(enum.IntEnum):
        HIGH = 3

    assert matches(Status.PENDING, "pending")
    assert matches(Level.HIGH, 3.0)
    assert encode({"a": [Status.PENDING, Level.HIGH]}) == {"a": ["pending", 3]}


def test_same_is_bound_by_the_first_value_and_equal_to_it_afterwards() -> None:
    bindings: dict[str, Any] = {}
    assert matches(Same("r"), 25, bindings)
    assert matches(Same("r"), Decimal("25.0"), bindings)
    assert not matches(Same("r"), "25", bindings)
    assert matches(Same("other"), "25", bindings)


def test_same_may_stand_inside_json() -> None:
    assert matches([{"refund": Same("r")}, Same("r")], [{"refund": 7}, 7])
    assert not matches([{"refund": Same("r")}, Same("r")], [{"refund": 7}, 8])


@PROPERTY
@given(VALUES)
def test_every_value_survives_json_in_its_own_type(value: Any) -> None:
    text = json.dumps(encode(value), ensure_ascii=False, allow_nan=False)
    text.encode()  # valid UTF-8
    back = decode(json.loads(text))
    assert type(back) is type(value)
    assert repr(back) == repr(value)
    assert canonical(back) == canonical(value)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (2**53, 2**53),
        (-(2**53) - 1, {"$int": "-0x20000000000001"}),
        (NAN, {"$float": "nan"}),
        (float("-inf"), {"$float": "-inf"}),
        (-0.0, -0.0),
        (Decimal("1.10"), {"$decimal": "1.10"}),
        ("a\x00b", "a\x00b"),
        ("\ud83d\ude00", {"$text": "eda0bdedb880"}),
        (b"\x00\xff", {"$bytes": "AP8="}),
        ((1, 2), {"$tuple": [1, 2]}),
        ({"$int": 1}, {"$dict": [["$int", 1]]}),
        ({1: 2}, {"$dict": [[1, 2]]}),
        (timedelta(days=-1, microseconds=5), {"$timedelta": [-1, 0, 5]}),
    ],
    ids=shown,
)
def test_what_json_lacks_is_tagged(value: Any, data: Any) -> None:
    assert encode(value) == data
    assert repr(decode(json.loads(json.dumps(data)))) == repr(value)


def test_integers_longer_than_python_prints_survive() -> None:
    assert decode(json.loads(json.dumps(encode(-(10**5000))))) == -(10**5000)


@pytest.mark.parametrize("value", [bytearray(b"ab"), memoryview(b"ab")], ids=["bytearray", "memoryview"])
def test_buffers_come_back_as_bytes(value: Any) -> None:
    assert decode(encode(value)) == b"ab"


def test_a_type_without_a_recorded_form_is_named() -> None:
    with pytest.raises(TypeError, match=r"builtins\.complex cannot be recorded"):
        encode(1j)


def test_an_unknown_tag_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"unknown tag '\$later'"):
        decode({"$later": 1})


@pytest.mark.parametrize("name", ["", None, 3])
def test_same_needs_a_name(name: Any) -> None:
    with pytest.raises(TypeError, match="Same: name="):
        Same(name)

from __future__ import annotations

import json
from datetime import date

import pytest

from pytest_thinkingbox.records.model import ToolCallRecord
from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.records.schema import parse_record
from pytest_thinkingbox.records.wire import dump, record_data
from tests.records.builders import record


def call(**arguments: object) -> ToolCallRecord:
    return ToolCallRecord(id="1", name="book", arguments=arguments, result="ok", error=False, seconds=0.1)


def test_numbers_that_json_does_not_know_are_written_as_text() -> None:
    odd = record(tool_calls=[call(a=float("nan"), b=[float("inf"), 1.5])])
    line = dump(record_data(odd), redactor=Redactor())
    assert json.loads(line)["tool_calls"][0]["arguments"] == {"a": "nan", "b": ["inf", 1.5]}


def test_an_argument_that_is_no_json_is_written_as_text() -> None:
    line = dump(record_data(record(tool_calls=[call(day=date(2026, 5, 1))])), redactor=Redactor())
    assert json.loads(line)["tool_calls"][0]["arguments"] == {"day": "2026-05-01"}


def test_no_secret_reaches_the_line_and_the_record_stays_readable() -> None:
    secret = "infrastructure"  # also the name of a cause, which must stay
    broken = record("invalid", detail=f"key {secret} refused", messages=[{"role": "user", "content": secret}])
    back = parse_record(dump(record_data(broken), redactor=Redactor(secrets=[secret])), where="here")
    assert back.detail == "key [hidden] refused"
    assert back.messages == ({"role": "user", "content": "[hidden]"},)
    assert back.cause == "infrastructure"


def test_numbers_that_look_like_a_secret_stay_numbers() -> None:
    line = dump(record_data(record(seed=1234567890)), redactor=Redactor(secrets=["1234567890"]))
    assert parse_record(line, where="here").seed == 1234567890


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("no words")


def deep(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


def test_what_json_has_no_word_for_becomes_text_in_keys_too() -> None:
    odd = call(a={("b", 1): b"c", None: Mute()}, d=10**5000)
    arguments = json.loads(dump(record_data(record(tool_calls=[odd])), redactor=Redactor()))["tool_calls"][0][
        "arguments"
    ]
    assert arguments == {"a": {"('b', 1)": "b'c'", "None": "[Mute without text]"}, "d": hex(10**5000)}


def test_what_has_no_end_is_cut() -> None:
    circle: dict[str, object] = {"role": "user"}
    circle["content"] = [circle]
    line = dump(record_data(record(messages=[circle])), redactor=Redactor())
    assert json.loads(line)["messages"] == [{"role": "user", "content": ["[a circle]"]}]


def test_the_same_object_twice_is_no_circle() -> None:
    same = {"x": float("nan")}
    line = dump(record_data(record(tool_calls=[call(a=same, b=same)])), redactor=Redactor())
    assert json.loads(line)["tool_calls"][0]["arguments"] == {"a": {"x": "nan"}, "b": {"x": "nan"}}


@pytest.mark.parametrize("levels", [150, 500, 900, 5_000, 100_000])
def test_a_deep_value_is_cut_and_the_record_can_be_read(levels: int) -> None:
    line = dump(record_data(record(tool_calls=[call(a=deep(levels))])), redactor=Redactor())
    assert parse_record(line, where="here").tool_calls[0].name == "book"


def test_a_secret_in_the_text_of_an_object_is_masked() -> None:
    error = ValueError("the key is sk-very-secret")
    line = dump(
        record_data(record(tool_calls=[call(a=error)])), redactor=Redactor(secrets=["sk-very-secret"])
    )
    assert "sk-very-secret" not in line
    assert json.loads(line)["tool_calls"][0]["arguments"] == {"a": "the key is [hidden]"}

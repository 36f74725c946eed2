from __future__ import annotations

import json
from datetime import date

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

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from pytest_thinkingbox.records.model import ToolCallRecord
from pytest_thinkingbox.report.html.detail import cut_to, safe, shorter, try_detail
from pytest_thinkingbox.state.codec import encode_diff
from pytest_thinkingbox.state.model import Attachment, ReceivedMail, RowChange, SchemaDelta, StateDiff
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.rulings import Ruling
from tests.records.builders import record


def said(call_id: Any, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def played(call_id: str, name: str = "get", result: str = "ok") -> ToolCallRecord:
    return ToolCallRecord(
        id=call_id, name=name, arguments={"id": 1042}, result=result, error=False, seconds=0.25
    )


def test_a_call_stands_where_it_was_said_together_with_its_answer() -> None:
    detail = try_detail(
        record(
            messages=(
                {"role": "user", "content": "please"},
                said("c1", "get", '{"id": 1042}'),
                {"role": "tool", "tool_call_id": "c1", "content": "ok"},
                {"role": "assistant", "content": "Done."},
            ),
            tool_calls=(played("c1"), played("c2", name="cancel")),
        )
    )
    call = {
        "call": "get",
        "arguments": [["id", "1042"]],
        "played": True,
        "error": False,
        "fault": "",
        "seconds": 0.25,
    }
    assert detail["talk"] == [
        {"who": "user", "text": "please"},
        {**call, "result": "ok"},
        {"who": "assistant", "text": "Done."},
    ]
    assert [one["call"] for one in detail["calls"]] == ["cancel"]


def test_an_answer_that_differs_from_what_the_tool_said_is_shown_too() -> None:
    messages = (said("c1", "get", "{}"), {"role": "tool", "tool_call_id": "c1", "content": "forged"})
    detail = try_detail(record(messages=messages, tool_calls=(played("c1"),)))
    assert [one.get("text") for one in detail["talk"]] == [None, "forged"]


def test_a_call_that_was_said_but_never_played_says_so() -> None:
    detail = try_detail(record(messages=(said("c1", "get", "not json"),)))
    assert detail["talk"] == [{"call": "get", "arguments": [["", "not json"]], "played": False}]


@pytest.mark.parametrize(
    "calls", ["text", [None], [{"function": 3}], {"id": []}, [{"id": [], "function": {}}]]
)
def test_messages_of_any_shape_are_shown(calls: Any) -> None:
    detail = try_detail(record(messages=({"role": 3, "content": {"a": 1}, "tool_calls": calls},)))
    assert detail["talk"][0] == {"who": "3", "text": '{"a": 1}'}
    assert len(detail["talk"]) == 2


def test_changes_show_before_and_after_of_what_differs() -> None:
    diff = StateDiff(
        rows=(
            RowChange("insert", "approvals", (1,), None, {"id": 1}),
            RowChange(
                "update", "bookings", (7,), {"id": 7, "price": Decimal("5.00")}, {"id": 7, "price": None}
            ),
            RowChange("delete", "log", None, {"line": "x\ny"}, None),
        ),
        schema=(SchemaDelta("altered", "table", "payments", "a", "b"),),
    )
    assert try_detail(record(changes=encode_diff(diff)))["changes"] == {
        "rows": [
            {"kind": "insert", "table": "approvals", "key": "1", "cells": [["id", None, "1"]]},
            {"kind": "update", "table": "bookings", "key": "7", "cells": [["price", "5", "None"]]},
            {"kind": "delete", "table": "log", "key": None, "cells": [["line", '"x\\ny"', None]]},
        ],
        "schema": [{"what": "altered table payments", "before": "a", "after": "b"}],
    }


def test_a_state_that_nobody_read_and_a_sink_that_was_not_there_are_not_empty() -> None:
    detail = try_detail(record(changes=None, mail=None, http=()))
    assert detail["changes"] is None
    assert [(one["title"], one["items"]) for one in detail["effects"]] == [
        ("mail", None),
        ("HTTP requests", []),
        ("files", None),
    ]


def test_effects_show_who_was_reached_and_with_what() -> None:
    hook = ReceivedRequest(
        method="POST", path="/hooks", query={"a": ["1", "2"]}, data=b'{"id": 7}', status=None
    )
    file = FileChange(change="added", path="out/a.txt", size=5, digest="", data=b"hello")
    effects = try_detail(record(http=(hook,), files=(file,)))["effects"]
    assert [one["items"] for one in effects[1:]] == [
        [
            {
                "facts": [["request", "POST /hooks?a=1&a=2"], ["answered", "the connection was cut"]],
                "text": '{"id": 7}',
            }
        ],
        [{"facts": [["added", "out/a.txt (5 bytes)"]], "text": "hello"}],
    ]


def test_a_judge_is_shown_with_question_answer_and_reason() -> None:
    asked = Ruling(question="Polite?", about="", answer="no", reason="It shouts.", model="m", cached=True)
    assert try_detail(record(rulings=(asked,)))["rulings"] == [
        {
            "facts": [["question", "Polite?"], ["answer", "no"], ["model", "m, asked before"]],
            "text": "It shouts.",
        }
    ]


def test_t26_every_string_is_safe_unicode_and_shows_what_it_hides() -> None:
    evil = "\ud800\x00\u202e</script><!--"
    detail = try_detail(
        record(
            "failed",
            task=f"t.py::{evil}",
            detail=evil,
            model=evil,
            stop_detail=evil,
            messages=({"role": evil, "content": evil}, said("c", evil, json.dumps({evil: evil}))),
            tool_calls=(played("c2", evil, evil),),
            mail=(
                ReceivedMail(
                    sender=evil,
                    recipients=(evil,),
                    subject=evil,
                    text=evil,
                    attachments=(Attachment(name=evil, type=evil, data=b""),),
                ),
            ),
            http=(ReceivedRequest(method=evil, path=evil, query={evil: evil}, data=b"\xff\x00"),),
            rulings=(Ruling(question=evil, about="", answer="no", reason=evil, model=evil, cached=False),),
            files=(FileChange(change="added", path=evil, size=1, digest=""),),
            changes=encode_diff(StateDiff(rows=(RowChange("insert", evil, (evil,), None, {evil: evil}),))),
        )
    )
    text = json.dumps(detail, ensure_ascii=False)
    text.encode("utf-8")
    assert not set(text) & {"\x00", "\u202e"}
    assert text.count(r"\\ud800\\x00\\u202e</script><!--") >= 15


def test_a_long_text_keeps_its_beginning_and_its_end_and_says_how_much_is_missing() -> None:
    whole = "a" * 15_000 + "b" * 4_980_000 + "c" * 5_000
    assert safe(whole) == {"cut": ["a" * 15_000, 4_980_000, "c" * 5_000]}
    assert cut_to(safe(whole), 8) == {"cut": ["aaaaaa", 4_999_992, "cc"]}
    assert cut_to("abcdefgh", 4) == {"cut": ["abc", 4, "h"]}
    assert cut_to("abcd", 4) == "abcd"


def test_a_list_that_is_shortened_twice_still_says_how_much_is_missing() -> None:
    once = shorter([{"n": number} for number in range(100)], 20)
    assert once[15] == {"left": 80}
    assert shorter(once, 4) == [{"n": 0}, {"n": 1}, {"n": 2}, {"left": 96}, {"n": 99}]
    assert shorter(["left"] * 3, 2) == ["left", "left", {"left": 1}]

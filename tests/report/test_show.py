from __future__ import annotations

import re
from decimal import Decimal

from pytest_thinkingbox.records.model import ToolCallRecord, UsageRecord
from pytest_thinkingbox.report.show import show_lines
from pytest_thinkingbox.state.codec import encode_diff
from pytest_thinkingbox.state.model import Attachment, ReceivedMail, RowChange, SchemaDelta, StateDiff
from pytest_thinkingbox.state.received import FileChange, ReceivedRequest
from pytest_thinkingbox.state.rulings import Ruling
from tests.records.builders import record

DIFF = StateDiff(
    rows=(
        RowChange("insert", "approvals", (1,), None, {"id": 1, "kind": "downgrade"}),
        RowChange(
            "update", "bookings", (1042,), {"id": 1042, "price": Decimal("5.00")}, {"id": 1042, "price": None}
        ),
        RowChange("delete", "log", None, {"line": "x\ny"}, None),
    ),
    schema=(SchemaDelta("dropped", "table", "payments"),),
)


def test_an_attempt_as_a_person_reads_it() -> None:
    tried = record(
        "failed",
        detail="unaccounted changes:\n  Deleted(...)",
        messages=(
            {"role": "user", "content": "the cheaper room, please"},
            {
                "role": "assistant",
                "content": None,
                "reasoning": "ask first",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "get_booking", "arguments": '{"id": 1042}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": '{"price": 1450}'},
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        ),
        tool_calls=(
            ToolCallRecord(
                id="c1", name="get_booking", arguments={"id": 1042}, result="", error=False, seconds=0
            ),
            ToolCallRecord(
                id="c2", name="cancel", arguments={"why": "no"}, result="gone", error=True, seconds=0
            ),
        ),
        changes=encode_diff(DIFF),
        mail=(ReceivedMail(sender="a@b.c", recipients=("m@b.c",), subject="Approval", text="Please?"),),
        stop_reason="turn_limit",
        usage={"agent": UsageRecord(requests=2, input_tokens=10, output_tokens=4)},
        seconds={"acquire": 0.25, "agent": 1.0},
    )
    assert "\n".join(show_lines(tries=[tried])) == (
        """\
suites/test_hotel.py::test_refund[try1]
campaign 20260102-030405-abcdef, agent solution, seed 7

conversation
  user
    the cheaper room, please
  assistant
    (reasoning) ask first
    -> get_booking(id=1042)
  tool c1
    {"price": 1450}
  assistant
    Done.

tool calls
  cancel(why="no")
    error: gone

changes
  inserted approvals 1: id=1, kind="downgrade"
  updated bookings 1042: price: Decimal("5.00") -> None
  deleted log: line="x\\ny"
  dropped table payments

mail
  from a@b.c to m@b.c: Approval
    Please?

outcome
  failed
    unaccounted changes:
      Deleted(...)
  stopped: turn_limit
  tokens: agent: 2 requests, 10 in, 4 out
  time: 1.25 s (acquire 0.25 s, agent 1.00 s)"""
    )


def test_all_tries_are_shown_and_those_played_again_say_so() -> None:
    first = record("invalid", detail="server gone", final=False)
    text = "\n".join(show_lines(tries=[first, record(try_number=2)]))
    assert "seed 7, try 1 of 2" in text
    assert "invalid, infrastructure (played again)\n    server gone" in text
    assert "seed 7, try 2 of 2" in text
    assert "  passed\n" in text


def test_a_state_that_was_not_read_is_not_an_empty_one() -> None:
    assert "changes\n  the state was not read" in "\n".join(show_lines(tries=[record("invalid")]))
    unchanged = record(changes=encode_diff(StateDiff()), mail=())
    text = "\n".join(show_lines(tries=[unchanged]))
    assert "changes\n  none\n\nmail\n  none" in text


def test_what_the_judge_answered_is_shown_with_its_reason() -> None:
    ruling = Ruling(
        question="Is it polite?", about="ab", answer="no", reason="It is rude.\x1b[2J", model="j", cached=True
    )
    text = "\n".join(show_lines(tries=[record(rulings=(ruling,))]))
    assert "judge\n  Is it polite?\n    no: It is rude.\\x1b[2J (j, asked before)\n" in text
    assert "judge" not in show_lines(tries=[record()])


def test_without_a_mail_sink_there_is_no_mail_section() -> None:
    assert "mail" not in show_lines(tries=[record()])


def test_long_texts_are_cut_and_say_how_much_is_missing() -> None:
    text = "\n".join(show_lines(tries=[record(messages=({"role": "user", "content": "word " * 1_000},))]))
    assert "(3,000 more characters in the record)" in text


def test_text_of_agents_cannot_steer_the_terminal() -> None:
    evil = "\x1b[2J\r\ud800\u202e\0"
    call = {"id": evil, "function": {"name": evil, "arguments": evil}}
    tried = record(
        "failed",
        detail=evil,
        task=evil,
        messages=({"role": evil, "content": evil, "tool_calls": [call], "tool_call_id": evil},),
        tool_calls=(
            ToolCallRecord(id="x", name=evil, arguments={evil: evil}, result=evil, error=False, seconds=0),
        ),
        changes=encode_diff(StateDiff(rows=(RowChange("insert", evil, (evil,), None, {evil: evil}),))),
        mail=(
            ReceivedMail(
                sender=evil,
                recipients=(evil,),
                subject=evil,
                text=evil,
                attachments=(Attachment(name=evil, type=evil, data=b"x"),),
            ),
        ),
        http=(ReceivedRequest(method=evil, path=evil, query={evil: evil}, data=b"\x1b[2J"),),
        files=(FileChange(change="added", path=evil, size=1, digest="0", data=b"\x1b[2J"),),
        stop_reason="crashed",
        stop_detail=evil,
    )
    text = "\n".join(show_lines(tries=[tried]))
    text.encode("utf-8")
    assert not set("\x1b\r\ud800\u202e\0") & set(text)


def test_odd_messages_are_shown_as_they_are() -> None:
    odd = (
        {"content": {"a": [1]}},
        {
            "role": "assistant",
            "content": [{"type": "image", "url": "x"}, "y"],
            "tool_calls": [{"function": None}],
        },
    )
    text = "\n".join(show_lines(tries=[record(messages=odd)]))
    assert '  ?\n    {"a": [1]}' in text
    assert '    {"type": "image", "url": "x"}\n    "y"\n    -> ?()' in text


def test_colours_add_nothing_but_colours() -> None:
    tried = record("failed", detail="no")
    colored = "\n".join(show_lines(tries=[tried], color=True))
    assert re.sub(r"\x1b\[\d+m", "", colored) == "\n".join(show_lines(tries=[tried]))


def test_what_was_done_to_calls_on_purpose_is_said() -> None:
    call = ToolCallRecord(
        id="c1",
        name="pay",
        arguments={},
        result="timeout",
        error=True,
        seconds=0,
        fault="timeout after commit",
    )
    lines = show_lines(tries=[record(tool_calls=(call,))])
    at = lines.index("faults on purpose")
    assert lines[at + 1] == "  pay: timeout after commit"

"""Records out to ThinkingBox's result rows, and such rows in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_thinkingbox.cli import main
from pytest_thinkingbox.compat.export import rows_of
from pytest_thinkingbox.compat.imports import CannotImport, import_rows
from pytest_thinkingbox.records.model import AttemptRecord, CampaignInfo, ToolCallRecord, UsageRecord
from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.state.rulings import Ruling

CALL = {"id": "c1", "type": "function", "function": {"name": "lend", "arguments": '{"item": "saw"}'}}
MESSAGES = [
    {"role": "user", "content": "A saw, please."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "lent"},
    {"role": "assistant", "content": "Here. <DONE>"},
]
RULING = Ruling(question="Is it?", about="0" * 64, answer="yes", reason="It is.", model="j", cached=False)

LENT = ToolCallRecord(
    id="c1", name="lend", arguments={"item": "saw"}, result="lent", error=False, seconds=0.1
)
USAGE = UsageRecord(requests=2, input_tokens=10, cached_tokens=4, output_tokens=3, reasoning_tokens=1)


def record(
    outcome: str, attempt: int, *, cause: str | None = None, detail: str = "", **more: object
) -> AttemptRecord:
    fields = {
        "campaign": "c", "task": "saws.py:test_lend", "attempt": attempt, "try_number": 1, "final": True,
        "requested": 3,
        "outcome": outcome, "cause": cause, "detail": detail, "stop_reason": "done",
        "reward": None if outcome == "invalid" else float(outcome == "passed"), "messages": MESSAGES,
        "tool_calls": [LENT],
        "response": "Here. <DONE>", "rulings": [RULING], "agent": "openai", "model": "m", "tags": ("lending",),
        "usage": {"agent": USAGE},
        "seconds": {"converse": 1.5, "read": 0.5}, "started_at": "2026-01-01T00:00:00+00:00", "seed": 0,
    }  # fmt: skip
    return AttemptRecord(**{**fields, **more})


@pytest.fixture
def folder(tmp_path: Path) -> CampaignFolder:
    info = CampaignInfo(campaign="c", created="2026-01-01T00:00:00+00:00", agent="openai", model="m",
                        tasks={"saws.py:test_lend": 3}, finished="2026-01-01T00:01:00+00:00")  # fmt: skip
    made = CampaignFolder.create(tmp_path / "c", info)
    made.append(record("passed", 1))
    made.append(record("failed", 2, detail="no saw\nat all"))
    made.append(record("invalid", 3, cause="provider", detail="down", final=False))
    made.append(record("invalid", 3, cause="provider", detail="still down", try_number=2))
    return made


def test_a_row_is_what_the_other_tools_read(folder):
    passed, failed, invalid = map(json.loads, rows_of(folder))
    assert passed["uid"] == "saws.py:test_lend"
    assert passed["test_result"]["result"] is True
    assert passed["test_result"]["reward"] == 1.0
    assert passed["test_result"]["metadata"]["judge_motivation"] == [
        {"question": "Is it?", "answer": True, "motivation": "It is."}
    ]
    assert passed["usage"] == [
        {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 13,
        }
    ]  # fmt: skip
    assert passed["metadata"]["repetition"] == 0
    assert passed["metadata"]["execution_time"] == 2.0
    assert [one["T"] for one in passed["messages"]] == ["Text", "ParallelToolCall", "ToolResponse", "Text"]
    assert passed["messages"][1]["tool_calls"] == [
        {"name": "lend", "arguments": {"item": "saw"}, "id": "c1", "metadata": {}, "T": "ToolCall"}
    ]
    assert (failed["test_result"]["result"], failed["test_result"]["line_content"]) == (False, "no saw")
    assert failed["is_system_error"] is False
    assert (invalid["is_system_error"], invalid["test_result"]) == (True, None)
    assert invalid["metadata"]["error"]["message"] == "still down"


def test_what_was_written_is_read_again(folder, tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    assert main(["export", str(folder.path), "--format=thinkingbox-jsonl", "-o", str(rows)]) == 0
    assert main(["import", str(rows), str(tmp_path / "again"), "--model=m"]) == 0
    assert "1/2 passed, 2 of 3 valid" in capsys.readouterr().out
    again = CampaignFolder.open(tmp_path / "again")
    first, second, third = again.read_records()
    assert (first.outcome, second.outcome, third.outcome) == ("passed", "failed", "invalid")
    assert [dict(one) for one in first.messages] == MESSAGES
    assert first.tool_calls[0].result == "lent"
    assert first.usage["agent"].output_tokens == 3
    assert first.response == "Here. <DONE>"
    assert second.detail == "no saw\nat all"
    assert (third.cause, third.detail) == ("unknown", "still down")
    assert again.read_info().tasks == {"saws.py:test_lend": 3}


def test_the_try_that_was_graded_last_is_the_row(folder):
    folder.append(record("passed", 2, regraded_at="2026-01-02T00:00:00+00:00"))
    assert [json.loads(row)["test_result"] is not None and json.loads(row)["test_result"]["result"]
            for row in rows_of(folder)] == [True, True, False]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it has no row"),
        ("{", ":1: no result row of ThinkingBox: "),
        ('{"uid": "a"}\n{"messages": []}', ":2: no result row of ThinkingBox: uid: Field required"),
        (
            '{"uid": "a", "test_result": {"result": "maybe"}}',
            "test_result.result: Input should be a valid boolean",
        ),
        (
            '{"uid": "a", "messages": [{"T": "Text", "metadata": null}]}',
            "messages.0.metadata: Input should be",
        ),
        (
            '{"uid": "a", "messages": [{"T": "ToolCall", "name": "b", "arguments": [1]}]}',
            "messages.0.arguments: ",
        ),
    ],
    ids=["empty", "no json", "no uid", "no verdict", "no metadata", "no arguments"],
)
def test_a_wrong_file_makes_no_campaign(text, words, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(text, encoding="utf-8")
    with pytest.raises(CannotImport) as raised:
        import_rows(rows, tmp_path / "new", model=None)
    assert words in str(raised.value)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["rows.jsonl"]


def test_a_file_that_is_no_utf_8_is_named(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(b'{"uid": "a\xff"}')
    with pytest.raises(
        CannotImport, match=r"rows\.jsonl:1: no result row of ThinkingBox: 'utf-8' codec can't decode"
    ):
        import_rows(rows, tmp_path / "new", model=None)


def test_nothing_is_overwritten(folder, tmp_path):
    with pytest.raises(CannotImport, match="there is something already"):
        import_rows(tmp_path / "rows.jsonl", folder.path, model=None)

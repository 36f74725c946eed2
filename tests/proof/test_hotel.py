"""The hotel suite, and checkers of it that were made weaker in the ways in which people make them weak."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.cli import main
from tests.example_suites.suites import tasks_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

SABOTAGED = '''
from collections import Counter

from example_suites.hotel import test_approvals as approvals
from example_suites.hotel import test_changes as changes_
from example_suites.hotel import test_refunds as refunds
from example_suites.hotel.environment import hotel
from pytest_thinkingbox.declare.task import task_of


def as_before(function):
    """The task of this function, for a checker that does not mind what else changed."""
    task = task_of(function)
    return hotel.task(task.prompt, start=task.start, solution=task.solution, strict=False)


@as_before(approvals.test_downgrade_waits_for_approval)
def test_one_table(attempt):
    request = attempt.row("approvals", booking_id=1042)
    found = {name: request[name] for name in ("kind", "amount", "approver_id", "status")}
    assert found == {"kind": "downgrade", "amount": 1450, "approver_id": 11, "status": "pending"}


@as_before(refunds.test_leaving_early_refunds_half_to_the_cent)
def test_counts(changes):
    assert Counter((one.kind, one.table) for one in changes) == {
        ("update", "bookings"): 1,
        ("delete", "booking_nights"): 2,
        ("insert", "history"): 2,
        ("insert", "refunds"): 1,
        ("insert", "refund_lines"): 2,
        ("insert", "messages"): 1,
    }


@as_before(changes_.test_wrong_number_right_guest)
def test_transcript(attempt):
    called = [one.name for one in attempt.tool_calls]
    assert called == ["get_booking", "search_bookings", "get_booking", "get_hotel", "set_arrival"]
    assert "HB-1088" in attempt.response
'''


def proved(root: Path) -> dict[str, dict[str, Any]]:
    [path] = root.glob(".thinkingbox/prove/*/proof.json")
    return {one["task"].rpartition("::")[2]: one for one in json.loads(path.read_text())["tasks"]}


def survivors(task: dict[str, Any]) -> dict[str, str]:
    """Words to what nobody saw."""
    return {one["words"]: "\n".join(one["unseen"]) for one in task["mutants"] if one["fate"] == "survived"}


def starting(found: dict[str, str], words: str) -> str:
    """What the one survivor that begins so left behind."""
    [unseen] = [text for name, text in found.items() if name.startswith(words)]
    return unseen


def test_every_mutant_of_the_hotel_suite_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    status = main(["prove", str(ROOT / "example_suites" / "hotel")])
    text = capfd.readouterr().out
    assert status == 0, text
    tasks = proved(tmp_path)
    assert len(tasks) == len(tasks_of("hotel")) == 21
    assert {name: task["score"] for name, task in tasks.items()} == dict.fromkeys(tasks, 1.0)
    # Order is the only thing in which a mutant may differ from a solution and do the same.
    same = {one["kind"] for task in tasks.values() for one in task["mutants"] if one["fate"] == "equivalent"}
    assert same <= {"move", "swap"}


def test_three_sabotaged_checkers_are_told_what_each_of_them_misses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_sabotaged.py").write_text(SABOTAGED)
    assert main(["prove"]) == 1
    text = capfd.readouterr().out
    tasks = proved(tmp_path)
    assert [task["problems"] for task in tasks.values()] == [[], [], []]

    one_table = survivors(tasks["test_one_table"])
    assert starting(one_table, "left out: call 5, send_mail").startswith(
        'missing: Mail(to="priya.raman@kestrel.example"'
    )
    assert starting(one_table, "made twice: call 5, send_mail").startswith("more: Mail(")
    assert "unasked.example" in starting(one_table, "one mail that nobody asked for")
    assert not [words for words in one_table if words.startswith("left out: call 4, request_approval")]

    counts = survivors(tasks["test_counts"])
    assert "net=74.63" in starting(counts, "net=74.63 instead of the value in call 6, add_refund_line")
    assert starting(counts, 'reason="downgrade" instead of the value in call 5, create_refund')
    assert not [words for words in counts if words.startswith(("left out", "one row of"))]

    transcript = survivors(tasks["test_transcript"])
    assert 'Updated("bookings", 1088, expected_arrival=' in starting(
        transcript, 'expected_at="2026-03-17T22:15:00+01:00" instead of the value in call 5, set_arrival'
    )
    assert starting(transcript, "one row of bookings changed").startswith('more: Updated("bookings", ')
    assert not [words for words in transcript if words.startswith(("left out", "made twice"))]

    for name in ("test_one_table", "test_counts", "test_transcript"):
        assert f"test_sabotaged.py::{name}" in text
    assert "nobody checked that it left behind" in text

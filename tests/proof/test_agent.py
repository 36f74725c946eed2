"""How a solution is played with one difference: which calls are made, with what, in which order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.proof.model import Mutation, Plan, PlayedCall, TaskPlan

TASK = "test_shop.py::test_close"
SUITE = """
def steps():
    note = yield call("add_note", words="hello")
    yield call("set_status", order_id=note["id"], status="closed")
    yield call("set_status", order_id=2, status="open")
    yield call.say("Closed.")

@shop.task("Close an order.", solution=steps, strict=False)
def test_close(attempt):
    pass
"""
CALLS = [
    PlayedCall(tool="add_note", arguments={"words": "hello"}, result='{"id": 1}'),
    PlayedCall(tool="set_status", arguments={"order_id": 1, "status": "closed"}, result="done"),
    PlayedCall(tool="set_status", arguments={"order_id": 2, "status": "open"}, result="done"),
]
NOTE = ("add_note", {"words": "hello"})
CLOSE = ("set_status", {"order_id": 1, "status": "closed"})
OPEN = ("set_status", {"order_id": 2, "status": "open"})

Play = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def play(suite: Any, run: Any, tmp_path: Path) -> Play:
    def go(*mutations: Mutation, body: str = SUITE, touched: Any = None) -> list[dict[str, Any]]:
        suite(body)
        plan = TaskPlan(attempts=mutations, calls=CALLS, final="Closed.", touched=touched or {})
        path = tmp_path / "plan.json"
        Plan(notes=tmp_path, tasks={TASK: plan}).write(path)
        records: list[dict[str, Any]] = run(f"--tb-proof-plan={path}", agent=None).records()
        return records

    return go


def calls(record: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(one["name"], one["arguments"]) for one in record["tool_calls"]]


def test_each_attempt_plays_the_mutation_of_its_number(play: Play) -> None:
    records = play(
        Mutation(kind="solution"),
        Mutation(kind="none"),
        Mutation(kind="claim"),
        Mutation(kind="drop", at=2),
        Mutation(kind="repeat", at=2),
        Mutation(kind="alter", at=2, argument="status", value="lost"),
        Mutation(kind="extra", tool="add_note", arguments={"words": "more"}),
    )
    assert [calls(one) for one in records] == [
        [NOTE, CLOSE, OPEN],
        [],
        [],
        [NOTE, OPEN],
        [NOTE, CLOSE, CLOSE, OPEN],
        [NOTE, ("set_status", {"order_id": 1, "status": "lost"}), OPEN],
        [NOTE, CLOSE, OPEN, ("add_note", {"words": "more"})],
    ]
    assert [one["response"] for one in records] == ["Closed.", "", *["Closed."] * 5]


def test_calls_change_places_and_move_to_the_end_or_to_the_front(play: Play) -> None:
    records = play(
        Mutation(kind="swap", at=1, other=2),
        Mutation(kind="swap", at=1, other=3),
        Mutation(kind="move", at=1),
        Mutation(kind="move", at=3),
    )
    assert [calls(one) for one in records] == [
        [CLOSE, NOTE, OPEN],
        [OPEN, CLOSE, NOTE],
        [CLOSE, OPEN, NOTE],
        [OPEN, NOTE, CLOSE],
    ]


def test_a_solution_goes_on_with_what_a_call_returned_that_was_left_out(play: Play) -> None:
    [record] = play(Mutation(kind="drop", at=1))
    assert calls(record) == [CLOSE, OPEN]


def test_a_refused_call_is_no_reason_to_stop(play: Play) -> None:
    [record] = play(Mutation(kind="omit", at=2, argument="status"))
    assert calls(record) == [NOTE, ("set_status", {"order_id": 1}), OPEN]
    assert [one["error"] for one in record["tool_calls"]] == [False, True, False]
    assert record["outcome"] == "passed"


def test_a_row_is_changed_that_the_solution_does_not_touch(play: Play) -> None:
    [record] = play(Mutation(kind="neighbour", table="orders"), touched={"orders": [[1], [2]]})
    changed = [one["key"] for one in record["changes"]["rows"] if one["table"] == "orders"]
    assert changed == [[1], [3]]


def test_a_row_of_a_table_that_is_empty_cannot_be_changed(play: Play) -> None:
    [record] = play(Mutation(kind="neighbour", table="log"))
    assert [one["table"] for one in record["changes"]["rows"]] == ["notes", "orders"]


def test_a_mail_reaches_the_sink(play: Play) -> None:
    body = SUITE.replace("@shop.task", "from dataclasses import replace\n@replace(shop, mail=True).task")
    [record] = play(Mutation(kind="mail"), body=body)
    assert [one["subject"] for one in record["mail"]] == ["Unasked"]


def test_tests_that_are_no_tasks_and_tasks_without_a_plan_are_left_out(play: Play) -> None:
    body = SUITE + (
        "\n@shop.task('Again.', solution=CLOSE_1)\ndef test_other(): pass\n\ndef test_ordinary(): assert False\n"
    )
    assert [one["task"] for one in play(Mutation(kind="none"), body=body)] == [TASK]

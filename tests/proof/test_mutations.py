"""What is made of a solution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_thinkingbox.proof.model import Mutation, PlayedCall
from pytest_thinkingbox.proof.mutations import mutations_of, untried_tools
from pytest_thinkingbox.proof.notes import Notes
from pytest_thinkingbox.state.model import Rules, TableInfo

READ = PlayedCall(tool="get_booking", arguments={"booking_id": 7})
PAY = PlayedCall(tool="pay", arguments={"booking_id": 7, "amount": 50})
NOTE = PlayedCall(tool="note", arguments={"kind": "refusal", "body": "Too late for HB-7"})
TOOLS = {
    "get_booking": {"properties": {"booking_id": {"type": "integer"}}, "required": ["booking_id"]},
    "pay": {
        "properties": {"booking_id": {"type": "integer"}, "amount": {"type": "number"}},
        "required": ["booking_id"],
    },
    "note": {
        "properties": {"kind": {"enum": ["refusal", "correction"]}, "body": {"type": "string"}},
        "required": ["kind", "body"],
    },
    "cancel": {"properties": {}},
}


def notes(tools: dict[str, Any] = TOOLS) -> Notes:
    tables = {
        name: TableInfo(name=name, columns=("id",), key=("id",)) for name in ("log", "bookings", "payments")
    }
    rules = Rules(tables=tables, bookkeeping=frozenset({"log"}))
    return Notes(environment="hotel", tools=tools, reading=frozenset({"get_booking"}), rules=rules)


def made(*calls: PlayedCall, known: tuple[PlayedCall, ...] = (), **options: Any) -> list[Mutation]:
    return mutations_of(
        calls,
        notes(options.pop("tools", TOOLS)),
        known=known,
        touched=options.pop("touched", ["payments"]),
        sinks=options.pop("sinks", ()),
        no_change=options.pop("no_change", False),
    )


def values(argument: str, mutations: list[Mutation]) -> list[Any]:
    return [one.value for one in mutations if one.kind == "alter" and one.argument == argument]


def kinds(mutations: list[Mutation]) -> list[tuple[Any, ...]]:
    return [
        (one.kind, one.at, one.other) for one in mutations if one.kind not in ("alter", "omit", "neighbour")
    ]


def test_each_write_is_dropped_repeated_moved_and_swapped_and_reads_are_left_alone() -> None:
    assert kinds(made(READ, PAY, NOTE)) == [
        ("claim", 0, 0),
        ("drop", 2, 0),
        ("drop", 3, 0),
        ("repeat", 2, 0),
        ("repeat", 3, 0),
        ("move", 2, 0),
        ("move", 3, 0),
        ("swap", 2, 3),
    ]


def test_equal_calls_are_not_swapped() -> None:
    assert "swap" not in [one.kind for one in made(PAY, PAY)]


def test_a_single_call_cannot_be_moved() -> None:
    assert "move" not in [one.kind for one in made(PAY)]


def test_a_number_becomes_its_neighbours() -> None:
    assert values("amount", made(PAY)) == [51, 49, 500]


def test_a_key_becomes_one_that_another_solution_uses() -> None:
    other = PlayedCall(tool="pay", arguments={"booking_id": 1042, "amount": 50})
    assert values("booking_id", made(PAY, known=(PAY, other))) == [1042, 8, 6]


def test_an_enumerated_argument_takes_each_other_value() -> None:
    assert values("kind", made(NOTE)) == ["correction"]


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"enum": ["single", "suite"]}, {"type": "null"}]},
        {"anyOf": [{"$ref": "#/$defs/Room"}, {"type": "null"}]},
        {"$ref": "#/$defs/Room"},
    ],
)
def test_an_enumeration_is_found_behind_null_and_references(schema: dict[str, Any]) -> None:
    tools = {"move": {"properties": {"room": schema}, "$defs": {"Room": {"enum": ["single", "suite"]}}}}
    call = PlayedCall(tool="move", arguments={"room": "suite"})
    assert values("room", made(call, tools=tools)) == ["single"]


def test_a_text_is_cut_and_replaced_by_what_stands_beside_it() -> None:
    assert values("body", made(NOTE)) == ["Too late", "refusal"]


def test_a_date_becomes_other_days() -> None:
    call = PlayedCall(tool="arrive", arguments={"at": "2026-03-24T22:15:00+01:00"})
    assert values("at", made(call)) == [
        "2026-03-17T22:15:00+01:00",
        "2026-03-23T22:15:00+01:00",
        "2026-03-25T22:15:00+01:00",
    ]


def test_a_flag_is_turned_round() -> None:
    assert values("sure", made(PlayedCall(tool="cancel", arguments={"sure": True}))) == [False]


def test_what_is_not_required_is_left_out() -> None:
    assert [one.argument for one in made(PAY, NOTE) if one.kind == "omit"] == ["amount"]


def test_rows_are_changed_in_the_tables_of_the_solution_and_in_one_more() -> None:
    assert [one.table for one in made(PAY) if one.kind == "neighbour"] == ["payments", "bookings"]


def test_a_mail_is_sent_where_there_is_a_sink() -> None:
    assert [one.kind for one in made(PAY, sinks=["mail"])].count("mail") == 1


def test_a_task_without_change_is_tried_with_every_write_that_is_known() -> None:
    mutations = made(READ, known=(READ, PAY, PAY, NOTE), touched=[], no_change=True)
    extra = [(one.tool, one.arguments) for one in mutations if one.kind == "extra"]
    assert extra == [("pay", PAY.arguments), ("note", NOTE.arguments)]
    assert "claim" not in [one.kind for one in mutations]


def test_tools_that_nobody_calls_are_named() -> None:
    assert untried_tools(notes(), [READ, PAY, NOTE]) == ["cancel"]


def test_nobody_asked_for_anything_in_any_sink() -> None:
    made_ones = [one.kind for one in made(PAY, sinks=["mail", "request", "file"])]
    assert [kind for kind in made_ones if kind in ("mail", "request", "file")] == ["mail", "request", "file"]


def test_a_call_that_a_fault_kept_from_the_tool_is_not_altered() -> None:
    lost = replace(PAY, fault="after_commit=timeout")
    never = replace(PAY, fault="before=disconnect")
    assert [one for one in made(lost) if one.kind == "alter"]
    assert [one for one in made(never) if one.kind in ("alter", "omit")] == []
    assert [one.kind for one in made(never, PAY) if one.at == 1] == ["drop", "repeat", "move"]

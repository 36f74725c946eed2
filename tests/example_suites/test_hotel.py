"""The hotel suite itself: its seed, its tools and its policy, apart from any agent."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult
from sqlalchemy import Engine, Table, create_engine, func, select

from example_suites.common.money import cents
from example_suites.common.words import Mentions
from example_suites.hotel import schema
from example_suites.hotel.environment import hotel
from example_suites.hotel.money import vat_of
from example_suites.hotel.reads import READS
from example_suites.hotel.seed import NOW, rows, seed
from example_suites.hotel.server import build_server
from example_suites.hotel.writes import POLICY, WRITES
from pytest_thinkingbox import ServerContext

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hotel") / "template.db"
    _fill(path)
    return path


@pytest.fixture
def database(template: Path, tmp_path: Path) -> Path:
    path = tmp_path / "hotel.db"
    path.write_bytes(template.read_bytes())
    return path


@pytest.fixture
def engine(database: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{database}")
    yield engine
    engine.dispose()


def _fill(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        schema.metadata.create_all(connection)
        seed(connection)
    engine.dispose()


def _content(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def _play(engine: Engine, *calls: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    """What the tools of a new server answer, in process."""
    context = ServerContext(
        engine=engine, database_url="", attempt_id="test", now=hotel.now, mail_host="127.0.0.1", mail_port=9
    )

    async def go() -> list[CallToolResult]:
        async with Client(build_server(context)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(go())


def _value(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, _text(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def _text(result: CallToolResult) -> str:
    [content] = result.content
    assert content.type == "text"
    return content.text


def _count(engine: Engine, table: Table) -> int:
    with engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(table)) or 0


# ---------------------------------------- seed and schema


def test_totals_of_bookings_are_the_sums_of_their_nights() -> None:
    content = rows()
    for booking in content["bookings"]:
        if booking["status"] == "cancelled":
            continue
        nights = [one for one in content["booking_nights"] if one["booking_id"] == booking["id"]]
        assert sum(one["net"] + one["vat"] for one in nights) == booking["total"]
        stay = (booking["check_out"] - booking["check_in"]).days
        assert sorted(one["night"] for one in nights) == [
            booking["check_in"] + timedelta(days=day) for day in range(stay)
        ]


def test_nothing_in_the_seed_was_written_after_the_fixed_clock() -> None:
    for table in rows().values():
        for row in table:
            assert all(value <= NOW for value in row.values() if isinstance(value, datetime))


@pytest.mark.parametrize(
    ("net", "percent", "vat"),
    [("171.85", "7", "12.03"), ("73.63", "20", "14.73"), ("0.50", "1", "0.01"), ("69.98", "20", "14.00")],
)
def test_vat_is_rounded_half_up(net: str, percent: str, vat: str) -> None:
    assert vat_of(Decimal(net), Decimal(percent)) == Decimal(vat)


def test_half_of_a_cent_is_rounded_up() -> None:
    assert cents(Decimal("147.25") / 2) == Decimal("73.63")


# ---------------------------------------- policy


def test_the_policy_names_only_what_exists() -> None:
    known = {function.__name__ for function in (*READS, *WRITES)}
    for literal in vars(schema).values():
        known.update(value for value in get_args(literal) if isinstance(value, str))
    mail_subjects = {
        "Approval needed: ",
        "Approval needed: HB-2042",
        "Reminder: ",
        "No-show taken back: ",
        "KB-99",
    }
    named = set(re.findall(r"`([^`]+)`", POLICY.read_text(encoding="utf-8").replace("\n", " ")))
    assert named - known - mail_subjects == set()


def test_the_environment_has_the_policy_as_instructions() -> None:
    assert hotel.instructions == POLICY.read_text(encoding="utf-8")


# ---------------------------------------- tools


def test_reading_tools_change_nothing_but_the_log(engine: Engine, database: Path) -> None:
    before = [line for line in _content(database) if "audit_log" not in line]
    logged = _count(engine, schema.audit_log)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("get_clock", {}),
        ("search_bookings", {"guest_name": "vogel", "hotel_id": 3, "check_in_from": "2026-03-20"}),
        ("get_booking", {"booking_id": 1042}),
        ("get_guest", {"guest_id": 13}),
        ("get_company", {"company_id": 3}),
        ("get_hotel", {"hotel_id": 6}),
        ("list_rooms", {"hotel_id": 1, "check_in": "2026-04-06", "check_out": "2026-04-11"}),
        ("quote_change", {"booking_id": 1042, "room_class": "standard"}),
        ("get_paperwork", {"booking_id": 1091}),
        ("get_paperwork", {"booking_id": 1010}),
        ("search_knowledge", {"words": "When is a no-show taken back?"}),
    ]
    assert {name for name, _ in calls} == {function.__name__ for function in READS}
    answers = [_value(result) for result in _play(engine, *calls)]
    assert [one["reference"] for one in answers[1]["bookings"]] == ["HB-1088", "HB-1098"]
    assert answers[2]["total"] == 1450.0
    assert answers[2]["guest"]["manager_id"] == 11
    assert answers[4]["approval_limit"] == 2500.0
    assert answers[7]["difference"] == -406.0
    assert [line["vat"] for line in answers[8]["refunds"][0]["lines"]] == [9.0, 9.0]
    assert [one["hotel_tickets"][0]["status"] for one in answers[9]["cases"]] == ["open"]
    assert answers[10]["articles"][0]["title"] == "A guest who arrives at night"
    assert [line for line in _content(database) if "audit_log" not in line] == before
    assert _count(engine, schema.audit_log) == logged + len(calls)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("get_booking", {"booking_id": 99}, "There is no booking 99"),
        ("get_booking", {"booking_id": 10**20}, "booking_id"),
        ("change_booking", {"booking_id": 1042}, "Say what is to change"),
        ("change_booking", {"booking_id": 1042, "room_class": "palace"}, "room_class"),
        ("change_booking", {"booking_id": 1042, "check_out": "2026-04-06"}, "A stay has 1 to 60 nights"),
        ("change_booking", {"booking_id": 1069, "room_class": "suite"}, "is cancelled and has no nights"),
        ("reinstate_booking", {"booking_id": 1069}, "only a no-show can be taken back"),
        ("set_arrival", {"booking_id": 1042, "expected_at": "2026-04-06T22:00:00"}, "has no UTC offset"),
        ("update_guest", {"guest_id": 13}, "phone or email"),
        ("update_guest", {"guest_id": 13, "email": "jonas.feld@kestrel.example"}, "The database refused"),
        ("create_refund", {"booking_id": 1042, "payment_id": 5058, "reason": "downgrade"}, "belongs to"),
        ("add_refund_line", {"refund_id": 1, "kind": "fee", "net": 1, "vat": 0}, "There is no refund 1"),
        ("void_refund", {"refund_id": 8091}, "was paid out"),
        ("set_case", {"case_id": 304, "status": "waiting"}, "A waiting case needs check_on"),
        ("send_mail", {"to": "nobody", "subject": "Hello", "body": "Hello"}, "not one e-mail address"),
        ("send_mail", {"to": "a@b.example", "subject": "a\nb", "body": "Hello"}, "cannot be sent"),
        (
            "add_case_note",
            {"booking_id": 1042, "kind": "refusal", "policy_section": "9.9", "body": "No"},
            "no section 9.9",
        ),
        (
            "request_approval",
            {"booking_id": 1042, "kind": "upgrade", "amount": 0.005, "approver_id": 11},
            "cent",
        ),
    ],
)
def test_tools_refuse_in_words_and_leave_no_trace(
    engine: Engine, database: Path, tool: str, arguments: dict[str, Any], words: str
) -> None:
    before = [line for line in _content(database) if "audit_log" not in line]
    [result] = _play(engine, (tool, arguments))
    assert result.is_error
    assert words in _text(result)
    assert [line for line in _content(database) if "audit_log" not in line] == before


def test_a_taken_room_cannot_be_booked_over(engine: Engine) -> None:
    with engine.begin() as connection:  # nights of the same room right after the stay
        night = {"booking_id": 1098, "night": date(2026, 4, 11), "room_id": 1301, "net": 1, "vat": 0}
        connection.execute(schema.booking_nights.insert().values(**night))
    [result] = _play(engine, ("change_booking", {"booking_id": 1042, "check_out": "2026-04-12"}))
    assert "No superior room is free for booking 1042 from 2026-04-06 to 2026-04-12." in _text(result)


def test_nobody_asks_for_an_approval_but_the_policy(engine: Engine) -> None:
    [result] = _play(engine, ("change_booking", {"booking_id": 1042, "room_class": "standard"}))
    assert _value(result) == {"booking_id": 1042, "room_id": 1201, "total": 1044.0}


def test_a_refund_that_is_confirmed_twice_is_paid_out_twice(engine: Engine) -> None:
    [draft] = _play(
        engine, ("create_refund", {"booking_id": 1042, "payment_id": 5042, "reason": "downgrade"})
    )
    refund = {"refund_id": _value(draft)["id"]}
    line = {**refund, "kind": "night", "night": "2026-04-06", "net": 70, "vat": 11.2}
    *_, last = _play(
        engine, ("add_refund_line", line), ("confirm_refund", refund), ("confirm_refund", refund)
    )
    assert _value(last)["paid_out"] == 162.4


def test_words_are_found_whatever_their_case_and_commas() -> None:
    assert Mentions("hb-1042", "1,450.00") == "HB-1042: 1450.00 USD"
    assert Mentions("HB-1042", "1,450.00") != "HB-1042: 145.00 USD"
    assert Mentions("HB-1042") != 1042


# ---------------------------------------- as a whole


@pytest.mark.slow
def test_the_server_runs_as_a_program_of_its_own(database: Path, engine: Engine) -> None:
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "example_suites.hotel.server"],
        env={"HOTEL_DATABASE_URL": f"sqlite:///{database}", "HOTEL_NOW": "2026-03-17T10:30:00+01:00"},
        cwd=ROOT,
    )

    async def go() -> list[CallToolResult]:
        note = {"booking_id": 1047, "kind": "refusal", "policy_section": "4.3", "body": "Refused: HB-1047"}
        async with Client(program) as client:
            return [await client.call_tool("get_clock", {}), await client.call_tool("add_case_note", note)]

    clock, note = asyncio.run(go())
    assert _value(clock)["now"] == "2026-03-17T09:30:00Z"
    with engine.connect() as connection:
        found = connection.execute(
            select(schema.case_notes).where(schema.case_notes.c.id == _value(note)["id"])
        )
        assert found.one().body == "Refused: HB-1047"

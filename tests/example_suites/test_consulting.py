"""The consulting suite itself: what its tasks rest on, and what its tools do with money, files and tickets."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from mcp import Client
from mcp_types import CallToolResult
from sqlalchemy import Engine, create_engine, select

from example_suites.consulting import schema
from example_suites.consulting.environment import HERE, consulting
from example_suites.consulting.seed import NOW, rows, seed
from example_suites.consulting.server import build_server
from pytest_thinkingbox import ServerContext
from pytest_thinkingbox.effects.mail import open_mail_sink
from pytest_thinkingbox.state.model import ReceivedMail


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("consulting") / "template.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        schema.metadata.create_all(connection)
        seed(connection)
    engine.dispose()
    return path


@pytest.fixture
def engine(template: Path, tmp_path: Path) -> Iterator[Engine]:
    shutil.copyfile(template, tmp_path / "desk.db")
    engine = create_engine(f"sqlite:///{tmp_path / 'desk.db'}")
    yield engine
    engine.dispose()


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HERE / "files", tmp_path / "work"))


def play(engine: Engine, workdir: Path | None, *calls: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    """What the tools of a new server answer, in process."""
    return play_with_mail(engine, workdir, *calls)[0]


def play_with_mail(
    engine: Engine, workdir: Path | None, *calls: tuple[str, dict[str, Any]]
) -> tuple[list[CallToolResult], list[ReceivedMail]]:
    """The same, and the mails that went out."""

    async def go() -> tuple[list[CallToolResult], list[ReceivedMail]]:
        async with open_mail_sink() as sink:
            context = ServerContext(
                engine=engine,
                database_url="",
                attempt_id="test",
                now=consulting.now,
                mail_host=sink.host,
                mail_port=sink.port,
                workdir=workdir,
            )
            async with Client(build_server(context)) as client:
                return [await client.call_tool(name, arguments) for name, arguments in calls], sink.received

    return asyncio.run(go())


def value(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def text(result: CallToolResult) -> str:
    [content] = result.content
    assert content.type == "text"
    return content.text


# ---------------------------------------- what the tasks rest on


def test_totals_of_documents_are_the_sums_of_their_lines() -> None:
    content = rows()
    for document in content["invoices"]:
        lines = [one for one in content["invoice_lines"] if one["invoice_id"] == document["id"]]
        assert sum(one["net"] for one in lines) == document["net"]
        assert sum(one["tax"] for one in lines) == document["tax"]
        assert document["net"] + document["tax"] == document["total"]


def test_an_invoice_with_hours_has_as_many_as_its_lines() -> None:
    content = rows()
    entries = [one for one in content["time_entries"] if one["invoice_id"]]
    assert {one["invoice_id"] for one in entries} == {5204, 5205}
    for document in (5204, 5205):
        lines = [one for one in content["invoice_lines"] if one["invoice_id"] == document]
        hours = [one["hours"] for one in entries if one["invoice_id"] == document]
        assert sum(one["quantity"] for one in lines) == sum(hours)


def test_nobody_is_assigned_for_more_than_all_of_the_time() -> None:
    assignments = rows()["assignments"]
    for day in (date(2026, 5, 25) + timedelta(days=one) for one in range(60)):
        for person in {one["person_id"] for one in assignments}:
            assert percent_of(person, day) <= 100


@pytest.mark.parametrize(
    ("zone", "local"),
    [
        ("America/Vancouver", "2026-06-08 09:40"),
        ("America/New_York", "2026-06-08 12:40"),
        ("Europe/London", "2026-06-08 17:40"),
        ("Europe/Warsaw", "2026-06-08 18:40"),
        ("Asia/Kolkata", "2026-06-08 22:10"),
        ("Australia/Sydney", "2026-06-09 02:40"),
    ],
)
def test_the_clock_stands_where_only_vancouver_is_before_the_close(zone: str, local: str) -> None:
    assert f"{NOW.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M}" == local
    assert zone in {one["timezone"] for one in rows()["offices"]}


def test_three_people_fit_the_work_for_stromacher_one_of_them_in_its_office() -> None:
    """Section 5 of the policy, worked out from the rows."""
    content = rows()
    days = [date(2026, 6, 15) + timedelta(days=one) for one in range(26)]
    fit = []
    for one in (one for one in content["skills"] if one["skill"] == "python" and one["level"] >= 4):
        person = one["person_id"]
        free = all(percent_of(person, day) + 60 <= 100 for day in days)
        wall = any(
            one["person_id"] == person and one["client_id"] == 10 and one["last_day"] >= days[0]
            for one in content["walls"]
        )
        away = sum(
            absence["person_id"] == person and absence["first_day"] <= day <= absence["last_day"]
            for absence in content["absences"]
            for day in days
        )
        if free and not wall and away <= 2:
            fit.append(person)
    assert fit == [205, 404, 504]
    [office] = [one["office_id"] for one in content["engagements"] if one["id"] == 1211]
    assert office == 4


def percent_of(person: int, day: date) -> int:
    return sum(
        one["percent"]
        for one in rows()["assignments"]
        if one["person_id"] == person and one["first_day"] <= day <= one["last_day"]
    )


# ---------------------------------------- tools


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("get_ticket", {"ticket_id": 1}, "There is no ticket 1"),
        ("get_timesheet", {"person_id": 303, "week_start": "2026-06-02"}, "has no time sheet"),
        ("read_inbox", {"file": "../booked/6101.txt"}, "There is no file"),
        ("read_inbox", {"file": ".."}, "There is no file"),
        ("submit_timesheet", {"person_id": 303, "week_start": "2026-05-25"}, "approved already"),
        (
            "add_line",
            {"document_id": 5204, "kind": "discount", "quantity": 1, "unit_price": 5, "tax_percent": 5},
            "INV-5204 is issued",
        ),
        (
            "add_line",
            {
                "document_id": 5203,
                "kind": "time",
                "quantity": 8,
                "unit_price": 5,
                "tax_percent": 0,
                "person_id": 403,
                "entry_ids": [403223],
            },
            "have 7.25 hours, not 8.00",
        ),
        (
            "add_line",
            {
                "document_id": 5203,
                "kind": "time",
                "quantity": 7.25,
                "unit_price": 5,
                "tax_percent": 0,
                "person_id": 404,
                "entry_ids": [403223],
            },
            "not all time entries of person 404",
        ),
        (
            "add_line",
            {"document_id": 5203, "kind": "time", "quantity": 1, "unit_price": 0.005, "tax_percent": 0},
            "fractions of a cent",
        ),
        ("draft_document", {"engagement_id": 1203, "kind": "credit_note"}, "The database refused"),
        (
            "issue_document",
            {"document_id": 5203, "issued_on": "2026-06-08", "due_on": "2026-06-07"},
            "The database refused",
        ),
        (
            "write_note",
            {"ticket_id": 7001, "kind": "refusal", "policy_section": "9.9", "body": "No"},
            "The policy has no section 9.9",
        ),
        (
            "send_mail",
            {"to": "a@b.example", "subject": "Hello", "body": "Hello", "attachment": "inbox/x.txt"},
            "of a document that was issued",
        ),
        (
            "book_expense",
            {
                "person_id": 203,
                "engagement_id": 1270,
                "spent_on": "2026-06-03",
                "category": "travel",
                "amount": 0,
                "currency": "USD",
                "home_amount": 0,
                "billable": False,
                "receipt": "newyork-mirela-stanescu-41.txt",
            },
            "The database refused",
        ),
    ],
)
def test_tools_refuse_in_words_and_leave_no_trace(
    engine: Engine, workdir: Path, tool: str, arguments: dict[str, Any], words: str
) -> None:
    before = everything(engine), files(workdir)
    [result] = play(engine, workdir, (tool, arguments))
    assert result.is_error
    assert words in text(result)
    assert (everything(engine), files(workdir)) == before


def everything(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    with engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table))]
            for table in schema.metadata.sorted_tables
            if table is not schema.audit_log
        }


def files(workdir: Path) -> list[str]:
    return sorted(str(one.relative_to(workdir)) for one in workdir.rglob("*") if one.is_file())


def test_without_a_folder_there_is_no_inbox(engine: Engine) -> None:
    [result] = play(engine, None, ("read_inbox", {}))
    assert "no folder for files" in text(result)


def test_a_receipt_is_filed_with_its_expense(engine: Engine, workdir: Path) -> None:
    receipt = "bengaluru-farhan-qureshi-05.txt"
    expense = {"person_id": 504, "engagement_id": 1206, "spent_on": "2026-06-05", "category": "meal"}
    money = {"amount": 640, "currency": "INR", "home_amount": 640, "billable": False}
    [result] = play(engine, workdir, ("book_expense", {**expense, **money, "receipt": receipt}))
    assert value(result)["reference"] == f"EX-{value(result)['id']}"
    assert f"booked/{receipt}" in files(workdir)
    assert f"inbox/{receipt}" not in files(workdir)


def test_a_later_answer_takes_the_place_of_an_earlier_one(engine: Engine, workdir: Path) -> None:
    refused = {"ticket_id": 7001, "status": "refused", "text": "No.", "policy_section": "5.3"}
    play(engine, workdir, ("answer_ticket", refused), ("answer_ticket", {**refused, "text": "Never."}))
    with engine.connect() as connection:
        notes = select(schema.ticket_notes).where(schema.ticket_notes.c.ticket_id == 7001)
        assert [one.body for one in connection.execute(notes)] == ["Never."]


def test_each_issue_counts_and_the_file_can_be_sent(engine: Engine, workdir: Path) -> None:
    issue = {"document_id": 5209, "issued_on": "2026-06-09", "due_on": "2026-06-30"}
    mail = {"to": "billing@kurrajong.example", "subject": "Invoice LF-1209", "body": "9,926.40"}
    (issued, _, document, _), [arrived] = play_with_mail(
        engine,
        workdir,
        ("issue_document", issue),
        ("issue_document", issue),
        ("get_invoice", {"document_id": 5209}),
        ("send_mail", {**mail, "attachment": "LF-1209-invoice.txt"}),
    )
    assert value(issued)["file"] == value(document)["file"] == "LF-1209-invoice.txt"
    assert value(document)["times_issued"] == 2
    [attached] = arrived.attachments
    assert attached.name == "LF-1209-invoice.txt"
    assert b"total 9926.40" in attached.data


def test_lines_are_rounded_each_and_a_discount_is_below_zero(engine: Engine, workdir: Path) -> None:
    line = {"document_id": 5203, "tax_percent": 23}
    hours = {**line, "kind": "time", "quantity": 13.25, "unit_price": 318.70, "person_id": 403}
    discount = {**line, "kind": "discount", "quantity": 1, "unit_price": 0.5}
    first, second = play(engine, workdir, ("add_line", hours), ("add_line", discount))
    assert value(first) == {
        "net": 4222.78,
        "document_net": 16622.78,
        "document_tax": 971.24,
        "document_total": 17594.02,
    }
    assert value(second) == {
        "net": -0.5,
        "document_net": 16622.28,
        "document_tax": 971.12,
        "document_total": 17593.40,
    }


def test_hours_of_a_day_are_set_and_taken_away(engine: Engine, workdir: Path) -> None:
    friday = {"person_id": 303, "engagement_id": 1204, "work_day": "2026-06-05"}
    week = ("get_timesheet", {"person_id": 303, "week_start": "2026-06-01"})
    *_, set_, _, away = play(
        engine,
        workdir,
        ("record_time", {**friday, "hours": 5}),
        ("record_time", {**friday, "hours": 6}),
        week,
        ("record_time", {**friday, "hours": 0}),
        week,
    )
    assert [one["hours"] for one in value(set_)["entries"]] == [7.5, 8.0, 7.5, 7.0, 6.0]
    assert [one["hours"] for one in value(away)["entries"]] == [7.5, 8.0, 7.5, 7.0]


def test_people_are_found_by_what_they_can_and_where_they_are(engine: Engine, workdir: Path) -> None:
    [found] = play(engine, workdir, ("find_people", {"skill": "Python", "office_id": 4}))
    assert [one["name"] for one in value(found)["people"]] == [
        "Tymon Gawronski",
        "Ewelina Sobczak",
        "Kirill Vorontsov",
    ]
    kirill = value(found)["people"][-1]
    assert (kirill["manager"], kirill["timezone"], kirill["currency"]) == (
        "Tymon Gawronski",
        "Europe/Warsaw",
        "PLN",
    )
    assert [one["percent"] for one in kirill["assignments"]] == [40]
    assert [one["first_day"] for one in kirill["absences"]] == ["2026-06-19"]

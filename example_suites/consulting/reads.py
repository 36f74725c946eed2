"""Tools that look things up."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlalchemy import Table, select

from example_suites.common.desk import Id, Line, Refused, plain
from example_suites.common.knowledge import search
from example_suites.consulting.desk import Desk, file_of
from example_suites.consulting.schema import (
    absences,
    approvals,
    assignments,
    clients,
    engagements,
    expenses,
    invoice_lines,
    invoices,
    offices,
    people,
    rates,
    skills,
    statements_of_work,
    ticket_notes,
    time_entries,
    timesheets,
    walls,
)


def get_clock(desk: Desk) -> dict[str, Any]:
    """What time it is, in UTC. Convert it to the office's time zone before you judge a day or a deadline."""
    return {"now": desk.now.isoformat() + "Z", "weekday": desk.now.strftime("%A")}


def get_ticket(desk: Desk, ticket_id: Id) -> dict[str, Any]:
    """A ticket with its sender, its external reference and status, if it has one, and its notes."""
    return plain(desk.ticket(ticket_id)) | {"notes": desk.rows(ticket_notes, ticket_id=ticket_id)}


def search_knowledge(desk: Desk, question: Line) -> dict[str, Any]:
    """The firm's handbook: exchange rates, allowances, closing days and more. At most five articles, best first."""
    return {"articles": search(desk.db, question)}


def find_people(
    desk: Desk,
    name: Line | None = None,
    email: Line | None = None,
    skill: Line | None = None,
    office_id: Id | None = None,
) -> dict[str, Any]:
    """Find people by any of: part of the name, address, skill, office. At most 12.

    Each with office, manager, leave, skills, assignments and walls.
    """
    boss = people.alias()
    found = (
        select(
            people,
            boss.c.name.label("manager"),
            offices.c.city.label("office"),
            offices.c.timezone,
            offices.c.currency,
        )
        .join(offices, offices.c.id == people.c.office_id)
        .outerjoin(boss, boss.c.id == people.c.manager_id)
    )
    if name is not None:
        found = found.where(people.c.name.icontains(name, autoescape=True))
    if email is not None:
        found = found.where(people.c.email == email.strip().lower())
    if skill is not None:
        found = found.where(
            people.c.id.in_(select(skills.c.person_id).where(skills.c.skill == skill.lower()))
        )
    if office_id is not None:
        found = found.where(people.c.office_id == office_id)
    listed = desk.db.execute(found.order_by(people.c.id).limit(13)).all()
    numbers = [row.id for row in listed[:12]]
    answer = {row.id: plain(row) for row in listed[:12]}
    for part in (skills, absences, assignments, walls):
        for person in answer.values():
            person[part.name] = []
        for row in desk.rows(part, part.c.person_id.in_(numbers)):
            answer[row.pop("person_id")][part.name].append(row)
    return {"people": [*answer.values()], "more": len(listed) > 12}


def get_client(desk: Desk, client_id: Id) -> dict[str, Any]:
    """A client with its billing contact, payment days and engagements."""
    client = desk.one(clients, client_id, "client")
    return plain(client) | {"engagements": desk.rows(engagements, client_id=client_id)}


def get_engagement(desk: Desk, engagement_id: Id) -> dict[str, Any]:
    """An engagement with client, office, statements of work, rates, assignments, approvals and invoices.

    The number of LF-1234 is 1234.
    """
    engagement = desk.engagement(engagement_id)

    def of(table: Table) -> list[dict[str, Any]]:
        return desk.rows(table, engagement_id=engagement_id)

    return plain(engagement) | {
        "client": plain(desk.one(clients, engagement.client_id, "client")),
        "office": plain(desk.one(offices, engagement.office_id, "office")),
        "lead_partner": _contact(desk.person(engagement.lead_partner_id)),
        "manager": _contact(desk.person(engagement.manager_id)),
        "statements_of_work": of(statements_of_work),
        "rates": of(rates),
        "assignments": of(assignments),
        "approvals": of(approvals),
        "invoices": of(invoices),
    }


def get_timesheet(desk: Desk, person_id: Id, week_start: date) -> dict[str, Any]:
    """A person's time sheet of the week that begins on this Monday, with its entries."""
    desk.person(person_id)
    sheet = desk.timesheet(person_id, week_start)
    return plain(sheet) | {"entries": desk.rows(time_entries, timesheet_id=sheet.id)}


def list_unbilled(desk: Desk, engagement_id: Id) -> dict[str, Any]:
    """Hours of an engagement that no invoice contains, with person, grade and the status of the time sheet."""
    desk.engagement(engagement_id)
    found = (
        select(
            time_entries.c.id,
            time_entries.c.work_day,
            time_entries.c.hours,
            time_entries.c.billable,
            timesheets.c.person_id,
            timesheets.c.status.label("timesheet_status"),
            people.c.name,
            people.c.grade,
        )
        .join(timesheets, timesheets.c.id == time_entries.c.timesheet_id)
        .join(people, people.c.id == timesheets.c.person_id)
        .where(time_entries.c.engagement_id == engagement_id, time_entries.c.invoice_id.is_(None))
        .order_by(timesheets.c.person_id, time_entries.c.work_day)
    )
    return {"entries": [plain(row) for row in desk.db.execute(found)]}


def list_expenses(desk: Desk, person_id: Id) -> dict[str, Any]:
    """All expenses of a person that were booked, whatever their status. Expense 1234 is called EX-1234."""
    desk.person(person_id)
    return {"expenses": desk.rows(expenses, person_id=person_id)}


def get_invoice(desk: Desk, document_id: Id) -> dict[str, Any]:
    """An invoice or credit note with its lines and the time entries that it contains. INV-1234 has number 1234."""
    document = desk.document(document_id)
    engagement = desk.engagement(document.engagement_id)
    return plain(document) | {
        "file": None if document.status == "draft" else file_of(engagement, document),
        "lines": desk.rows(invoice_lines, invoice_id=document_id),
        "time_entries": desk.rows(time_entries, invoice_id=document_id),
    }


def read_inbox(desk: Desk, file: Line | None = None) -> dict[str, Any]:
    """The files in the inbox, or the text of one of them."""
    if file is None:
        inbox = desk.folder() / "inbox"
        return {"files": sorted(one.name for one in inbox.iterdir()) if inbox.is_dir() else []}
    try:
        return {"file": file, "text": desk.receipt(file).read_text(encoding="utf-8")}
    except UnicodeDecodeError:
        raise Refused(f"{file} is not text.") from None


def _contact(row: Any) -> dict[str, Any]:
    return {"id": row.id, "name": row.name, "email": row.email, "manager_id": row.manager_id}


READS = (
    get_clock,
    get_ticket,
    search_knowledge,
    find_people,
    get_client,
    get_engagement,
    get_timesheet,
    list_unbilled,
    list_expenses,
    get_invoice,
    read_inbox,
)

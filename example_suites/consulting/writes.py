"""Tools that change something. They do what they are told: whether it is allowed is the policy's matter."""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le
from sqlalchemy import select

from example_suites.common.desk import Amount, Id, Line, Refused, ShortText, Words, money
from example_suites.common.policy import section_in
from example_suites.consulting.desk import Desk
from example_suites.consulting.schema import (
    Answer,
    ApprovalKind,
    Category,
    Decision,
    LeaveKind,
    LeaveStatus,
    NoteKind,
    absences,
    approvals,
    assignments,
    expenses,
    statements_of_work,
    ticket_notes,
    tickets,
    time_entries,
    timesheets,
)

POLICY = Path(__file__).with_name("policy.md")
SENDER = "back-office@lanternfield.example"

Hours = Annotated[float, Ge(0), Le(24)]
Percent = Annotated[int, Ge(1), Le(100)]


def record_time(
    desk: Desk, person_id: Id, engagement_id: Id, work_day: date, hours: Hours, billable: bool = True
) -> dict[str, Any]:
    """Set a person's hours of one day on one engagement; 0 hours takes the entry away."""
    desk.person(person_id)
    desk.engagement(engagement_id)
    sheet = desk.timesheet(person_id, work_day - timedelta(days=work_day.weekday()))
    same = (
        (time_entries.c.timesheet_id == sheet.id)
        & (time_entries.c.engagement_id == engagement_id)
        & (time_entries.c.work_day == work_day)
    )
    entry = desk.db.execute(select(time_entries).where(same)).one_or_none()
    exact = money(hours, "hours")
    if exact == 0:
        desk.db.execute(time_entries.delete().where(same))
    elif entry is not None:
        desk.db.execute(time_entries.update().where(same).values(hours=exact, billable=billable))
    else:
        desk.insert(
            time_entries,
            timesheet_id=sheet.id,
            engagement_id=engagement_id,
            work_day=work_day,
            hours=exact,
            billable=billable,
        )
    return {"timesheet_id": sheet.id, "work_day": work_day.isoformat(), "hours": float(exact)}


def submit_timesheet(desk: Desk, person_id: Id, week_start: date) -> dict[str, Any]:
    """Hand in a person's time sheet of the week that begins on this Monday."""
    desk.person(person_id)
    sheet = desk.timesheet(person_id, week_start)
    if sheet.status == "approved":
        raise Refused("This time sheet is approved already.")
    desk.db.execute(
        timesheets.update()
        .where(timesheets.c.id == sheet.id)
        .values(status="submitted", submitted_at=desk.now)
    )
    return {"timesheet_id": sheet.id, "status": "submitted"}


def book_expense(
    desk: Desk,
    person_id: Id,
    engagement_id: Id,
    spent_on: date,
    category: Category,
    amount: Amount,
    currency: str,
    home_amount: Amount,
    billable: bool,
    receipt: ShortText | None = None,
) -> dict[str, Any]:
    """Book an expense; `receipt` is a file of the inbox, which is filed with it."""
    desk.person(person_id)
    desk.engagement(engagement_id)
    if len(currency) != 3 or not currency.isascii() or not currency.isupper():
        raise Refused(f"currency={currency!r} must be three letters such as EUR.")
    source = None if receipt is None else desk.receipt(receipt)
    number = desk.insert(
        expenses,
        person_id=person_id,
        engagement_id=engagement_id,
        spent_on=spent_on,
        category=category,
        amount=money(amount, "amount"),
        currency=currency,
        home_amount=money(home_amount, "home_amount"),
        billable=billable,
        receipt=None if receipt is None else f"booked/{receipt}",
        status="submitted",
        created_at=desk.now,
    )
    if source is not None:  # last: what the database refuses leaves the file where it is
        booked = desk.folder() / "booked"
        booked.mkdir(exist_ok=True)
        shutil.move(source, booked / source.name)
    return {"id": number, "reference": f"EX-{number}", "status": "submitted"}


def set_leave(
    desk: Desk,
    person_id: Id,
    kind: LeaveKind,
    first_day: date,
    last_day: date,
    days: Annotated[int, Ge(1), Le(366)],
    status: LeaveStatus,
    leave_id: Id | None = None,
) -> dict[str, Any]:
    """Enter leave with its working days; with `leave_id`, change what was entered before."""
    desk.person(person_id)
    values = {
        "person_id": person_id,
        "kind": kind,
        "first_day": first_day,
        "last_day": last_day,
        "days": days,
        "status": status,
    }
    if leave_id is None:
        number = desk.insert(absences, **values, created_at=desk.now)
    else:
        number = desk.one(absences, leave_id, "leave").id
        desk.db.execute(absences.update().where(absences.c.id == leave_id).values(**values))
    return {"id": number, "status": status}


def assign_person(
    desk: Desk, engagement_id: Id, person_id: Id, percent: Percent, first_day: date, last_day: date
) -> dict[str, Any]:
    """Put a person on an engagement for a share of the working time."""
    desk.engagement(engagement_id)
    desk.person(person_id)
    number = desk.insert(
        assignments,
        engagement_id=engagement_id,
        person_id=person_id,
        percent=percent,
        first_day=first_day,
        last_day=last_day,
        status="confirmed",
        created_at=desk.now,
    )
    return {"id": number, "status": "confirmed"}


def create_change_order(desk: Desk, engagement_id: Id, amount: Amount) -> dict[str, Any]:
    """Make a change order that adds an amount to an engagement's budget, ready to be signed by the client."""
    desk.engagement(engagement_id)
    original = desk.db.execute(
        select(statements_of_work).where(
            statements_of_work.c.engagement_id == engagement_id, statements_of_work.c.kind == "original"
        )
    ).one()
    number = desk.insert(
        statements_of_work,
        engagement_id=engagement_id,
        kind="change_order",
        budget=money(amount, "amount"),
        expenses_billable=original.expenses_billable,
        status="sent",
        created_at=desk.now,
    )
    return {"id": number, "status": "sent"}


def request_approval(
    desk: Desk, engagement_id: Id, kind: ApprovalKind, amount: Amount, approver_id: Id
) -> dict[str, Any]:
    """Ask somebody to decide. This records the request; it tells nobody."""
    desk.engagement(engagement_id)
    desk.person(approver_id)
    number = desk.insert(
        approvals,
        engagement_id=engagement_id,
        kind=kind,
        amount=money(amount, "amount"),
        approver_id=approver_id,
        status="pending",
        requested_at=desk.now,
    )
    return {"id": number, "status": "pending"}


def decide_approval(desk: Desk, approval_id: Id, decision: Decision, decided_by: Id) -> dict[str, Any]:
    """Record the decision on an approval; `decided_by` is the number of the person who decided."""
    desk.one(approvals, approval_id, "approval")
    desk.person(decided_by)
    desk.db.execute(
        approvals.update()
        .where(approvals.c.id == approval_id)
        .values(status=decision, decided_by=decided_by, decided_at=desk.now)
    )
    return {"id": approval_id, "status": decision}


def send_mail(
    desk: Desk, to: ShortText, subject: Line, body: Words, attachment: ShortText | None = None
) -> dict[str, Any]:
    """Send an e-mail to one address; `attachment` is a file that `issue_document` has named."""
    file = None if attachment is None else desk.issued(attachment)
    desk.mail(sender=SENDER, to=to, subject=subject, body=body, attachment=file)
    return {"sent_to": to}


def write_note(
    desk: Desk, ticket_id: Id, kind: NoteKind, policy_section: Line, body: Words
) -> dict[str, Any]:
    """Write a note on a ticket; `policy_section` is the section it rests on, for example 3.3."""
    desk.ticket(ticket_id)
    number = desk.insert(
        ticket_notes,
        ticket_id=ticket_id,
        kind=kind,
        policy_section=section_in(POLICY, policy_section),
        body=body,
        created_at=desk.now,
    )
    return {"id": number}


def answer_ticket(
    desk: Desk, ticket_id: Id, status: Answer, text: Words, policy_section: Line | None = None
) -> dict[str, Any]:
    """Answer a ticket, which ends it or makes it wait; a later answer takes the place of an earlier one.

    `policy_section` is the section that forbids a refused request.
    """
    desk.ticket(ticket_id)
    section = None if policy_section is None else section_in(POLICY, policy_section)
    answer = {"policy_section": section, "body": text, "created_at": desk.now}
    mine = (ticket_notes.c.ticket_id == ticket_id) & (ticket_notes.c.kind == "answer")
    number = desk.db.scalar(select(ticket_notes.c.id).where(mine))
    if number is None:
        number = desk.insert(ticket_notes, ticket_id=ticket_id, kind="answer", **answer)
    else:
        desk.db.execute(ticket_notes.update().where(mine).values(**answer))
    desk.db.execute(
        tickets.update().where(tickets.c.id == ticket_id).values(status=status, updated_at=desk.now)
    )
    return {"note_id": number, "status": status}


WRITES = (
    record_time,
    submit_timesheet,
    book_expense,
    set_leave,
    assign_person,
    create_change_order,
    request_approval,
    decide_approval,
    send_mail,
    write_note,
    answer_ticket,
)

"""Tools that make invoices and credit notes. What they contain is the policy's matter."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from sqlalchemy import Row, select

from example_suites.common.desk import Amount, Id, Refused, money
from example_suites.common.money import cents
from example_suites.consulting.desk import Desk, file_of
from example_suites.consulting.schema import (
    DocumentKind,
    LineKind,
    invoice_lines,
    invoices,
    people,
    time_entries,
    timesheets,
)

Percentage = Annotated[float, Ge(0), Le(99)]
Quantity = Annotated[float, Gt(0), Le(99_999)]
Ids = Annotated[list[Id], MinLen(1), MaxLen(500)]


def draft_document(
    desk: Desk, engagement_id: Id, kind: DocumentKind, credits_id: Id | None = None
) -> dict[str, Any]:
    """Start an invoice, or a credit note for the invoice `credits_id`, as a draft without lines."""
    desk.engagement(engagement_id)
    if credits_id is not None:
        desk.document(credits_id)
    number = desk.insert(
        invoices,
        engagement_id=engagement_id,
        kind=kind,
        credits_id=credits_id,
        status="draft",
        net=0,
        tax=0,
        total=0,
        times_issued=0,
        created_at=desk.now,
    )
    return {"id": number, "reference": f"INV-{number}", "status": "draft"}


def add_line(
    desk: Desk,
    document_id: Id,
    kind: LineKind,
    quantity: Quantity,
    unit_price: Amount,
    tax_percent: Percentage,
    person_id: Id | None = None,
    entry_ids: Ids | None = None,
) -> dict[str, Any]:
    """Add a line to a draft: hours of a person at a rate, or a discount (quantity 1).

    `entry_ids` are the time entries that an invoice's line contains; their hours are its quantity. They move to this
    invoice. Lines of credit notes have none.
    """
    desk.draft(document_id)
    hours, price = money(quantity, "quantity"), money(unit_price, "unit_price")
    percent = money(tax_percent, "tax_percent")
    net = cents(hours * price) * (-1 if kind == "discount" else 1)
    if entry_ids is not None:
        _take(desk, document_id, person_id, entry_ids, quantity=float(hours))
    desk.insert(
        invoice_lines,
        invoice_id=document_id,
        kind=kind,
        person_id=person_id,
        quantity=hours,
        unit_price=price,
        tax_percent=percent,
        net=net,
        tax=cents(net * percent / 100) + 0,  # no tax on a discount is 0, not -0
    )
    totals = desk.totals(document_id)
    desk.db.execute(invoices.update().where(invoices.c.id == document_id).values(**totals))
    return {"net": float(net)} | {f"document_{name}": float(value) for name, value in totals.items()}


def issue_document(desk: Desk, document_id: Id, issued_on: date, due_on: date) -> dict[str, Any]:
    """Issue a document: write its file, which can be attached to a mail. Each call counts as one more issue."""
    document = desk.document(document_id)
    engagement = desk.engagement(document.engagement_id)
    if document.total <= 0:
        raise Refused(f"INV-{document_id} has a total of {document.total}; there is nothing to issue.")
    desk.db.execute(
        invoices.update()
        .where(invoices.c.id == document_id)
        .values(status="issued", issued_on=issued_on, due_on=due_on, times_issued=document.times_issued + 1)
    )
    outgoing = desk.folder() / "outgoing"
    outgoing.mkdir(exist_ok=True)
    path = outgoing / file_of(engagement, document)
    path.write_text(_text(desk, document, engagement, issued_on, due_on), encoding="utf-8")
    return {"id": document_id, "status": "issued", "total": float(document.total), "file": path.name}


def _take(
    desk: Desk, document_id: int, person_id: int | None, entry_ids: list[int], *, quantity: float
) -> None:
    """Put time entries on an invoice. Raises Refused unless they are this person's and as many hours."""
    found = desk.db.execute(
        select(time_entries.c.id, time_entries.c.hours, timesheets.c.person_id)
        .join(timesheets, timesheets.c.id == time_entries.c.timesheet_id)
        .where(time_entries.c.id.in_(entry_ids))
    ).all()
    missing = sorted({*entry_ids} - {row.id for row in found})
    if missing:
        raise Refused(f"There are no time entries {', '.join(map(str, missing))}.")
    if {row.person_id for row in found} != {person_id}:
        raise Refused(f"These are not all time entries of person {person_id}.")
    hours = sum(float(row.hours) for row in found)
    if abs(hours - quantity) > 0.001:
        raise Refused(f"These time entries have {hours:.2f} hours, not {quantity:.2f}.")
    desk.db.execute(
        time_entries.update().where(time_entries.c.id.in_(entry_ids)).values(invoice_id=document_id)
    )


def _text(desk: Desk, document: Row[Any], engagement: Row[Any], issued_on: date, due_on: date) -> str:
    """The document as it goes out; its lines stand in the same order, whichever was added first."""
    lines = (
        select(invoice_lines, people.c.name)
        .outerjoin(people, people.c.id == invoice_lines.c.person_id)
        .where(invoice_lines.c.invoice_id == document.id)
        .order_by(
            invoice_lines.c.kind.desc(),
            invoice_lines.c.person_id,
            invoice_lines.c.unit_price,
            invoice_lines.c.quantity,
        )
    )
    return "\n".join(
        [
            f"Lanternfield: {document.kind.replace('_', ' ')} for {engagement.reference} {engagement.name}",
            f"Date {issued_on.isoformat()}, due {due_on.isoformat()}",
            *(
                f"{line.name or line.kind}: {line.quantity} x {line.unit_price} = {line.net}, tax {line.tax}"
                for line in desk.db.execute(lines)
            ),
            f"Net {document.net}, tax {document.tax}, total {document.total}",
            "",
        ]
    )


BILLING = (draft_document, add_line, issue_document)

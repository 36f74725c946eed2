"""The desk of the back office: what there is to find, and the files that it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Row, func, select

from example_suites.common.desk import Desk as AnyDesk
from example_suites.common.desk import Refused
from example_suites.consulting.schema import (
    engagements,
    invoice_lines,
    invoices,
    people,
    tickets,
    timesheets,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk(AnyDesk):
    """The desk with what belongs to the back office. Receipts lie in the working directory."""

    def person(self, number: int) -> Row[Any]:
        return self.one(people, number, "person")

    def engagement(self, number: int) -> Row[Any]:
        return self.one(engagements, number, "engagement")

    def document(self, number: int) -> Row[Any]:
        return self.one(invoices, number, "invoice or credit note")

    def draft(self, number: int) -> Row[Any]:
        """A document that can still be changed."""
        document = self.document(number)
        if document.status != "draft":
            raise Refused(f"INV-{number} is {document.status}; only a draft can be changed.")
        return document

    def ticket(self, number: int) -> Row[Any]:
        return self.one(tickets, number, "ticket")

    def timesheet(self, person_id: int, week_start: Any) -> Row[Any]:
        """The time sheet of a person for the week that begins on this Monday."""
        found = select(timesheets).where(
            timesheets.c.person_id == person_id, timesheets.c.week_start == week_start
        )
        row = self.db.execute(found).one_or_none()
        if row is None:
            raise Refused(f"Person {person_id} has no time sheet for the week of {week_start.isoformat()}.")
        return row

    def totals(self, document_id: int) -> dict[str, Decimal]:
        """Net, tax and total of a document, from its lines."""
        sums = select(func.sum(invoice_lines.c.net), func.sum(invoice_lines.c.tax)).where(
            invoice_lines.c.invoice_id == document_id
        )
        net, tax = (Decimal(str(one or 0)).quantize(Decimal("0.01")) for one in self.db.execute(sums).one())
        return {"net": net, "tax": tax, "total": net + tax}

    def receipt(self, name: str) -> Path:
        """The file of a receipt in the inbox. Raises Refused when there is none of that name."""
        path = self.folder() / "inbox" / name
        if Path(name).name != name or path.is_symlink() or not path.is_file():
            raise Refused(f"There is no file {name} in the inbox.")
        return path

    def issued(self, name: str) -> Path:
        """The file of a document that was issued. Raises Refused when there is none of that name."""
        path = self.folder() / "outgoing" / Path(name).name
        if path.is_symlink() or not path.is_file():
            raise Refused(f"There is no file {name} of a document that was issued.")
        return path

    def folder(self) -> Path:
        if self.workdir is None:
            raise Refused("There is no folder for files here.")
        return self.workdir


def file_of(engagement: Row[Any], document: Row[Any]) -> str:
    """The name of the file that a document goes out as."""
    return f"{engagement.reference}-{document.kind.replace('_', '-')}.txt"

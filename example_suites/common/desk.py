"""What every tool works with: a transaction, the clock, the way to the mail server, and words for refusals."""

from __future__ import annotations

import smtplib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from email.message import EmailMessage
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen, MinLen
from sqlalchemy import ColumnElement, Connection, Row, Table, select

from example_suites.common.money import cents

Id = Annotated[int, Ge(1), Le(2_147_483_647)]
Amount = Annotated[float, Ge(0), Le(9_999_999)]
Words = Annotated[str, MinLen(1), MaxLen(10_000)]
Line = Annotated[str, MinLen(1), MaxLen(200)]
ShortText = Annotated[str, MinLen(1), MaxLen(120)]


class Refused(Exception):
    """What was asked cannot be done; the text says why and is meant for the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One call's world. `db` is a transaction that is committed when the tool returns. `now` is naive UTC.

    `mail_host` and `mail_port` lead to the mail server, `http_url` to whatever else the suite's tools call.
    `workdir` is the attempt's working directory, None where the environment has none.
    """

    db: Connection
    now: datetime
    mail_host: str
    mail_port: int
    http_url: str = ""
    workdir: Path | None = None

    def one(self, table: Table, number: int, what: str) -> Row[Any]:
        """The row with this id. Raises Refused, saying `what` does not exist."""
        row = self.db.execute(select(table).where(table.c.id == number)).one_or_none()
        if row is None:
            raise Refused(f"There is no {what} {number}.")
        return row

    def rows(self, table: Table, *where: ColumnElement[bool], **values: Any) -> list[dict[str, Any]]:
        """The rows of a table that have these values and meet all conditions, by key, as JSON values."""
        equal = (table.c[name] == value for name, value in values.items())
        found = select(table).where(*where, *equal).order_by(*table.primary_key.columns)
        return [plain(row) for row in self.db.execute(found)]

    def insert(self, table: Table, **columns: Any) -> int:
        """Insert a row and return its id."""
        key = self.db.execute(table.insert().values(**columns)).inserted_primary_key
        if key is None:
            raise TypeError(f"{table.name} has no generated key")
        return int(key[0])

    def mail(self, *, sender: str, to: str, subject: str, body: str, attachment: Path | None = None) -> None:
        """Send a mail to one address, with a text file if there is one. Raises Refused when that cannot be done."""
        mail = EmailMessage()
        try:
            mail["From"], mail["To"], mail["Subject"] = sender, to, subject
            mail.set_content(body)
            if attachment is not None:
                mail.add_attachment(attachment.read_text(encoding="utf-8"), filename=attachment.name)
        except (ValueError, UnicodeError) as error:
            raise Refused(f"This mail cannot be sent: {error}.") from None
        if to.count("@") != 1 or any(character in to for character in " ,;"):
            raise Refused(f"{to!r} is not one e-mail address.")
        try:
            with smtplib.SMTP(self.mail_host, self.mail_port, timeout=15) as server:
                server.send_message(mail, from_addr=sender, to_addrs=[to])
        except smtplib.SMTPRecipientsRefused:
            raise Refused(f"The mail server does not accept the address {to!r}.") from None


def money(amount: float, name: str) -> Decimal:
    """The amount as a decimal. Raises Refused when it has fractions of a cent."""
    exact = Decimal(str(amount))
    if exact != cents(exact):
        raise Refused(f"{name}={amount} has fractions of a cent: round it first.")
    return cents(exact)


def in_utc(moment: datetime) -> datetime:
    """A moment with its UTC offset as naive UTC, whole seconds. Raises Refused when the offset is missing."""
    if moment.utcoffset() is None:
        raise Refused(f"{moment.isoformat()} has no UTC offset: write it like 2026-05-02T22:15:00+02:00.")
    return moment.astimezone(UTC).replace(tzinfo=None, microsecond=0)


def plain(row: Row[Any] | dict[str, Any]) -> dict[str, Any]:
    """The row as JSON values: amounts as numbers, dates and times in ISO form, times with their UTC offset."""
    items = row.items() if isinstance(row, dict) else row._mapping.items()
    return {str(name): _plain(value) for name, value in items}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.isoformat() + "Z"
    return value.isoformat() if isinstance(value, date) else value

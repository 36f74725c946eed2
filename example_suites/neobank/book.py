"""How rows of the seed come about: entries that balance, payments with a card, fees, tickets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from example_suites.neobank.schema import metadata

NOW = datetime(2026, 6, 9, 21, 40)
"""The suite's fixed clock, UTC: a Tuesday, twenty to eleven in the evening in Dublin, and Wednesday in Athens."""

TODAY = date(2026, 6, 9)
"""The bank's day."""


class Book:
    """The rows by table, and ways to add those that belong together."""

    def __init__(self) -> None:
        self.tables: dict[str, list[dict[str, Any]]] = {table.name: [] for table in metadata.sorted_tables}

    def add(self, table: str, **columns: Any) -> int:
        """Add a row, numbered in order unless it has a number; its number."""
        rows = self.tables[table]
        number = columns.pop("id", len(rows) + 1)
        rows.append({"id": number, **columns})
        return int(number)

    def entry(self, kind: str, memo: str, day: date, amounts: Mapping[int, str | Decimal]) -> int:
        """An entry of the ledger; each currency must balance by itself."""
        at = datetime(day.year, day.month, day.day, 8, 0)
        number = self.add("journal", kind=kind, memo=memo, booked_on=day, created_at=at)
        for account, amount in amounts.items():
            self.add("postings", journal_id=number, account_id=account, amount=Decimal(amount))
        return number

    def charge(
        self,
        card: int,
        merchant: str,
        billed: str,
        at: datetime,
        *,
        number: int | None = None,
        **columns: Any,
    ) -> int:
        """A captured payment with a card in EUR."""
        entry = self.entry("card", merchant, at.date(), {(card - 5000) * 10 + 1: f"-{billed}", 11: billed})
        row = {
            "card_id": card,
            "merchant": merchant,
            "merchant_country": "IE",
            "amount": Decimal(billed),
            "merchant_currency": "EUR",
            "billed": Decimal(billed),
            "method": "contactless",
            "status": "captured",
            "journal_id": entry,
            "authorized_at": at,
        }
        given = {} if number is None else {"id": number}
        return self.add("authorizations", **given, **(row | columns))

    def fee(self, customer: int, kind: str, amount: str, day: date, **columns: Any) -> None:
        """A fee with its entry; with `waived` also the entry that gave it back."""
        account = customer * 10 + 1
        entry = self.entry("fee", f"Fee: {kind}", day, {account: f"-{amount}", 12: amount})
        row = {
            "id": customer + 4000,
            "account_id": account,
            "kind": kind,
            "amount": Decimal(amount),
            "status": "charged",
            "waived": Decimal(0),
            "waiver_reason": None,
            "waived_on": None,
            "journal_id": entry,
            "authorization_id": None,
            "charged_on": day,
        } | columns
        if row["waived"]:
            back = row["waived"]
            self.entry(
                "fee_waiver", f"Fee {row['id']} given back", row["waived_on"], {12: -back, account: back}
            )
        self.add("fees", **row)

    def ticket(self, customer: int, subject: str, at: datetime, *said: str, status: str = "open") -> int:
        """A ticket of a customer with what they wrote on it; its number."""
        number = customer + 7000
        reference = f"T-{number}"
        columns = {"reference": reference, "customer_id": customer, "subject": subject, "status": status}
        self.add("tickets", id=number, **columns, created_at=at)
        for body in said:
            self.add("ticket_entries", ticket_id=number, kind="question", body=body, created_at=at)
        return number

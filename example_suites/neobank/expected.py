"""What most checkers of this suite expect: an answered ticket, an entry of the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from example_suites.common.words import Mentions
from pytest_thinkingbox import Inserted, Same, Updated


def answered(ticket: int, status: str, *words: str, was: str = "open") -> list[Any]:
    """One answer that names the ticket and these words, and the ticket's new status."""
    body = Mentions(f"T-{ticket}", *words)
    changed = [Updated("tickets", ticket, status=(was, status))] if was != status else []
    return [Inserted("ticket_entries", ticket_id=ticket, kind="answer", body=body), *changed]


def noted(ticket: int, kind: str, section: str, *words: str) -> Inserted:
    """One note that names the ticket and these words."""
    body = Mentions(f"T-{ticket}", *words)
    return Inserted("ticket_entries", ticket_id=ticket, kind=kind, policy_section=section, body=body)


def booked(kind: str, amounts: Mapping[int, float], **columns: Any) -> list[Inserted]:
    """One entry of the bank's day with an amount for each account."""
    same = Same(f"entry {kind}")
    return [
        Inserted("journal", id=same, kind=kind, booked_on="2026-06-09", **columns),
        *[
            Inserted("postings", journal_id=same, account_id=account, amount=amount)
            for account, amount in amounts.items()
        ],
    ]

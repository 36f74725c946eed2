"""What every tool of the bank works with: its day, its customers, and the way to the card processor."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
from zoneinfo import ZoneInfo

from sqlalchemy import Row, Table

from example_suites.common.desk import Desk, Refused
from example_suites.neobank.schema import accounts, authorizations, cards, customers, tickets

BANK = ZoneInfo("Europe/Dublin")
_PATIENCE = 15  # seconds that the processor has for an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank(Desk):
    """`http_url` leads to the card processor."""

    @property
    def today(self) -> date:
        """The bank's day."""
        return self.now.replace(tzinfo=UTC).astimezone(BANK).date()

    def customer(self, number: int) -> Row[Any]:
        return self.one(customers, number, "customer")

    def account(self, number: int) -> Row[Any]:
        return self.one(accounts, number, "account")

    def card(self, number: int) -> Row[Any]:
        return self.one(cards, number, "card")

    def authorization(self, number: int) -> Row[Any]:
        return self.one(authorizations, number, "authorization")

    def ticket(self, number: int) -> Row[Any]:
        return self.one(tickets, number, "ticket")

    def update(self, table: Table, number: int, **columns: Any) -> None:
        self.db.execute(table.update().where(table.c.id == number).values(**columns))

    def tell_processor(self, path: str, content: dict[str, Any]) -> None:
        """Send JSON to the card processor. Raises Refused unless it takes it."""
        request = Request(
            f"{self.http_url}{path}",
            data=json.dumps(content).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=_PATIENCE) as response:
                response.read()
        except HTTPError as error:
            error.close()
            raise Refused(f"The card processor answered {error.code}: it did not take this.") from None
        except (URLError, OSError):
            raise Refused("The card processor cannot be reached: it did not take this.") from None

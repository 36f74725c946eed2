"""The ledger: entries whose postings balance, and the balances that they make."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from decimal import Decimal

from sqlalchemy import func, select

from example_suites.common.desk import Refused
from example_suites.common.money import cents
from example_suites.neobank.desk import Bank
from example_suites.neobank.schema import Currency, EntryKind, accounts, holds, journal, postings

_PLACES = {"EUR": 10, "GBP": 20, "USD": 30}
_OWN = {"settlement": 1, "fees": 2, "suspense": 3, "payments": 4, "exchange": 5}


def own_account(purpose: str, currency: str) -> int:
    """The number of one of the bank's own accounts."""
    return _PLACES[currency] + _OWN[purpose]


def post(bank: Bank, *, kind: EntryKind, memo: str, amounts: Mapping[int, Decimal]) -> int:
    """Write an entry with an amount for each account; its number.

    Raises Refused unless the amounts of each currency sum to zero.
    """
    currencies = {
        row.id: row.currency
        for row in bank.db.execute(
            select(accounts.c.id, accounts.c.currency).where(accounts.c.id.in_(amounts))
        )
    }
    sums: dict[Currency, Decimal] = {}
    for account_id, amount in amounts.items():
        if account_id not in currencies:
            raise Refused(f"There is no account {account_id}.")
        sums[currencies[account_id]] = sums.get(currencies[account_id], Decimal(0)) + amount
    for currency, total in sums.items():
        if total != 0:
            raise Refused(f"This entry does not balance: {total} {currency} are left over.")
    number = bank.insert(journal, kind=kind, memo=memo, booked_on=bank.today, created_at=bank.now)
    bank.db.execute(
        postings.insert(),
        [
            {"journal_id": number, "account_id": account_id, "amount": amount}
            for account_id, amount in amounts.items()
        ],
    )
    return number


def balances(bank: Bank, numbers: Collection[int], *, until: date | None = None) -> dict[int, Decimal]:
    """What is on each of these accounts, at the end of a day of the bank if one is given."""
    found = (
        select(postings.c.account_id, func.sum(postings.c.amount).label("total"))
        .where(postings.c.account_id.in_(numbers))
        .group_by(postings.c.account_id)
    )
    if until is not None:
        found = found.join(journal, journal.c.id == postings.c.journal_id).where(journal.c.booked_on <= until)
    sums = {row.account_id: cents(row.total) for row in bank.db.execute(found)}
    return {number: sums.get(number, cents(0)) for number in numbers}


def held(bank: Bank, account_id: int) -> Decimal:
    """What active holds keep from being spent."""
    found = select(func.sum(holds.c.amount)).where(
        holds.c.account_id == account_id, holds.c.status == "active"
    )
    return cents(bank.db.scalar(found) or 0)

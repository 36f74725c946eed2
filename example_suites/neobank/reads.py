"""Tools that look things up."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlalchemy import or_, select

from example_suites.common.desk import Id, Line, Refused, plain
from example_suites.common.knowledge import search
from example_suites.neobank.desk import Bank
from example_suites.neobank.ledger import balances, held
from example_suites.neobank.schema import (
    Currency,
    accounts,
    approvals,
    authorizations,
    cards,
    chargebacks,
    customers,
    disputes,
    fees,
    fx_rates,
    holds,
    journal,
    kyc_cases,
    limits,
    postings,
    standing_orders,
    ticket_entries,
    tickets,
    transfers,
)


def get_clock(desk: Bank) -> dict[str, Any]:
    """What time it is, in UTC, and the bank's day, which is Dublin's. Customers live in other time zones too."""
    return {
        "now": desk.now.isoformat() + "Z",
        "bank_day": desk.today.isoformat(),
        "weekday": desk.today.strftime("%A"),
    }


def find_customers(
    desk: Bank, name: Line | None = None, email: Line | None = None, ticket: Line | None = None
) -> dict[str, Any]:
    """Find customers by part of their name, their e-mail address or the reference of a ticket. At most 20."""
    found = select(customers)
    if name is not None:
        found = found.where(customers.c.name.icontains(name, autoescape=True))
    if email is not None:
        found = found.where(customers.c.email == email.strip().lower())
    if ticket is not None:
        found = found.join(tickets).where(tickets.c.reference == ticket.strip().upper())
    rows = desk.db.execute(found.order_by(customers.c.id).limit(20))
    return {"customers": [plain(row) for row in rows]}


def get_customer(desk: Bank, customer_id: Id) -> dict[str, Any]:
    """A customer with plan, time zone, limits, accounts and their balances, cards, cases of papers and tickets."""
    customer = desk.customer(customer_id)
    held_by = or_(accounts.c.customer_id == customer_id, accounts.c.co_holder_id == customer_id)
    own = [plain(row) for row in desk.db.execute(select(accounts).where(held_by).order_by(accounts.c.id))]
    numbers = [one["id"] for one in own]
    on_them = balances(desk, numbers)
    of_own = select(cards).where(cards.c.account_id.in_(numbers)).order_by(cards.c.id)
    return plain(customer) | {
        "limits": {one["kind"]: one["amount"] for one in desk.rows(limits, customer_id=customer_id)},
        "accounts": [one | {"balance": float(on_them[one["id"]])} for one in own],
        "cards": [plain(row) for row in desk.db.execute(of_own)],
        "kyc_cases": desk.rows(kyc_cases, customer_id=customer_id),
        "tickets": desk.rows(tickets, customer_id=customer_id),
    }


def get_account(desk: Bank, account_id: Id) -> dict[str, Any]:
    """An account with balance, holds and what they leave, fees, transfers and standing orders."""
    account = desk.account(account_id)
    on_it, kept = balances(desk, [account_id])[account_id], held(desk, account_id)
    return plain(account) | {
        "balance": float(on_it),
        "available": float(on_it - kept + account.overdraft_limit),
        "holds": desk.rows(holds, account_id=account_id),
        "fees": desk.rows(fees, account_id=account_id),
        "transfers": desk.rows(transfers, account_id=account_id),
        "standing_orders": desk.rows(standing_orders, account_id=account_id),
    }


def get_statement(desk: Bank, account_id: Id, first_day: date, last_day: date) -> dict[str, Any]:
    """The entries of an account from one day of the bank to another, with the balance at the end of the last."""
    desk.account(account_id)
    if last_day < first_day:
        raise Refused(f"last_day {last_day} lies before first_day {first_day}.")
    found = (
        select(journal, postings.c.amount)
        .join(postings, postings.c.journal_id == journal.c.id)
        .where(postings.c.account_id == account_id, journal.c.booked_on.between(first_day, last_day))
    )
    return {
        "entries": [plain(row) for row in desk.db.execute(found.order_by(journal.c.id, postings.c.id))],
        "balance": float(balances(desk, [account_id], until=last_day)[account_id]),
    }


def get_card(desk: Bank, card_id: Id) -> dict[str, Any]:
    """A card with its authorizations, their disputes and the chargebacks of these."""
    card = desk.card(card_id)
    answer = [one | {"disputes": []} for one in desk.rows(authorizations, card_id=card_id)]
    charges = {one["id"]: one for one in answer}
    found = select(disputes).where(disputes.c.authorization_id.in_(charges)).order_by(disputes.c.id)
    for row in desk.db.execute(found):
        dispute = plain(row) | {"chargebacks": desk.rows(chargebacks, dispute_id=row.id)}
        charges[row.authorization_id]["disputes"].append(dispute)
    return plain(card) | {"authorizations": answer}


def get_fx_rates(desk: Bank, base: Currency, quote: Currency) -> dict[str, Any]:
    """How much of `quote` one unit of `base` is worth, by day of the bank, latest first."""
    found = select(fx_rates).where(fx_rates.c.base == base, fx_rates.c.quote == quote)
    rows = desk.db.execute(found.order_by(fx_rates.c.valid_on.desc()))
    return {
        "rates": [{"valid_on": row.valid_on.isoformat(), "rate": row.millionths / 1_000_000} for row in rows]
    }


def get_ticket(desk: Bank, ticket_id: Id) -> dict[str, Any]:
    """A ticket with questions, answers and notes, and the approvals that were asked for."""
    ticket = desk.ticket(ticket_id)
    return plain(ticket) | {
        "entries": desk.rows(ticket_entries, ticket_id=ticket_id),
        "approvals": desk.rows(approvals, ticket_id=ticket_id),
    }


def search_help(desk: Bank, words: Line) -> dict[str, Any]:
    """Help articles that have to do with these words, best first: prices, ceilings, deadlines, who decides."""
    return {"articles": search(desk.db, words)}


READS = (
    get_clock,
    find_customers,
    get_customer,
    get_account,
    get_statement,
    get_card,
    get_fx_rates,
    get_ticket,
    search_help,
)

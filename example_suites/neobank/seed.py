"""What every attempt starts from: the same rows each time, by arithmetic and not by chance.

Numbers tell what they belong to. Customer 112 has the accounts 1121 and 1122, card 5112, standing order 3112, transfer
8112, fee 4112, hold 2112 and ticket 7112 with the reference T-7112; what is a case of its own stands in `cases`.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from example_suites.common.knowledge import articles_in, fill
from example_suites.common.money import cents
from example_suites.common.sequences import advance_sequences
from example_suites.neobank.book import NOW, TODAY, Book
from example_suites.neobank.cases import add_cases
from example_suites.neobank.schema import articles, metadata

__all__ = ["NOW", "rows", "seed"]

_OWN = ["Card settlement", "Fees", "Disputes in suspense", "Payments", "Exchange"]
_CURRENCIES = ["EUR", "GBP", "USD"]

_PLACES = [
    ("DE", "Europe/Berlin"),
    ("PT", "Europe/Lisbon"),
    ("IE", "Europe/Dublin"),
    ("GR", "Europe/Athens"),
    ("ES", "Europe/Madrid"),
]

_LIMITS = {  # transfers, card, cash
    "basic": (2000, 1000, 300),
    "plus": (5000, 3000, 600),
    "business": (20000, 8000, 1000),
}

_CUSTOMERS = [  # from 101 on: name, plan, place, salary
    ("Maren Holt", "plus", 0, "4210.00"),
    ("Piet Molenaar", "plus", 0, "38400.00"),
    ("Rosa Teixeira", "basic", 1, "1120.00"),
    ("Callum Reid", "basic", 2, "1980.00"),
    ("Nadia Benali", "plus", 4, "3350.00"),
    ("Jorge Iglesias", "basic", 4, "2240.00"),
    ("Hanne Dahl", "plus", 0, "3600.00"),
    ("Orla Byrne", "basic", 2, "2075.00"),
    ("Stelian Popa", "basic", 0, "1890.00"),
    ("Lucia Ferrante", "plus", 4, "2990.00"),
    ("Wim Claes", "basic", 0, "2410.00"),
    ("Greta Lindner", "plus", 0, "3120.00"),
    ("Tomas Riedl", "basic", 0, "2260.00"),
    ("Fiona Gallagher", "plus", 2, "2875.00"),
    ("Eleni Markou", "basic", 3, "1760.00"),
    ("Nikos Vardas", "plus", 3, "3040.00"),
    ("Beatriz Pinto", "basic", 1, "1510.00"),
    ("Andrés Solano", "basic", 4, "1925.00"),
    ("Siobhan Kerr", "basic", 2, "2190.00"),
    ("Dario Conti", "basic", 4, "2050.00"),
    ("Anke Peters", "plus", 0, "3310.00"),
    ("Rui Barros", "basic", 1, "1430.00"),
    ("Niamh Doyle", "basic", 2, "2120.00"),
    ("Petros Lekas", "basic", 3, "1680.00"),
    ("Marta Vidal", "business", 4, "9800.00"),
    ("Sven Arndt", "basic", 0, "2330.00"),
    ("Joana Reis", "plus", 1, "2710.00"),
    ("Eoin Healy", "basic", 2, "1990.00"),
    ("Katerina Zafeiri", "plus", 3, "2840.00"),
    ("Pablo Rueda", "basic", 4, "1870.00"),
]

_MERCHANTS = [  # name, country, billed in EUR
    ("Halfmoon Grocers", "IE", "43.18"),
    ("Tramline Tickets", "DE", "19.90"),
    ("Bright Pine Pharmacy", "PT", "12.75"),
    ("Olive Court Bistro", "GR", "58.40"),
    ("Ferro Hardware", "ES", "31.06"),
    ("Page and Plume Books", "IE", "24.99"),
]

_RATES = {  # millionths of the quote currency on the 9th; the days before by steps
    ("GBP", "EUR"): 1_173_810,
    ("EUR", "GBP"): 851_930,
    ("USD", "EUR"): 878_240,
    ("EUR", "USD"): 1_138_640,
    ("GBP", "USD"): 1_336_550,
    ("USD", "GBP"): 748_190,
}


def rows() -> dict[str, list[dict[str, Any]]]:
    """Every row of the seed by table."""
    book = Book()
    _add_bank(book)
    for index, (name, plan, place, salary) in enumerate(_CUSTOMERS):
        _add_customer(book, 101 + index, name, plan, _PLACES[place], salary)
    add_cases(book)
    for index in range(20, len(_CUSTOMERS)):
        _add_ordinary_life(book, 101 + index, index)
    return book.tables


def seed(connection: Connection) -> None:
    """Fill empty tables."""
    content = rows()
    for table in metadata.sorted_tables:
        if table is not articles:
            complete = [
                {column.name: row.get(column.name) for column in table.c} for row in content[table.name]
            ]
            connection.execute(table.insert(), complete)
    fill(connection, articles, content["articles"])
    advance_sequences(connection, metadata)


def _add_bank(book: Book) -> None:
    for place, currency in enumerate(_CURRENCIES, start=1):
        for purpose, name in enumerate(_OWN, start=1):
            book.add(
                "accounts", **_account(place * 10 + purpose, None, f"{name} {currency}", "internal", currency)
            )
    for (base, quote), millionths in _RATES.items():
        for back in range(5):
            book.tables["fx_rates"].append(
                {
                    "base": base,
                    "quote": quote,
                    "valid_on": TODAY - timedelta(days=back),
                    "millionths": millionths + (back * 1370 if back % 2 else -back * 940),
                }
            )
    book.tables["articles"] = articles_in(Path(__file__).with_name("knowledge.md"))
    for tool in ("find_customers", "get_ticket", "reply_to_ticket"):
        at = datetime(2026, 6, 8, 16, 0)
        book.add("audit_log", tool=tool, arguments={}, refused=False, created_at=at)


def _account(number: int, customer: int | None, name: str, kind: str, currency: str) -> dict[str, Any]:
    return {
        "id": number,
        "customer_id": customer,
        "co_holder_id": None,
        "iban": f"IE{10 + number % 89}TARN{number:014}",
        "name": name,
        "kind": kind,
        "currency": currency,
        "status": "open",
        "overdraft_limit": Decimal(0),
    }


def _add_customer(book: Book, number: int, name: str, plan: str, place: tuple[str, str], salary: str) -> None:
    """A customer with an account that holds a salary, limits, a card and two payments with it."""
    country, timezone = place
    since = date(2023, number % 12 + 1, number % 27 + 1)
    book.add(
        "customers",
        id=number,
        name=name,
        email=f"{name.lower().replace(' ', '.').replace('é', 'e')}@mailbox.example",
        phone=f"+353 1 555 0{number}",
        country=country,
        timezone=timezone,
        plan=plan,
        customer_since=since,
    )
    account = number * 10 + 1
    book.add("accounts", **_account(account, number, "Everyday", "current", "EUR"))
    for kind, amount in zip(("transfer_daily", "card_daily", "cash_daily"), _LIMITS[plan], strict=True):
        book.tables["limits"].append({"customer_id": number, "kind": kind, "amount": Decimal(amount)})
    book.add(
        "cards",
        id=number + 5000,
        account_id=account,
        last4=f"{number * 73 % 10_000:04}",
        token=f"crd-{number * 7919 % 100_000:05}",
        status="active",
        replaces_id=None,
        valid_until=date(2028, number % 12 + 1, 28),
        created_at=datetime(since.year, since.month, since.day, 12, 0),
    )
    book.entry("transfer", "Salary May", date(2026, 5, 29), {14: f"-{salary}", account: salary})
    for turn in (0, 1):
        merchant, country, billed = _MERCHANTS[(number + turn * 2) % len(_MERCHANTS)]
        at = datetime(2026, 6, 1 + number % 5 + turn * 2, 9 + number % 8, number % 60)
        book.charge(number + 5000, merchant, billed, at, merchant_country=country)


def _add_ordinary_life(book: Book, number: int, index: int) -> None:
    """What there is of somebody whom no task is about."""
    account = number * 10 + 1
    at = datetime(2026, 5, 4 + index % 20, 10 + index % 6, 15)
    ticket = book.add(
        "tickets",
        id=number + 7000,
        reference=f"T-{number + 7000}",
        customer_id=number,
        subject=("Where is my statement?", "Card in the post", "A fee that I do not know")[index % 3],
        status="solved",
        created_at=at,
    )
    book.add(
        "ticket_entries",
        ticket_id=ticket,
        kind="question",
        body="Could you help me with this?",
        created_at=at,
    )
    book.add(
        "ticket_entries",
        ticket_id=ticket,
        kind="answer",
        body=f"All in order now. T-{number + 7000}",
        created_at=at + timedelta(hours=3),
    )
    rent = cents(420 + index * 17)
    book.add(
        "standing_orders",
        id=number + 3000,
        account_id=account,
        beneficiary=f"Ridgeway Lettings {index}",
        iban=f"IE64RIDG{number:014}",
        amount=rent,
        next_on=date(2026, 7, 1),
        status=("active", "active", "paused")[index % 3],
    )
    entry = book.entry("transfer", "Rent June", date(2026, 6, 1), {account: -rent, 14: rent})
    book.add(
        "transfers",
        id=number + 8000,
        account_id=account,
        beneficiary=f"Ridgeway Lettings {index}",
        iban=f"IE64RIDG{number:014}",
        amount=rent,
        memo="Rent June",
        status="sent",
        execute_on=date(2026, 6, 1),
        journal_id=entry,
        created_at=datetime(2026, 6, 1, 5, 0),
    )
    if index % 2:
        given_back = {"status": "waived", "waived": Decimal("12.00"), "waiver_reason": "goodwill"}
        columns = given_back | {"waived_on": date(2026, 5, 6)} if index % 4 == 1 else {}
        book.fee(number, "overdraft", "12.00", date(2026, 4, 30), **columns)
    if index % 5 == 0:
        book.add(
            "ticket_entries",
            ticket_id=ticket,
            kind="refusal",
            policy_section="6.2",
            body=f"Second goodwill in a year asked for; refused. T-{number + 7000}",
            created_at=at + timedelta(hours=2),
        )

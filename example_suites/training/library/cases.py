"""The instances of every template of the library, and the rows that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from example_suites.training.library.schema import (
    Card,
    book_copies,
    book_titles,
    counter_notes,
    lendings,
    metadata,
    reader_charges,
    readers,
    waiting_entries,
)
from example_suites.training.parts.rows import Rows, person
from example_suites.training.parts.templates import template

TODAY = date(2026, 5, 12)
ROWS = Rows(metadata)

_OF_WHAT = [
    "Salt", "Amber", "Paper", "Winter", "Glass", "Copper", "Moss", "Velvet", "Chalk", "Harbour", "Midnight",
    "Orchard", "Thistle", "Tin", "Linen", "Juniper",
]  # fmt: skip
_WHAT = [
    "Lantern", "Ferry", "Almanac", "Orchestra", "Causeway", "Parliament", "Kitchen", "Observatory", "Letters",
    "Bridge", "Atlas", "Windmill", "Telegraph",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    key: int
    card: str
    name: str
    kind: Card


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    key: int
    name: str
    author: str
    period: int
    replacement: int

    @property
    def words(self) -> str:
        return f"“{self.name}” by {self.author}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lending:
    key: int
    copy: int
    title: Title
    due: date
    renewals: int

    @property
    def renewed(self) -> date:
        return self.due + timedelta(days=self.title.period)


def _reader(kind: Card = "adult") -> Reader:
    number = ROWS.count(readers)
    card, name = f"F-{2001 + number * 3}", person(number)
    return Reader(
        key=ROWS.add(readers, card=card, name=name, card_kind=kind), card=card, name=name, kind=kind
    )


def _title() -> Title:
    number = ROWS.count(book_titles)
    name = f"The {_OF_WHAT[number % len(_OF_WHAT)]} {_WHAT[number % len(_WHAT)]}"
    period, replacement = (21, 21, 7)[number % 3], 900 + number * 130 % 2400
    author = person(400 + number)
    return Title(
        key=ROWS.add(
            book_titles, name=name, author=author, period_days=period, replacement_cents=replacement
        ),
        name=name,
        author=author,
        period=period,
        replacement=replacement,
    )


def _lend(reader: Reader, title: Title, *, due: date, renewals: int = 0) -> Lending:
    copy = ROWS.add(book_copies, title_id=title.key, state="lent")
    lent = due - timedelta(days=title.period * (renewals + 1))
    number = ROWS.add(
        lendings,
        copy_id=copy,
        reader_id=reader.key,
        lent_on=lent,
        due_on=due,
        renewals=renewals,
        state="out",
    )
    return Lending(key=number, copy=copy, title=title, due=due, renewals=renewals)


def _wait(title: Title, *, since: date, state: str = "waiting", reader: Reader | None = None) -> int:
    who = reader or _reader()
    return ROWS.add(waiting_entries, title_id=title.key, reader_id=who.key, placed_on=since, state=state)


def _owe(reader: Reader, cents: int, *, state: str = "open") -> None:
    """A charge for a book that came back long ago."""
    old = _lend(reader, _title(), due=date(2026, 2, 3))
    ROWS.add(
        reader_charges, reader_id=reader.key, lending_id=old.key, reason="damage", cents=cents, state=state
    )


def _in_days(days: int) -> date:
    return TODAY + timedelta(days=days)


# ---------------------------------------- renewals


@template
class Renewal:
    """`refused` are lendings with the section that forbids their renewal."""

    id: str
    reader: Reader
    granted: list[Lending]
    refused: list[tuple[Lending, str]]

    @property
    def wanted(self) -> list[Lending]:
        return sorted([*self.granted, *(one for one, _ in self.refused)], key=lambda one: one.key)


def _renewal(*sections: str | None, number: int) -> Renewal:
    """A reader with a lending for each section that forbids it, or for None, and with one that is not asked for."""
    reader = _reader()
    if "2.4" in sections:
        _owe(reader, 620 + number * 10)
        _owe(reader, 400)
    else:
        _owe(reader, 900 + number * 10)
        _owe(reader, 700, state="paid")
    granted: list[Lending] = []
    refused: list[tuple[Lending, str]] = []
    for place, section in enumerate(sections):
        renewals = 2 if section == "2.3" or (section == "2.2" and number % 2) else (number + place) % 2
        lending = _lend(reader, _title(), due=_in_days((number * 2 + place) % 9), renewals=renewals)
        _wait(lending.title, since=_in_days(-30), state="waiting" if section == "2.2" else "left")
        if section is None:
            granted.append(lending)
        else:
            refused.append((lending, section))
    _lend(reader, _title(), due=_in_days(2 + number))
    return Renewal(id=reader.card, reader=reader, granted=granted, refused=refused)


GRANTED = [_renewal(*[None] * (1 + number % 2), number=number) for number in range(6)]
REFUSED = [_renewal(("2.2", "2.3", "2.4")[number % 3], number=number) for number in range(6)]
SEVERAL = [
    _renewal(*sections, number=number)
    for number, sections in enumerate(
        [(None, "2.2", None), ("2.3", None, None), (None, None, "2.2"), (None, "2.3", "2.2")]
    )
]
IN_TURN = [_renewal(None, None, number=number) for number in range(4, 8)]


@template
class WrongCard:
    """`caller` gives the card of somebody else."""

    id: str
    renewal: Renewal
    caller: str


def _wrong_card(number: int) -> WrongCard:
    renewal = _renewal(None, number=number)
    return WrongCard(id=renewal.id, renewal=renewal, caller=person(640 + number))


WRONG_CARDS = [_wrong_card(number) for number in range(4)]


# ---------------------------------------- returns


@template
class Return:
    """`cents` is what being late costs, `ready` the waiting entry whose turn it is."""

    id: str
    reader: Reader
    lending: Lending
    cents: int
    ready: int | None


def late_cents(kind: Card, due: date) -> int:
    days = [due + timedelta(days=one) for one in range(1, (TODAY - due).days + 1)]
    counted = sum(one.weekday() != 6 for one in days)
    return min(counted * 20, 600) if kind == "adult" else min(counted * 5, 150)


def _return(kind: Card, late: int, *, waiting: int) -> Return:
    reader = _reader(kind)
    lending = _lend(reader, _title(), due=_in_days(-late))
    _lend(reader, _title(), due=_in_days(-late + 3 if late > 3 else 5))
    entries = [_wait(lending.title, since=_in_days(-40 + 7 * place)) for place in range(waiting)][::-1]
    _wait(lending.title, since=_in_days(-60), state="left")
    return Return(
        id=reader.card,
        reader=reader,
        lending=lending,
        cents=late_cents(kind, lending.due),
        ready=entries[-1] if entries else None,
    )


LATE = [
    _return(kind, late, waiting=0)
    for kind, late in [("adult", 4), ("adult", 11), ("adult", 43), ("child", 6), ("child", 40), ("adult", 1)]
]
WAITED_FOR = [
    _return(kind, late, waiting=waiting)
    for kind, late, waiting in [
        ("adult", -3, 1),
        ("adult", 0, 2),
        ("child", -1, 3),
        ("adult", 9, 2),
        ("child", 16, 1),
    ]
]


# ---------------------------------------- lost books


@template
class Loss:
    id: str
    reader: Reader
    lending: Lending
    cents: int
    overdue: int | None


def _loss(kind: Card, *, overdue: bool) -> Loss:
    reader = _reader(kind)
    lending = _lend(reader, _title(), due=_in_days(-20 if overdue else 6))
    _owe(reader, 250)
    charge = None
    if overdue:
        charge = ROWS.add(
            reader_charges,
            reader_id=reader.key,
            lending_id=lending.key,
            reason="overdue",
            cents=340,
            state="open",
        )
    cents = lending.title.replacement + (350 if kind == "adult" else 0)
    return Loss(id=reader.card, reader=reader, lending=lending, cents=cents, overdue=charge)


LOST = [
    _loss(kind, overdue=overdue)
    for kind, overdue in [
        ("adult", False), ("adult", True), ("child", False), ("child", True), ("adult", True), ("child", False)
    ]
]  # fmt: skip


# ---------------------------------------- waiting lists


@template
class Wish:
    """`note` is the kind and section of the note that is written instead."""

    id: str
    reader: Reader
    title: Title
    note: tuple[str, str] | None


def _wish(number: int, note: tuple[str, str] | None) -> Wish:
    reader, title, owner = _reader(), _title(), _reader()
    _lend(owner, title, due=_in_days(number))
    if note == ("on_shelf", "5.1"):
        ROWS.add(book_copies, title_id=title.key, state="shelf")
    else:
        ROWS.add(book_copies, title_id=title.key, state="missing")
    for place in range(3 if note == ("refusal", "5.3") else number % 3):
        other = _title()
        _lend(owner, other, due=_in_days(3))
        _wait(other, since=_in_days(-place - 5), reader=reader)
    mine = "waiting" if note == ("already_waiting", "5.2") else "left"
    _wait(title, since=_in_days(-9), state=mine, reader=reader)
    return Wish(id=reader.card, reader=reader, title=title, note=note)


JOINED = [_wish(number, None) for number in range(4)]
NOT_JOINED = [
    _wish(number, (("on_shelf", "5.1"), ("already_waiting", "5.2"), ("refusal", "5.3"))[number % 3])
    for number in range(6)
]


@template
class Exchange:
    """A reader who waits for `old` and would rather wait for `title`."""

    id: str
    reader: Reader
    old: Title
    entry: int
    title: Title


def _exchange(number: int) -> Exchange:
    reader, old, title, owner = _reader(), _title(), _title(), _reader()
    _lend(owner, old, due=_in_days(2))
    _lend(owner, title, due=_in_days(number))
    _wait(old, since=_in_days(-20))
    entry = _wait(old, since=_in_days(-8 - number), reader=reader)
    for _ in range(2):
        _wait(_title(), since=_in_days(-3), reader=reader)
    return Exchange(id=reader.card, reader=reader, old=old, entry=entry, title=title)


EXCHANGES = [_exchange(number) for number in range(4)]

ROWS.add(counter_notes, reader_id=_reader().key, kind="refusal", section="2.3")

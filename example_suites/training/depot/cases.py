"""The instances of every template of the depot, and the rows that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from example_suites.training.depot.schema import (
    customs_cases,
    delivery_rounds,
    depot_tickets,
    loss_claims,
    metadata,
    parcel_scans,
    parcels,
    round_places,
)
from example_suites.training.parts.rows import Rows, person
from example_suites.training.parts.templates import template

TODAY = date(2026, 9, 14)
LAST_DAY = date(2026, 9, 21)
KILOGRAM_CENTS = 950
ROWS = Rows(metadata)

_DISTRICTS = ("north", "harbour", "hills", "old town")


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    key: int
    day: date
    district: str
    left: int


def _rounds() -> list[Round]:
    """Two weeks. Harbour and hills are served every second day only; each third round is full."""
    made = []
    for place, district in enumerate(_DISTRICTS):
        for ahead in range(14):
            if place in (1, 2) and ahead % 2:
                continue
            left = 0 if ahead and (ahead + place) % 3 == 0 else 2 + (ahead * 3 + place) % 5
            day = TODAY + timedelta(days=ahead)
            key = ROWS.add(delivery_rounds, day=day, district=district, places_left=left)
            made.append(Round(key=key, day=day, district=district, left=left))
    return made


ROUNDS = _rounds()


def earliest(district: str, first: date) -> Round:
    fitting = [one for one in ROUNDS if one.district == district and one.day >= first and one.left]
    return min(fitting, key=lambda one: one.day)


@template
class Parcel:
    """A parcel and the ticket of the request for it.

    `first` is the day wanted, `to` the round that it gets, `off` the round and the place that it leaves.
    `until` is how long it is to be held, `cents` what is claimed.
    """

    id: str
    key: int
    ticket: int
    tracking: str
    recipient: str
    state: str
    first: date
    to: Round
    off: tuple[Round, int] | None
    until: date
    cents: int

    @property
    def held_until(self) -> date:
        return min(self.until, LAST_DAY)


def _parcel(
    number: int,
    *,
    attempts: int | None = None,
    on: Round | None = None,
    customs: str | None = None,
    grams: int | None = None,
    silent: int = 1,
    claimed: bool = False,
    hold: int = 4,
) -> Parcel:
    """`silent` are the days since the last scan, `hold` how many days it is to be held."""
    key = ROWS.count(parcels) + 1
    tracking, recipient = f"TW{88000 + key * 29}", person(300 + key)
    district = on.district if on else _DISTRICTS[number % 4]
    grams = 700 + number * 1310 % 17000 if grams is None else grams
    insured = (4000, 1500, 25000)[number % 3]
    state = "on_round" if on else "at_depot"
    ROWS.add(
        parcels,
        tracking=tracking,
        recipient=recipient,
        district=district,
        grams=grams,
        insured_cents=insured,
        attempts=number % 3 if attempts is None else attempts,
        state=state,
    )
    ROWS.add(parcel_scans, parcel_id=key, day=TODAY - timedelta(days=silent + 3), place="sorting centre")
    ROWS.add(parcel_scans, parcel_id=key, day=TODAY - timedelta(days=silent), place="depot")
    off = None
    if on:
        off = (on, ROWS.add(round_places, round_id=on.key, parcel_id=key))
    if customs:
        ROWS.add(customs_cases, parcel_id=key, state=customs)
    if claimed:
        ROWS.add(loss_claims, parcel_id=key, cents=insured)
    first = TODAY + timedelta(days=1 + number * 2 % 5 + (6 if on and on.day > TODAY else 0))
    return Parcel(
        id=tracking,
        key=key,
        ticket=ROWS.add(depot_tickets, parcel_id=key, state="open"),
        tracking=tracking,
        recipient=recipient,
        state=state,
        first=first,
        to=earliest(district, first),
        off=off,
        until=TODAY + timedelta(days=hold),
        cents=min(insured, -(-grams // 1000) * KILOGRAM_CENTS),
    )


def _round(district: str, *, later: bool) -> Round:
    """A round of today, or one of the next days."""
    return next(one for one in ROUNDS if one.district == district and (one.day > TODAY) is later and one.left)


REDELIVERED = [_parcel(number, customs="cleared" if number % 3 == 2 else None) for number in range(6)]
MOVED = [_parcel(number, on=_round(_DISTRICTS[number], later=True)) for number in range(4)]
OUT_NOW = [_parcel(number, on=_round(_DISTRICTS[number], later=False)) for number in range(3)]
SENT_BACK = [_parcel(number, attempts=3 + number % 2) for number in range(4)]
AT_CUSTOMS = [
    _parcel(number, attempts=(0, 3)[number % 2], customs="open", silent=(2, 15)[number % 2])
    for number in range(5)
]
HELD = [_parcel(number, hold=hold) for number, hold in enumerate([2, 7, 9, 5, 20])]
TOO_HEAVY = [_parcel(number, grams=20001 + number * 1700) for number in range(3)]
LOST = [_parcel(number, silent=silent) for number, silent in enumerate([10, 14, 31, 10, 12, 20])]
NOT_LOST = [_parcel(number, silent=silent) for number, silent in enumerate([9, 3, 7, 9])]
CLAIMED = [_parcel(number, silent=silent, claimed=True) for number, silent in enumerate([22, 5, 40])]

# SQLite gives the highest key again once its row is gone; no task takes off the parcel of the last place.
_parcel(1, on=_round("north", later=False))

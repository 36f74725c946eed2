"""The instances of every template of the school, and the rows that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from example_suites.training.parts.rows import Rows, person
from example_suites.training.parts.templates import template
from example_suites.training.school.schema import (
    families,
    fee_lines,
    guardians,
    metadata,
    office_log,
    pupil_absences,
    pupils,
    school_trips,
    trip_places,
)

TODAY = date(2026, 10, 6)
BREAK = (date(2026, 10, 26), date(2026, 10, 30))
ROWS = Rows(metadata)

_PLACES = (
    "Tide Mill", "Bell Foundry", "Peat Bog", "Signal Tower", "Salt Works", "Glass House", "Moth Museum", "Ropewalk",
    "Lighthouse", "Fish Ladder", "Slate Quarry", "Ice Rink", "Planetarium", "Seed Bank", "Old Observatory",
    "Herb Garden", "Canal Lock", "Bird Island", "Clock Museum", "Paper Mill", "Goat Farm", "Viaduct", "Print Shop",
    "Weather Station", "Amphitheatre", "Lime Kiln", "Puppet Theatre", "Tram Depot", "Apple Press", "Sculpture Trail",
)  # fmt: skip
_YOUNGER = ("Ilse", "Piers", "Noor", "Casper", "Romy", "Tobias", "Lark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pupil:
    """`decides` is the guardian who may decide, `other` one who may not."""

    key: int
    family: int
    name: str
    decides: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    key: int
    name: str
    day: date
    cents: int


def _pupil(*, free: bool = False, sibling_of: Pupil | None = None) -> Pupil:
    number = ROWS.count(pupils)
    first, last = person(400 + number).split()
    if sibling_of is not None:
        first, last = _YOUNGER[number % len(_YOUNGER)], sibling_of.name.split()[1]
        family, decides, other = sibling_of.family, sibling_of.decides, sibling_of.other
    else:
        family = ROWS.add(families, name=last)
        decides, other = (
            f"{person(number + 11).split()[0]} {last}",
            f"{person(number + 18).split()[0]} {last}",
        )
        ROWS.add(guardians, family_id=family, name=other, may_decide=False)
        ROWS.add(guardians, family_id=family, name=decides, may_decide=True)
    name = f"{first} {last}"
    key = ROWS.add(
        pupils, family_id=family, name=name, form=f"{4 + number % 5}{'ab'[number % 2]}", free_trips=free
    )
    return Pupil(key=key, family=family, name=name, decides=decides, other=other)


def _id(pupil: Pupil) -> str:
    return pupil.name.lower().replace(" ", "-")


def schooldays(first: date, last: date) -> list[date]:
    days = [first + timedelta(days=ahead) for ahead in range((last - first).days + 1)]
    return [one for one in days if one.weekday() < 5 and not BREAK[0] <= one <= BREAK[1]]


# ---------------------------------------- absences


@template
class Absence:
    """`new` are the days that are not entered yet; `days` all that are reported."""

    id: str
    pupil: Pupil
    caller: str
    first: date
    last: date
    new: list[date]

    @property
    def days(self) -> list[date]:
        return schooldays(self.first, self.last)


def _absence(first: tuple[int, int], length: int, *, known: int = 0, by_other: bool = False) -> Absence:
    """`length` in days of the calendar; the first `known` schooldays of it are entered already."""
    pupil = _pupil()
    start = date(2026, *first)
    end = start + timedelta(days=length - 1)
    days = schooldays(start, end)
    ROWS.add(pupil_absences, pupil_id=pupil.key, day=date(2026, 9, 14), reason="illness")
    for one in days[:known]:
        ROWS.add(pupil_absences, pupil_id=pupil.key, day=one, reason="illness")
    return Absence(
        id=_id(pupil),
        pupil=pupil,
        caller=pupil.other if by_other else pupil.decides,
        first=start,
        last=end,
        new=days[known:],
    )


ILL = [
    _absence(first, length, by_other=by_other)
    for first, length, by_other in [
        ((10, 6), 1, False), ((10, 7), 2, True), ((10, 9), 4, False), ((10, 6), 3, True), ((10, 8), 5, False)
    ]
]  # fmt: skip
LONG_ILL = [
    _absence(first, length, known=known)
    for first, length, known in [
        ((10, 6), 4, 0),
        ((10, 5), 5, 1),
        ((10, 8), 7, 0),
        ((10, 5), 4, 1),
        ((10, 7), 12, 0),
    ]
]
LEAVE = [
    _absence(first, length) for first, length in [((10, 8), 1), ((10, 14), 3), ((10, 15), 2), ((11, 9), 2)]
]
NO_LEAVE = [
    _absence(first, length)
    for first, length in [((10, 19), 1), ((10, 23), 1), ((10, 15), 5), ((11, 2), 1), ((11, 6), 4)]
]
LEAVE_BY_OTHER = [_absence(first, 1, by_other=True) for first in [(10, 12), (10, 21), (11, 12)]]


# ---------------------------------------- trips


@template
class Place:
    """A pupil and a trip. `cents` is what is charged or given back; 0 stands for no line.

    `place` is the pupil's place where there is one, `next` the place, the pupil and the fee of who waits first.
    """

    id: str
    pupil: Pupil
    caller: str
    trip: Trip
    cents: int
    place: int | None = None
    next: tuple[int, int, int] | None = None


def _trip(ahead: int, *, taken: int, places: int) -> Trip:
    """A trip with `taken` places confirmed for others."""
    number = ROWS.count(school_trips)
    day, cents = TODAY + timedelta(days=ahead), 850 + number * 335 % 3100
    key = ROWS.add(school_trips, name=_PLACES[number], day=day, fee_cents=cents, places=places)
    trip = Trip(key=key, name=_PLACES[number], day=day, cents=cents)
    for _ in range(taken):
        _confirm(_pupil(), trip, cents)
    return trip


def _confirm(pupil: Pupil, trip: Trip, paid: int) -> int:
    if paid:
        ROWS.add(fee_lines, pupil_id=pupil.key, trip_id=trip.key, kind="fee", cents=paid)
    return ROWS.add(trip_places, trip_id=trip.key, pupil_id=pupil.key, state="confirmed")


def _wanted(
    number: int, *, full: bool = False, free: bool = False, sibling: str = "", by_other: bool = False
) -> Place:
    """`sibling` is the state of a sister's or brother's place on the trip."""
    trip = _trip(10 + number * 4, taken=1 + number % 2, places=(1 + number % 2) if full else 4)
    pupil = _pupil(free=free)
    if sibling:
        other = _pupil(sibling_of=pupil)
        ROWS.add(trip_places, trip_id=trip.key, pupil_id=other.key, state=sibling)
    cents = trip.cents // 2 if sibling == "confirmed" else trip.cents
    return Place(
        id=_id(pupil),
        pupil=pupil,
        caller=pupil.other if by_other else pupil.decides,
        trip=trip,
        cents=0 if full or free else cents,
    )


CONFIRMED = [_wanted(number, sibling=("", "withdrawn")[number % 2]) for number in range(4)]
REDUCED = [_wanted(number, free=number % 2 == 1, sibling="confirmed") for number in range(5)]
FULL = [_wanted(number, full=True) for number in range(4)]
TRIP_BY_OTHER = [_wanted(number, by_other=True) for number in range(3)]


def _leaving(ahead: int, *, half: bool = False, waiting: str = "") -> Place:
    """`half`: half of the fee was paid. `waiting`: who waits first pays the whole fee, half of it, or nothing."""
    trip = _trip(ahead, taken=1, places=3 if waiting == "half" else 2)
    pupil = _pupil()
    paid = trip.cents // 2 if half else trip.cents
    place = _confirm(pupil, trip, paid)
    following = None
    if waiting:
        first = _pupil(free=waiting == "free")
        if waiting == "half":
            sibling = _pupil(sibling_of=first)
            ROWS.add(trip_places, trip_id=trip.key, pupil_id=sibling.key, state="confirmed")
        entry = ROWS.add(trip_places, trip_id=trip.key, pupil_id=first.key, state="waiting")
        ROWS.add(trip_places, trip_id=trip.key, pupil_id=_pupil().key, state="waiting")
        following = (entry, first.key, {"whole": trip.cents, "half": trip.cents // 2, "free": 0}[waiting])
    back = paid if ahead >= 14 else paid // 2 if ahead >= 7 else 0
    return Place(
        id=_id(pupil),
        pupil=pupil,
        caller=pupil.decides,
        trip=trip,
        cents=back,
        place=place,
        next=following,
    )


LEFT = [
    _leaving(ahead, half=half)
    for ahead, half in [(14, False), (13, False), (6, False), (30, True), (7, True), (3, False)]
]
PASSED_ON = [
    _leaving(ahead, waiting=waiting)
    for ahead, waiting in [(20, "whole"), (10, "half"), (2, "half"), (9, "free"), (15, "whole")]
]

ROWS.add(office_log, pupil_id=1, kind="certificate_due", section="2.2")

"""The instances of every template of the workshop, and the rows that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from example_suites.training.parts.rows import Rows, person
from example_suites.training.parts.templates import template
from example_suites.training.workshop.schema import (
    bench_work,
    bicycles,
    fitted_parts,
    job_messages,
    metadata,
    part_orders,
    riders,
    spare_parts,
    workshop_jobs,
)

TODAY = date(2026, 4, 9)
QUARTER_CENTS = 1050
ROWS = Rows(metadata)

_KINDS = [
    ("BR", "brake pad"), ("CH", "chain"), ("TY", "tyre"), ("TU", "inner tube"), ("SP", "spoke"), ("CB", "gear cable"),
    ("LI", "rear light"), ("PE", "pedal"),
]  # fmt: skip
_MODELS = ("Heron 3", "Larkspur Tour", "Magpie Cargo", "Swift Folding", "Curlew Gravel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    key: int
    code: str
    name: str
    cents: int
    stock: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    part: Part
    quantity: int

    @property
    def cents(self) -> int:
        return self.part.cents * self.quantity

    @property
    def words(self) -> str:
        return f"{self.quantity} x {self.part.code} ({self.part.name})"


@template
class Job:
    """What a job needs. `before` is what it has come to on earlier days; `free` is a case of warranty.

    `new_limit` is what the rider allows now.
    """

    id: str
    key: int
    rider: str
    needs: list[Need]
    minutes: int
    before: int
    free: bool
    limit: int
    new_limit: int

    @property
    def work_cents(self) -> int:
        return 0 if self.free else -(-self.minutes // 15) * QUARTER_CENTS

    @property
    def total(self) -> int:
        parts = 0 if self.free else sum(one.cents for one in self.needs)
        return self.before + parts + self.work_cents


def _part(stock: int) -> Part:
    number = ROWS.count(spare_parts)
    prefix, name = _KINDS[number % len(_KINDS)]
    code, cents = f"{prefix}-{20 + number}", 290 + number * 370 % 4100
    key = ROWS.add(spare_parts, code=code, name=name, list_cents=cents, stock=stock)
    return Part(key=key, code=code, name=name, cents=cents, stock=stock)


SHELF = [_part(stock=6 + number % 5) for number in range(24)]


def _job(
    number: int,
    *,
    room: int,
    state: str = "received",
    earlier: bool = False,
    missing: int = 0,
    warranty: int | None = None,
    raised: int = 0,
) -> Job:
    """`room` is what the limit leaves above the total; `missing` how many of the first part are not in stock.

    `warranty` are the days that it still lasts; `raised` is what a new limit would leave above the total.
    """
    rider = ROWS.add(riders, name=person(200 + number), phone=f"07700 901{number:03d}")
    lasts = TODAY + timedelta(days=30 - number * 40 if warranty is None else warranty)
    key = ROWS.count(workshop_jobs) + 1
    frame = f"FR{41000 + key * 17}"
    bicycle = ROWS.add(
        bicycles, rider_id=rider, frame_number=frame, model=_MODELS[number % 5], warranty_until=lasts
    )
    several = 1 + number % 3
    first = _part(stock=several + 1 - missing) if missing else SHELF[(number * 5) % 24]
    needs = [Need(part=first, quantity=several + 1)]
    if number % 2:
        needs.append(Need(part=SHELF[(number * 5 + 9) % 24], quantity=1))
    minutes = (20, 45, 10, 75, 31, 60)[number % 6]
    before = 2 * QUARTER_CENTS + SHELF[23].cents if earlier else 0
    free = warranty is not None and warranty >= 0
    made = Job(
        id=f"job{key}",
        key=key,
        rider=person(200 + number),
        needs=needs,
        minutes=minutes,
        before=before,
        free=free,
        limit=0,
        new_limit=0,
    )
    limit = made.total + room
    ROWS.add(
        workshop_jobs,
        bicycle_id=bicycle,
        received_on=TODAY - timedelta(days=1 + number % 4),
        warranty_case=warranty is not None,
        limit_cents=limit,
        state=state,
    )
    if earlier:
        ROWS.add(bench_work, job_id=key, minutes=30, cents=2 * QUARTER_CENTS)
        ROWS.add(fitted_parts, job_id=key, part_id=SHELF[23].key, quantity=1, cents=SHELF[23].cents)
    return Job(
        id=made.id,
        key=key,
        rider=made.rider,
        needs=needs,
        minutes=minutes,
        before=before,
        free=free,
        limit=limit,
        new_limit=made.total + raised,
    )


FINISHED = [_job(number, room=(0, 500, 2000)[number % 3], earlier=number % 3 == 1) for number in range(6)]
OVER_LIMIT = [
    _job(number, room=-(1, 800, 1500)[number % 3], earlier=number % 2 == 0, missing=number % 3 == 2)
    for number in range(6, 12)
]
OUT_OF_STOCK = [_job(number, room=400, missing=1 + number % 2) for number in range(12, 17)]
WARRANTY = [_job(number, room=1000, warranty=(0, 200, 31)[number % 3]) for number in range(17, 21)]
WARRANTY_OVER = [
    _job(number, room=300 - 800 * (number % 2), warranty=-1 - number % 2 * 90) for number in range(21, 25)
]
RAISED = [_job(number, room=-900, state="waiting_rider", raised=number % 2 * 300) for number in range(25, 29)]
NOT_ENOUGH = [_job(number, room=-2500, state="waiting_rider", raised=-700) for number in range(29, 32)]
NOT_THE_RIDER = [_job(number, room=-900, state="waiting_rider", raised=500) for number in range(32, 35)]
DONE = [_job(number, room=5000, state=("ready", "collected")[number % 2]) for number in range(35, 38)]


@template
class Mistake:
    """`wrong` was fitted where `right` should have been."""

    id: str
    key: int
    fitted: int
    wrong: Need
    right: Need
    total: int


def _mistake(number: int) -> Mistake:
    job = _job(number, room=100, state="ready")
    quantity = 1 + number % 2
    wrong = Need(part=SHELF[number % 24], quantity=quantity)
    right = Need(part=SHELF[(number + 8) % 24], quantity=quantity)
    other = Need(part=SHELF[(number + 3) % 24], quantity=2)
    ROWS.add(fitted_parts, job_id=job.key, part_id=other.part.key, quantity=2, cents=other.cents)
    fitted = ROWS.add(
        fitted_parts, job_id=job.key, part_id=wrong.part.key, quantity=quantity, cents=wrong.cents
    )
    ROWS.add(bench_work, job_id=job.key, minutes=job.minutes, cents=job.work_cents)
    return Mistake(
        id=job.id,
        key=job.key,
        fitted=fitted,
        wrong=wrong,
        right=right,
        total=other.cents + right.cents + job.work_cents,
    )


MISTAKES = [_mistake(number) for number in range(38, 43)]

for _one in OUT_OF_STOCK[:1]:
    ROWS.add(part_orders, job_id=DONE[0].key, part_id=_one.needs[0].part.key, quantity=3)
for _one in DONE:
    ROWS.add(bench_work, job_id=_one.key, minutes=_one.minutes, cents=_one.work_cents)
    ROWS.add(job_messages, job_id=_one.key, kind="ready", cents=_one.work_cents)
# SQLite gives the highest key again once its row is gone; no task takes off the last part.
ROWS.add(fitted_parts, job_id=DONE[0].key, part_id=SHELF[4].key, quantity=1, cents=SHELF[4].cents)

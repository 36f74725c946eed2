"""What the workshop's clerk can do. Prices and limits are the policy's matter."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Ge, Le
from sqlalchemy import Connection, Table, select

from example_suites.common.desk import Id, Line
from example_suites.training.parts.tools import Cents, changed, found, inserted
from example_suites.training.workshop.schema import (
    JobState,
    RemarkKind,
    TextTopic,
    bench_work,
    bicycles,
    fitted_parts,
    job_messages,
    part_orders,
    riders,
    spare_parts,
    workshop_jobs,
)

Quantity = Annotated[int, Ge(1), Le(100)]
Minutes = Annotated[int, Ge(1), Le(1000)]


def get_job(db: Connection, job_id: Id) -> dict[str, Any]:
    """A job with its bicycle and rider, and what was fitted, done, ordered and written so far."""
    job = found(db, workshop_jobs, job_id, "job")
    bicycle = found(db, bicycles, job.bicycle_id, "bicycle")
    return {
        **job._mapping,
        "bicycle": dict(bicycle._mapping),
        "rider": dict(found(db, riders, bicycle.rider_id, "rider")._mapping),
        "fitted_parts": _of_job(db, fitted_parts, job_id),
        "bench_work": _of_job(db, bench_work, job_id),
        "part_orders": _of_job(db, part_orders, job_id),
        "messages": _of_job(db, job_messages, job_id),
    }


def find_part(db: Connection, code: Line) -> dict[str, Any]:
    """A part by its code, with its list price and how many are in stock."""
    part = db.execute(select(spare_parts).where(spare_parts.c.code == code)).mappings().one_or_none()
    if part is None:
        raise ValueError(f"There is no part {code}.")
    return dict(part)


def fit_part(db: Connection, job_id: Id, part_id: Id, quantity: Quantity, cents: Cents) -> dict[str, Any]:
    """Take parts from the stock for a job; `cents` is what all of them cost the rider."""
    found(db, workshop_jobs, job_id, "job")
    part = found(db, spare_parts, part_id, "part")
    if part.stock < quantity:
        raise ValueError(f"Of {part.code} there are {part.stock} in stock.")
    changed(db, spare_parts, part_id, "part", stock=part.stock - quantity)
    return inserted(db, fitted_parts, job_id=job_id, part_id=part_id, quantity=quantity, cents=cents)


def unfit_part(db: Connection, fitted_id: Id) -> dict[str, Any]:
    """Take fitted parts off again: they go back into the stock and cost nothing any more."""
    fitted = found(db, fitted_parts, fitted_id, "fitted part")
    stock = found(db, spare_parts, fitted.part_id, "part").stock + fitted.quantity
    db.execute(fitted_parts.delete().where(fitted_parts.c.id == fitted_id))
    return changed(db, spare_parts, fitted.part_id, "part", stock=stock)


def record_work(db: Connection, job_id: Id, minutes: Minutes, cents: Cents) -> dict[str, Any]:
    """Record work on a job; `cents` is what it costs the rider."""
    return inserted(db, bench_work, job_id=job_id, minutes=minutes, cents=cents)


def order_part(db: Connection, job_id: Id, part_id: Id, quantity: Quantity) -> dict[str, Any]:
    """Order parts for a job from the supplier."""
    return inserted(db, part_orders, job_id=job_id, part_id=part_id, quantity=quantity)


def set_job_state(db: Connection, job_id: Id, state: JobState) -> dict[str, Any]:
    """Say where a job stands."""
    return changed(db, workshop_jobs, job_id, "job", state=state)


def set_job_limit(db: Connection, job_id: Id, limit_cents: Cents) -> dict[str, Any]:
    """Write down a new limit for what a job may cost."""
    return changed(db, workshop_jobs, job_id, "job", limit_cents=limit_cents)


def text_rider(db: Connection, job_id: Id, topic: TextTopic, cents: Cents | None = None) -> dict[str, Any]:
    """Send the rider one of the prepared texts; some of them name an amount."""
    return inserted(db, job_messages, job_id=job_id, kind=topic, cents=cents)


def remark_on_job(db: Connection, job_id: Id, kind: RemarkKind) -> dict[str, Any]:
    """Write down that what was asked was not done."""
    return inserted(db, job_messages, job_id=job_id, kind=kind)


def _of_job(db: Connection, table: Table, job_id: int) -> list[dict[str, Any]]:
    rows = db.execute(select(table).where(table.c.job_id == job_id).order_by(table.c.id))
    return [dict(one) for one in rows.mappings()]


TOOLS = (
    get_job,
    find_part,
    fit_part,
    unfit_part,
    record_work,
    order_part,
    set_job_state,
    set_job_limit,
    text_rider,
    remark_on_job,
)

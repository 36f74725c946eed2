"""What the front desk can do. Whether it is allowed is the policy's matter."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from annotated_types import MaxLen, MinLen
from sqlalchemy import Connection, select

from example_suites.common.desk import Id, Line
from example_suites.training.clinic.schema import (
    EntryKind,
    VisitReason,
    callback_requests,
    front_desk_entries,
    practitioners,
    referrals,
    surgery_patients,
    surgery_slots,
    surgery_visits,
)
from example_suites.training.parts.tools import Section, changed, found, inserted


def list_practitioners(db: Connection) -> list[dict[str, Any]]:
    """Everybody whom patients can see, with their role."""
    return [dict(one) for one in db.execute(select(practitioners).order_by(practitioners.c.id)).mappings()]


def find_patient(db: Connection, name: Line) -> dict[str, Any]:
    """The patient of this name, with booked visits and with referrals to the physio."""
    patient = db.execute(select(surgery_patients).where(surgery_patients.c.name == name)).mappings().first()
    if patient is None:
        raise ValueError(f"There is no patient named {name}.")
    visits = (
        select(
            surgery_visits.c.id,
            surgery_visits.c.reason,
            surgery_slots.c.practitioner_id,
            surgery_slots.c.day,
            surgery_slots.c.starts,
        )
        .join(surgery_slots)
        .where(surgery_visits.c.patient_id == patient["id"], surgery_visits.c.state == "booked")
        .order_by(surgery_visits.c.id)
    )
    of_patient = select(referrals).where(referrals.c.patient_id == patient["id"]).order_by(referrals.c.id)
    return {
        **patient,
        "booked_visits": [dict(one) for one in db.execute(visits).mappings()],
        "referrals": [dict(one) for one in db.execute(of_patient).mappings()],
    }


def list_free_slots(db: Connection, practitioner_id: Id, first_day: date) -> list[dict[str, Any]]:
    """The next twelve free slots of somebody from a day on, earliest first."""
    found(db, practitioners, practitioner_id, "practitioner")
    free = (
        select(surgery_slots.c.id, surgery_slots.c.day, surgery_slots.c.starts, surgery_slots.c.minutes)
        .where(
            surgery_slots.c.practitioner_id == practitioner_id,
            surgery_slots.c.day >= first_day,
            surgery_slots.c.state == "free",
        )
        .order_by(surgery_slots.c.day, surgery_slots.c.starts)
        .limit(12)
    )
    return [dict(one) for one in db.execute(free).mappings()]


def book_visit(db: Connection, patient_id: Id, slot_id: Id, reason: VisitReason) -> dict[str, Any]:
    """Give a free slot to a patient."""
    _take(db, slot_id)
    return inserted(db, surgery_visits, patient_id=patient_id, slot_id=slot_id, reason=reason, state="booked")


def move_visit(db: Connection, visit_id: Id, slot_id: Id) -> dict[str, Any]:
    """Give a booked visit another slot; its old one is free again."""
    visit = found(db, surgery_visits, visit_id, "visit")
    _take(db, slot_id)
    changed(db, surgery_slots, visit.slot_id, "slot", state="free")
    return changed(db, surgery_visits, visit_id, "visit", slot_id=slot_id)


def cancel_visit(db: Connection, visit_id: Id, late: bool) -> dict[str, Any]:
    """Cancel a booked visit, in time or late; its slot is free again."""
    visit = found(db, surgery_visits, visit_id, "visit")
    changed(db, surgery_slots, visit.slot_id, "slot", state="free")
    state = "cancelled_late" if late else "cancelled"
    return changed(db, surgery_visits, visit_id, "visit", state=state)


def use_referral(db: Connection, referral_id: Id) -> dict[str, Any]:
    """Mark a referral as used."""
    return changed(db, referrals, referral_id, "referral", state="used")


def request_callback(db: Connection, patient_id: Id, practitioner_id: Id, due_on: date) -> dict[str, Any]:
    """Ask somebody to call a patient by a day."""
    return inserted(
        db, callback_requests, patient_id=patient_id, practitioner_id=practitioner_id, due_on=due_on
    )


def set_patient_phone(
    db: Connection, patient_id: Id, phone: Annotated[str, MinLen(5), MaxLen(20)]
) -> dict[str, Any]:
    """Change a patient's telephone number."""
    return changed(db, surgery_patients, patient_id, "patient", phone=phone)


def write_desk_entry(db: Connection, patient_id: Id, kind: EntryKind, section: Section) -> dict[str, Any]:
    """Write down what was not done or what was odd, with the section of the rules, for example 2.3."""
    return inserted(db, front_desk_entries, patient_id=patient_id, kind=kind, section=section)


def _take(db: Connection, slot_id: int) -> None:
    if found(db, surgery_slots, slot_id, "slot").state != "free":
        raise ValueError(f"Slot {slot_id} is not free.")
    changed(db, surgery_slots, slot_id, "slot", state="taken")


TOOLS = (
    list_practitioners,
    find_patient,
    list_free_slots,
    book_visit,
    move_visit,
    cancel_visit,
    use_referral,
    request_callback,
    set_patient_phone,
    write_desk_entry,
)

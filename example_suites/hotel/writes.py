"""Tools that change something. They do what they are told: whether it is allowed is the policy's matter."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MaxLen
from sqlalchemy import func, select

from example_suites.common.desk import Amount, Id, Line, Refused, ShortText, Words, in_utc, money
from example_suites.common.policy import section_in
from example_suites.hotel.desk import Desk
from example_suites.hotel.schema import (
    ApprovalKind,
    CancelReason,
    CaseStatus,
    Decision,
    LineKind,
    NoteKind,
    RefundReason,
    RoomClass,
    Topic,
    approvals,
    booking_nights,
    case_notes,
    cases,
    guests,
    messages,
    payments,
    refund_lines,
    refunds,
)
from example_suites.hotel.stays import planned

POLICY = Path(__file__).with_name("policy.md")
SENDER = "booking-desk@hotels.example"


def change_booking(
    desk: Desk,
    booking_id: Id,
    room_class: RoomClass | None = None,
    check_in: date | None = None,
    check_out: date | None = None,
) -> dict[str, Any]:
    """Change a booking's class or dates; room, nights and total follow. Money that was paid does not move."""
    booking = desk.booking(booking_id)
    stay = planned(desk, booking, room_class=room_class, check_in=check_in, check_out=check_out)
    desk.db.execute(booking_nights.delete().where(booking_nights.c.booking_id == booking_id))
    desk.db.execute(booking_nights.insert(), stay.nights)
    desk.update_booking(
        booking_id,
        room_id=stay.room_id,
        rate_plan_id=stay.rate_plan_id,
        check_in=stay.check_in,
        check_out=stay.check_out,
        total=stay.total,
    )
    desk.record(
        "changed",
        booking_id=booking_id,
        details={
            "room_class": stay.room_class,
            "check_in": stay.check_in.isoformat(),
            "check_out": stay.check_out.isoformat(),
            "old_total": float(booking.total),
            "new_total": float(stay.total),
        },
    )
    return {"booking_id": booking_id, "room_id": stay.room_id, "total": float(stay.total)}


def cancel_booking(desk: Desk, booking_id: Id, reason: CancelReason) -> dict[str, Any]:
    """Cancel a booking and free its nights. Money that was paid does not move."""
    booking = desk.booking(booking_id)
    of_booking = booking_nights.c.booking_id == booking_id
    released = [
        {"night": row.night.isoformat(), "net": float(row.net), "vat": float(row.vat)}
        for row in desk.db.execute(select(booking_nights).where(of_booking).order_by(booking_nights.c.night))
    ]
    desk.db.execute(booking_nights.delete().where(of_booking))
    desk.update_booking(booking_id, status="cancelled", cancel_reason=reason)
    desk.record("cancelled", booking_id=booking_id, details={"reason": reason, "released_nights": released})
    return {"booking_id": booking_id, "was": booking.status, "released_nights": released}


def reinstate_booking(desk: Desk, booking_id: Id) -> dict[str, Any]:
    """Make a booking that was marked as no-show a confirmed one again."""
    booking = desk.booking(booking_id)
    if booking.status not in ("no_show", "confirmed"):
        raise Refused(f"Booking {booking_id} is {booking.status}; only a no-show can be taken back.")
    desk.update_booking(booking_id, status="confirmed")
    desk.record("reinstated", booking_id=booking_id)
    return {"booking_id": booking_id, "status": "confirmed"}


def set_arrival(desk: Desk, booking_id: Id, expected_at: datetime) -> dict[str, Any]:
    """Record when the guest is expected to arrive. Give the UTC offset: 2026-05-02T22:15:00+02:00."""
    desk.booking(booking_id)
    utc = in_utc(expected_at)
    desk.update_booking(booking_id, expected_arrival=utc)
    desk.record("arrival", booking_id=booking_id, details={"expected_at": utc.isoformat() + "Z"})
    return {"booking_id": booking_id, "expected_arrival": utc.isoformat() + "Z"}


def update_guest(
    desk: Desk, guest_id: Id, phone: Annotated[str, MaxLen(30)] | None = None, email: ShortText | None = None
) -> dict[str, Any]:
    """Change a guest's phone number or e-mail address."""
    desk.guest(guest_id)
    given = {"phone": phone, "email": email}
    changed = {name: value for name, value in given.items() if value is not None}
    if not changed:
        raise Refused("Say what is to change: phone or email.")
    desk.db.execute(guests.update().where(guests.c.id == guest_id).values(**changed))
    desk.record("contact_changed", guest_id=guest_id, details=changed)
    return {"guest_id": guest_id, **changed}


def request_approval(
    desk: Desk, booking_id: Id, kind: ApprovalKind, amount: Amount, approver_id: Id
) -> dict[str, Any]:
    """Ask an approver to decide. This records the request; it tells nobody."""
    desk.booking(booking_id)
    desk.guest(approver_id)
    number = desk.insert(
        approvals,
        booking_id=booking_id,
        kind=kind,
        amount=money(amount, "amount"),
        approver_id=approver_id,
        status="pending",
        requested_at=desk.now,
    )
    return {"id": number, "status": "pending"}


def decide_approval(desk: Desk, approval_id: Id, decision: Decision, decided_by: Id) -> dict[str, Any]:
    """Record the decision on an approval; `decided_by` is the guest number of the person who decided."""
    approval = desk.one(approvals, approval_id, "approval")
    desk.guest(decided_by)
    desk.db.execute(
        approvals.update()
        .where(approvals.c.id == approval_id)
        .values(status=decision, decided_by=decided_by, decided_at=desk.now)
    )
    desk.record(
        "approval_decided",
        booking_id=approval.booking_id,
        details={"approval_id": approval_id, "decision": decision},
    )
    return {"id": approval_id, "status": decision}


def create_refund(desk: Desk, booking_id: Id, payment_id: Id, reason: RefundReason) -> dict[str, Any]:
    """Start a refund of a payment as a draft without lines. Nothing is paid out yet."""
    desk.booking(booking_id)
    payment = desk.one(payments, payment_id, "payment")
    if payment.booking_id != booking_id:
        raise Refused(f"Payment {payment_id} belongs to booking {payment.booking_id}, not to {booking_id}.")
    number = desk.insert(
        refunds,
        booking_id=booking_id,
        payment_id=payment_id,
        reason=reason,
        status="draft",
        paid_out=Decimal(0),
        created_at=desk.now,
    )
    return {"id": number, "status": "draft"}


def add_refund_line(
    desk: Desk, refund_id: Id, kind: LineKind, net: Amount, vat: Amount, night: date | None = None
) -> dict[str, Any]:
    """Add a line to a draft refund: `night` with its date, or `fee` without one. Net amount and VAT apart."""
    refund = desk.one(refunds, refund_id, "refund")
    if refund.status != "draft":
        raise Refused(f"Refund {refund_id} is {refund.status}; lines can be added to a draft only.")
    number = desk.insert(
        refund_lines,
        refund_id=refund_id,
        kind=kind,
        night=night,
        net=money(net, "net"),
        vat=money(vat, "vat"),
    )
    return {"id": number, "total": float(_total_of(desk, refund_id))}


def confirm_refund(desk: Desk, refund_id: Id) -> dict[str, Any]:
    """Pay out all lines of a refund. Each call pays out again."""
    refund = desk.one(refunds, refund_id, "refund")
    total = _total_of(desk, refund_id)
    if refund.status == "void" or total == 0:
        raise Refused(f"Refund {refund_id} is {'void' if refund.status == 'void' else 'without lines'}.")
    paid_out = refund.paid_out + total
    desk.db.execute(
        refunds.update().where(refunds.c.id == refund_id).values(status="confirmed", paid_out=paid_out)
    )
    desk.record(
        "refund_confirmed",
        booking_id=refund.booking_id,
        details={"refund_id": refund_id, "amount": float(total)},
    )
    return {"id": refund_id, "status": "confirmed", "paid_out": float(paid_out)}


def void_refund(desk: Desk, refund_id: Id) -> dict[str, Any]:
    """Make a draft refund void. What was paid out cannot be made void."""
    refund = desk.one(refunds, refund_id, "refund")
    if refund.status == "confirmed":
        raise Refused(f"Refund {refund_id} was paid out; it cannot be made void.")
    desk.db.execute(refunds.update().where(refunds.c.id == refund_id).values(status="void"))
    desk.record("refund_void", booking_id=refund.booking_id, details={"refund_id": refund_id})
    return {"id": refund_id, "status": "void"}


def send_message(desk: Desk, guest_id: Id, booking_id: Id, topic: Topic, body: Words) -> dict[str, Any]:
    """Send a message about a booking to a guest's app."""
    desk.guest(guest_id)
    desk.booking(booking_id)
    number = desk.insert(
        messages, guest_id=guest_id, booking_id=booking_id, topic=topic, body=body, created_at=desk.now
    )
    return {"id": number}


def send_mail(desk: Desk, to: ShortText, subject: Line, body: Words) -> dict[str, Any]:
    """Send an e-mail to one address."""
    desk.mail(sender=SENDER, to=to, subject=subject, body=body)
    return {"sent_to": to}


def add_case_note(
    desk: Desk, booking_id: Id, kind: NoteKind, policy_section: Line, body: Words
) -> dict[str, Any]:
    """Write a case note on a booking; `policy_section` is the section it rests on, for example 4.2."""
    desk.booking(booking_id)
    number = desk.insert(
        case_notes,
        booking_id=booking_id,
        kind=kind,
        policy_section=section_in(POLICY, policy_section),
        body=body,
        created_at=desk.now,
    )
    return {"id": number}


def set_case(desk: Desk, case_id: Id, status: CaseStatus, check_on: date | None = None) -> dict[str, Any]:
    """Set a case to open, waiting or closed. A case that waits has a day on which the desk looks at it again."""
    case = desk.one(cases, case_id, "case")
    if (status == "waiting") != (check_on is not None):
        raise Refused("A waiting case needs check_on, and only a waiting one has it.")
    desk.db.execute(cases.update().where(cases.c.id == case_id).values(status=status, check_on=check_on))
    desk.record("case_changed", booking_id=case.booking_id, details={"case_id": case_id, "status": status})
    return {"id": case_id, "was": case.status, "status": status}


def _total_of(desk: Desk, refund_id: int) -> Decimal:
    total = desk.db.scalar(
        select(func.sum(refund_lines.c.net) + func.sum(refund_lines.c.vat)).where(
            refund_lines.c.refund_id == refund_id
        )
    )
    return Decimal(str(total or 0)).quantize(Decimal("0.01"))


WRITES = (
    change_booking,
    cancel_booking,
    reinstate_booking,
    set_arrival,
    update_guest,
    request_approval,
    decide_approval,
    create_refund,
    add_refund_line,
    confirm_refund,
    void_refund,
    send_message,
    send_mail,
    add_case_note,
    set_case,
)

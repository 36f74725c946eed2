"""Tools that change something. They do what they are told: whether it is allowed is the policy's matter."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen
from sqlalchemy import select

from example_suites.auto_insurance.desk import Desk
from example_suites.auto_insurance.schema import (
    CancelReason,
    ClaimKind,
    ClaimStatus,
    CoverageAction,
    CoverageKind,
    LetterKind,
    NoteKind,
    appraisals,
    assignments,
    claims,
    coverages,
    customers,
    drivers,
    letters,
    notes,
    shops,
    vehicles,
)
from example_suites.auto_insurance.settlements import (
    create_payment,
    decide_approval,
    open_recovery,
    release_payment,
    request_approval,
    void_payment,
)
from example_suites.common.desk import Amount, Id, Line, Refused, ShortText, Words, in_utc, money
from example_suites.common.policy import section_in

POLICY = Path(__file__).with_name("policy.md")
SENDER = "service@larkfield-motor.example"

Change = Annotated[float, Ge(-99_999), Le(99_999)]

STANDARD_TERMS = {  # limit and deductible of a coverage that is added
    "liability": ("100000", "0"),
    "collision": ("25000", "500"),
    "comprehensive": ("25000", "300"),
    "glass": ("1500", "100"),
    "rental": ("900", "0"),
    "towing": ("150", "0"),
}


def update_customer(
    desk: Desk,
    customer_id: Id,
    phone: Annotated[str, MaxLen(30)] | None = None,
    email: ShortText | None = None,
) -> dict[str, Any]:
    """Change a policyholder's phone number or e-mail address."""
    desk.one(customers, customer_id, "customer")
    given = {"phone": phone, "email": email}
    changed = {name: value for name, value in given.items() if value is not None}
    if not changed:
        raise Refused("Say what is to change: phone or email.")
    desk.db.execute(customers.update().where(customers.c.id == customer_id).values(**changed))
    return {"customer_id": customer_id, **changed}


def change_coverage(
    desk: Desk,
    policy_id: Id,
    action: CoverageAction,
    kind: CoverageKind,
    effective_on: date,
    premium_change: Change,
) -> dict[str, Any]:
    """Add a coverage on standard terms from a day on, or end one before that day. `premium_change` may be negative."""
    policy = desk.policy(policy_id)
    running = desk.db.execute(
        select(coverages).where(
            coverages.c.policy_id == policy_id,
            coverages.c.kind == kind,
            coverages.c.last_day >= effective_on,
        )
    ).first()
    if action == "add" and running is not None:
        raise Refused(f"Policy {policy_id} has {kind} already, coverage {running.id}.")
    if action == "remove" and (running is None or running.first_day >= effective_on):
        raise Refused(f"Policy {policy_id} has no {kind} that runs before {effective_on}.")
    number = desk.endorse(
        policy,
        "remove_coverage" if running else "add_coverage",
        effective_on=effective_on,
        premium_change=_change(premium_change),
        details={"coverage": kind},
    )
    if running:
        desk.db.execute(
            coverages.update()
            .where(coverages.c.id == running.id)
            .values(last_day=effective_on - timedelta(days=1))
        )
    else:
        limit, deductible = STANDARD_TERMS[kind]
        desk.insert(
            coverages,
            policy_id=policy_id,
            kind=kind,
            limit_amount=Decimal(limit),
            deductible=Decimal(deductible),
            first_day=effective_on,
            last_day=policy.last_day,
        )
    return {"endorsement_id": number}


def add_driver(
    desk: Desk,
    policy_id: Id,
    name: ShortText,
    born_on: date,
    licensed_on: date,
    effective_on: date,
    premium_change: Change,
) -> dict[str, Any]:
    """Add a named driver to a policy from a day on."""
    policy = desk.policy(policy_id)
    driver = desk.insert(drivers, policy_id=policy_id, name=name, born_on=born_on, licensed_on=licensed_on)
    number = desk.endorse(
        policy,
        "add_driver",
        effective_on=effective_on,
        premium_change=_change(premium_change),
        details={"driver": name},
    )
    return {"driver_id": driver, "endorsement_id": number}


def cancel_policy(
    desk: Desk, policy_id: Id, last_day: date, reason: CancelReason, refund: Amount
) -> dict[str, Any]:
    """End a policy and its coverages after a day. The refund goes back with it; there is no way back."""
    policy = desk.policy(policy_id)
    if policy.status != "active":
        raise Refused(f"Policy {policy_id} is {policy.status}.")
    number = desk.endorse(
        policy,
        "cancellation",
        effective_on=last_day,
        premium_change=-money(refund, "refund"),
        details={"reason": reason},
        status="cancelled",
        last_day=last_day,
        cancel_reason=reason,
    )
    desk.db.execute(
        coverages.update()
        .where(coverages.c.policy_id == policy_id, coverages.c.last_day > last_day)
        .values(last_day=last_day)
    )
    return {"endorsement_id": number, "status": "cancelled"}


def open_claim(
    desk: Desk,
    policy_id: Id,
    vehicle_id: Id,
    kind: ClaimKind,
    occurred_at: datetime,
    description: Words,
    driver_id: Id | None = None,
) -> dict[str, Any]:
    """Open a claim on a policy. Give the time of the loss with its UTC offset: 2026-05-02T22:15:00-04:00."""
    desk.policy(policy_id)
    vehicle = desk.one(vehicles, vehicle_id, "vehicle")
    if vehicle.policy_id != policy_id:
        raise Refused(f"Vehicle {vehicle_id} belongs to policy {vehicle.policy_id}, not to {policy_id}.")
    if driver_id is not None and desk.one(drivers, driver_id, "driver").policy_id != policy_id:
        raise Refused(f"Driver {driver_id} does not belong to policy {policy_id}.")
    number = desk.insert(
        claims,
        policy_id=policy_id,
        vehicle_id=vehicle_id,
        driver_id=driver_id,
        kind=kind,
        status="open",
        occurred_at=in_utc(occurred_at),
        description=description,
        created_at=desk.now,
    )
    return {"id": number, "status": "open"}


def set_claim_status(desk: Desk, claim_id: Id, status: ClaimStatus) -> dict[str, Any]:
    """Close, deny or open a claim, or mark it as withdrawn."""
    desk.claim(claim_id)
    desk.db.execute(claims.update().where(claims.c.id == claim_id).values(status=status))
    return {"id": claim_id, "status": status}


def set_reserve(desk: Desk, claim_id: Id, amount: Amount) -> dict[str, Any]:
    """Set what is put by for a claim, in place of what was."""
    desk.claim(claim_id)
    desk.db.execute(claims.update().where(claims.c.id == claim_id).values(reserve=money(amount, "amount")))
    return {"claim_id": claim_id, "amount": amount}


def assign_claim(desk: Desk, claim_id: Id, staff_id: Id) -> dict[str, Any]:
    """Make somebody the handler of a claim."""
    desk.claim(claim_id)
    desk.employee(staff_id)
    desk.db.execute(claims.update().where(claims.c.id == claim_id).values(handler_id=staff_id))
    return {"id": desk.insert(assignments, claim_id=claim_id, staff_id=staff_id, created_at=desk.now)}


def request_appraisal(desk: Desk, claim_id: Id, shop_id: Id) -> dict[str, Any]:
    """Ask a repair shop to appraise the damage of a claim."""
    desk.claim(claim_id)
    desk.one(shops, shop_id, "shop")
    number = desk.insert(
        appraisals, claim_id=claim_id, shop_id=shop_id, status="requested", created_at=desk.now
    )
    return {"id": number, "status": "requested"}


def send_letter(
    desk: Desk, policy_id: Id, kind: LetterKind, body: Words, claim_id: Id | None = None
) -> dict[str, Any]:
    """Send a letter to the policyholder of a policy; `claim_id` says which claim it is about, if it is about one."""
    policy = desk.policy(policy_id)
    _check_claim(desk, policy_id, claim_id)
    number = desk.insert(
        letters,
        customer_id=policy.customer_id,
        policy_id=policy_id,
        claim_id=claim_id,
        kind=kind,
        body=body,
        created_at=desk.now,
    )
    return {"id": number}


def send_mail(desk: Desk, to: ShortText, subject: Line, body: Words) -> dict[str, Any]:
    """Send an e-mail to one address, to colleagues and other insurers."""
    desk.mail(sender=SENDER, to=to, subject=subject, body=body)
    return {"sent_to": to}


def add_note(
    desk: Desk, policy_id: Id, kind: NoteKind, policy_section: Line, body: Words, claim_id: Id | None = None
) -> dict[str, Any]:
    """Write a note in the file of a policy, and of a claim on it; `policy_section` is the section it rests on."""
    desk.policy(policy_id)
    _check_claim(desk, policy_id, claim_id)
    number = desk.insert(
        notes,
        policy_id=policy_id,
        claim_id=claim_id,
        kind=kind,
        policy_section=section_in(POLICY, policy_section),
        body=body,
        created_at=desk.now,
    )
    return {"id": number}


def _check_claim(desk: Desk, policy_id: int, claim_id: int | None) -> None:
    if claim_id is not None and desk.claim(claim_id).policy_id != policy_id:
        raise Refused(f"Claim {claim_id} is not on policy {policy_id}.")


def _change(amount: float) -> Decimal:
    return money(amount, "premium_change")


WRITES = (
    update_customer,
    change_coverage,
    add_driver,
    cancel_policy,
    open_claim,
    set_claim_status,
    set_reserve,
    assign_claim,
    request_appraisal,
    request_approval,
    decide_approval,
    create_payment,
    release_payment,
    void_payment,
    open_recovery,
    send_letter,
    send_mail,
    add_note,
)

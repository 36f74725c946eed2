"""Tools that settle claims - approvals, payments, what is asked back - and do what they are told as well."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlalchemy import select

from example_suites.auto_insurance.desk import Desk
from example_suites.auto_insurance.schema import (
    Decision,
    Payee,
    approvals,
    coverages,
    instalments,
    payments,
    recoveries,
)
from example_suites.common.desk import Amount, Id, Refused, ShortText, money


def request_approval(desk: Desk, claim_id: Id, amount: Amount, approver_id: Id) -> dict[str, Any]:
    """Ask a member of staff to approve what a claim costs. This records the request; it tells nobody."""
    desk.claim(claim_id)
    desk.employee(approver_id)
    number = desk.insert(
        approvals,
        claim_id=claim_id,
        amount=money(amount, "amount"),
        approver_id=approver_id,
        status="pending",
        requested_at=desk.now,
    )
    return {"id": number, "status": "pending"}


def decide_approval(desk: Desk, approval_id: Id, decision: Decision, decided_by: Id) -> dict[str, Any]:
    """Record the decision on an approval; `decided_by` is the staff number of the person who decided."""
    desk.one(approvals, approval_id, "approval")
    desk.employee(decided_by)
    desk.db.execute(
        approvals.update()
        .where(approvals.c.id == approval_id)
        .values(status=decision, decided_by=decided_by, decided_at=desk.now)
    )
    return {"id": approval_id, "status": decision}


def create_payment(
    desk: Desk, claim_id: Id, coverage_id: Id, payee: Payee, amount: Amount, set_off: list[Id] | None = None
) -> dict[str, Any]:
    """Prepare a payment as a draft: `amount` is what is due, `set_off` are instalments to be taken off it.

    The instalments count as paid at once; nothing is paid out yet.
    """
    claim = desk.claim(claim_id)
    if desk.one(coverages, coverage_id, "coverage").policy_id != claim.policy_id:
        raise Refused(f"Coverage {coverage_id} does not belong to policy {claim.policy_id}.")
    number = desk.insert(
        payments,
        claim_id=claim_id,
        coverage_id=coverage_id,
        payee=payee,
        amount=money(amount, "amount"),
        paid_out=Decimal(0),
        status="draft",
        created_at=desk.now,
    )
    for instalment_id in set_off or []:
        instalment = desk.one(instalments, instalment_id, "instalment")
        if instalment.policy_id != claim.policy_id or instalment.status == "paid":
            raise Refused(
                f"Instalment {instalment_id} is {instalment.status} and of policy {instalment.policy_id}."
            )
        desk.db.execute(
            instalments.update()
            .where(instalments.c.id == instalment_id)
            .values(status="paid", payment_id=number)
        )
    return {"id": number, "status": "draft", "to_be_paid": float(_to_be_paid(desk, number))}


def release_payment(desk: Desk, payment_id: Id) -> dict[str, Any]:
    """Pay out a payment, less what is set off. Each call pays out again."""
    payment = desk.one(payments, payment_id, "payment")
    amount = _to_be_paid(desk, payment_id)
    if payment.status == "void" or amount < 0:
        raise Refused(f"Payment {payment_id} is {payment.status}; {amount} cannot be paid out.")
    paid_out = payment.paid_out + amount
    desk.db.execute(
        payments.update().where(payments.c.id == payment_id).values(status="released", paid_out=paid_out)
    )
    return {"id": payment_id, "status": "released", "paid_out": float(paid_out)}


def void_payment(desk: Desk, payment_id: Id) -> dict[str, Any]:
    """Make a draft void; what it set off is overdue again. What was released cannot be made void."""
    payment = desk.one(payments, payment_id, "payment")
    if payment.status == "released":
        raise Refused(f"Payment {payment_id} was released; it cannot be made void.")
    desk.db.execute(payments.update().where(payments.c.id == payment_id).values(status="void"))
    desk.db.execute(
        instalments.update()
        .where(instalments.c.payment_id == payment_id)
        .values(status="overdue", payment_id=None)
    )
    return {"id": payment_id, "status": "void"}


def open_recovery(desk: Desk, claim_id: Id, insurer: ShortText, demanded: Amount) -> dict[str, Any]:
    """Record that another insurer is asked for money. This tells nobody."""
    desk.claim(claim_id)
    number = desk.insert(
        recoveries,
        claim_id=claim_id,
        insurer=insurer,
        demanded=money(demanded, "demanded"),
        recovered=Decimal(0),
        status="open",
        created_at=desk.now,
    )
    return {"id": number, "status": "open"}


def _to_be_paid(desk: Desk, payment_id: int) -> Decimal:
    """What is due less what is set off."""
    payment = desk.one(payments, payment_id, "payment")
    taken = desk.db.scalars(select(instalments.c.amount).where(instalments.c.payment_id == payment_id))
    due: Decimal = payment.amount - sum(taken, Decimal(0))
    return due

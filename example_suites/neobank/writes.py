"""Tools that change something. They do what they are told: whether it is allowed is the policy's matter."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from example_suites.common.desk import Amount, Id, Line, Refused, ShortText, Words, money
from example_suites.common.policy import section_in
from example_suites.neobank.desk import Bank
from example_suites.neobank.ledger import own_account, post
from example_suites.neobank.schema import (
    ApprovalKind,
    Approver,
    CardStatus,
    Decision,
    DisputeReason,
    EntryKind,
    LimitKind,
    NoteKind,
    OrderStatus,
    TicketStatus,
    WaiverReason,
    approvals,
    authorizations,
    cards,
    chargebacks,
    disputes,
    fees,
    holds,
    limits,
    standing_orders,
    ticket_entries,
    tickets,
    transfers,
)

POLICY = Path(__file__).with_name("policy.md")
SENDER = "desk@tarn.example"


def post_entry(
    desk: Bank,
    kind: EntryKind,
    from_account_id: Id,
    to_account_id: Id,
    amount: Amount,
    memo: Line,
    bought: Amount | None = None,
) -> dict[str, Any]:
    """Move an amount between two accounts; between currencies, say what is bought too. Each call posts again."""
    giver, taker = desk.account(from_account_id), desk.account(to_account_id)
    out = money(amount, "amount")
    into = out if bought is None else money(bought, "bought")
    amounts = {giver.id: -out, taker.id: into}
    if giver.currency != taker.currency and bought is not None:
        amounts[own_account("exchange", giver.currency)] = out
        amounts[own_account("exchange", taker.currency)] = -into
    return {"id": post(desk, kind=kind, memo=memo, amounts=amounts)}


def create_transfer(
    desk: Bank,
    account_id: Id,
    beneficiary: ShortText,
    iban: Line,
    amount: Amount,
    memo: Line,
    execute_on: date,
) -> dict[str, Any]:
    """Transfer an amount to another bank: at once on the bank's day, scheduled for a later. Each call makes one."""
    account = desk.account(account_id)
    exact = money(amount, "amount")
    if execute_on < desk.today:
        raise Refused(f"execute_on={execute_on} is past; today is {desk.today}.")
    entry = None
    if execute_on == desk.today:
        out = {account_id: -exact, own_account("payments", account.currency): exact}
        entry = post(desk, kind="transfer", memo=memo, amounts=out)
    number = desk.insert(
        transfers,
        account_id=account_id,
        beneficiary=beneficiary,
        iban=iban.replace(" ", "").upper(),
        amount=exact,
        memo=memo,
        status="scheduled" if entry is None else "sent",
        execute_on=execute_on,
        journal_id=entry,
        created_at=desk.now,
    )
    return {"id": number, "status": "scheduled" if entry is None else "sent"}


def cancel_transfer(desk: Bank, transfer_id: Id) -> dict[str, Any]:
    """Cancel a transfer that was not sent yet."""
    transfer = desk.one(transfers, transfer_id, "transfer")
    if transfer.status not in ("scheduled", "cancelled"):
        raise Refused(f"Transfer {transfer_id} was {transfer.status}; only a scheduled one can be cancelled.")
    desk.update(transfers, transfer_id, status="cancelled")
    return {"id": transfer_id, "status": "cancelled"}


def change_standing_order(
    desk: Bank,
    standing_order_id: Id,
    amount: Amount | None = None,
    next_on: date | None = None,
    status: OrderStatus | None = None,
) -> dict[str, Any]:
    """Change a standing order's amount, the day on which it is next due, or its status."""
    desk.one(standing_orders, standing_order_id, "standing order")
    columns: dict[str, Any] = {"next_on": next_on, "status": status}
    columns["amount"] = None if amount is None else money(amount, "amount")
    given = {name: value for name, value in columns.items() if value is not None}
    if not given:
        raise Refused("Say what is to change: amount, next_on or status.")
    desk.update(standing_orders, standing_order_id, **given)
    return {"id": standing_order_id}


def set_limit(desk: Bank, customer_id: Id, kind: LimitKind, amount: Amount) -> dict[str, Any]:
    """Set one of a customer's daily limits."""
    desk.customer(customer_id)
    exact = money(amount, "amount")
    desk.db.execute(
        limits.update().where(limits.c.customer_id == customer_id, limits.c.kind == kind).values(amount=exact)
    )
    return {"customer_id": customer_id, "kind": kind, "amount": float(exact)}


def waive_fee(desk: Bank, fee_id: Id, amount: Amount, reason: WaiverReason) -> dict[str, Any]:
    """Give a fee back, all of it or a part. Each call gives back again."""
    fee = desk.one(fees, fee_id, "fee")
    exact = money(amount, "amount")
    account = desk.account(fee.account_id)
    back = {own_account("fees", account.currency): -exact, fee.account_id: exact}
    post(desk, kind="fee_waiver", memo=f"Fee {fee_id} given back", amounts=back)
    waived = fee.waived + exact
    desk.update(fees, fee_id, status="waived", waived=waived, waiver_reason=reason, waived_on=desk.today)
    return {"id": fee_id, "waived": float(waived)}


def set_card_status(desk: Bank, card_id: Id, status: CardStatus) -> dict[str, Any]:
    """Set the status of a card in this bank. The processor does not learn of it by that."""
    desk.card(card_id)
    desk.update(cards, card_id, status=status)
    return {"id": card_id, "status": status}


def notify_processor(desk: Bank, card_id: Id) -> dict[str, Any]:
    """Tell the card processor to block a card, whatever its status here. Each call tells it again."""
    card = desk.card(card_id)
    desk.tell_processor(f"/v1/cards/{card.token}/block", {"card": card.token, "last4": card.last4})
    return {"card_id": card_id, "told": "block"}


def order_replacement(desk: Bank, card_id: Id, fee: Amount) -> dict[str, Any]:
    """Order a card in place of another, and charge a fee for it; 0 is free. Each call orders one more."""
    old = desk.card(card_id)
    price = money(fee, "fee")
    count = len(desk.rows(cards, account_id=old.account_id))
    last4 = f"{(int(old.last4) + 37 * count) % 10_000:04}"
    number = desk.insert(
        cards,
        account_id=old.account_id,
        last4=last4,
        token=f"{old.token}-{count}",
        status="ordered",
        replaces_id=card_id,
        valid_until=date(2031, 6, 30),
        created_at=desk.now,
    )
    if price:
        account = desk.account(old.account_id)
        amounts = {account.id: -price, own_account("fees", account.currency): price}
        entry = post(desk, kind="fee", memo=f"Replacement of card {old.last4}", amounts=amounts)
        desk.insert(
            fees,
            account_id=account.id,
            kind="replacement",
            amount=price,
            status="charged",
            waived=0,
            journal_id=entry,
            charged_on=desk.today,
        )
    return {"id": number, "last4": last4, "status": "ordered"}


def release_hold(desk: Bank, hold_id: Id) -> dict[str, Any]:
    """Release a hold and void its authorization."""
    hold = desk.one(holds, hold_id, "hold")
    if hold.status != "active":
        raise Refused(f"Hold {hold_id} was released already.")
    desk.update(holds, hold_id, status="released", released_at=desk.now)
    desk.update(authorizations, hold.authorization_id, status="voided")
    return {"id": hold_id, "status": "released"}


def open_dispute(
    desk: Bank, authorization_id: Id, reason: DisputeReason, amount: Amount, respond_by: date
) -> dict[str, Any]:
    """Open a dispute about a charge and file its chargeback with the card scheme. Each call opens and files another."""
    charge = desk.authorization(authorization_id)
    if charge.status != "captured":
        raise Refused(f"Authorization {authorization_id} is {charge.status}; only a charge can be disputed.")
    exact = money(amount, "amount")
    dispute = desk.insert(
        disputes,
        authorization_id=authorization_id,
        reason=reason,
        amount=exact,
        status="open",
        created_at=desk.now,
    )
    desk.insert(chargebacks, dispute_id=dispute, stage="filed", respond_by=respond_by, created_at=desk.now)
    content = {
        "charge": authorization_id,
        "merchant": charge.merchant,
        "reason": reason,
        "amount": str(exact),
        "respond_by": respond_by.isoformat(),
    }
    desk.tell_processor("/v1/chargebacks", content)
    return {"id": dispute, "status": "open"}


def request_approval(
    desk: Bank, ticket_id: Id, kind: ApprovalKind, amount: Amount, approver: Approver
) -> dict[str, Any]:
    """Write down that a decision is asked of a colleague. Nobody is told by it."""
    desk.ticket(ticket_id)
    number = desk.insert(
        approvals,
        ticket_id=ticket_id,
        kind=kind,
        amount=money(amount, "amount"),
        approver=approver,
        status="pending",
        requested_at=desk.now,
    )
    return {"id": number, "status": "pending"}


def decide_approval(desk: Bank, approval_id: Id, decision: Decision, decided_by: Approver) -> dict[str, Any]:
    """Record the decision on an approval; `decided_by` says who decided."""
    desk.one(approvals, approval_id, "approval")
    desk.update(approvals, approval_id, status=decision, decided_by=decided_by, decided_at=desk.now)
    return {"id": approval_id, "status": decision}


def reply_to_ticket(desk: Bank, ticket_id: Id, status: TicketStatus, body: Words) -> dict[str, Any]:
    """Answer the customer on a ticket and set the ticket's status."""
    desk.ticket(ticket_id)
    number = desk.insert(ticket_entries, ticket_id=ticket_id, kind="answer", body=body, created_at=desk.now)
    desk.update(tickets, ticket_id, status=status)
    return {"id": number, "status": status}


def add_note(desk: Bank, ticket_id: Id, kind: NoteKind, policy_section: Line, body: Words) -> dict[str, Any]:
    """Write a note on a ticket that colleagues see; `policy_section` is the section it rests on, such as 4.2."""
    desk.ticket(ticket_id)
    number = desk.insert(
        ticket_entries,
        ticket_id=ticket_id,
        kind=kind,
        policy_section=section_in(POLICY, policy_section),
        body=body,
        created_at=desk.now,
    )
    return {"id": number}


def send_mail(desk: Bank, to: ShortText, subject: Line, body: Words) -> dict[str, Any]:
    """Send an e-mail to one address."""
    desk.mail(sender=SENDER, to=to, subject=subject, body=body)
    return {"sent_to": to}


WRITES = (
    post_entry,
    create_transfer,
    cancel_transfer,
    change_standing_order,
    set_limit,
    waive_fee,
    set_card_status,
    notify_processor,
    order_replacement,
    release_hold,
    open_dispute,
    request_approval,
    decide_approval,
    reply_to_ticket,
    add_note,
    send_mail,
)

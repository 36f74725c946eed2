"""Tools that change something. They do what they are told: whether it is allowed is the policy's matter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from example_suites.common.desk import Amount, Id, Line, Refused, ShortText, Words, money
from example_suites.common.policy import section_in
from example_suites.retail.desk import Desk
from example_suites.retail.schema import (
    ApprovalKind,
    CreditReason,
    Currency,
    Fault,
    NoteKind,
    RefundReason,
    Remedy,
    ReturnReason,
    TicketStatus,
    Topic,
    Warehouse,
    addresses,
    approvals,
    credit_entries,
    gift_cards,
    messages,
    notes,
    order_lines,
    refunds,
    returns,
    shipments,
    tickets,
    warranty_claims,
)

POLICY = Path(__file__).with_name("policy.md")
SENDER = "customer-desk@fernhollow.example"


def set_delivery_address(desk: Desk, order_id: Id, address_id: Id) -> dict[str, Any]:
    """Have an order delivered to another address of its customer."""
    order = desk.order(order_id)
    address = desk.one(addresses, address_id, "address")
    if address.customer_id != order.customer_id:
        raise Refused(f"Address {address_id} is not one of the customer of order {order_id}.")
    desk.update_order(order_id, address_id=address_id)
    return {"order_id": order_id, "address_id": address_id, "label": address.label}


def cancel_line(desk: Desk, order_line_id: Id) -> dict[str, Any]:
    """Cancel a line of an order and release what was reserved for it. Money that was paid does not move."""
    line = desk.line(order_line_id)
    if line.status == "cancelled":
        raise Refused(f"Order line {order_line_id} is cancelled already.")
    order = desk.order(line.order_id)
    if line.shipment_id is None:
        desk.reserve(desk.warehouse_of(order), line.product_id, -line.quantity)
    desk.db.execute(order_lines.update().where(order_lines.c.id == order_line_id).values(status="cancelled"))
    left = desk.db.scalar(
        select(func.count()).where(order_lines.c.order_id == order.id, order_lines.c.status != "cancelled")
    )
    if not left:
        desk.update_order(order.id, status="cancelled")
    return {"order_line_id": order_line_id, "was": line.status, "lines_left": left, "paid": float(line.paid)}


def open_return(desk: Desk, order_line_id: Id, quantity: Id, reason: ReturnReason) -> dict[str, Any]:
    """Announce a return of so many pieces of a line; the customer gets a label. Money does not move."""
    line = desk.line(order_line_id)
    if quantity > line.quantity:
        raise Refused(f"Order line {order_line_id} has {line.quantity} pieces.")
    number = desk.insert(
        returns,
        order_line_id=order_line_id,
        quantity=quantity,
        reason=reason,
        status="requested",
        created_at=desk.now,
    )
    return {"id": number, "status": "requested"}


def pay_refund(
    desk: Desk, payment_id: Id, order_line_id: Id, amount: Amount, reason: RefundReason
) -> dict[str, Any]:
    """Pay money back to where a payment came from: card, wallet, gift card or store credit. Each call pays again."""
    payment = desk.payment(payment_id)
    line = desk.line(order_line_id)
    exact = money(amount, "amount")
    if line.order_id != payment.order_id:
        raise Refused(f"Order line {order_line_id} and payment {payment_id} belong to different orders.")
    if payment.method == "gift_card":
        card = desk.one(gift_cards, payment.gift_card_id, "gift card")
        if card.status != "active":
            raise Refused(f"Gift card {card.code} is {card.status}; nothing can be paid to it.")
        desk.db.execute(
            gift_cards.update().where(gift_cards.c.id == card.id).values(balance=card.balance + exact)
        )
    number = desk.insert(
        refunds,
        payment_id=payment_id,
        order_line_id=order_line_id,
        reason=reason,
        amount=exact,
        created_at=desk.now,
    )
    if payment.method == "store_credit":
        order = desk.order(payment.order_id)
        desk.add_credit(
            customer_id=order.customer_id,
            order_id=order.id,
            amount=exact,
            currency=order.currency,
            reason="refund",
        )
    return {"id": number, "method": payment.method, "paid": float(exact)}


def grant_credit(
    desk: Desk, customer_id: Id, order_id: Id, amount: Amount, currency: Currency, reason: CreditReason
) -> dict[str, Any]:
    """Give a customer store credit on account of an order. Each call gives it again."""
    desk.customer(customer_id)
    desk.order(order_id)
    exact = money(amount, "amount")
    number = desk.add_credit(
        customer_id=customer_id, order_id=order_id, amount=exact, currency=currency, reason=reason
    )
    return {"id": number, "amount": float(exact)}


def reverse_credit(desk: Desk, credit_id: Id) -> dict[str, Any]:
    """Take an entry of store credit back, by an entry of the opposite amount."""
    entry = desk.one(credit_entries, credit_id, "credit entry")
    number = desk.add_credit(
        customer_id=entry.customer_id,
        order_id=entry.order_id,
        amount=-entry.amount,
        currency=entry.currency,
        reason="reversal",
        reverses_id=credit_id,
    )
    return {"id": number, "amount": float(-entry.amount)}


def open_claim(
    desk: Desk, order_line_id: Id, fault: Fault, remedy: Remedy, item_comes_back: bool
) -> dict[str, Any]:
    """Open a warranty claim; with `item_comes_back` the customer gets a label for it."""
    desk.line(order_line_id)
    number = desk.insert(
        warranty_claims,
        order_line_id=order_line_id,
        fault=fault,
        remedy=remedy,
        item_comes_back=item_comes_back,
        created_at=desk.now,
    )
    return {"id": number}


def ship_replacement(desk: Desk, shipment_id: Id, warehouse: Warehouse) -> dict[str, Any]:
    """Send the lines of a parcel again from a warehouse, and reserve them there."""
    lost = desk.shipment(shipment_id)
    lines = desk.db.execute(select(order_lines).where(order_lines.c.shipment_id == shipment_id)).all()
    if not lines:
        raise Refused(f"No line of the order is in shipment {shipment_id}.")
    for line in lines:
        desk.reserve(warehouse, line.product_id, line.quantity)
    tracking = f"{lost.tracking}-R"
    number = desk.insert(
        shipments,
        order_id=lost.order_id,
        warehouse=warehouse,
        carrier=lost.carrier,
        tracking=tracking,
        status="preparing",
        replaces_id=shipment_id,
        created_at=desk.now,
    )
    desk.db.execute(
        order_lines.update()
        .where(order_lines.c.shipment_id == shipment_id)
        .values(shipment_id=number, status="ordered")
    )
    return {"id": number, "tracking": tracking}


def set_ticket_status(desk: Desk, ticket_id: Id, status: TicketStatus) -> dict[str, Any]:
    """Set the status of a ticket."""
    ticket = desk.one(tickets, ticket_id, "ticket")
    desk.db.execute(
        tickets.update().where(tickets.c.id == ticket_id).values(status=status, updated_at=desk.now)
    )
    return {"id": ticket_id, "was": ticket.status, "status": status}


def request_approval(desk: Desk, order_id: Id, kind: ApprovalKind, amount: Amount) -> dict[str, Any]:
    """Ask for an approval. This records the request; it tells nobody."""
    desk.order(order_id)
    number = desk.insert(
        approvals,
        order_id=order_id,
        kind=kind,
        amount=money(amount, "amount"),
        status="pending",
        requested_at=desk.now,
    )
    return {"id": number, "status": "pending"}


def send_message(desk: Desk, order_id: Id, topic: Topic, body: Words) -> dict[str, Any]:
    """Send a message about an order to its customer's app."""
    desk.order(order_id)
    return {"id": desk.insert(messages, order_id=order_id, topic=topic, body=body, created_at=desk.now)}


def send_mail(desk: Desk, to: ShortText, subject: Line, body: Words) -> dict[str, Any]:
    """Send an e-mail to one address."""
    desk.mail(sender=SENDER, to=to, subject=subject, body=body)
    return {"sent_to": to}


def add_note(desk: Desk, order_id: Id, kind: NoteKind, policy_section: Line, body: Words) -> dict[str, Any]:
    """Write a note on an order; `policy_section` is the section it rests on, for example 4.2."""
    desk.order(order_id)
    number = desk.insert(
        notes,
        order_id=order_id,
        kind=kind,
        policy_section=section_in(POLICY, policy_section),
        body=body,
        created_at=desk.now,
    )
    return {"id": number}


WRITES: Sequence[Any] = (
    set_delivery_address,
    cancel_line,
    open_return,
    pay_refund,
    grant_credit,
    reverse_credit,
    open_claim,
    ship_replacement,
    set_ticket_status,
    request_approval,
    send_message,
    send_mail,
    add_note,
)

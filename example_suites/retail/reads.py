"""Tools that look things up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from sqlalchemy import select

from example_suites.common.desk import Id, Line, Refused, plain
from example_suites.common.knowledge import search
from example_suites.retail.desk import Desk
from example_suites.retail.schema import (
    OrderStatus,
    addresses,
    approvals,
    carrier_exceptions,
    credit_entries,
    customers,
    gift_cards,
    messages,
    notes,
    order_lines,
    orders,
    payments,
    products,
    refunds,
    returns,
    shipments,
    stock,
    tickets,
    warranty_claims,
)


def get_clock(desk: Desk) -> dict[str, Any]:
    """What time it is, in UTC. Convert it to the time zone of the delivery address before you count days."""
    return {"now": desk.now.isoformat() + "Z", "weekday": desk.now.strftime("%A")}


def search_orders(
    desk: Desk,
    number: Line | None = None,
    customer_name: Line | None = None,
    product_name: Line | None = None,
    status: OrderStatus | None = None,
    placed_from: date | None = None,
    placed_to: date | None = None,
) -> dict[str, Any]:
    """Find orders by any of: number (FH-2042), part of a customer's or product's name, status, day. At most 20."""
    columns = (orders.c.id, orders.c.number, orders.c.customer_id, customers.c.name.label("customer_name"))
    found = select(*columns, orders.c.status, orders.c.placed_at, orders.c.total, orders.c.currency).join(
        customers, customers.c.id == orders.c.customer_id
    )
    if number is not None:
        found = found.where(orders.c.number == number.strip().upper())
    if customer_name is not None:
        found = found.where(customers.c.name.icontains(customer_name, autoescape=True))
    if product_name is not None:
        with_it = select(order_lines.c.order_id).join(products, products.c.id == order_lines.c.product_id)
        found = found.where(
            orders.c.id.in_(with_it.where(products.c.name.icontains(product_name, autoescape=True)))
        )
    if status is not None:
        found = found.where(orders.c.status == status)
    if placed_from is not None:
        found = found.where(orders.c.placed_at >= placed_from)
    if placed_to is not None:
        found = found.where(orders.c.placed_at <= placed_to)
    rows = desk.db.execute(found.order_by(orders.c.placed_at.desc(), orders.c.id).limit(21)).all()
    return {"orders": [plain(row) for row in rows[:20]], "more": len(rows) > 20}


def get_order(desk: Desk, order_id: Id) -> dict[str, Any]:
    """An order with its customer, delivery address, lines, payments and refunds."""
    order = desk.order(order_id)
    lines = select(order_lines, products.c.name.label("product_name")).join(
        products, products.c.id == order_lines.c.product_id
    )
    paid = select(payments, gift_cards.c.code.label("gift_card_code")).outerjoin(
        gift_cards, gift_cards.c.id == payments.c.gift_card_id
    )
    returned = select(refunds).join(payments, payments.c.id == refunds.c.payment_id)
    return plain(order) | {
        "customer": _part(desk.customer(order.customer_id), "id", "name", "email", "tier"),
        "address": plain(desk.one(addresses, order.address_id, "address")),
        "lines": _all(desk, lines.where(order_lines.c.order_id == order_id).order_by(order_lines.c.id)),
        "payments": _all(desk, paid.where(payments.c.order_id == order_id).order_by(payments.c.id)),
        "refunds": _all(desk, returned.where(payments.c.order_id == order_id).order_by(refunds.c.id)),
    }


def get_shipments(desk: Desk, order_id: Id) -> dict[str, Any]:
    """The parcels of an order with their lines, tracking numbers, times and carriers' exceptions."""
    desk.order(order_id)
    answer = desk.rows(shipments, order_id=order_id)
    for shipment in answer:
        packed = select(order_lines.c.id).where(order_lines.c.shipment_id == shipment["id"])
        shipment["order_line_ids"] = list(desk.db.scalars(packed.order_by(order_lines.c.id)))
        shipment["exceptions"] = desk.rows(carrier_exceptions, shipment_id=shipment["id"])
    return {"shipments": answer}


def get_aftercare(desk: Desk, order_id: Id) -> dict[str, Any]:
    """Returns, warranty claims, approvals, store credit and tickets of an order."""
    desk.order(order_id)
    lines = select(order_lines.c.id).where(order_lines.c.order_id == order_id)
    return {
        "returns": desk.rows(returns, returns.c.order_line_id.in_(lines)),
        "warranty_claims": desk.rows(warranty_claims, warranty_claims.c.order_line_id.in_(lines)),
        "approvals": desk.rows(approvals, order_id=order_id),
        "credit": desk.rows(credit_entries, order_id=order_id),
        "tickets": desk.rows(tickets, order_id=order_id),
    }


def get_correspondence(desk: Desk, order_id: Id) -> dict[str, Any]:
    """Messages that were sent about an order, and its notes."""
    desk.order(order_id)
    return {
        "messages": desk.rows(messages, order_id=order_id),
        "notes": desk.rows(notes, order_id=order_id),
    }


def get_customer(desk: Desk, customer_id: Id) -> dict[str, Any]:
    """A customer with tier, addresses on file and store credit, entry by entry."""
    return plain(desk.customer(customer_id)) | {
        "addresses": desk.rows(addresses, customer_id=customer_id),
        "credit": desk.rows(credit_entries, customer_id=customer_id),
    }


def get_product(desk: Desk, product_id: Id) -> dict[str, Any]:
    """A product with today's price, months of warranty, clearance, bulk, and stock by warehouse."""
    product = plain(desk.product(product_id))
    here = select(stock.c.warehouse, stock.c.on_hand, stock.c.reserved).where(
        stock.c.product_id == product_id
    )
    return product | {"stock": _all(desk, here.order_by(stock.c.warehouse))}


def get_gift_card(desk: Desk, code: Line) -> dict[str, Any]:
    """A gift card by its code: balance, status, and until when it is valid."""
    card = desk.db.execute(select(gift_cards).where(gift_cards.c.code == code.strip().upper())).one_or_none()
    if card is None:
        raise Refused(f"There is no gift card {code}; get_order shows the codes that an order was paid with.")
    return plain(card)


def search_articles(desk: Desk, question: Line) -> dict[str, Any]:
    """Articles of the knowledge base on carriers, products and materials for a question; at most five, best first."""
    return {"articles": search(desk.db, question)}


def _all(desk: Desk, query: Any) -> list[dict[str, Any]]:
    return [plain(row) for row in desk.db.execute(query)]


def _part(row: Any, *names: str) -> dict[str, Any]:
    return plain({name: row._mapping[name] for name in names})


READS: Sequence[Any] = (
    get_clock,
    search_orders,
    get_order,
    get_shipments,
    get_aftercare,
    get_correspondence,
    get_customer,
    get_product,
    get_gift_card,
    search_articles,
)

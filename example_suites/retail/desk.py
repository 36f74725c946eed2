"""The desk of the shop: what there is to find, and what several tools do alike."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import Row, func, select

from example_suites.common.desk import Desk as AnyDesk
from example_suites.common.desk import Refused
from example_suites.retail.schema import (
    addresses,
    credit_entries,
    customers,
    order_lines,
    orders,
    payments,
    products,
    refunds,
    shipments,
    stock,
)

HOME_WAREHOUSE = {"US": "CMH", "NZ": "AKL"}
"""Where orders to a country are packed, unless it is Rotterdam."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk(AnyDesk):
    """The desk with what belongs to orders."""

    def order(self, number: int) -> Row[Any]:
        row = self.db.execute(select(orders).where(orders.c.id == number)).one_or_none()
        if row is None:
            raise Refused(
                f"There is no order {number}; search_orders finds orders by number, customer or product."
            )
        return row

    def line(self, number: int) -> Row[Any]:
        return self.one(order_lines, number, "order line")

    def customer(self, number: int) -> Row[Any]:
        return self.one(customers, number, "customer")

    def product(self, number: int) -> Row[Any]:
        return self.one(products, number, "product")

    def shipment(self, number: int) -> Row[Any]:
        return self.one(shipments, number, "shipment")

    def paid_back(self, payment_id: int) -> Decimal:
        """What has gone back of a payment."""
        total = self.db.scalar(select(func.sum(refunds.c.amount)).where(refunds.c.payment_id == payment_id))
        return Decimal(str(total or 0)).quantize(Decimal("0.01"))

    def payment(self, number: int) -> Row[Any]:
        return self.one(payments, number, "payment")

    def warehouse_of(self, order: Row[Any]) -> str:
        """Where what is not shipped yet of an order waits for it."""
        country = self.one(addresses, order.address_id, "address").country
        return HOME_WAREHOUSE.get(country, "RTM")

    def reserve(self, warehouse: str, product_id: int, change: int) -> None:
        """Reserve so many pieces, or release them. Raises Refused when there are not so many."""
        of_product = (stock.c.warehouse == warehouse) & (stock.c.product_id == product_id)
        row = self.db.execute(select(stock).where(of_product)).one_or_none()
        if row is None or not 0 <= row.reserved + change <= row.on_hand:
            free = 0 if row is None else row.on_hand - row.reserved
            raise Refused(f"Warehouse {warehouse} has {free} of product {product_id} free.")
        self.db.execute(stock.update().where(of_product).values(reserved=row.reserved + change))

    def update_order(self, number: int, **columns: Any) -> None:
        self.db.execute(orders.update().where(orders.c.id == number).values(**columns, updated_at=self.now))

    def add_credit(self, *, customer_id: int, amount: Decimal, currency: str, **columns: Any) -> int:
        return self.insert(
            credit_entries,
            customer_id=customer_id,
            amount=amount,
            currency=currency,
            created_at=self.now,
            **columns,
        )

"""What every attempt starts from: the same few hundred rows each time, by arithmetic and not by chance.

Numbers tell what they belong to: order 2041 is FH-2041; its lines, payments and parcels are 20411, 20412, ...; its
ticket is 7041; the addresses of customer 12 are 121, 122, ...
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from example_suites.common.knowledge import articles_in, fill
from example_suites.common.money import cents
from example_suites.common.sequences import advance_sequences
from example_suites.retail.cases import CASES, FURTHER_ROWS, Case, Item
from example_suites.retail.desk import HOME_WAREHOUSE
from example_suites.retail.people import CUSTOMERS, FURTHER_ADDRESSES, PLACES, PRODUCTS
from example_suites.retail.schema import articles, metadata

NOW = datetime(2026, 5, 12, 22, 40)
"""The suite's fixed clock, UTC: a Tuesday evening, and past midnight in most of Europe."""

_WAREHOUSES = ("RTM", "CMH", "AKL")
_PREFIXES = {"northpost": "NP", "quayline": "QL", "tramontane": "TM"}
_STREETS = ("Lindenweg", "Mill Lane", "Harbour Street", "Rua do Sol", "Elm Avenue", "Kerkstraat")
_NOTES = (
    None,
    "Please leave it with the neighbour.",
    None,
    "A birthday present, no invoice in the box please.",
    None,
)

Tables = dict[str, list[dict[str, Any]]]


def rows() -> Tables:
    """Every row of the seed by table, parents before children."""
    tables: Tables = {table.name: [] for table in metadata.sorted_tables}
    _add_customers(tables)
    _add_products(tables)
    _add_gift_cards(tables)
    for case in [_ordinary(index) for index in range(44)] + CASES:
        _add_order(tables, case)
    for table, row in FURTHER_ROWS:
        tables[table].append({column.name: row.get(column.name) for column in metadata.tables[table].columns})
    _add_stock(tables)
    _add_paperwork(tables)
    tables["articles"] += articles_in(Path(__file__).with_name("knowledge.md"))
    return tables


def seed(connection: Connection) -> None:
    """Fill empty tables."""
    content = rows()
    for table in metadata.sorted_tables:
        if table is articles:
            fill(connection, articles, content["articles"])
        else:
            connection.execute(table.insert(), content[table.name])
    advance_sequences(connection, metadata)


def _add_customers(tables: Tables) -> None:
    for number, (name, tier, city) in enumerate(CUSTOMERS, start=1):
        tables["customers"].append(
            {
                "id": number,
                "name": name,
                "email": f"{name.lower().replace(' ', '.')}@mailbox.example",
                "phone": None if number % 5 == 0 else f"+1 555 02{number:02}",
                "tier": tier,
                "preferences": {"newsletter": number % 3 == 0, "paperless": number % 2 == 0},
                "created_at": datetime(2023, 1 + number % 12, 1 + number, 12),
            }
        )
        street = f"{_STREETS[number % 6]} {3 * number}"
        _add_address(tables, number, "home", street, city, f"{1000 + 37 * number}")
    for address in FURTHER_ADDRESSES:
        _add_address(tables, *address)


def _add_address(tables: Tables, customer: int, label: str, street: str, city: str, postcode: str) -> None:
    known = sum(one["customer_id"] == customer for one in tables["addresses"])
    country, timezone, _ = PLACES[city]
    tables["addresses"].append(
        {
            "id": customer * 10 + known + 1,
            "customer_id": customer,
            "label": label,
            "street": street,
            "city": city,
            "postcode": postcode,
            "country": country,
            "timezone": timezone,
        }
    )


def _add_products(tables: Tables) -> None:
    for number, (name, category, price, warranty, kinds) in enumerate(PRODUCTS, start=1):
        tables["products"].append(
            {
                "id": number,
                "sku": f"{name.split()[0].upper()}-{number:02}",
                "name": name,
                "category": category,
                "price": Decimal(price),
                "warranty_months": warranty,
                "clearance": "clearance" in kinds,
                "electrical": "electrical" in kinds,
                "bulky": "bulky" in kinds,
            }
        )


def _add_gift_cards(tables: Tables) -> None:
    for number in range(301, 313):
        year = 2023 + number % 3
        status = "blocked" if number == 302 else "expired" if number % 7 == 3 else "active"
        tables["gift_cards"].append(
            {
                "id": number,
                "code": f"GC-{number * 7919 % 10000:04}-{number * 104729 % 10000:04}",
                "currency": ("EUR", "EUR", "EUR", "GBP", "USD")[number % 5],
                "balance": Decimal("33.00") if number == 301 else cents(number * 13 % 90),
                "status": status,
                "valid_until": date(year + (0 if status == "expired" else 3), 2, 1 + number % 28),
                "created_at": datetime(year, 2, 1 + number % 28, 9),
            }
        )


def _ordinary(index: int) -> Case:
    """One of the orders that no task is about, from October to April: most of them were simply delivered."""
    placed = datetime(2025, 10, 6, 9, 30) + timedelta(days=index * 4 + index % 3, minutes=index * 17)
    customer = (index * 5) % 24 + 1
    cancelled = index % 11 == 7
    item = Item(product=(index * 7) % 24 + 1, quantity=index % 3 + 1, status="cancelled" if cancelled else "delivered",
                packed=not cancelled)  # fmt: skip
    second = Item(product=(index * 7 + 9) % 24 + 1, status=item.status, packed=item.packed)
    return Case(
        number=1901 + index,
        customer=customer,
        placed=placed,
        items=(item,) if index % 2 else (item, second),
        fee=("4.95", "0.00", "6.90")[index % 3],
        carrier=("northpost", "quayline", "tramontane")[index % 3],
        shipped=None if cancelled else placed + timedelta(days=2),
        delivered=None if cancelled else placed + timedelta(days=4, hours=3),
        payments=((("card", "wallet")[index % 2], None, None),),
        note=_NOTES[index % 5],
        ticket=("A question about my order", "closed") if index % 4 == 0 else None,
    )


def _add_order(tables: Tables, case: Case) -> None:
    """An order with its lines, parcel, payments and ticket."""
    address = next(one for one in tables["addresses"] if one["customer_id"] == case.customer)
    lines = [_line(tables, case, place, item) for place, item in enumerate(case.items, start=1)]
    total = sum((line["paid"] for line in lines), Decimal(case.fee))
    statuses = {line["status"] for line in lines}
    tables["orders"].append(
        {
            "id": case.number,
            "number": f"FH-{case.number}",
            "customer_id": case.customer,
            "address_id": address["id"],
            "status": "cancelled" if statuses == {"cancelled"}
            else "completed" if statuses <= {"delivered", "cancelled"} else "open",
            "currency": PLACES[address["city"]][2],
            "shipping_fee": Decimal(case.fee),
            "total": total,
            "promised_on": case.promised or case.placed.date() + timedelta(days=10),
            "customer_note": case.note,
            "placed_at": case.placed,
            "updated_at": case.delivered or case.placed,
        }
    )  # fmt: skip
    if case.shipped is not None:
        tables["shipments"].append(
            {
                "id": case.number * 10 + 1,
                "order_id": case.number,
                "warehouse": HOME_WAREHOUSE.get(address["country"], "RTM"),
                "carrier": case.carrier,
                "tracking": f"{_PREFIXES[case.carrier]}-{case.number}01",
                "status": case.parcel,
                "replaces_id": None,
                "shipped_at": case.shipped,
                "delivered_at": case.delivered,
                "created_at": case.placed,
            }
        )
    tables["order_lines"] += lines
    rest = total
    for place, (method, amount, gift_card) in enumerate(case.payments, start=1):
        part = rest if amount is None else Decimal(amount)
        rest -= part
        tables["payments"].append(
            {
                "id": case.number * 10 + place,
                "order_id": case.number,
                "method": method,
                "gift_card_id": gift_card,
                "amount": part,
                "reference": f"PAY-{case.number}-{place}",
                "captured_at": case.placed,
            }
        )
    if case.ticket is not None:
        subject, status = case.ticket
        asked = min((case.delivered or case.placed) + timedelta(days=2), NOW - timedelta(hours=3))
        tables["tickets"].append(
            {
                "id": case.number + 5000,
                "order_id": case.number,
                "subject": subject,
                "status": status,
                "created_at": asked,
                "updated_at": asked,
            }
        )


def _line(tables: Tables, case: Case, place: int, item: Item) -> dict[str, Any]:
    price = Decimal(item.price) if item.price else tables["products"][item.product - 1]["price"]
    return {
        "id": case.number * 10 + place,
        "order_id": case.number,
        "product_id": item.product,
        "shipment_id": case.number * 10 + 1 if item.packed else None,
        "quantity": item.quantity,
        "unit_price": price,
        "discount": Decimal(item.discount),
        "paid": item.quantity * price - Decimal(item.discount),
        "status": item.status,
    }


def _add_stock(tables: Tables) -> None:
    """What is ordered and not packed is reserved where it waits, and a little more is reserved by other shops."""
    countries = {one["id"]: one["country"] for one in tables["addresses"]}
    homes = {one["id"]: HOME_WAREHOUSE.get(countries[one["address_id"]], "RTM") for one in tables["orders"]}
    for place, warehouse in enumerate(_WAREHOUSES):
        for product in range(1, len(PRODUCTS) + 1):
            ordered = sum(
                line["quantity"]
                for line in tables["order_lines"]
                if line["product_id"] == product
                and line["status"] == "ordered"
                and homes[line["order_id"]] == warehouse
            )
            reserved = ordered + (product + place) % 3
            tables["stock"].append(
                {
                    "warehouse": warehouse,
                    "product_id": product,
                    "on_hand": reserved + 1 + (product * 5 + place * 7) % 17,
                    "reserved": reserved,
                }
            )


def _add_paperwork(tables: Tables) -> None:
    """What colleagues did before: refunds of cancelled orders, returns, credit, claims, messages, notes, the log."""
    ordinary = [one for one in tables["orders"] if one["id"] < 2000]
    for order in ordinary:
        number, placed = order["id"], order["placed_at"]
        first = next(line for line in tables["order_lines"] if line["order_id"] == number)
        if order["status"] == "cancelled":
            _add(tables, "refunds", id=number + 4000, payment_id=number * 10 + 1, order_line_id=first["id"],
                 reason="cancellation", amount=order["total"], created_at=placed + timedelta(hours=5))  # fmt: skip
            _say(
                tables, number, "order", f"FH-{number} is cancelled; {order['total']} go back to you.", placed
            )
        elif number % 6 == 2:
            came = placed + timedelta(days=16)
            _add(tables, "returns", id=number + 1000, order_line_id=first["id"], quantity=first["quantity"],
                 reason="unwanted", status="received", condition_found="sealed", received_at=came,
                 created_at=placed + timedelta(days=9))  # fmt: skip
            _add(tables, "refunds", id=number + 4000, payment_id=number * 10 + 1, order_line_id=first["id"],
                 reason="return", amount=first["paid"], created_at=came + timedelta(days=1))  # fmt: skip
            _say(tables, number, "refund", f"{first['paid']} for FH-{number} are on their way.", came)
        elif number % 6 == 5:
            _add(tables, "notes", id=number + 3000, order_id=number, kind="refusal", policy_section="4.1",
                 body=f"FH-{number}: asked to send it back after 40 days; refused.",
                 created_at=placed + timedelta(days=44))  # fmt: skip
    for place, order in enumerate(ordinary[::7]):
        late = order["placed_at"] + timedelta(days=12)
        entry = {"customer_id": order["customer_id"], "currency": order["currency"], "reverses_id": None}
        _add(tables, "credit_entries", id=601 + 2 * place, order_id=order["id"], reason="late_delivery",
             amount=Decimal("4.95"), created_at=late, **entry)  # fmt: skip
        _add(tables, "credit_entries", id=602 + 2 * place, order_id=None, reason="spent", amount=Decimal("-2.50"),
             created_at=late + timedelta(days=20), **entry)  # fmt: skip
    for order in ordinary[3::13]:
        line = next(one for one in tables["order_lines"] if one["order_id"] == order["id"])
        _add(tables, "warranty_claims", id=order["id"] + 7000, order_line_id=line["id"], fault="broken_part",
             remedy="spare_part", item_comes_back=False,
             created_at=order["placed_at"] + timedelta(days=40))  # fmt: skip
    for order in ordinary[4::6]:
        parcel = next((one for one in tables["shipments"] if one["order_id"] == order["id"]), None)
        if parcel is not None:
            _add(tables, "carrier_exceptions", id=order["id"] + 6000, shipment_id=parcel["id"], kind="address",
                 status="delivered_after_all", carrier_text="House number missing; found by telephone.",
                 opened_at=parcel["shipped_at"] + timedelta(days=1), resolved_at=parcel["delivered_at"])  # fmt: skip
    for order in ordinary[5::17]:
        _add(tables, "approvals", id=order["id"] - 1000, order_id=order["id"], kind="refund_without_return",
             amount=Decimal("195.60"), status="declined", decided_at=order["placed_at"] + timedelta(days=8),
             requested_at=order["placed_at"] + timedelta(days=7))  # fmt: skip
    for tool in ("search_orders", "get_order", "send_message"):
        _add(tables, "audit_log", id=len(tables["audit_log"]) + 1, tool=tool, arguments={}, refused=False,
             created_at=datetime(2026, 4, 2, 12))  # fmt: skip


def _say(tables: Tables, order: int, topic: str, body: str, moment: datetime) -> None:
    _add(tables, "messages", id=order + 2000, order_id=order, topic=topic, body=body, created_at=moment)


def _add(tables: Tables, table: str, **columns: Any) -> None:
    tables[table].append(columns)

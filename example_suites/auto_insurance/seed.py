"""What every attempt starts from: the same few hundred rows each time, by arithmetic and not by chance.

Numbers tell what they belong to: claim 3042 is on policy 7042, whose policyholder is customer 1042. Vehicles,
drivers and coverages are numbered by policy: 70421 is the vehicle and the first driver, 70422 the second driver
and coverage 2 (1 liability, 2 collision, 3 comprehensive, 4 glass, 5 rental, 6 towing). Claim 3042 has the
payment 8042 and the appraisals 30421, 30422.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import get_args

from sqlalchemy import Connection

from example_suites.auto_insurance.cases import (
    CASES,
    CITIES,
    LOSSES,
    SHOPS,
    STAFF,
    Case,
    Loss,
)
from example_suites.auto_insurance.paperwork import Tables, add, add_paperwork
from example_suites.auto_insurance.schema import CoverageKind, articles, metadata
from example_suites.auto_insurance.writes import STANDARD_TERMS
from example_suites.common.knowledge import articles_in, fill
from example_suites.common.sequences import advance_sequences

NOW = datetime(2026, 5, 12, 14, 20)
"""The suite's fixed clock, UTC: a Tuesday, morning all over the country."""

_KINDS = get_args(CoverageKind)
_PRICES = {
    "liability": "480",
    "collision": "412",
    "comprehensive": "288",
    "glass": "91",
    "rental": "64",
    "towing": "38.50",
}
_COVERED_BY = {
    "collision": "collision", "weather": "comprehensive", "vandalism": "comprehensive", "theft": "comprehensive",
    "glass": "glass", "towing": "towing",
}  # fmt: skip
_FIRST_RESERVES = {
    "collision": "4500", "theft": "9000", "weather": "2200", "vandalism": "1800", "glass": "600", "towing": "150",
}  # fmt: skip
_MODELS = ["Corvano S", "Halberd 4", "Minet City", "Tarn Estate", "Orrin EV", "Pallas GT"]
_FIRST = ["Alma", "Basil", "Cora", "Dexter", "Edith", "Felix", "Greta", "Hugo", "Iris", "Jasper"]
_LAST = ["Quayle", "Renner", "Sandoval", "Thorne", "Umber", "Vickers"]
_ORDINARY_KINDS = ["collision", "glass", "weather", "towing", "vandalism"]
_DESCRIPTIONS = {
    "collision": "Scraped along a pillar in the car park.",
    "glass": "Crack in the rear window.",
    "weather": "Hail overnight.",
    "towing": "Flat battery, towed home.",
    "vandalism": "Aerial and wiper broken off.",
}


def rows() -> Tables:
    """Every row of the seed by table, parents before children."""
    tables: Tables = {table.name: [] for table in metadata.sorted_tables}
    _add_company(tables)
    for case in CASES:
        _add_policy(tables, case)
    for loss in LOSSES:
        _add_claim(tables, loss)
    for index in range(30):
        _add_ordinary(tables, index)
    add_paperwork(tables)
    return tables


def seed(connection: Connection) -> None:
    """Fill empty tables."""
    content = rows()
    for table in metadata.sorted_tables:
        if table is not articles:
            connection.execute(table.insert(), content[table.name])
    fill(connection, articles, content["articles"])
    advance_sequences(connection, metadata)


def _add_company(tables: Tables) -> None:
    for number, manager, name, zone, limit, active in STAFF:
        tables["staff"].append(
            {
                "id": number,
                "manager_id": manager,
                "name": name,
                "email": f"{_dotted(name)}@larkfield-motor.example",
                "role": "manager" if manager is None else "handler",
                "timezone": zone,
                "settlement_limit": Decimal(limit),
                "active": active,
            }
        )
    for number, name, zone, network in SHOPS:
        tables["shops"].append(
            {
                "id": number,
                "name": name,
                "city": CITIES[zone],
                "network": network,
                "email": f"office@{name.lower().replace(' ', '-')}.example",
            }
        )
    tables["articles"] = articles_in(Path(__file__).with_name("knowledge.md"))


def _add_policy(tables: Tables, case: Case) -> None:
    """A policy with its policyholder, car, drivers, coverages and instalments."""
    number, start = case.policy, case.first_day
    last_day = start.replace(year=start.year + 1) - timedelta(days=1)
    customer = case.customer or number - 6000
    written_at = datetime(start.year, start.month, start.day, 15) - timedelta(days=20)
    kinds = case.coverages.split()
    premium = sum((Decimal(_PRICES[kind]) for kind in kinds), Decimal(0)) + 120 * (len(case.drivers) - 1)
    if not case.customer:
        name = case.drivers[0][0]
        tables["customers"].append(
            {
                "id": customer,
                "name": name,
                "email": f"{_dotted(name)}@post.example",
                "phone": f"+1 555 0{number - 6900:03d}",
                "city": CITIES[case.zone],
                "preferences": {"paper": number % 3 == 0, "language": "en"},
            }
        )
    tables["policies"].append(
        {
            "id": number,
            "customer_id": customer,
            "product": case.product,
            "status": case.status,
            "first_day": start,
            "last_day": last_day,
            "timezone": case.zone,
            "premium": premium,
            "cancel_reason": None,
            "created_at": written_at,
            "updated_at": written_at,
        }
    )
    tables["vehicles"].append(
        {
            "id": number * 10 + 1,
            "policy_id": number,
            "registration": f"{'NCDLH'[list(CITIES).index(case.zone)]}KF {customer + 1000}",
            "model": _MODELS[number % 6],
            "built": 2012 + number % 13,
        }
    )
    for place, (name, born, licensed) in enumerate(case.drivers, start=1):
        tables["drivers"].append(
            {
                "id": number * 10 + place,
                "policy_id": number,
                "name": name,
                "born_on": date.fromisoformat(born),
                "licensed_on": date.fromisoformat(licensed),
            }
        )
    for kind in kinds:
        limit, deductible = STANDARD_TERMS[kind]
        tables["coverages"].append(
            {
                "id": number * 10 + _KINDS.index(kind) + 1,
                "policy_id": number,
                "kind": kind,
                "limit_amount": Decimal(limit),
                "deductible": Decimal(deductible),
                "first_day": start,
                "last_day": last_day,
            }
        )
    for due, amount, status in case.monthly or [(start.isoformat(), str(premium), "paid")]:
        add(
            tables,
            "instalments",
            policy_id=number,
            due_on=date.fromisoformat(due),
            amount=Decimal(amount),
            status=status,
            payment_id=None,
        )


def _add_claim(tables: Tables, loss: Loss) -> None:
    """A claim with its reserve, handler, appraisals and what was paid."""
    number = loss.claim
    policy_id = number + 4000
    policy = next(one for one in tables["policies"] if one["id"] == policy_id)
    reported_at = min(loss.occurred_at + timedelta(hours=20), NOW - timedelta(hours=1))
    tables["claims"].append(
        {
            "id": number,
            "policy_id": policy_id,
            "vehicle_id": policy_id * 10 + 1,
            "driver_id": policy_id * 10 + loss.driver if loss.driver else None,
            "handler_id": loss.handler,
            "kind": loss.kind,
            "status": loss.status,
            "occurred_at": loss.occurred_at,
            "description": loss.description,
            "own_fault_percent": loss.further.get("own_fault_percent"),
            "reserve": Decimal(_FIRST_RESERVES[loss.kind]),
            "other_party": loss.further.get("other_party"),
            "created_at": reported_at,
        }
    )
    if loss.handler is not None:
        add(tables, "assignments", claim_id=number, staff_id=loss.handler, created_at=reported_at)
    for place, (shop, status, amount, report) in enumerate(loss.appraisals, start=1):
        tables["appraisals"].append(
            {
                "id": number * 10 + place,
                "claim_id": number,
                "shop_id": shop,
                "status": status,
                "amount": None if amount is None else Decimal(amount),
                "report": report,
                "created_at": min(reported_at + timedelta(days=3), NOW),
            }
        )
    if loss.paid is None:
        return
    shop = loss.appraisals[-1][0]
    paid_at = min(reported_at + timedelta(days=6), NOW)
    tables["payments"].append(
        {
            "id": number + 5000,
            "claim_id": number,
            "coverage_id": policy_id * 10 + _KINDS.index(_COVERED_BY[loss.kind]) + 1,
            "payee": "shop" if next(one for one in SHOPS if one[0] == shop)[3] else "customer",
            "amount": Decimal(loss.paid),
            "paid_out": Decimal(loss.paid),
            "status": "released",
            "created_at": paid_at,
        }
    )
    add(
        tables,
        "letters",
        customer_id=policy["customer_id"],
        policy_id=policy_id,
        claim_id=number,
        kind="decision",
        body=f"CL-{number}: {loss.paid} dollars were paid out.",
        created_at=paid_at,
    )


def _add_ordinary(tables: Tables, index: int) -> None:
    """One of thirty policies that no task is about; two of three have had a claim, which is closed."""
    zone = list(CITIES)[index % 5]
    first_day = date(2025, 6, 1) + timedelta(days=index * 11)
    number = 7001 + index
    coverages = ["liability", "liability collision", "liability collision comprehensive", ""][index % 4]
    name = f"{_FIRST[index % 10]} {_LAST[index % 6]}"
    born = date(1950 + index * 7 % 50, index % 12 + 1, index % 28 + 1)
    _add_policy(
        tables,
        Case(
            policy=number,
            zone=zone,
            first_day=first_day,
            product=("basic", "standard", "standard", "plus")[index % 4],
            coverages=coverages or "liability collision comprehensive glass rental towing",
            drivers=[(name, born.isoformat(), born.replace(year=born.year + 19).isoformat())],
        ),
    )
    kind = _ORDINARY_KINDS[index % 5]
    if _COVERED_BY[kind] not in [one["kind"] for one in tables["coverages"] if one["policy_id"] == number]:
        return
    handler = next(one[0] for one in STAFF if one[3] == zone)
    cost = Decimal(420 + index * 37)
    deductible = Decimal(STANDARD_TERMS[_COVERED_BY[kind]][1])
    limit = Decimal(STANDARD_TERMS[_COVERED_BY[kind]][0])
    lost_at = datetime(first_day.year, first_day.month, first_day.day, 16, index * 7 % 60) + timedelta(
        days=25
    )
    _add_claim(
        tables,
        Loss(
            claim=number - 4000,
            kind=kind,
            occurred_at=lost_at,
            description=_DESCRIPTIONS[kind],
            driver=1 if kind in ("collision", "towing") else 0,
            handler=None if kind in ("glass", "towing") else handler,
            status="closed",
            appraisals=[(list(CITIES).index(zone) * 10 + 22, "received", str(cost), "As discussed.")],
            paid=str(min(cost - deductible, limit)) if cost > deductible else None,
            further={"own_fault_percent": 0 if number == 7006 else 100} if kind == "collision" else {},
        ),
    )


def _dotted(name: str) -> str:
    return name.lower().replace(" ", ".")

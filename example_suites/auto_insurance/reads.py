"""Tools that look things up."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, Table, or_, select

from example_suites.auto_insurance.desk import Desk
from example_suites.auto_insurance.schema import (
    appraisals,
    approvals,
    assignments,
    claims,
    coverages,
    customers,
    documents,
    drivers,
    endorsements,
    instalments,
    letters,
    notes,
    payments,
    policies,
    recoveries,
    shops,
    staff,
    vehicles,
)
from example_suites.common import knowledge
from example_suites.common.desk import Id, Line, plain


def get_clock(desk: Desk) -> dict[str, Any]:
    """What time it is, in UTC. Convert it to the policy's time zone before you judge a day."""
    return {"now": desk.now.isoformat() + "Z", "weekday": desk.now.strftime("%A")}


def search_knowledge(desk: Desk, question: Line) -> dict[str, Any]:
    """Articles of the knowledge base - prices, standard terms, first reserves - that fit a question best."""
    return {"articles": knowledge.search(desk.db, question)}


def search(desk: Desk, words: Line) -> dict[str, Any]:
    """Policies, and the claims on them, by part of the name of policyholder or driver, or by registration."""
    named = select(drivers.c.policy_id).where(drivers.c.name.icontains(words, autoescape=True))
    registered = select(vehicles.c.policy_id).where(vehicles.c.registration.icontains(words, autoescape=True))
    found: Select[Any] = (
        select(
            policies.c.id,
            policies.c.customer_id,
            customers.c.name.label("policyholder"),
            policies.c.status,
            policies.c.first_day,
            policies.c.last_day,
        )
        .join(customers, customers.c.id == policies.c.customer_id)
        .where(
            or_(
                customers.c.name.icontains(words, autoescape=True),
                policies.c.id.in_(named),
                policies.c.id.in_(registered),
            )
        )
        .order_by(policies.c.id)
        .limit(21)
    )
    answer = [plain(row) for row in desk.db.execute(found)]
    for policy in answer[:20]:
        of_policy: Select[Any] = (
            select(claims.c.id, claims.c.kind, claims.c.status, claims.c.occurred_at, vehicles.c.registration)
            .join(vehicles, vehicles.c.id == claims.c.vehicle_id)
            .where(claims.c.policy_id == policy["id"])
        )
        policy["claims"] = [plain(row) for row in desk.db.execute(of_policy.order_by(claims.c.id))]
    return {"policies": answer[:20], "more": len(answer) > 20}


def get_policy(desk: Desk, policy_id: Id) -> dict[str, Any]:
    """A policy with policyholder, cars, drivers, coverages, endorsements, instalments, documents, letters, notes."""
    policy = desk.policy(policy_id)

    def of_policy(table: Table) -> list[dict[str, Any]]:
        return desk.rows(table, policy_id=policy_id)

    return plain(policy) | {
        "policyholder": plain(desk.one(customers, policy.customer_id, "customer")),
        "vehicles": of_policy(vehicles),
        "drivers": of_policy(drivers),
        "coverages": of_policy(coverages),
        "endorsements": of_policy(endorsements),
        "instalments": of_policy(instalments),
        "documents": of_policy(documents),
        "letters": of_policy(letters),
        "notes": of_policy(notes),
    }


def get_claim(desk: Desk, claim_id: Id) -> dict[str, Any]:
    """A claim with vehicle, driver, handler, coverages, appraisals and their shops, payments, approvals, recoveries,
    documents, letters and notes."""
    claim = desk.claim(claim_id)

    def of_claim(table: Table) -> list[dict[str, Any]]:
        return desk.rows(table, claim_id=claim_id)

    reports = of_claim(appraisals)
    for report in reports:
        report["shop"] = plain(desk.one(shops, report["shop_id"], "shop"))
    return plain(claim) | {
        "vehicle": plain(desk.one(vehicles, claim.vehicle_id, "vehicle")),
        "driver": claim.driver_id and plain(desk.one(drivers, claim.driver_id, "driver")),
        "handler": claim.handler_id and plain(desk.employee(claim.handler_id)),
        "coverages": desk.rows(coverages, policy_id=claim.policy_id),
        "assignments": of_claim(assignments),
        "appraisals": reports,
        "payments": of_claim(payments),
        "approvals": of_claim(approvals),
        "recoveries": of_claim(recoveries),
        "documents": of_claim(documents),
        "letters": of_claim(letters),
        "notes": of_claim(notes),
    }


def list_staff(desk: Desk) -> dict[str, Any]:
    """Claim handlers and managers: time zone, settlement limit, whether they are in (`active`), their manager."""
    return {"staff": [plain(row) for row in desk.db.execute(select(staff).order_by(staff.c.id))]}


def find_shops(desk: Desk, city: Line) -> dict[str, Any]:
    """Repair shops in a city; `network` says whether they belong to our network."""
    found = select(shops).where(shops.c.city.icontains(city, autoescape=True)).order_by(shops.c.id)
    return {"shops": [plain(row) for row in desk.db.execute(found)]}


READS = (
    get_clock,
    search_knowledge,
    search,
    get_policy,
    get_claim,
    list_staff,
    find_shops,
)

"""What every attempt starts from: the same few hundred rows each time, by arithmetic and not by chance.

Time sheet 30323 is that of person 303 for week 23, and entry 303234 its Thursday.
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
from example_suites.consulting import firm
from example_suites.consulting.paperwork import DOCUMENTS, EXPENSES, NOT_BILLABLE, OLD_TICKETS, TICKETS, WEEKS
from example_suites.consulting.schema import articles, metadata

NOW = datetime(2026, 6, 8, 16, 40)
"""The suite's fixed clock, UTC: a Monday, 09:40 in Vancouver and already Tuesday in Sydney."""

_SHARES = {"analyst": "0.62", "consultant": "1", "manager": "1.6", "partner": "2.4"}
_FIRST_WEEK = date(2025, 12, 29)
"""The Monday of the first week of 2026."""

Tables = dict[str, list[dict[str, Any]]]


def rows() -> Tables:
    """Every row of the seed by table, parents before children."""
    tables: Tables = {table.name: [] for table in metadata.sorted_tables}
    _add_firm(tables)
    _add_clients(tables)
    _add_engagements(tables)
    _add_documents(tables)
    _add_weeks(tables)
    _add_expenses(tables)
    _add_tickets(tables)
    tables["articles"] = articles_in(Path(__file__).with_name("knowledge.md"))
    return tables


def seed(connection: Connection) -> None:
    """Fill empty tables."""
    content = rows()
    for table in metadata.sorted_tables:
        if table is not articles:
            connection.execute(table.insert(), content[table.name])
    fill(connection, articles, content["articles"])
    advance_sequences(connection, metadata)


def grade_of(person: int) -> str:
    for grade, members in (
        ("partner", firm.PARTNERS),
        ("manager", firm.MANAGERS),
        ("analyst", firm.ANALYSTS),
        ("finance", firm.FINANCE),
    ):
        if person in members:
            return grade
    return "consultant"


def monday_of(week: int) -> date:
    """The Monday of a week of 2026, counted as ISO 8601 does."""
    return _FIRST_WEEK + timedelta(weeks=week - 1)


def _add_firm(tables: Tables) -> None:
    for number, (city, country, zone, currency, tax) in enumerate(firm.OFFICES, start=1):
        tables["offices"].append(
            {
                "id": number,
                "city": city,
                "country": country,
                "timezone": zone,
                "currency": currency,
                "tax_percent": Decimal(tax),
            }
        )
    # Partners first: they are the managers of the others, and 103 is the partners' own.
    for person in sorted(
        firm.PEOPLE, key=lambda one: (one != 103, one not in firm.PARTNERS, one not in firm.MANAGERS)
    ):
        office, name = person // 100, firm.PEOPLE[person]
        boss: int | None = office * 100 + (1 if person in firm.MANAGERS else 2)
        if person in firm.PARTNERS or person in firm.FINANCE:
            boss = None if person == 103 else 103
        tables["people"].append(
            {
                "id": person,
                "office_id": office,
                "manager_id": boss,
                "name": name,
                "email": f"{name.lower().replace(' ', '.')}@lanternfield.example",
                "grade": grade_of(person),
                "leave_days_left": firm.LEAVE_DAYS_LEFT.get(person, 14),
                "active": True,
            }
        )
    for person, skills in firm.SKILLS.items():
        for skill, level in skills.items():
            tables["skills"].append({"person_id": person, "skill": skill, "level": level})
    for person, kind, first, last, days in firm.ABSENCES:
        _add(
            tables,
            "absences",
            person_id=person,
            kind=kind,
            first_day=first,
            last_day=last,
            days=days,
            status="approved",
            created_at=datetime(2026, 4, 28, 9, 0),
        )


def _add_clients(tables: Tables) -> None:
    for number, (code, name, domain, country, currency, contact, days) in enumerate(firm.CLIENTS, start=1):
        tables["clients"].append(
            {
                "id": number,
                "code": code,
                "name": name,
                "country": country,
                "currency": currency,
                "billing_contact": contact,
                "billing_email": f"billing@{domain}",
                "payment_days": days,
            }
        )
    for person, client, reason, last in firm.WALLS:
        _add(tables, "walls", person_id=person, client_id=client, reason=reason, last_day=last)


def _add_engagements(tables: Tables) -> None:
    for number, client, office, name, status, first, last, budget, billable in firm.ENGAGEMENTS:
        tables["engagements"].append(
            {
                "id": number,
                "reference": f"LF-{number}",
                "client_id": client,
                "office_id": office,
                "lead_partner_id": office * 100 + 1,
                "manager_id": office * 100 + 2,
                "name": name,
                "status": status,
                "first_day": first,
                "last_day": last,
            }
        )
        signed = first - timedelta(days=12)
        statement = {
            "id": number * 10 + 1,
            "engagement_id": number,
            "kind": "original",
            "budget": Decimal(budget),
            "expenses_billable": billable,
            "status": "signed",
            "signed_on": signed,
            "created_at": datetime(signed.year, signed.month, signed.day, 10, 30),
        }
        tables["statements_of_work"].append(statement)
        if number in (1201, 1203, 1206):  # they have grown before
            order = {"id": number * 10 + 2, "kind": "change_order", "budget": Decimal(budget) / 10}
            tables["statements_of_work"].append(
                statement
                | order
                | {"signed_on": date(2026, 5, 11), "created_at": datetime(2026, 5, 6, 9, 15)}
            )
        special = {(grade, day): rate for one, grade, day, rate in firm.RATES if one == number}
        for grade, share in _SHARES.items():
            usual = cents(Decimal(firm.CONSULTANT_RATES[office - 1]) * Decimal(share))
            agreed = {first: usual} | {
                day: Decimal(rate) for (of, day), rate in special.items() if of == grade
            }
            for day, rate in agreed.items():
                tables["rates"].append(
                    {"engagement_id": number, "grade": grade, "first_day": day, "hourly_rate": rate}
                )
    span = {one["id"]: (one["first_day"], one["last_day"]) for one in tables["engagements"]}
    for engagement, person, percent, end in firm.ASSIGNMENTS:
        first, last = span[engagement]
        _add(
            tables,
            "assignments",
            engagement_id=engagement,
            person_id=person,
            percent=percent,
            first_day=first,
            last_day=end or last,
            status="confirmed",
            created_at=datetime(2026, 5, 5, 8, 0),
        )
    for engagement, kind, amount, approver, status in firm.APPROVALS:
        _add(
            tables,
            "approvals",
            engagement_id=engagement,
            kind=kind,
            amount=Decimal(amount),
            approver_id=approver,
            status=status,
            decided_by=approver,
            decided_at=datetime(2026, 5, 5, 7, 20),
            requested_at=datetime(2026, 5, 4, 11, 0),
        )


def _add_documents(tables: Tables) -> None:
    """Invoices, and the lines that their totals are made of."""
    engagements = {one["id"]: one for one in tables["engagements"]}
    for number, engagement, status, issued, lines in DOCUMENTS:
        home = tables["offices"][engagements[engagement]["office_id"] - 1]
        client = tables["clients"][engagements[engagement]["client_id"] - 1]
        percent = home["tax_percent"] if client["country"] == home["country"] else Decimal(0)
        net = tax = Decimal(0)
        for person, quantity, price in lines:
            line_net = cents(Decimal(quantity) * Decimal(price))
            line_tax = cents(line_net * percent / 100)
            net, tax = net + line_net, tax + line_tax
            _add(
                tables,
                "invoice_lines",
                invoice_id=number,
                kind="time",
                person_id=person,
                quantity=Decimal(quantity),
                unit_price=Decimal(price),
                tax_percent=percent,
                net=line_net,
                tax=line_tax,
            )
        tables["invoices"].append(
            {
                "id": number,
                "engagement_id": engagement,
                "kind": "invoice",
                "credits_id": None,
                "status": status,
                "net": net,
                "tax": tax,
                "total": net + tax,
                "issued_on": issued,
                "due_on": issued and issued + timedelta(days=client["payment_days"]),
                "times_issued": 0 if issued is None else 1,
                "created_at": datetime(2026, 6, 5, 15, 0)
                if issued is None
                else datetime(issued.year, issued.month, issued.day, 8, 30),
            }
        )


def _add_weeks(tables: Tables) -> None:
    """Time sheets of the last weeks; those of people without hours of their own in WEEKS are ordinary."""
    home: dict[int, int] = {}
    for engagement, person, *_ in firm.ASSIGNMENTS:
        home.setdefault(person, engagement)
    given = {(person, week): rest for person, week, *rest in WEEKS}
    consultants = [one for one in firm.PEOPLE if grade_of(one) in ("consultant", "analyst")]
    keys = sorted({*given, *((person, week) for person in consultants for week in (22, 23, 24))})
    for person, week in keys:
        status, engagement, hours, invoice = given.get((person, week)) or _ordinary_week(
            person, week, home[person]
        )
        monday, sheet = monday_of(week), person * 100 + week
        handed_in = monday + timedelta(days=4)
        tables["timesheets"].append(
            {
                "id": sheet,
                "person_id": person,
                "week_start": monday,
                "status": status,
                "submitted_at": None
                if status == "open"
                else datetime(handed_in.year, handed_in.month, handed_in.day, 15, person % 60),
            }
        )
        for day, worked in hours.items():
            tables["time_entries"].append(
                {
                    "id": sheet * 10 + day,
                    "timesheet_id": sheet,
                    "engagement_id": engagement,
                    "work_day": monday + timedelta(days=day - 1),
                    "hours": Decimal(worked),
                    "billable": sheet * 10 + day not in NOT_BILLABLE,
                    "invoice_id": invoice,
                }
            )


def _ordinary_week(person: int, week: int, engagement: int) -> list[Any]:
    status = {22: "approved", 23: "submitted", 24: "open"}[week]
    hours = {} if week == 24 else {day: ("7.50", "8.00", "6.00")[(person + day) % 3] for day in range(1, 6)}
    return [status, engagement, hours, None]


def _add_expenses(tables: Tables) -> None:
    for number, person, engagement, day, category, amount, currency, home, billable, status in EXPENSES:
        tables["expenses"].append(
            {
                "id": number,
                "person_id": person,
                "engagement_id": engagement,
                "spent_on": day,
                "category": category,
                "amount": Decimal(amount),
                "currency": currency,
                "home_amount": Decimal(home),
                "billable": billable,
                "receipt": f"booked/{number}.txt",
                "status": status,
                "created_at": datetime(day.year, day.month, day.day, 17, 45) + timedelta(days=2),
            }
        )


def _add_tickets(tables: Tables) -> None:
    for number, sender, subject, external in TICKETS:
        tables["tickets"].append(
            {
                "id": number,
                "sender": sender,
                "subject": subject,
                "status": "open",
                "external_reference": external,
                "external_status": external and "open",
                "created_at": datetime(2026, 6, 8, 15, number % 60),
                "updated_at": datetime(2026, 6, 8, 15, number % 60),
            }
        )
    for number, sender, subject, status, answer, section in OLD_TICKETS:
        opened = datetime(2026, 5, 4, 9, 0) + timedelta(days=number % 30, minutes=number % 50)
        tables["tickets"].append(
            {
                "id": number,
                "sender": sender,
                "subject": subject,
                "status": status,
                "external_reference": None,
                "external_status": None,
                "created_at": opened,
                "updated_at": opened + timedelta(hours=3),
            }
        )
        _add(
            tables,
            "ticket_notes",
            ticket_id=number,
            kind="answer",
            policy_section=section,
            body=answer,
            created_at=opened + timedelta(hours=3),
        )
    for tool in ("get_ticket", "find_people", "answer_ticket"):
        _add(
            tables,
            "audit_log",
            tool=tool,
            arguments={},
            refused=False,
            created_at=datetime(2026, 6, 5, 12, 0),
        )


def _add(tables: Tables, table: str, **columns: Any) -> None:
    tables[table].append({"id": len(tables[table]) + 1, **columns})

"""What colleagues did before: the part of the seed that makes the files look used."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

Tables = dict[str, list[dict[str, Any]]]
"""Rows by table."""


def add(tables: Tables, table: str, **columns: Any) -> None:
    """A row with the next number."""
    tables[table].append({"id": len(tables[table]) + 1, **columns})


def add_paperwork(tables: Tables) -> None:
    """What colleagues did before: approvals, recoveries, endorsements, documents, notes and the log of tools."""
    for claim, insurer, demanded, status in (
        (3090, "Harbourline Insurance", "2290.00", "open"),
        (3006, "Ravenscar Mutual", "605.00", "settled"),
    ):
        add(
            tables,
            "recoveries",
            claim_id=claim,
            insurer=insurer,
            demanded=Decimal(demanded),
            recovered=Decimal(demanded if status == "settled" else 0),
            status=status,
            created_at=datetime(2026, 2, 24, 16, 0),
        )
    large = [one for one in tables["payments"] if one["amount"] > 700 and one["id"] < 8040]
    for index, payment in enumerate(large):
        add(
            tables,
            "approvals",
            claim_id=payment["claim_id"],
            amount=payment["amount"],
            approver_id=1 + index % 2,
            status="approved",
            decided_by=1 + index % 2,
            decided_at=payment["created_at"],
            requested_at=payment["created_at"] - timedelta(hours=9),
        )
    for policy, kind, change, details in (
        (7069, "add_driver", "97.32", {"driver": "Ana Hale"}),
        (7010, "add_coverage", "38.90", {"coverage": "glass"}),
        (7023, "remove_coverage", "-21.15", {"coverage": "towing"}),
    ):
        add(
            tables,
            "endorsements",
            policy_id=policy,
            kind=kind,
            effective_on=date(2026, 5, 9),
            premium_change=Decimal(change),
            details=details,
            created_at=datetime(2026, 5, 8, 13, 30),
        )
        add(
            tables,
            "letters",
            customer_id=policy - 6000,
            policy_id=policy,
            claim_id=None,
            kind="confirmation",
            body=f"LM-{policy}: the premium changes by {change} dollars from 9 May 2026.",
            created_at=datetime(2026, 5, 8, 13, 31),
        )
    for policy, on_claim, kind, status in (
        (7096, None, "proof_of_sale", "received"),
        (7084, 3084, "police_report", "received"),
        (7092, 3092, "photos", "received"),
        (7067, 3067, "photos", "received"),
        (7061, 3061, "invoice", "requested"),
    ):
        add(
            tables,
            "documents",
            policy_id=policy,
            claim_id=on_claim,
            kind=kind,
            status=status,
            created_at=datetime(2026, 5, 11, 18, 45),
        )
    for claim in (3011, 3015):
        add(
            tables,
            "notes",
            policy_id=claim + 4000,
            claim_id=claim,
            kind="refusal",
            policy_section="4.1",
            body=f"CL-{claim}: asked for the deductible back; refused.",
            created_at=datetime(2026, 3, 4, 19, 0),
        )
    for tool in ("search", "get_claim", "send_letter"):
        add(
            tables,
            "audit_log",
            tool=tool,
            arguments={},
            refused=False,
            created_at=datetime(2026, 5, 11, 18, 0),
        )

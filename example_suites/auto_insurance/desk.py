"""The desk of the insurer: what there is to find, and how a policy changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import Row, select

from example_suites.auto_insurance.schema import EndorsementKind, claims, endorsements, policies, staff
from example_suites.common.desk import Desk as AnyDesk
from example_suites.common.desk import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk(AnyDesk):
    """The desk with what belongs to policies and claims."""

    def policy(self, number: int) -> Row[Any]:
        row = self.db.execute(select(policies).where(policies.c.id == number)).one_or_none()
        if row is None:
            raise Refused(f"There is no policy {number}; search finds policies by name or registration.")
        return row

    def claim(self, number: int) -> Row[Any]:
        row = self.db.execute(select(claims).where(claims.c.id == number)).one_or_none()
        if row is None:
            raise Refused(f"There is no claim {number}; search finds claims by name or registration.")
        return row

    def employee(self, number: int) -> Row[Any]:
        return self.one(staff, number, "member of staff")

    def endorse(
        self,
        policy: Row[Any],
        kind: EndorsementKind,
        *,
        effective_on: date,
        premium_change: Decimal,
        details: dict[str, Any],
        **columns: Any,
    ) -> int:
        """Write an endorsement; the policy's premium and what else is given change with it.

        Raises Refused when the day is not one of the policy's, or the premium would become negative.
        """
        if not policy.first_day <= effective_on <= policy.last_day:
            raise Refused(
                f"Policy {policy.id} runs from {policy.first_day} to {policy.last_day}; "
                f"{effective_on} is not one of its days."
            )
        if policy.premium + premium_change < 0:
            raise Refused(
                f"The premium of policy {policy.id} is {policy.premium}; it cannot change by {premium_change}."
            )
        self.db.execute(
            policies.update()
            .where(policies.c.id == policy.id)
            .values(premium=policy.premium + premium_change, updated_at=self.now, **columns)
        )
        return self.insert(
            endorsements,
            policy_id=policy.id,
            kind=kind,
            effective_on=effective_on,
            premium_change=premium_change,
            details=details,
            created_at=self.now,
        )

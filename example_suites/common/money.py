"""Amounts: two decimals, halves rounded up."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal


def cents(amount: Decimal | float | int | str) -> Decimal:
    """The amount with two decimals; 0.005 becomes 0.01."""
    return Decimal(str(amount)).quantize(Decimal("0.01"), ROUND_HALF_UP)

"""VAT per night."""

from __future__ import annotations

from decimal import Decimal

from example_suites.common.money import cents


def vat_of(net: Decimal, percent: Decimal) -> Decimal:
    """The VAT on a net amount, halves of a cent rounded up."""
    return cents(net * percent / 100)

"""How amounts and dates are said."""

from __future__ import annotations

from datetime import date


def amount(cents: int) -> str:
    """1240 as people write it: 12.40."""
    return f"{cents // 100}.{cents % 100:02d}"


def day(moment: date) -> str:
    """Friday 15 May."""
    return f"{moment:%A} {moment.day} {moment:%B}"

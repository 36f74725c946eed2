"""Cost in words; what is not known is n/a with the reason, never 0."""

from __future__ import annotations

from math import floor, log10

from pytest_thinkingbox.report.text import escape
from pytest_thinkingbox.stats.cost import NOTICE, Cost, Ledger


def money(amount: float | None) -> str:
    """US dollars: cents, below one dollar three decimals, below a cent two significant digits."""
    if amount is None:
        return "n/a"
    if amount == 0 or amount >= 1:
        return f"${amount:,.2f}"
    return f"${amount:.{max(3, 1 - floor(log10(amount)))}f}"


def cost_texts(cost: Cost) -> list[str]:
    """One text per ledger, then the total and what a success comes to; none when no model was asked."""
    texts = [_ledger(one) for one in cost.ledgers]
    if not any(one.has_price for one in cost.ledgers):
        return texts
    if len(cost.ledgers) > 1:
        texts.append(f"total: {money(cost.total)}")
    if cost.agent is not None:
        texts.append(
            f"agent: {money(cost.per_attempt)} per attempt, {money(cost.per_pass)} per passed attempt, "
            f"{money(cost.per_reliable)} per reliably solved task"
        )
    texts.append(NOTICE)
    return texts


def _ledger(ledger: Ledger) -> str:
    text = f"{ledger.role}: {money(ledger.total)}"
    if ledger.silent:
        return f"{text}, it reported none"
    if not ledger.has_price:
        who = f"model {escape(ledger.model)}" if ledger.model else "a model that nobody named"
        return f"{text}, no price for {who}"
    if ledger.unknown:
        text += f", tokens unknown for {ledger.unknown} of {ledger.attempts} attempts"
        if ledger.unknown < ledger.attempts:
            text += f", the others {money(ledger.known)}"
    return f"{text} (model {escape(ledger.model or '')})"

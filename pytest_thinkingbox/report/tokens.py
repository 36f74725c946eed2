"""Tokens by role; what an endpoint did not say is n/a, never 0."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_thinkingbox.records.model import AttemptRow, UsageRecord
from pytest_thinkingbox.report.words import plural
from pytest_thinkingbox.stats.cost import ROLES, reports_itself


def token_texts(rows: Sequence[AttemptRow], *, agent: str) -> list[str]:
    """One text per role that made requests. `agent` is the text of `--tb-agent`."""
    texts = []
    for role in ROLES:
        used = [row.usage[role] for row in rows if role in row.usage and row.usage[role].requests]
        if used:
            texts.append(_role(role, used))
        elif role == "agent" and reports_itself(agent):
            texts.append("agent: n/a, it reported none")
    return texts or ["none, no model was asked"]


def _role(role: str, used: Sequence[UsageRecord]) -> str:
    requests = sum(one.requests for one in used)
    parts = [
        _amount("in", [one.input_tokens for one in used]),
        _detail("cached", [one.cached_tokens for one in used]),
        _amount("out", [one.output_tokens for one in used]),
        _detail("reasoning", [one.reasoning_tokens for one in used]),
    ]
    return f"{role}: {plural(requests, 'request')}, {', '.join(part for part in parts if part)}"


def _amount(name: str, counts: Sequence[int | None]) -> str:
    known = [one for one in counts if one is not None]
    if not known:
        return f"{name} n/a"
    total = f"{sum(known):,} {name}"
    unknown = len(counts) - len(known)
    return f"{total} (n/a for {unknown} of {len(counts)} attempts)" if unknown else total


def _detail(name: str, counts: Sequence[int | None]) -> str:
    """Most endpoints never say these: they are left out rather than n/a."""
    return _amount(name, counts) if any(counts) else ""

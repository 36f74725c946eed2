"""Records and rows with everything that a test does not care about filled in."""

from __future__ import annotations

from typing import Any

from pytest_thinkingbox.records.model import AttemptRecord, AttemptRow, CampaignInfo, Outcome

TASK = "suites/test_hotel.py::test_refund"
_REWARDS: dict[Outcome, float | None] = {"passed": 1.0, "failed": 0.0, "invalid": None}


def record(outcome: Outcome = "passed", **named: Any) -> AttemptRecord:
    fields: dict[str, Any] = {
        "campaign": "20260102-030405-abcdef",
        "task": TASK,
        "attempt": 1,
        "try_number": 1,
        "final": True,
        "requested": 4,
        "outcome": outcome,
        "cause": "infrastructure" if outcome == "invalid" else None,
        "detail": "",
        "stop_reason": "done",
        "reward": _REWARDS[outcome],
        "agent": "solution",
        "model": None,
        "started_at": "2026-01-02T03:04:05.000+00:00",
        "seed": 7,
    }
    return AttemptRecord(**fields | named)


def row(outcome: Outcome = "passed", **named: Any) -> AttemptRow:
    fields: dict[str, Any] = {
        "task": TASK,
        "attempt": 1,
        "requested": 4,
        "outcome": outcome,
        "cause": "infrastructure" if outcome == "invalid" else None,
        "stop_reason": "done",
    }
    return AttemptRow(**fields | named)


def rows(pattern: str, **named: Any) -> list[AttemptRow]:
    """One row a letter: p passed, f failed, i invalid; all of them requested."""
    outcomes: dict[str, Outcome] = {"p": "passed", "f": "failed", "i": "invalid"}
    named.setdefault("requested", len(pattern))
    return [row(outcomes[letter], attempt=number, **named) for number, letter in enumerate(pattern, start=1)]


def info(**named: Any) -> CampaignInfo:
    fields: dict[str, Any] = {
        "campaign": "20260102-030405-abcdef",
        "created": "2026-01-02T03:04:05+00:00",
        "agent": "solution",
        "finished": "2026-01-02T03:14:05+00:00",
    }
    return CampaignInfo(**fields | named)

"""Why attempts of a task failed or are invalid, most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pytest_thinkingbox.records.model import AttemptRow


def failure_causes(rows: Iterable[AttemptRow]) -> list[tuple[int, str]]:
    """How many attempts failed for each reason; what cut the agent off stands before the reason."""
    return _counted(_failure(row) for row in rows if row.outcome == "failed")


def invalid_causes(rows: Iterable[AttemptRow]) -> list[tuple[int, str]]:
    """How many attempts are invalid for each cause."""
    return _counted(
        f"invalid, {row.cause}: {row.detail or 'no detail'}" for row in rows if row.outcome == "invalid"
    )


def _failure(row: AttemptRow) -> str:
    detail = row.detail or "no message"
    return detail if row.stop_reason in (None, "done") else f"{row.stop_reason}: {detail}"


def _counted(reasons: Iterable[str]) -> list[tuple[int, str]]:
    return [(number, reason) for reason, number in Counter(reasons).most_common()]

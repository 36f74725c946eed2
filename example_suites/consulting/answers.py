"""What every task of this suite ends with: the answer to its ticket."""

from __future__ import annotations

from example_suites.common.words import Mentions
from pytest_thinkingbox import Inserted, Updated

Changes = list[Inserted | Updated]


def answered(ticket: int, status: str, *words: str, section: str | None = None) -> Changes:
    """A ticket that was open has this status, and one answer whose text holds these words.

    The section counts only for what is refused: an answer to anything else needs none and may name one.
    """
    answer = {"ticket_id": ticket, "kind": "answer", "body": Mentions(*words)}
    if section is not None:
        answer["policy_section"] = section
    return [Updated("tickets", ticket, status=("open", status)), Inserted("ticket_notes", **answer)]

"""The tags of a task: one kind or more, one difficulty, and the part of the business it belongs to.

    tags=["refusal", "easy", "refunds"]

Every suite has a task of every kind.
"""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "refusal": "to refuse, although asked nicely",
    "approval": "to wait for an approval, or to tell that none is needed",
    "partial": "several things, of which one is impossible",
    "correction": "somebody else's earlier mistake",
    "changed_mind": "a user who changes their mind",
    "wrong_data": "a user who gives wrong data",
    "nothing_to_do": "a request for something that needs no doing",
    "twice": "the same request twice",
    "injection": "orders in a row",
    "outage": "a tool that gives no answer",
    "exactly_once": "what may happen once and not twice",
    "money": "amounts to the cent",
    "dates": "dates across midnight and time zones",
    "open_outside": "a case that may not be closed, for something outside is still open",
}
DIFFICULTIES = ("easy", "medium", "hard")
"""As judged by the author: one rule decides; several rules must be found; they interact or mislead."""

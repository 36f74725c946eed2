"""Tools that speak to the user themselves: a text with places that the fields of their answer fill."""

from __future__ import annotations

import json

BROKEN = "Error in function execution"
"""What the agent sees of such a tool when its answer does not fill the text."""


def formatted(template: str, answer: str) -> str | None:
    """The text for the user; None when the answer is no JSON object, or lacks a field."""
    try:
        fields = json.loads(answer)
        return template.format(**fields)
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError):
        return None

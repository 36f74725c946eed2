"""A policy in Markdown, whose sections begin with a bold number: `**4.2 Late.** After that ...`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from example_suites.common.desk import Refused


@cache
def sections_of(path: Path) -> dict[str, str]:
    """The numbered sections of a policy: number to text."""
    parts = re.split(r"^\*\*(\d+\.\d+) ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    bodies = (re.split(r"^## ", body, flags=re.MULTILINE)[0] for body in parts[1::2])
    return {
        number: " ".join(body.replace("**", "").split())
        for number, body in zip(parts[::2], bodies, strict=True)
    }


def section_in(path: Path, number: str) -> str:
    """The number of a section that the policy has. Raises Refused when it has none of that number."""
    known = sections_of(path)
    if number not in known:
        raise Refused(f"The policy has no section {number}; it has {', '.join(known)}.")
    return number

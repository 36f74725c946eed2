"""What a judge answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One answer. `about` is the SHA-256 of the text that was judged; `cached` says that nobody was asked this time."""

    question: str
    about: str
    answer: Literal["yes", "no"]
    reason: str
    model: str
    cached: bool

"""What a run that goes on with a campaign knows of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_thinkingbox.records.resume import Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """The campaign that goes on. What its file held after `size` bytes is news of this run."""

    folder: Path
    size: int
    regrade: bool
    rerun_changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is left to do of an attempt: grade `stored` again, or play it after `played` earlier tries."""

    played: int
    stored: Stored | None = None

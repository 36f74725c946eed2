"""Names of databases and roles on a server: they carry the campaign, and what they are for.

`tb_<campaign>_<kind>_<token>`: kinds are letters, tokens letters and digits, so that a name can be read back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

Kind = Literal[
    "t",  # template: seed, or seed + start
    "b",  # reference: the same as checkers see it before the attempt
    "c",  # clone: the database of one attempt at a time
    "a",  # role of one attempt
    "o",  # owner of what the code in one clone does
    "r",  # roles that all attempts of the campaign share
]

_NAME = re.compile(r"tb_([a-z0-9_]+)_([a-z])_([a-z0-9]+)")
_LONGEST_CAMPAIGN = 32


@dataclass(frozen=True, slots=True)
class Campaign:
    """The campaign's part of every name."""

    part: str

    @classmethod
    def of(cls, label: str) -> Campaign:
        """From what a run is called; equal labels give equal parts, and others others, however long they are."""
        plain = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_") or "campaign"
        if len(plain) > _LONGEST_CAMPAIGN:
            plain = plain[: _LONGEST_CAMPAIGN - 13] + "_" + token_of(label)
        return cls(plain)

    def name(self, kind: Kind, token: str) -> str:
        return f"tb_{self.part}_{kind}_{token}"

    @property
    def lock(self) -> int:
        """The number of the lock that every process of the campaign holds while it lives: a signed 64-bit integer."""
        digest = blake2b(f"thinkingbox campaign {self.part}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, signed=True)


def campaign_of(name: str) -> Campaign | None:
    """Whose database or role this is; None when it is none of ours."""
    match = _NAME.fullmatch(name)
    return None if match is None else Campaign(match.group(1))


def kind_of(name: str) -> str | None:
    """What this database or role is for: a `Kind`; None when it is none of ours."""
    match = _NAME.fullmatch(name)
    return None if match is None else match.group(2)


def token_of(*parts: str) -> str:
    """Twelve hexadecimal digits, equal for equal parts."""
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=6).hexdigest()

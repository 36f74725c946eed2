"""A value that stands for free text: people may word a note as they like, but not leave out what it is about."""

from __future__ import annotations

import re

_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


class Mentions:
    """Equal to any text that contains all of these words, upper or lower case.

    1,450.00 also counts as 1450.00. A number is not found in a longer one: "18" is neither in 118 nor in KB-180.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *words: str) -> None:
        self.words = words

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        text = _plain(other)
        return all(re.search(_pattern(_plain(word)), text) for word in self.words)

    def __repr__(self) -> str:
        return f"Mentions({', '.join(map(repr, self.words))})"


def _plain(text: str) -> str:
    return _THOUSANDS.sub("", text.lower())


def _pattern(word: str) -> str:
    before = r"(?<!\d)" if word[:1].isdigit() else ""
    after = r"(?!\d)" if word[-1:].isdigit() else ""
    return f"{before}{re.escape(word)}{after}"

"""A value that stands for free text: people may word a note as they like, but not leave out what it is about."""

from __future__ import annotations


class Mentions:
    """Equal to any text that contains all of these words, upper or lower case; 1,450.00 also counts as 1450.00."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, *words: str) -> None:
        self.words = words

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        text = other.lower().replace(",", "")
        return all(word.lower().replace(",", "") in text for word in self.words)

    def __repr__(self) -> str:
        return f"Mentions({', '.join(map(repr, self.words))})"

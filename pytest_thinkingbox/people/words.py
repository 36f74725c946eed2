"""Whether a text says a given value: pure functions of text.

Compared in NFC, without case, with any white space as one space, any digits as 0-9, typographic quotes and dashes as
those of a keyboard, and without characters that have no width. A value stands for itself, not for a part of a word or
of a number: 4711 is not in 14711, 4711.50 or HB47110, but is in "PIN:4711".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_TYPOGRAPHIC = str.maketrans("’‘‛′“”„‟″‐‑‒–—−", '\'\'\'\'"""""------')
_LONG = 7  # digits; telephone, card and account numbers are written in groups of any length
_SHORT = 3
# Words of these scripts have "and", "in", "to", "the" written to their beginning.
_PREFIXES = {"HEBREW": frozenset("ובלכמשה"), "ARABIC": frozenset("وفبلكسا")}
_MOST_PREFIXES = 3


def plain(text: str) -> str:
    """The text as it is compared."""
    text = unicodedata.normalize("NFC", text).translate(_TYPOGRAPHIC).casefold()
    kept = (_digit(char) for char in text if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFC", " ".join("".join(kept).split()))


def _digit(char: str) -> str:
    return str(unicodedata.decimal(char)) if char.isdecimal() else char


def says(value: str, text: str) -> bool:
    """Whether the text holds the value, in any way of writing it."""
    compared = plain(text)
    return any(True for _ in whole(_pattern(plain(value)), compared))


def _pattern(value: str) -> str:
    """A regular expression for a plain value; numbers may be spelled digit by digit, long ones grouped differently."""
    exact = re.escape(value)
    bare = re.sub(r"[ \-./()]", "", value).removeprefix("+")
    digits = sum(char.isdigit() for char in bare)
    if not bare.isalnum() or digits < _SHORT:
        return exact
    if digits >= _LONG:
        return f"{exact}|" + r"[ \-./()]{0,3}".join(bare)
    return f"{exact}|" + r"(?:, ?|[ \-.])".join(bare) if bare.isdigit() else exact


def whole(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Where the pattern stands in a plain text and is not a part of a longer word or number."""
    for found in re.finditer(pattern, text):
        if _begins(text, found.start()) and not _goes_on(text, found.end()):
            yield found


def _begins(text: str, at: int) -> bool:
    if at >= 2 and text[at - 1] in ".," and text[at - 2].isdigit() and text[at].isdigit():
        return False
    script = _script(text[at])
    letters = _PREFIXES.get(script, frozenset())
    for back in range(_MOST_PREFIXES + 1):
        if at - back == 0 or not _one_word(text[at - back - 1], text[at - back]):
            return True
        if text[at - back - 1] not in letters:
            return False
    return False


def _goes_on(text: str, at: int) -> bool:
    if at == len(text):
        return False
    if text[at - 1].isdigit() and re.match(r"[.,]\d", text[at:]):
        return re.match(r"[.,]0+(?!\d)", text[at:]) is None  # 300.00 is 300
    return _one_word(text[at - 1], text[at])


def _one_word(left: str, right: str) -> bool:
    """Whether two neighbours belong to one word or number. Chinese, Japanese, Thai have no spaces to tell by."""
    if not (left.isalnum() and right.isalnum()):
        return False
    if _is_latin(left) and _is_latin(right):
        return True
    return _script(left) == _script(right) and _script(left) in _PREFIXES


def _is_latin(char: str) -> bool:
    """A digit, or a letter of a script that has capitals: Latin, Greek, Cyrillic, Armenian."""
    return char.isdigit() or char.upper() != char


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def sentences(text: str) -> list[str]:
    """The sentences of a text, with the marks that end them. A number after a dot goes with what is before: "no. 7"."""
    parts = re.split(r"(?<=[.!?؟])\s+(?!\d)|(?<=[？。！])|\n+", text)
    return [one.strip() for one in parts if one.strip()]

"""Text for a terminal: display width, escaping of what others wrote, shortening, bars."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_HARMLESS_FORMAT = frozenset("\u00ad\u200c\u200d\u200e\u200f")  # joiners and direction marks of ordinary text
_ELLIPSIS = "..."


def escape(text: str) -> str:
    """`text` without what a terminal would obey or choke on: controls, overrides of direction, what is no character."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if _is_plain(one) else _escaped(one) for one in text)


def escape_lines(text: str) -> str:
    """As `escape`, for places that keep lines and tabs; a line that ends as on Windows just ends."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "\n".join(
        "\t".join(escape(part) for part in line.split("\t"))
        for line in text.replace("\r\n", "\n").split("\n")
    )


def _is_plain(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Cf":
        return character in _HARMLESS_FORMAT
    return category not in ("Cc", "Cs", "Zl", "Zp") and not (
        category == "Cn" and _is_noncharacter(ord(character))
    )


def _is_noncharacter(code: int) -> bool:
    """Whether Unicode promises that this never is a character; others that have no name yet may have one soon."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def width_of(text: str) -> int:
    """Columns that `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_columns(one) for one in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def pad(text: str, width: int) -> str:
    """`text` and as many spaces as make it `width` columns wide."""
    return text + " " * (width - width_of(text))


def cut(text: str, width: int) -> str:
    """The beginning of `text` in at most `width` columns, with dots where something is missing."""
    if width_of(text) <= width:
        return text
    return _head(text, width - len(_ELLIPSIS)) + _ELLIPSIS


def _head(text: str, width: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += _columns(character)
        if taken > width:
            return text[:index]
    return text


def _tail(text: str, width: int) -> str:
    return _head(text[::-1], width)[::-1]


def shorten_all(texts: Sequence[str], width: int) -> list[str]:
    """Each text in at most `width` columns, shortened in the middle; different texts stay different.

    Where the same cut makes two alike, another place is tried for all; where none tells them apart, they are
    numbered.
    """
    distinct = len(set(texts))
    for share in (0.5, 0.3, 0.7, 0.15, 0.85, 0.0, 1.0):
        short = [_shorten(text, width, share) for text in texts]
        if len(set(short)) == distinct:
            return short
    return _numbered(texts, width)


def _shorten(text: str, width: int, share: float) -> str:
    if width_of(text) <= width:
        return text
    room = width - len(_ELLIPSIS)
    head = _head(text, int(room * share))
    return head + _ELLIPSIS + _tail(text, room - width_of(head))


def _numbered(texts: Sequence[str], width: int) -> list[str]:
    numbers: dict[str, int] = {}
    for text in texts:
        numbers.setdefault(text, len(numbers) + 1)
    digits = len(str(len(numbers)))
    return [f"{_shorten(text, width - digits - 1, 0.5)}#{numbers[text]}" for text in texts]


def bar(share: float, width: int) -> str:
    """A bar that is full only at 1 and empty only at 0."""
    full = round(share * width)
    if 0 < share < 1:
        full = min(max(full, 1), width - 1)
    return "#" * full + "." * (width - full)


def percent(share: float, digits: int = 0) -> str:
    """Per cent, 100 only for all and 0 only for none."""
    least = 10.0**-digits
    rounded = round(share * 100, digits)
    if 0 < share < 1:
        rounded = min(max(rounded, least), 100 - least)
    return f"{rounded:.{digits}f} %"


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken at spaces; a word that is longer keeps its line."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width_of(lines[-1]) + 1 + width_of(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines

"""Taking a file of SQL apart into statements, as the command-line client of MySQL does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_DELIMITER = re.compile(r"[ \t]*DELIMITER[ \t]+(\S+)[^\n]*", re.IGNORECASE)
_BLANK = re.compile(r"(?:\s|--(?:[ \t][^\n]*)?(?=\n|\Z)|#[^\n]*|/\*(?![!M]).*?\*/)*", re.DOTALL)
_INSIDE = (
    r"'(?:[^'\\]|\\.|'')*'",
    r'"(?:[^"\\]|\\.|"")*"',
    r"`(?:[^`]|``)*`",
    r"--(?=[\s])[^\n]*",
    r"#[^\n]*",
    r"/\*.*?\*/",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """`line` is where it begins, from 1."""

    text: str
    line: int


def statements(script: str) -> Iterator[Statement]:
    """Each statement, without its delimiter. DELIMITER is obeyed and is none."""
    place, delimiter = 0, ";"
    while True:
        blank = _BLANK.match(script, place)
        assert blank is not None
        place = blank.end()
        if place >= len(script):
            return
        change = _DELIMITER.match(script, place)
        if change is not None:
            delimiter, place = change[1], change.end()
            continue
        end, following = _end(script, place, delimiter)
        text = script[place:end].strip()
        if text:
            yield Statement(text, script.count("\n", 0, place) + 1)
        place = following


def _end(script: str, place: int, delimiter: str) -> tuple[int, int]:
    """Where the statement at `place` ends, and where the next one may begin."""
    pattern = re.compile("|".join((f"(?P<end>{re.escape(delimiter)})", *_INSIDE)), re.DOTALL)
    for match in pattern.finditer(script, place):
        if match["end"] is not None:
            return match.start(), match.end()
    return len(script), len(script)

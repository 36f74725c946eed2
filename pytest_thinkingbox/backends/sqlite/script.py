"""Running a .sql file statement by statement, so that what fails can be named."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from pytest_thinkingbox.errors import ConfigurationError

# What may hold a semicolon that ends nothing, and the semicolons that may.
_TOKENS = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] | --[^\n]* | /\*.*?\*/ | (;)""",
    re.VERBOSE | re.DOTALL,
)
# What may stand before a statement; a comment that is never closed goes on to the end.
_LEAD = re.compile(r"(?: \s | ; | --[^\n]* | /\*(?>.*?\*/) | /\*(?!.*?\*/).* )*+", re.VERBOSE | re.DOTALL)


def statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement with the line that it starts on; the last one may be incomplete."""
    start = 0
    for token in _TOKENS.finditer(text):
        if token.group(1) and sqlite3.complete_statement(text[start : token.end()]):
            yield from _numbered(text, start, token.end())
            start = token.end()
    yield from _numbered(text, start, len(text))


def _numbered(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    lead = _LEAD.match(text, start, end)
    assert lead is not None  # it may be empty
    if lead.end() < end:
        yield text.count("\n", 0, lead.end()) + 1, text[lead.end() : end].strip()


def run_script(connection: sqlite3.Connection, path: Path, *, what: str) -> None:
    """Execute a whole file in autocommit mode, or raise ConfigurationError naming file, line and statement."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{what} {path} cannot be read: {error}") from error
    line = 1
    for line, statement in statements(text):
        if not sqlite3.complete_statement(statement if statement.endswith(";") else statement + ";"):
            raise ConfigurationError(
                f"{what} {path}, line {line}: ends in the middle of a statement: {_short(statement)}"
            )
        try:
            connection.execute(statement).fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise ConfigurationError(f"{what} {path}, line {line}: {error}: {_short(statement)}") from error
    if connection.in_transaction:
        raise ConfigurationError(
            f"{what} {path}: its last transaction is never committed: add COMMIT at the end"
        )


def _short(statement: str) -> str:
    one_line = " ".join(statement.split())
    return one_line if len(one_line) <= 200 else one_line[:200] + "..."

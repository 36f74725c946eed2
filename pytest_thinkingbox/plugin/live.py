"""On a terminal: one line that says how the attempts stand, while a test waits for its own."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest

from pytest_thinkingbox.plugin import private

if TYPE_CHECKING:
    from pytest_thinkingbox.episodes.pool import Counts

_PATIENCE = 1.0
"""Seconds of waiting before the line appears: a fast suite never shows it."""

_DOWN, _ERASE, _UP = "\n", "\r\x1b[K", "\x1b[1A"


class LiveLine:
    """Drawn below pytest's progress and taken away again; nothing of pytest's output is lost."""

    def __init__(self, config: pytest.Config, counts: Counts, *, total: int) -> None:
        self._config = config
        self._counts = counts
        self._total = total
        self._shown = False
        self._since = 0.0
        self._enabled = private.is_on_terminal(config) and config.get_verbosity() <= 0

    def begin(self) -> None:
        self._since = time.monotonic()

    def update(self) -> None:
        if not self._enabled or time.monotonic() - self._since < _PATIENCE:
            return
        text = _ERASE + self._text()[: self._config.get_terminal_writer().fullwidth - 1]
        if not self._shown:
            self._column = private.column_of_progress(self._config)
            text = _DOWN + text
            self._shown = True
        self._write(text)

    def end(self) -> None:
        if self._shown:
            self._shown = False
            # Up one line from wherever that is by now: the screen may have scrolled.
            self._write(f"{_ERASE}{_UP}\x1b[{self._column + 1}G")

    def _write(self, text: str) -> None:
        with private.uncaptured(self._config):
            sys.stdout.write(text)  # pytest's own writer would count it as part of the progress line
            sys.stdout.flush()

    def _text(self) -> str:
        counts = self._counts
        spent = "tokens n/a" if counts.tokens is None else f"{counts.tokens:,} tokens"
        return (
            f"thinkingbox: {counts.running} running, {counts.done}/{self._total} done, "
            f"{counts.invalid} invalid, {spent}"
        )

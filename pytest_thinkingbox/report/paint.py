"""ANSI colours, or none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours text that was padded and cut before: the codes take no columns."""

    color: bool

    def bold(self, text: str) -> str:
        return self._code("1", text)

    def dim(self, text: str) -> str:
        return self._code("2", text)

    def red(self, text: str) -> str:
        return self._code("31", text)

    def green(self, text: str) -> str:
        return self._code("32", text)

    def yellow(self, text: str) -> str:
        return self._code("33", text)

    def _code(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self.color and text else text

"""Reports of attempts hold what agents wrote: it may neither steer a terminal nor break the wire between processes."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from pytest_thinkingbox.plugin import private
from pytest_thinkingbox.plugin.campaign import NODE

_COLOR = r"\x1b\[[0-9;]*m"
# Controls but tab and newline, halves of surrogate pairs, line separators, overrides of the direction of writing.
_UNSAFE = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]"
_ALL = re.compile(_UNSAFE)
_ALL_BUT_COLORS = re.compile(rf"({_COLOR})|{_UNSAFE}")
_LAYOUT = "\r\b"  # what progress bars print; it moves the cursor in its own line only


def printable(text: str, *, colors: bool = False, keep: str = "") -> str:
    """`text` with what a terminal would obey written as escapes; `colors` and the characters of `keep` stay."""

    def escaped(match: re.Match[str]) -> str:
        found = match[0]
        if len(found) > 1 or found in keep:
            return found
        return found.encode("unicode_escape", "backslashreplace").decode("ascii")

    return (_ALL_BUT_COLORS if colors else _ALL).sub(escaped, text)


class PrintableReports:
    """Registered in every process once an agent is named, so that its reports are shown and sent as `printable`."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if NODE not in report.__dict__:
            return
        # Where there are colors, those of pytest's own explanations are among them.
        colors = private.shows_colors(self._config)
        report.longrepr = _cleaned(report.longrepr, colors=colors)
        report.sections = [
            (printable(title), printable(text, colors=colors, keep=_LAYOUT))
            for title, text in report.sections
        ]
        report.user_properties = _cleaned(report.user_properties, colors=False)


def _cleaned(value: Any, *, colors: bool) -> Any:
    """Strings in lists, tuples and pytest's own representations, which are dataclasses, changed where they are."""
    if isinstance(value, str):
        return printable(value, colors=colors)
    if isinstance(value, list):
        return [_cleaned(one, colors=colors) for one in value]
    if isinstance(value, tuple):
        return tuple(_cleaned(one, colors=colors) for one in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            setattr(value, field.name, _cleaned(getattr(value, field.name), colors=colors))
    return value

"""Twenty attempts end in few ways: pytest shows each way once a task, and says of how many attempts it stands for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from pytest_thinkingbox.plugin import private

_ATTEMPT = re.compile(r"[-\[]try\d+\]\Z")  # what a node id has beyond its task's
_SECTION = "thinkingbox"


class ShownOnce:
    """Registered beside `Restored`, which gives back what pytest's list of errors must not show but count."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], pytest.TestReport] = {}
        self._times: Counter[tuple[str, str]] = Counter()
        self._repeated: set[int] = set()
        self.errors: list[Any] | None = None

    def see(self, report: pytest.TestReport) -> None:
        """A report of an attempt that failed or is invalid."""
        way = (_ATTEMPT.sub("", report.nodeid), str(report.longrepr).strip().rpartition("\n")[2])
        self._times[way] += 1
        if self._first.setdefault(way, report) is not report:
            self._repeated.add(id(report))
            private.hide_failure_text(report)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        for way, report in self._first.items():
            if self._times[way] > 1:
                report.sections.append(
                    (_SECTION, f"{self._times[way]} attempts of this task ended like this")
                )
        errors = terminalreporter.stats.get("error")
        if errors:  # unlike failures, errors are shown whether they are hidden or not
            self.errors = errors
            terminalreporter.stats["error"] = [one for one in errors if id(one) not in self._repeated]
        return (yield)


class Restored:
    """Between pytest's ERRORS and its short summary, where every error has its line."""

    def __init__(self, once: ShownOnce) -> None:
        self._once = once

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._once.errors is not None:
            terminalreporter.stats["error"] = self._once.errors

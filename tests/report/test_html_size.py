"""The largest campaign that is promised to fit: 507 tasks, twenty attempts each."""

from __future__ import annotations

import re

import pytest

from pytest_thinkingbox.records.store import rows_of
from pytest_thinkingbox.report.html.packing import Details
from pytest_thinkingbox.report.html.page import html_report
from pytest_thinkingbox.stats.gates import GateOptions
from pytest_thinkingbox.stats.verdict import decide
from tests.records.builders import info
from tests.report.campaigns import campaign


@pytest.mark.slow
def test_ten_thousand_attempts_fit_and_most_keep_their_conversation() -> None:
    details = Details()
    rows = rows_of(details.keep(campaign(tasks=507, attempts=20)))
    assert len(rows) == 10_140
    verdict = decide(rows=rows, requested={}, gates=GateOptions(), ordinary_failures=0, partial=False)
    page = "".join(html_report(rows=rows, info=info(), verdict=verdict, details=details))
    assert 4_000_000 < len(page.encode("utf-8")) < 5_000_000
    [without] = re.findall(r"\(([\d,]+) tries have none\)", page)
    assert int(without.replace(",", "")) < 5_070

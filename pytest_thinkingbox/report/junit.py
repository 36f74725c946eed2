"""A campaign as JUnit XML: a test case per attempt, the figures as properties of the suite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo, attempt_name
from pytest_thinkingbox.report.cost import money
from pytest_thinkingbox.report.data import campaign_cost
from pytest_thinkingbox.report.words import passed_every_attempt, share, valid
from pytest_thinkingbox.stats.suite import mean_pass_at_k, pooled, reliable
from pytest_thinkingbox.stats.verdict import Verdict

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold, not even escaped."""


def suite_properties(*, rows: Sequence[AttemptRow], info: CampaignInfo, verdict: Verdict) -> dict[str, str]:
    """Figures by name, with their denominators."""
    total = pooled(tasks=verdict.tasks)
    first = mean_pass_at_k(tasks=verdict.tasks, k=1)
    cost = campaign_cost(rows=rows, info=info, verdict=verdict)
    found = {
        "thinkingbox.campaign": info.campaign,
        "thinkingbox.agent": " ".join(one for one in (info.agent, info.model) if one),
        "thinkingbox.pass_at_1": f"{share(first.mean)} (mean over {len(first.values)} of {first.of} tasks)",
        "thinkingbox.attempts": f"{total.passed}/{total.valid} passed, {valid(total)}",
        "thinkingbox.every_attempt": passed_every_attempt(reliable(tasks=verdict.tasks)),
        "thinkingbox.exit_status": str(verdict.exit_status),
    }
    if cost.ledgers:
        found["thinkingbox.cost"] = money(cost.total)
    if info.partial:
        found["thinkingbox.partial"] = info.partial
    found |= {f"thinkingbox.gate.{number}": one.line for number, one in enumerate(verdict.gates, start=1)}
    return {name: _ILLEGAL.sub(_shown, value) for name, value in found.items()}


def junit_report(*, rows: Sequence[AttemptRow], info: CampaignInfo, verdict: Verdict) -> str:
    """Failed attempts are failures, invalid ones errors, expected failures skipped - as pytest itself counts."""
    suites = ElementTree.Element("testsuites", name="thinkingbox")
    skipped = [row for row in rows if row.xfail and row.outcome != "invalid"]
    suite = ElementTree.SubElement(
        suites,
        "testsuite",
        name="thinkingbox",
        tests=str(len(rows)),
        failures=str(sum(row.outcome == "failed" and not row.xfail for row in rows)),
        errors=str(sum(row.outcome == "invalid" for row in rows)),
        skipped=str(len(skipped)),
        time=f"{sum(row.seconds for row in rows):.3f}",
        timestamp=info.created,
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in suite_properties(rows=rows, info=info, verdict=verdict).items():
        ElementTree.SubElement(properties, "property", name=name, value=value)
    for row in rows:
        suite.append(_case(row))
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=False) + "\n"


def _case(row: AttemptRow) -> ElementTree.Element:
    name = attempt_name(task=row.task, attempt=row.attempt, requested=row.requested)
    file, _, function = _text(name).partition("::")
    case = ElementTree.Element("testcase", classname=file, name=function or file, time=f"{row.seconds:.3f}")
    if row.outcome == "invalid":
        ElementTree.SubElement(case, "error", type=str(row.cause), message=_text(row.detail))
    elif row.xfail:
        ElementTree.SubElement(case, "skipped", type="xfail", message=_text(row.detail))
    elif row.outcome == "failed":
        ElementTree.SubElement(case, "failure", type=row.stop_reason or "failed", message=_text(row.detail))
    return case


def _text(text: str) -> str:
    return _ILLEGAL.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    return f"#x{ord(found[0]):02X}"

"""Markdown, JSON, CSV and JUnit of one campaign, with text of others that tries to break out."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo, UsageRecord
from pytest_thinkingbox.report.data import COLUMNS, csv_report, json_report
from pytest_thinkingbox.report.junit import junit_report
from pytest_thinkingbox.report.markdown import markdown_report, plain
from pytest_thinkingbox.stats.gates import GateOptions
from pytest_thinkingbox.stats.verdict import Verdict, decide
from tests.records.builders import info, rows

EVIL = "|`<script>alert(1)</script>` [x](http://evil) \x00\x1b[2J\ud800 </testcase> ]]> \u202e\ufffe\n# h"
USAGE = {"agent": UsageRecord(requests=1, input_tokens=1_000_000, output_tokens=0)}
PRICES = {"m": {"input": 0.5, "cached_input": None, "output": 2.0}}


def campaign(*groups: list[AttemptRow], **named: Any) -> dict[str, Any]:
    found = [row for group in groups for row in group]
    about: CampaignInfo = info(agent="openai", model="m", options={"prices": PRICES}, **named)
    verdict: Verdict = decide(
        rows=found,
        requested={},
        gates=GateOptions(min_pass_rate=0.7),
        ordinary_failures=0,
        partial=about.partial is not None,
    )
    return {"rows": found, "info": about, "verdict": verdict}


def usual() -> dict[str, Any]:
    return campaign(
        rows("ppff", task="t.py::a", usage=USAGE, tags=("money",), seconds=1.5),
        rows("ppii", task="t.py::b", usage=USAGE),
        rows("f", task="t.py::x", xfail=True),
    )


def evil() -> dict[str, Any]:
    found = [
        replace(row, detail=EVIL, task=f"t.py::{EVIL}", tags=(EVIL,))
        for row in rows("pfi", stop_reason="done")
    ]
    return campaign(found, campaign=EVIL, partial=EVIL)


def test_json_has_every_figure_with_its_denominators() -> None:
    data = json.loads(json_report(**usual()))
    figures = data["figures"]
    assert (figures["passed"], figures["valid"], figures["requested"], figures["invalid"]) == (4, 6, 8, 2)
    assert figures["pass_at"]["1"] == {"mean": 0.75, "tasks": 2, "of": 2}
    assert figures["pass_at"]["4"] == {"mean": 1.0, "tasks": 1, "of": 2}
    assert figures["every_attempt"] == {"low": 0, "high": 1, "of": 2, "unsettled": ["t.py::b"]}
    assert data["gates"][0]["status"] == "not enough valid attempts"
    assert data["exit_status"] == 8
    assert data["cost"]["total"] == 4.0
    assert data["cost"]["agent_per_reliable_task"] is None
    assert [task["every_attempt"] for task in data["tasks"]] == [False, None]
    assert data["tags"]["money"] == {
        "tasks": 1, "requested": 4, "valid": 4, "passed": 2, "invalid": 0, "pass_at_1": None,
    }  # fmt: skip


def test_csv_has_a_line_an_attempt() -> None:
    head, *lines = csv.reader(io.StringIO("".join(csv_report(rows=usual()["rows"], info=usual()["info"]))))
    assert tuple(head) == COLUMNS
    assert len(lines) == 9
    assert lines[0] == [
        "t.py::a", "1", "passed", "", "", "done", "1", "0", "1.500", "1000000", "", "0", "0.5", "money",
    ]  # fmt: skip


@pytest.mark.parametrize("begin", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"])
def test_a_spreadsheet_takes_no_text_for_a_formula(begin: str) -> None:
    found = [replace(row, detail=begin) for row in rows("f", task=begin)]
    (_, line) = csv.reader(io.StringIO("".join(csv_report(rows=found, info=info()))))
    assert (line[0], line[4]) == (f"'{begin}", f"'{begin}")


def test_junit_counts_as_pytest_does_and_carries_the_figures() -> None:
    (suite,) = ElementTree.fromstring(junit_report(**usual()))
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "9", "failures": "2", "errors": "2", "skipped": "1",
    }  # fmt: skip
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert properties["thinkingbox.pass_at_1"] == "75.0 % (mean over 2 of 2 tasks)"
    assert properties["thinkingbox.attempts"] == "4/6 passed, 6 of 8 valid, 2 invalid"
    assert properties["thinkingbox.every_attempt"] == "0-1 of 2 tasks passed every attempt, 1 unsettled"
    assert properties["thinkingbox.cost"] == "$4.00"
    assert (properties["thinkingbox.gate.1"] or "").startswith("pass rate >= 0.7: not enough valid attempts")
    cases = list(suite.iter("testcase"))
    assert (cases[0].get("classname"), cases[0].get("name")) == ("t.py", "a[try1]")


def test_t26_hostile_text_leaves_every_format_whole() -> None:
    found = evil()
    json.loads(json_report(**found))
    (suite,) = ElementTree.fromstring(junit_report(**found).encode("utf-8"))
    assert len(list(suite.iter("testcase"))) == 3
    lines = list(csv.reader(io.StringIO("".join(csv_report(rows=found["rows"], info=found["info"])))))
    assert [len(line) for line in lines] == [len(COLUMNS)] * 4
    "".join(csv_report(rows=found["rows"], info=found["info"])).encode("utf-8")
    markdown_report(**found).encode("utf-8")


def test_markdown_shows_verdict_gates_figures_tasks_and_cost() -> None:
    text = markdown_report(**usual())
    assert text.startswith("## thinkingbox: broke\n")
    shown = text.replace("\\", "")
    assert "* gate pass rate >= 0.7: not enough valid attempts" in shown
    assert "| pass@1 | 75.0 % | mean over 2/2 tasks |" in shown
    assert "| 4/4 | 0-1 of 2 tasks passed every attempt, 1 unsettled |" in shown
    assert shown.index("| t.py::a | 2/4 | 50.0 % |") < shown.index("| t.py::b | 2/2, 2 missing | 100.0 % |")
    assert "| money | 1 | 2/4 |  |" in shown
    assert "* agent: $4.00 (model m)" in shown


def test_markdown_of_others_stays_text() -> None:
    text = markdown_report(**evil())
    assert re.findall(r"(?<!\\)[<`]", text) == []
    assert "\x1b" not in text
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads == ["## thinkingbox: broke", "### Tasks", "### Tags", "### Cost"]
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (4, 5, 6)


def test_many_tasks_are_cut_to_the_worst_hundred() -> None:
    groups = [rows("pp" if n else "ff", task=f"t{n}") for n in range(150)]
    text = markdown_report(**campaign(*groups)).replace("\\", "")
    assert "| t0 | 0/2 |" in text
    assert "50 more tasks, which failed less often" in text


def test_punctuation_is_escaped() -> None:
    assert plain("a|b <i> *x* `y`") == r"a\|b \<i\> \*x\* \`y\`"

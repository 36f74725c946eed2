from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from pytest_thinkingbox.records.model import AttemptRecord
from pytest_thinkingbox.records.store import rows_of
from pytest_thinkingbox.report.html import page as page_module
from pytest_thinkingbox.report.html.curve import curve_of
from pytest_thinkingbox.report.html.packing import Details
from pytest_thinkingbox.report.html.page import html_report
from pytest_thinkingbox.report.reading import as_left
from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.gates import GateOptions
from pytest_thinkingbox.stats.verdict import decide
from tests.records.builders import info, record

FOLDER = Path(page_module.__file__).parent


def page_of(
    records: Sequence[AttemptRecord],
    *,
    largest: int = page_module.LARGEST,
    folder: Path | None = None,
    **named: Any,
) -> str:
    details = Details()
    rows = rows_of(details.keep(records))
    described = as_left(info(**named))
    verdict = decide(
        rows=rows,
        requested=described.tasks,
        gates=GateOptions(min_pass_rate=described.min_pass_rate),
        ordinary_failures=0,
        partial=described.partial is not None,
    )
    parts = html_report(
        rows=rows, info=described, verdict=verdict, details=details, folder=folder, largest=largest
    )
    return "".join(parts)


def attempts(pattern: str, *, task: str = "t.py::test_one", **named: Any) -> list[AttemptRecord]:
    outcomes = {"p": "passed", "f": "failed", "i": "invalid"}
    return [
        record(outcomes[letter], task=task, attempt=number, requested=len(pattern), **named)  # type: ignore[arg-type]
        for number, letter in enumerate(pattern, start=1)
        if letter in outcomes
    ]


class Text(HTMLParser):
    """What a reader sees, and the elements and attributes that are there."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._data = False
        self.feed(source)
        self.close()
        self.text = re.sub(r"\s+", " ", self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._data = tag in ("script", "style")
        if tag in ("dt", "dd", "td", "th", "li", "p"):
            self.text += " "

    def handle_endtag(self, tag: str) -> None:
        self._data = False

    def handle_data(self, data: str) -> None:
        if not self._data:
            self.text += data


def strip_of(source: str, at: int = 0) -> str:
    [row] = re.findall(rf'id="t{at}".*?</tr>', source, re.DOTALL)
    return re.sub(r"<[^>]*>", "", row.partition('class="strip"')[2].partition("</span>")[0].partition(">")[2])


def test_every_attempt_has_a_cell_and_its_outcome_is_a_sign_not_only_a_colour() -> None:
    source = page_of(attempts("ppfi-"), tasks={"t.py::test_one": 5})
    assert strip_of(source) == "✓✓×!–"


def test_figures_come_with_their_denominators() -> None:
    text = Text(page_of(attempts("ppfi-"), tasks={"t.py::test_one": 5})).text
    assert "pass@1 66.7 % mean over 1 of 1 task" in text
    assert "Attempts passed 2/3 3 of 5 valid, 1 invalid, 1 not run" in text
    assert "5/5 0/1 0 of 1 task passed every attempt, 1 unsettled" in text
    assert "5/5 shows a chance of 0.621 or more (95 %)" in text
    assert "Cost n/a no model was asked" in text


def test_t2_a_task_without_a_valid_attempt_is_invalid_not_zero() -> None:
    text = Text(page_of(attempts("ii"), tasks={"t.py::test_one": 2})).text
    assert "0/0 INVALID" in text
    assert "pass@1 n/a" in text


def test_a_gate_says_which_way_it_went() -> None:
    text = Text(page_of(attempts("pf"), tasks={"t.py::test_one": 2}, min_pass_rate=0.9)).text
    assert "fails pass rate >= 0.9: 0.500 (1/2 passed, 2 of 2 valid)" in text


def test_a_campaign_that_did_not_run_to_its_end_says_so() -> None:
    stopped = Text(page_of(attempts("p-"), tasks={"t.py::test_one": 2}, partial="-x")).text
    assert "Partial (-x): not every attempt was run; figures cover those that were." in stopped
    killed = Text(page_of(attempts("p-"), tasks={"t.py::test_one": 2}, finished=None)).text
    assert "Partial (it was killed, or still runs): not every attempt was run" in killed


def test_xfail_tasks_stand_apart() -> None:
    records = [*attempts("p"), *attempts("f", task="t.py::test_two", xfail=True)]
    source = page_of(records, tasks={"t.py::test_one": 1, "t.py::test_two": 1})
    assert source.index("Expected to fail (xfail)") < source.index("test_two")
    assert "Attempts passed 1/1" in Text(source).text


def test_the_policy_lets_nothing_in_but_the_two_sources_of_the_page() -> None:
    source = page_of(attempts("pf"))
    [policy] = [
        attributes["content"] for tag, attributes in Text(source).elements if "http-equiv" in attributes
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http:" not in re.sub(r"xmlns='http://www.w3.org/2000/svg'", "", source)
    assert "https:" not in source


def test_data_never_becomes_markup_or_code() -> None:
    script = (FOLDER / "page.js").read_text("utf-8")
    for sink in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "</script",
    ):
        assert sink not in script
    assert "|safe" not in (FOLDER / "page.html").read_text("utf-8").replace("{{ style|safe }}", "")


def test_t26_hostile_names_add_no_element_and_no_attribute() -> None:
    evil = "</script><!--<img src=x onerror=alert(1)>'\"`{{7*7}}\x00\ud800\u202e\n"

    def elements(text: str) -> list[tuple[str, list[str]]]:
        records = attempts("pf", task=f"{text}.py::{text}", tags=(text,), detail=text, model=text)
        source = page_of(records, campaign=text, agent=text, model=text, folder=Path(text.replace("/", "")))
        source.encode("utf-8")
        assert not set(source) & {"\x00", "\u202e"}
        return [(tag, sorted(attributes)) for tag, attributes in Text(source).elements]

    assert elements(evil) == elements("tame")
    assert "49" not in Text(page_of(attempts("p", task=evil), campaign=evil)).text


def test_what_was_cut_is_said_where_a_person_looks() -> None:
    records = attempts("p" * 4, messages=({"role": "assistant", "content": "long " * 5_000},))
    text = Text(page_of(records)).text
    assert "texts of more than 20,000 characters are shortened in the middle (4 are)" in text
    assert "Shortened" not in Text(page_of(attempts("p"))).text


def test_the_page_names_the_folder_that_holds_everything() -> None:
    assert (
        "The records in runs/one hold everything"
        in Text(page_of(attempts("p"), folder=Path("runs/one"))).text
    )


def counts(passed: int, valid: int, requested: int = 20) -> TaskCounts:
    return TaskCounts(
        task="t", requested=requested, passed=passed, failed=valid - passed, invalid=requested - valid
    )


def test_the_curve_goes_through_the_figures() -> None:
    curve = curve_of([counts(10, 20)])
    assert curve is not None
    assert [(one.k, one.at_least_once, one.every_time) for one in curve.steps][:2] == [
        (1, "50.0 %", "50.0 %"),
        (2, "76.3 %", "23.7 %"),
    ]
    assert curve.lines[0].dots[0] == curve.lines[1].dots[0] == (40.0, 101.0)
    assert curve.lines[0].dots[-1] == (376.0, 12.0)
    assert curve.summary == (
        "pass@k goes from 50.0 % at k=1 to 100.0 % at k=20, pass^k from 50.0 % to 0.0 %."
    )
    assert [k for _, k in curve.across] == [1, 5, 10, 15, 20]


def test_t3_where_no_task_has_k_valid_attempts_the_curve_ends() -> None:
    curve = curve_of([counts(2, 4, 6)])
    assert curve is not None
    assert [one.at_least_once for one in curve.steps][-2:] == ["n/a", "n/a"]
    assert len(curve.lines[0].dots) == 4
    assert curve.note == (
        "From k = 5 on over fewer tasks, at k = 6 over 0/1: the others have fewer than k valid attempts."
    )


def test_labels_of_curves_that_end_together_do_not_lie_on_each_other() -> None:
    curve = curve_of([counts(20, 20)])
    assert curve is not None
    assert curve.lines[1].label_y - curve.lines[0].label_y == 14


def test_one_attempt_a_task_makes_no_curve() -> None:
    assert curve_of([counts(1, 1, 1)]) is None
    assert curve_of([]) is None

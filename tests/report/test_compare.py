from __future__ import annotations

from typing import Any

from pytest_thinkingbox.records.model import AttemptRow, UsageRecord
from pytest_thinkingbox.report.compare import change, comparison_lines, mismatch_lines
from pytest_thinkingbox.report.leaderboard import leaderboard_lines
from pytest_thinkingbox.stats.campaign import Mismatch, Side, make_side
from pytest_thinkingbox.stats.compare import compare, leaderboard
from pytest_thinkingbox.stats.prices import Price
from tests.records.builders import info, rows

PRICES = {"m": Price(input=1.0, output=1.0)}
USAGE = {"agent": UsageRecord(requests=1, input_tokens=100_000, output_tokens=0)}


def side(patterns: dict[str, str], name: str = "one", usage: Any = USAGE, **named: Any) -> Side:
    found: list[AttemptRow] = []
    for task, pattern in patterns.items():
        found += rows(pattern, task=task, usage=usage, **named)
    asked = {task: len(pattern) for task, pattern in patterns.items()}
    return make_side(info=info(campaign=name, model="m", agent="openai", tasks=asked), rows=found, seeds={})


def test_a_comparison_as_a_person_reads_it() -> None:
    base = side({"t.py::a": "ppff", "t.py::b": "pppp", "t.py::c": "ffff"})
    new = side({"t.py::a": "pppp", "t.py::b": "pppf", "t.py::c": "ffff"}, name="two", tags=("money",))
    allowed = [Mismatch(key="checkers", text="test function or its rules of 1 of 3 tasks: t.py::a")]
    lines = comparison_lines(compare(base=base, new=new, prices=PRICES, allowed=allowed))
    assert "\n".join(lines) == (
        """\
base      one, agent openai, model m: 6/12 passed, 12 of 12 valid, 1 of 3 tasks
          passed every attempt
new       two, agent openai, model m: 7/12 passed, 12 of 12 valid, 1 of 3 tasks
          passed every attempt
allowed   checkers: test function or its rules of 1 of 3 tasks: t.py::a

            base     new  points       95 % interval  P(better)  tasks
pass@1    50.0 %  58.3 %   +8.33    -33.09 to +49.75      0.680    3/3
pass@4    66.7 %  66.7 %   +0.00  -100.00 to +100.00      0.500    3/3
4/4       33.3 %  33.3 %   +0.00  -100.00 to +100.00      0.500    3/3
intervals and P(better) are for these tasks, tried again

verdict   no difference of pass@1 shown (+8.33 points)
gained    1 task passed every attempt (4/4) in new only
          t.py::a
lost      1 task passed every attempt (4/4) in base only
          t.py::b

cost                         base     new   change
agent                       $1.20   $1.20   +0.0 %
total                       $1.20   $1.20   +0.0 %
agent, per attempt         $0.100  $0.100   +0.0 %
agent, per passed attempt  $0.200  $0.171  -14.3 %
agent, per reliable task    $1.20   $1.20   +0.0 %
serving index, not an invoice; invalid tries included"""
    )


def test_costs_of_tasks_that_only_one_has_are_said_to_be_in_the_sum() -> None:
    base, new = side({"t.py::a": "ppff"}), side({"t.py::a": "pppp", "t.py::b": "pppp"}, name="two")
    said = "costs are of all tasks of a campaign, figures of those that every campaign has"
    assert said in comparison_lines(compare(base=base, new=new, prices=PRICES))
    standings = leaderboard(sides=[base, new, base], prices=PRICES)
    assert leaderboard_lines(standings)[-1] == said
    assert said not in leaderboard_lines(leaderboard(sides=[base, base, base], prices=PRICES))


def test_ten_tasks_have_an_interval_for_new_ones_and_tags() -> None:
    base = side({f"t{n}": "pf" for n in range(10)}, tags=("ten",))
    new = side({f"t{n}": "pp" if n else "pf" for n in range(10)}, tags=("ten",))
    text = "\n".join(comparison_lines(compare(base=base, new=new, prices={})))
    assert "pass@1 for new tasks like these: +35.00 to +50.00 points" in text
    assert "ten          10  50.0 %  95.0 %  +45.00" in text
    assert "new is better: pass@1 +45.00 points" in text


def test_few_tasks_of_a_tag_have_no_difference() -> None:
    base = side({f"t{n}": "pf" for n in range(9)}, tags=("nine",))
    text = "\n".join(comparison_lines(compare(base=base, new=base, prices={})))
    assert "nine          9  9/18  9/18\ntags with fewer than 10 tasks: counts only" in text


def test_sharpening_is_said_with_its_figures() -> None:
    before = {f"a{n}": "pf" for n in range(8)} | {f"b{n}": "pf" for n in range(8)}
    after = {f"a{n}": "pp" for n in range(8)} | {f"b{n}": "ff" for n in range(8)}
    text = "\n".join(comparison_lines(compare(base=side(before), new=side(after), prices={})))
    assert "sharpened: 2/2 rose while pass@2 fell" in text


def test_judged_tasks_are_left_out_in_a_second_table() -> None:
    usage = {"judge": UsageRecord(requests=1)}
    found = compare(base=side({"a": "pf"}, usage=usage), new=side({"a": "pp"}), prices={})
    text = "\n".join(comparison_lines(found))
    assert "without the 1 task that asked the judge:" in text
    assert "pass@1     n/a  n/a     n/a            n/a        n/a    0/0" in text


def test_a_refusal_names_everything_and_the_way_out() -> None:
    found = [Mismatch(key="seeds", text="a"), Mismatch(key="seeds", text="b"), Mismatch(key="user", text="c")]
    assert mismatch_lines(found, width=80) == [
        "the campaigns did not ask the same question:",
        "  seeds: a",
        "  seeds: b",
        "  user: c",
        "compare them all the same with --allow seeds --allow user; the result says so",
    ]


def test_a_change_of_nothing_or_of_the_unknown_is_not_available() -> None:
    assert change(None, 1.0) == change(0.0, 1.0) == "n/a"
    assert (change(925.80, 855.58), change(24.36, 8.0)) == ("-7.6 %", "-67.2 %")


def test_a_leaderboard_as_a_person_reads_it() -> None:
    sides = [
        side({"a": "pf", "b": "ff"}, name="one", tags=("x",)),
        side({"a": "pp", "b": "pf"}, name="two", tags=("x",)),
        side({"a": "pp", "b": "pi"}, name="three", tags=("x",)),
    ]
    text = "\n".join(leaderboard_lines(leaderboard(sides=sides, prices=PRICES)))
    assert text == (
        """\
  1  openai m (campaign three)
  2  openai m (campaign two)
  3  openai m (campaign one)

           pass@1  95 % interval   pass@2       2/2  passed/valid
  1       100.0 %   33.8-100.0 %  100.0 %  1-2 of 2           3/3
  2        75.0 %    27.5-97.3 %  100.0 %    1 of 2           3/4
  3        25.0 %     2.7-72.5 %   50.0 %    0 of 2           1/4

tag       tasks    1    2    3
x             2  3/3  3/4  1/4

cost       total   agent  per attempt  per passed attempt  per reliable task
  1       $0.400  $0.400       $0.100              $0.133             $0.400
  2       $0.400  $0.400       $0.100              $0.133             $0.400
  3       $0.400  $0.400       $0.100              $0.400                n/a
serving index, not an invoice; invalid tries included"""
    )


def test_names_cannot_steer_the_terminal() -> None:
    evil = "\x1b[2J"
    one = side({evil: "pf"}, name=evil, tags=(evil,))
    two = side({evil: "pp"}, name=evil, tags=(evil,))
    allowed = [Mismatch(key="tasks", text=evil)]
    lines = comparison_lines(compare(base=one, new=two, prices={}, allowed=allowed))
    lines += leaderboard_lines(leaderboard(sides=[one, two, two], prices={}), allowed=allowed)
    lines += mismatch_lines(allowed, width=80)
    assert "\x1b" not in "\n".join(lines)

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_thinkingbox.records.model import AttemptRow, CampaignInfo, UsageRecord
from pytest_thinkingbox.report.terminal import summary_lines
from pytest_thinkingbox.report.text import width_of
from pytest_thinkingbox.stats.gates import GateOptions
from pytest_thinkingbox.stats.verdict import decide
from tests.records.builders import info, rows

ANSI = re.compile(r"\x1b\[\d+m")


def summary(
    *groups: list[AttemptRow],
    minimum: float | None = None,
    width: int = 80,
    color: bool = False,
    about: CampaignInfo | None = None,
    requested: dict[str, int] | None = None,
    **named: Any,
) -> str:
    listed = [row for group in groups for row in group]
    verdict = decide(
        rows=listed,
        requested=requested or {},
        gates=GateOptions(min_pass_rate=minimum),
        **{"ordinary_failures": 0, "partial": False} | named,
    )
    lines = summary_lines(
        rows=listed,
        info=about or info(),
        verdict=verdict,
        folder=Path(".thinkingbox/20260102-030405-abcdef"),
        width=width,
        color=color,
    )
    return "\n".join(lines)


def task(name: str, pattern: str, **named: Any) -> list[AttemptRow]:
    return rows(pattern, task=f"suites/test_hotel.py::{name}", **named)


def because(found: list[AttemptRow], **details: str) -> list[AttemptRow]:
    """Details by letter of the outcome."""
    return [replace(row, detail=details.get(row.outcome, "")) for row in found]


def test_a_summary_as_a_person_reads_it() -> None:
    usage = {"agent": UsageRecord(requests=2, input_tokens=1500, output_tokens=20)}
    text = summary(
        task("test_refund", "pppp", tags=("money",), usage=usage, seconds=1.5, tool_calls=3),
        because(
            task("test_downgrade", "pfff", tags=("approval",), usage=usage, seconds=0.5),
            failed='unaccounted: Updated("bookings", 1042, status="cancelled")',
        ),
        minimum=0.5,
    )
    assert text == (
        """\
campaign  20260102-030405-abcdef, agent solution, 2 tasks x 4 attempts

                                                 passed/valid
suites/test_hotel.py
  test_refund                                             4/4 ##########   100 %
  test_downgrade                                          1/4 ##........    25 %
      3x unaccounted: Updated("bookings", 1042, status="cancelled")

pass@1    62.5 % (mean over 2 of 2 tasks)
          5/8 passed, 8 of 8 valid
          95 % interval for these tasks: 34.4-85.2 %

k                 1        2        4
pass@k       62.5 %   75.0 %  100.0 %
pass^k       62.5 %   50.0 %   50.0 %
of tasks        2/2      2/2      2/2

4/4       1 of 2 tasks passed every attempt
          on a finite sample: 4 of 4 show a chance of 0.555 or more (95 %)

tag       tasks  passed/valid   pass@1
approval      1           1/4
money         1           4/4
tags with fewer than 10 tasks: counts only

tokens    agent: 16 requests, 12,000 in, 160 out
time      8.0 s in 8 attempts, 1.00 s each, 12 tool calls
cost      agent: n/a, no price for a model that nobody named
records   .thinkingbox/20260102-030405-abcdef
gate      pass rate >= 0.5: holds: 0.625 (5/8 passed, 8 of 8 valid, mean over 2
          tasks)"""
    )


def test_t1_one_pass_and_three_invalid_attempts() -> None:
    text = summary(because(task("test_a", "piii"), invalid="server gone"), minimum=0.5)
    assert "pass@1    100.0 % (mean over 1 of 1 task)" in text
    assert "1/1 passed, 1 of 4 valid, 3 invalid" in text
    assert re.search(r"test_a +1/1 ##########   100 % 3 invalid", text)
    assert "      3x invalid, infrastructure: server gone" in text
    assert "gate      pass rate >= 0.5: not enough valid attempts: 1/1 passed, 1 of 4 valid" in text


def test_t2_a_task_without_a_valid_attempt_is_marked_and_told_apart_from_a_failed_one() -> None:
    text = summary(task("test_broken", "iiii"), task("test_bad", "ffff"))
    assert re.search(r"test_broken +0/0 +INVALID 4 invalid", text)
    assert re.search(r"test_bad +0/4 \.{10} +0 %\n", text)
    assert "pass@1    0.0 % (mean over 1 of 2 tasks, 1 INVALID)" in text


def test_t2_when_all_tasks_are_invalid_every_figure_is_not_available() -> None:
    text = summary(task("test_broken", "iiii"))
    assert "pass@1    n/a (mean over 0 of 1 task, 1 INVALID)" in text
    assert "interval" not in text
    assert re.search(r"pass@k +n/a +n/a +n/a\n", text)


def test_t3_pass_at_k_is_not_available_where_k_is_larger_than_the_valid_attempts() -> None:
    text = summary(task("test_a", "ppff"), task("test_b", "piii"))
    assert re.search(r"pass@k +75\.0 % +83\.3 % +100\.0 %\n", text)
    assert re.search(r"of tasks +2/2 +1/2 +1/2\n", text)
    assert "n/a: k=2 for 1 task, k=4 for 1 task, with fewer than k valid attempts" in text


def test_t5_parametrized_cases_are_two_rows() -> None:
    text = summary(task("test_a[easy]", "pppp"), task("test_a[hard]", "ffff"))
    assert re.search(r"test_a\[easy\] +4/4", text)
    assert re.search(r"test_a\[hard\] +0/4", text)


def test_t51_three_of_three_valid_with_seventeen_invalid_is_unsettled() -> None:
    text = summary(task("test_few", "ppp" + "i" * 17))
    assert "20/20     0-1 of 1 task passed every attempt, 1 unsettled" in text
    assert "unsettled: suites/test_hotel.py::test_few (3 of 20 valid)" in text


def test_attempts_that_never_ran_are_neither_valid_nor_invalid() -> None:
    name = "suites/test_hotel.py::test_a"
    text = summary(rows("pp", task=name, requested=4), requested={name: 4}, partial=True, minimum=0.5)
    assert re.search(r"test_a +2/2 ##########   100 % 2 not run", text)
    assert "2/2 passed, 2 of 4 valid, 2 not run" in text
    assert "partial   not every attempt was run; figures cover those that were" in text
    assert "cannot tell: the campaign is partial" in text


def test_a_task_that_breaks_every_try_is_suspect_also_when_it_is_the_only_one() -> None:
    suspicion = "every try broke while other tasks ran: suspected agent-caused"
    assert suspicion in summary(task("test_a", "pp"), task("test_b", "ii"))
    assert "every try broke: suspected agent-caused" in summary(task("test_b", "ii"))
    assert "suspected" not in summary(task("test_a", "pp"), task("test_b", "ii", cause="provider"))
    assert "suspected" not in summary(task("test_b", "pi"))


def test_causes_come_most_frequent_first_with_what_cut_the_agent_off() -> None:
    first, *others = because(task("test_a", "fff"), failed="assert [] == [Inserted(...)]")
    text = summary([replace(first, stop_reason="turn_limit"), *others])
    assert text.index("2x assert [] == [Inserted(...)]") < text.index(
        "1x turn_limit: assert [] == [Inserted(...)]"
    )


def test_rare_causes_are_counted_and_never_push_out_the_invalid_ones() -> None:
    failed = [replace(row, detail=f"reason {row.attempt}") for row in task("test_a", "fffffi")]
    text = summary(failed)
    assert "      2x failed for other reasons\n      1x invalid, infrastructure: reason 6" in text


def test_expected_failures_are_apart_and_in_no_figure() -> None:
    text = summary(task("test_a", "pp"), task("test_b", "ff", xfail=True))
    assert "expected to fail (xfail), in no figure and in no gate:" in text
    assert "2/2 passed, 2 of 2 valid" in text
    assert text.index("test_b") > text.index("expected to fail")


def test_tasks_without_an_observable_change_are_shown_apart() -> None:
    text = summary(task("test_a", "pf"), task("test_b", "pp", no_change=True))
    assert "no_change 1 task where nothing observable shows success: 2/2 passed; pass@1" in text
    assert "without them 50.0 % (1/1 tasks)" in text


def test_a_tag_of_ten_tasks_has_a_rate_and_an_interval_and_one_of_nine_has_not() -> None:
    many = [
        task(f"test_{n}", "pf" if n else "pp", tags=("ten", "nine") if n else ("ten",)) for n in range(10)
    ]
    text = summary(*many)
    assert re.search(r"^nine +9 +9/18$", text, re.MULTILINE)
    assert re.search(r"^ten +10 +11/20 +55\.0 % +50\.0-65\.0 %$", text, re.MULTILINE)
    assert "95 % interval for new tasks like these: 50.0-65.0 %" in text


def test_unknown_tokens_are_not_available_and_never_nothing() -> None:
    unknown = {"agent": UsageRecord(requests=3)}
    known = {"agent": UsageRecord(requests=1, input_tokens=1000, output_tokens=5)}
    assert "tokens    agent: 6 requests, in n/a, out n/a" in summary(task("test_a", "pp", usage=unknown))
    text = summary(task("test_a", "p", usage=unknown), task("test_b", "p", usage=known))
    assert "1,000 in (n/a for 1 of 2 attempts)" in text


def test_an_agent_without_a_model_used_no_tokens() -> None:
    assert "tokens    none, no model was asked" in summary(task("test_a", "pp"))


@pytest.mark.parametrize("agent", ["command:python agent.py", "python:my_agent:run"])
def test_an_agent_that_does_not_say_what_it_used_has_not_used_nothing(agent: str) -> None:
    user = {"user": UsageRecord(requests=1, input_tokens=30, output_tokens=5)}
    text = summary(task("test_a", "pp", usage=user), about=info(agent=agent))
    assert "tokens    agent: n/a, it reported none\n          user: 2 requests, 60 in, 10 out" in text
    assert "cost      agent: n/a, it reported none\n          user: n/a, no price for" in text


def test_a_campaign_with_prices_says_what_a_success_costs() -> None:
    usage = {"agent": UsageRecord(requests=1, input_tokens=1_000_000, output_tokens=100_000)}
    prices = {"m": {"input": 0.5, "cached_input": None, "output": 2.0}}
    text = summary(
        task("test_a", "pp", usage=usage),
        task("test_b", "pf", usage=usage),
        about=info(agent="openai", model="m", options={"prices": prices}),
    )
    assert "cost      agent: $2.80 (model m)\n" in text
    assert "agent: $0.700 per attempt, $0.933 per passed attempt, $2.80 per\n" in text
    assert "serving index, not an invoice" in text


def test_twenty_of_twenty_are_an_observation_with_a_lower_bound() -> None:
    text = summary(task("test_a", "p" * 20), task("test_b", "p" * 19 + "f"))
    assert "20/20     1 of 2 tasks passed every attempt\n" in text
    assert "on a finite sample: 20 of 20 show a chance of 0.883 or more (95 %)" in text
    assert "finite" not in summary(task("test_b", "p" * 19 + "f"))


def test_figures_without_judged_tasks_are_there_when_any_are_judged() -> None:
    usage = {"judge": UsageRecord(requests=1)}
    text = summary(task("test_a", "pp", usage=usage), task("test_b", "pf"))
    assert "judged    1 task asked the judge; pass@1 without them 50.0 % (1/1 tasks), 0 of 1" in text


def test_one_of_a_thing_is_one() -> None:
    usage = {"agent": UsageRecord(requests=1, input_tokens=3, output_tokens=4)}
    text = summary(task("test_a", "p", usage=usage))
    assert "1 task x 1 attempt\n" in text
    assert "tokens    agent: 1 request, 3 in, 4 out" in text


def test_tries_that_were_played_again_are_counted() -> None:
    assert ", 4 tries played again" in summary(task("test_a", "pp", tries=3))


def test_an_ungated_run_with_failures_ends_with_the_gate_to_paste() -> None:
    assert summary(task("test_a", "p" * 18 + "ff")).splitlines()[-1] == "pytest --tb-min-pass-rate=0.7"
    assert summary(task("test_a", "ffff")).splitlines()[-1] == "pytest --tb-min-pass-rate=0.5"


def test_the_gate_to_paste_would_hold() -> None:
    found = task("test_a", "p" * 15 + "f" * 5), task("test_b", "p" * 10 + "f" * 10)
    suggested = float(summary(*found).rpartition("=")[2])
    assert "holds" in summary(*found, minimum=suggested)


def test_a_green_run_has_nothing_to_paste() -> None:
    assert "--tb-min-pass-rate" not in summary(task("test_a", "pp"))


def test_text_of_agents_cannot_steer_the_terminal() -> None:
    evil = "\x1b]0;title\x07\x1b[2J\r\ud800\u202e"
    found = [replace(row, detail=evil, tags=(evil,), task=f"t.py::{evil}") for row in task("test_a", "ffi")]
    about = info(agent=evil, model=evil, campaign=evil)
    text = summary(found, about=about)
    text.encode("utf-8")
    assert not set(evil) - set("]0;title[2J") & set(text)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    names = [
        "test_日本語のテスト_ホテルの予約を変更する_とても長い名前です_まだ続きます[a]",
        "test_" + "long_" * 40,
        "test_c",
    ]
    groups = [
        because(task(name, "pffi" * 5, tags=("t" * 50,)), failed="x" * 300, invalid="ホテル" * 100)
        for name in names
    ]
    groups.append(task("test_x" * 30, "ff", xfail=True))
    for line in summary(*groups, width=width, minimum=0.5).splitlines():
        assert width_of(line) <= width or "test_" in line.split("records")[0], line


def test_colours_add_nothing_but_colours() -> None:
    groups = task("test_a", "pf"), task("test_b", "ii"), task("test_c", "ff", xfail=True)
    colored = summary(*groups, color=True, minimum=0.5)
    assert ANSI.search(colored)
    assert ANSI.sub("", colored) == summary(*groups, minimum=0.5)


def test_a_campaign_in_which_nothing_ran_still_has_a_summary() -> None:
    text = summary()
    assert "campaign  20260102-030405-abcdef, agent solution, 0 tasks x 0 attempts" in text
    assert "records   .thinkingbox/20260102-030405-abcdef" in text


def test_five_hundred_tasks_are_summed_up_quickly() -> None:
    groups = [task(f"test_{n}", "pf" * 10, tags=("a",)) for n in range(507)]
    assert "10,140 attempts" in summary(*groups)


def test_calls_that_went_wrong_on_purpose_are_counted() -> None:
    hit = summary(task("test_refund", "pp", tool_calls=3, faults=1))
    assert "faults    2 of 6 tool calls went wrong on purpose" in hit
    missed = summary(
        task("test_refund", "pp", tool_calls=3), about=info(options={"faults": ["Fault('pay')"]}), width=120
    )
    assert (
        "faults    0 of 6 tool calls went wrong on purpose: --tb-faults fits no call that was made" in missed
    )
    assert "faults" not in summary(task("test_refund", "pp", tool_calls=3))

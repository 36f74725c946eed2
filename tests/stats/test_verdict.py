from __future__ import annotations

from typing import Any

import pytest

from pytest_thinkingbox.records.model import AttemptRow
from pytest_thinkingbox.stats.gates import GateOptions
from pytest_thinkingbox.stats.verdict import Verdict, decide
from tests.records.builders import rows


def verdict(
    *groups: list[AttemptRow],
    minimum: float | None = None,
    requested: dict[str, int] | None = None,
    **named: Any,
) -> Verdict:
    return decide(
        rows=[row for group in groups for row in group],
        requested=requested or {},
        gates=GateOptions(min_pass_rate=minimum),
        **{"ordinary_failures": 0, "partial": False} | named,
    )


@pytest.mark.parametrize(
    ("pattern", "minimum", "status"),
    [
        ("pppp", None, 0),
        ("pppf", None, 1),
        ("pppi", None, 8),
        ("ppfi", None, 1),
        ("iiii", None, 8),
        ("pppf", 0.5, 0),
        ("pppf", 0.9, 1),
        ("pppi", 0.5, 0),
        ("pppi", 0.9, 8),
        ("fffi", 0.9, 1),
        ("iiii", 0.5, 8),
    ],
)
def test_the_exit_status_of_one_task(pattern: str, minimum: float | None, status: int) -> None:
    assert verdict(rows(pattern), minimum=minimum).exit_status == status


def test_nothing_run_and_nothing_asked_is_no_failure() -> None:
    assert verdict().exit_status == 0


def test_t1_a_gate_without_enough_valid_attempts_is_the_campaigns_fault() -> None:
    one = verdict(rows("piii"), minimum=0.5)
    assert one.exit_status == 8
    assert one.gates[0].status == "not enough valid attempts"
    assert one.reasons == (one.gates[0].line,)


def test_t2_an_invalid_task_is_listed_and_breaks_a_campaign_whose_gate_says_nothing_of_it() -> None:
    one = verdict(rows("pp", task="a", min_pass_rate=0.5), rows("ii", task="b", xfail=True))
    assert one.exit_status == 8
    assert one.invalid_tasks == ("b",)
    assert "b: INVALID, 0 of 2 attempts valid" in one.reasons


def test_a_requested_task_that_left_nothing_is_invalid() -> None:
    one = verdict(rows("pp", task="a"), requested={"a": 2, "b": 2})
    assert (one.exit_status, one.invalid_tasks) == (8, ("b",))


def test_t54_an_ordinary_failure_counts_while_every_gate_holds() -> None:
    one = verdict(rows("pp"), minimum=0.5, ordinary_failures=1)
    assert (one.exit_status, one.reasons) == (1, ("1 ordinary test failed",))


def test_a_verdict_and_a_broken_campaign_together_are_a_verdict() -> None:
    one = verdict(rows("ff", task="a"), rows("ii", task="b"))
    assert one.exit_status == 1
    assert one.reasons == (
        "2 attempts failed and no gate is set",
        "2 attempts invalid and no gate is set",
        "b: INVALID, 0 of 2 attempts valid",
    )


def test_a_gate_of_one_task_does_not_excuse_the_failures_of_another() -> None:
    one = verdict(rows("pf", task="a", min_pass_rate=0.5), rows("pf", task="b"))
    assert (one.exit_status, one.reasons) == (1, ("1 attempt failed under no gate",))


def test_a_partial_campaign_with_a_gate_is_not_green() -> None:
    one = verdict(rows("pp"), minimum=0.5, partial=True)
    assert (one.exit_status, one.gates[0].status) == (8, "cannot tell")


def test_a_partial_campaign_without_a_gate_is_judged_by_what_ran() -> None:
    assert (
        verdict(rows("pp"), requested={rows("p")[0].task: 2, "unreached": 2}, partial=True).exit_status == 0
    )
    assert verdict(rows("pf"), partial=True).exit_status == 1


def test_tasks_that_are_expected_to_fail_are_apart() -> None:
    one = verdict(rows("pp", task="a"), rows("ff", task="b", xfail=True))
    assert one.exit_status == 0
    assert [task.task for task in one.tasks] == ["a"]
    assert [task.task for task in one.xfail_tasks] == ["b"]


def test_t53_xfail_never_covers_an_invalid_attempt() -> None:
    assert verdict(rows("fi", xfail=True)).exit_status == 8


def test_a_strict_xfail_task_fails_only_when_all_its_valid_attempts_passed() -> None:
    assert verdict(rows("ppf", xfail=True, xfail_strict=True)).exit_status == 0
    one = verdict(rows("ppp", task="b", xfail=True, xfail_strict=True))
    assert (one.exit_status, one.reasons) == (1, ("b: strict xfail, but all 3 valid attempts passed",))
    assert verdict(rows("ppp", xfail=True)).exit_status == 0

from __future__ import annotations

import pytest

from pytest_thinkingbox.stats.gates import Gate, GateOptions, judge_gates
from tests.stats.builders import task


def overall(minimum: float, *tasks: object, partial: bool = False) -> Gate:
    (gate,) = judge_gates(tasks=tasks, options=GateOptions(min_pass_rate=minimum), partial=partial)  # type: ignore[arg-type]
    return gate


def test_a_gate_says_what_was_asked_how_it_went_and_of_how_many() -> None:
    gate = overall(0.3, task(12, 7, 1), task(20, 0))
    assert gate.status == "holds"
    assert gate.line == "pass rate >= 0.3: holds: 0.816 (32/39 passed, 39 of 40 valid, mean over 2 tasks)"


def test_a_rate_below_the_minimum_fails() -> None:
    assert overall(0.6, task(5, 5)).line == "pass rate >= 0.6: fails: 0.500 (5/10 passed, 10 of 10 valid)"


@pytest.mark.parametrize("minimum", [0.1, 0.3, 0.7, 0.9])
def test_a_rate_that_is_exactly_the_minimum_holds(minimum: float) -> None:
    passed = round(minimum * 10)
    assert overall(minimum, *[task(passed, 10 - passed)] * 3).status == "holds"


@pytest.mark.parametrize("minimum", [0.01, 0.25, 0.5, 1.0])
def test_t1_one_valid_attempt_of_four_is_not_enough(minimum: float) -> None:
    gate = overall(minimum, task(1, 0, 3))
    assert gate.status == "not enough valid attempts"
    assert gate.why == "1/1 passed, 1 of 4 valid"


def test_a_task_without_a_valid_attempt_leaves_too_few() -> None:
    gate = overall(0.1, task(20), task(0, 0, 20))
    assert gate.status == "not enough valid attempts"
    assert gate.why == "20/20 passed, 20 of 40 valid, 1 of 2 tasks INVALID"


def test_invalid_attempts_that_could_turn_the_answer_leave_it_open() -> None:
    gate = overall(0.8, task(16, 3, 1))
    assert gate.status == "holds"  # 16 of 20 even if the one had failed
    gate = overall(0.82, task(16, 3, 1))
    assert gate.status == "not enough valid attempts"
    assert gate.why.endswith("; 0.800 if the other 1 failed, 0.850 if they passed")


def test_a_rate_that_no_invalid_attempt_could_save_fails() -> None:
    assert overall(0.9, task(16, 3, 1)).status == "fails"


def test_a_partial_campaign_cannot_tell() -> None:
    gate = overall(0.1, task(20), partial=True)
    assert (
        gate.line == "pass rate >= 0.1: cannot tell: the campaign is partial (20/20 passed, 20 of 20 valid)"
    )


def test_tasks_that_are_expected_to_fail_are_in_no_gate() -> None:
    gate = overall(0.9, task(10, 0), task(0, 10, xfail=True, min_pass_rate=0.5))
    assert (gate.status, gate.why) == ("holds", "1.000 (10/10 passed, 10 of 10 valid)")


def test_a_gate_over_nothing_cannot_tell() -> None:
    assert overall(0.5, task(10, xfail=True)).status == "cannot tell"


def test_a_task_has_a_gate_of_its_own() -> None:
    gates = judge_gates(
        tasks=[task(10, 10, task="a", min_pass_rate=0.75), task(0, 20, task="b")],
        options=GateOptions(),
        partial=False,
    )
    assert [gate.line for gate in gates] == [
        "pass rate of a >= 0.75: fails: 0.500 (10/20 passed, 20 of 20 valid)"
    ]


def test_the_rate_is_the_mean_over_tasks() -> None:
    assert overall(0.5, task(1, 0), task(0, 9)).status == "holds"

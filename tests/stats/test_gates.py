from __future__ import annotations

import numpy as np
import pytest

from pytest_thinkingbox.stats.counts import TaskCounts
from pytest_thinkingbox.stats.gates import Baseline, Gate, GateOptions, judge_gates
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


def reliable_gate(minimum: float, *tasks: TaskCounts, partial: bool = False) -> Gate:
    (gate,) = judge_gates(tasks=tasks, options=GateOptions(min_reliable=minimum), partial=partial)
    return gate


def test_a_gate_over_reliable_tasks_counts_those_that_passed_every_attempt() -> None:
    gate = reliable_gate(0.5, task(20), task(19, 1))
    assert gate.line == "reliably solved tasks >= 0.5: holds: 1 of 2 passed every attempt"
    assert reliable_gate(0.51, task(20), task(19, 1)).status == "fails"
    assert reliable_gate(0.1, task(20), partial=True).status == "cannot tell"
    assert reliable_gate(0.1, task(20, xfail=True)).status == "cannot tell"


def test_t51_unsettled_tasks_are_not_reliable_for_a_gate() -> None:
    """The lower end of the range decides: 3 of 3 valid of 20 says nothing yet."""
    gate = reliable_gate(1.0, task(20), task(3, 0, 17))
    assert gate.status == "not enough valid attempts"
    assert gate.why == "1-2 of 2 passed every attempt, 1 unsettled"
    assert reliable_gate(0.5, task(20), task(3, 0, 17)).status == "holds"
    assert reliable_gate(1.0, task(20), task(3, 1, 16)).status == "fails"


def named(*counts: tuple[int, ...]) -> list[TaskCounts]:
    return [task(*one, task=f"t{number}") for number, one in enumerate(counts)]


def drop_gate(
    base: list[TaskCounts], new: list[TaskCounts], drop: float = 0.05, *refusals: str, partial: bool = False
) -> Gate:
    baseline = Baseline(campaign="before", max_drop=drop, tasks=base, refusals=refusals)
    (gate,) = judge_gates(tasks=new, options=GateOptions(baseline=baseline), partial=partial)
    return gate


def test_a_drop_that_is_plain_fails() -> None:
    gate = drop_gate(named(*[(18, 2)] * 15), named(*[(10, 10)] * 15))
    assert gate.line == (
        "drop of pass@1 against before <= 5 points: fails: -40.0 points, -47.1 to -32.9 (95 %, 15 tasks)"
    )


def test_no_drop_holds_once_a_drop_would_have_shown() -> None:
    assert drop_gate(named(*[(190, 10)] * 15), named(*[(191, 9)] * 15)).status == "holds"


def test_where_a_drop_would_not_show_it_cannot_tell_and_says_how_many_attempts_would() -> None:
    gate = drop_gate(named(*[(14, 6)] * 15), named(*[(14, 6)] * 15))
    assert gate.status == "cannot tell"
    assert gate.why == (
        "+0.0 points, -7.8 to +7.8 (95 %, 15 tasks); about 26 more attempts per task in both campaigns would "
        "show a drop of 5 points"
    )


def test_a_difference_next_to_the_limit_asks_for_what_tells_them_apart() -> None:
    gate = drop_gate(named(*[(190, 10)] * 15), named(*[(181, 19)] * 15))
    assert gate.status == "cannot tell"
    assert "more attempts per task in both campaigns would tell this difference from that" in gate.why


def test_missing_attempts_that_could_turn_it_leave_a_drop_open() -> None:
    gate = drop_gate(named(*[(190, 10)] * 15), named(*[(180, 0, 20)] * 15))
    assert gate.status == "not enough valid attempts"
    assert gate.why.endswith("; the other 300 attempts could turn it")


def test_an_invalid_task_is_in_no_drop() -> None:
    gate = drop_gate(named((20, 0), (20, 0)), named((20, 0), (0, 0, 20)))
    assert (gate.status, gate.why) == ("not enough valid attempts", "1 of 2 tasks INVALID")


def test_one_attempt_a_task_cannot_tell_of_a_small_drop() -> None:
    gate = drop_gate(named(*[(1, 0)] * 5), named(*[(1, 0)] * 5))
    assert gate.status == "cannot tell"
    assert gate.why.endswith("; more attempts per task would tell")


def test_what_is_not_comparable_or_partial_cannot_tell() -> None:
    tasks = named((20, 0))
    assert drop_gate(tasks, tasks, 0.05, "seeds: a", "user: b").why == "not comparable: seeds: a; user: b"
    assert drop_gate(tasks, tasks, partial=True).status == "cannot tell"
    assert drop_gate([], tasks).why == "no task in common"


def test_the_chance_that_an_unchanged_agent_fails_a_gate_is_small() -> None:
    """With no drop allowed to speak of, one in forty at most."""
    random = np.random.default_rng(0)
    failed = 0
    for base, new in random.binomial(20, np.full(15, 0.7), size=(400, 2, 15)):
        counts = ([(int(one), 20 - int(one)) for one in side] for side in (base, new))
        gate = drop_gate(*(named(*one) for one in counts), 0.0001)
        failed += gate.status == "fails"
    assert failed <= 400 * 0.025 + 6  # two standard errors

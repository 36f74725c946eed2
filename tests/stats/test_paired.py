from __future__ import annotations

from math import comb

import numpy as np
import pytest

from pytest_thinkingbox.stats.paired import (
    Difference,
    Pair,
    attempts_needed,
    pair_tasks,
    pass_at_k_difference,
    pass_hat_k_difference,
    pass_rate_difference,
    poisson_limits,
    sharpening,
)
from tests.stats.builders import published, task


def pairs(*counts: tuple[int, int], valid: int = 20) -> list[Pair]:
    """Passes of base and new for each task."""
    return [
        Pair(base=task(base, valid - base, task=f"t{number}"), new=task(new, valid - new, task=f"t{number}"))
        for number, (base, new) in enumerate(counts)
    ]


def every(found: list[Pair], k: int = 20) -> Difference:
    return pass_hat_k_difference(pairs=found, k=k)


def test_tasks_are_paired_by_name_and_expected_failures_left_out() -> None:
    base = [task(1, 1, task="a"), task(1, 1, task="b"), task(1, 1, task="c", xfail=True), task(2, task="d")]
    new = [task(2, task="d", xfail=True), task(0, 2, task="b"), task(2, task="c"), task(2, task="a")]
    assert [(one.base.task, one.new.passed) for one in pair_tasks(base=base, new=new)] == [("a", 2), ("b", 0)]


def test_the_published_campaigns_differ_by_so_many_points() -> None:
    found = pair_tasks(
        base=published(passes=5242, reliable=38, once=453), new=published(passes=6163, reliable=107, once=446)
    )
    first = pass_rate_difference(pairs=found)
    assert [round(100 * (one or 0), 2) for one in (first.base, first.new, first.difference)] == [
        51.70,
        60.78,
        9.08,
    ]
    assert first.differs
    at_k, all_of_k = pass_at_k_difference(pairs=found, k=20), every(found)
    assert [round(100 * (one.difference or 0), 2) for one in (at_k, all_of_k)] == [-1.38, 13.61]


def test_the_interval_of_pass_at_1_is_that_of_a_sum_of_binomials() -> None:
    """300 coins at 0.5 in each: the standard error is sqrt(2 * 0.25 / 300) = 0.0408.

    1.964 of it by Student's t, 2 % more because half a pass and half a failure are added, and half a step of 1/300.
    """
    found = pass_rate_difference(pairs=pairs(*[(10, 10)] * 15))
    assert found.interval == pytest.approx((-0.0839, 0.0839), abs=0.0001)
    assert (found.difference, found.better, found.differs) == (0.0, 0.5, False)


def test_tasks_that_never_vary_make_a_small_difference_plain() -> None:
    sure = [(20, 20), (0, 0)] * 8
    found = pass_rate_difference(pairs=pairs(*sure, (20, 4)))
    assert found.differs
    assert found.better is not None
    assert found.better < 0.001


def test_invalid_attempts_are_in_neither_rate() -> None:
    found = [Pair(base=task(9, 1, 10), new=task(15, 5)), Pair(base=task(0, 0, 20), new=task(20))]
    first = pass_rate_difference(pairs=found)
    assert (first.base, first.new, first.tasks, first.of) == (0.9, 0.75, 1, 2)
    settled = every(found)
    assert (settled.tasks, settled.of, settled.difference, settled.interval) == (0, 2, None, None)


@pytest.mark.parametrize(
    ("gained", "lost", "differs"), [(5, 0, False), (6, 0, True), (7, 1, False), (9, 1, True), (0, 6, True)]
)
def test_gained_and_lost_tasks_are_called_different_as_by_the_exact_sign_test(
    gained: int, lost: int, differs: bool
) -> None:
    found = every(pairs(*[(19, 20)] * gained, *[(20, 19)] * lost, *[(20, 20)] * 30))
    fewer = min(gained, lost)
    two_sided = 2 * sum(comb(gained + lost, one) for one in range(fewer + 1)) / 2 ** (gained + lost)
    assert (two_sided <= 0.05) is differs is found.differs
    assert found.difference == pytest.approx((gained - lost) / (gained + lost + 30))


def test_the_probability_of_better_is_one_less_the_mid_p_value() -> None:
    assert every(pairs(*[(19, 20)] * 5, (20, 20))).better == pytest.approx(1 - 0.5**6)
    assert every(pairs((19, 20), (20, 19))).better == 0.5
    assert every(pairs((20, 20))).better == 0.5


def test_limits_of_a_poisson_count_by_the_book() -> None:
    assert poisson_limits(0) == pytest.approx((0.0, 3.6889), abs=1e-4)
    assert poisson_limits(10) == pytest.approx((4.7954, 18.3904), abs=1e-4)


def test_pass_at_k_of_fewer_than_all_attempts_takes_the_squared_differences() -> None:
    found = pass_at_k_difference(pairs=pairs((1, 3), (2, 2), (0, 1)), k=2)
    assert found.difference == pytest.approx((((1 - 136 / 190) - (1 - 171 / 190)) + (1 - 171 / 190)) / 3)
    assert found.interval is not None
    assert pass_at_k_difference(pairs=pairs((3, 3)), k=2).interval is None


def test_one_attempt_a_task_is_counted_as_gained_and_lost() -> None:
    found = pass_rate_difference(pairs=pairs(*[(0, 1)] * 6, (1, 1), valid=1))
    assert found.differs
    assert found == every(pairs(*[(0, 1)] * 6, (1, 1), valid=1), k=1)


@pytest.mark.parametrize("attempts", [1, 4, 20])
@pytest.mark.parametrize("chances", [np.full(15, 0.7), np.full(1, 0.5), np.repeat([0.0, 1.0, 0.5, 0.97], 5)])
def test_two_campaigns_of_one_agent_are_rarely_called_different(chances: np.ndarray, attempts: int) -> None:
    random = np.random.default_rng(0)
    different = 0
    for base, new in random.binomial(attempts, chances, size=(400, 2, len(chances))):
        counts = list(zip(map(int, base), map(int, new), strict=True))
        found = pairs(*counts, valid=attempts)
        different += pass_rate_difference(pairs=found).differs
    assert different <= 400 * 0.05 + 9  # two standard errors


def better(probability: float, points: float) -> Difference:
    return Difference(tasks=1, of=1, base=0, new=points, difference=points, better=probability)


@pytest.mark.parametrize(
    ("at_k", "every_k", "expected"),
    [
        ((0.04, -0.1), (0.96, 0.1), "sharpened"),
        ((0.06, -0.1), (0.96, 0.1), "consistent with sharpening"),
        ((0.04, -0.1), (0.94, 0.1), "consistent with sharpening"),
        ((0.5, 0.0), (0.99, 0.1), None),
        ((0.9, 0.1), (0.99, 0.1), None),
    ],
)
def test_sharpened_needs_both_halves(
    at_k: tuple[float, float], every_k: tuple[float, float], expected: str | None
) -> None:
    assert sharpening(at_k=better(*at_k), every=better(*every_k)) == expected


def test_the_published_training_is_consistent_with_sharpening_and_no_more() -> None:
    """7 tasks of 507 fewer pass at least once."""
    found = pair_tasks(
        base=published(passes=5242, reliable=38, once=453), new=published(passes=6163, reliable=107, once=446)
    )
    lost = Difference(tasks=507, of=507, base=453 / 507, new=446 / 507, difference=-7 / 507, better=0.2)
    assert sharpening(at_k=lost, every=every(found)) == "consistent with sharpening"


def test_more_attempts_are_asked_for_until_a_drop_would_show() -> None:
    """Each variance is 0.25 / 3, of 30 they make half an interval of 0.2066; (0.2066 / 0.1)^2 * 4 is 17."""
    few = pairs(*[(2, 2)] * 15, valid=4)
    assert attempts_needed(pairs=few, drop=0.1) == (13, True)
    assert attempts_needed(pairs=pairs(*[(10, 10)] * 15), drop=0.1) is None


def test_only_the_new_campaign_needs_more_where_the_baseline_is_large() -> None:
    found = [
        Pair(base=task(50, 50, task=str(n)), new=task(10, 10, task=str(n), requested=20)) for n in range(15)
    ]
    more, both = attempts_needed(pairs=found, drop=0.06) or (0, True)
    assert (more, both) == (3, False)


def test_a_single_attempt_tells_nothing_of_how_many_are_needed() -> None:
    assert attempts_needed(pairs=pairs((1, 0), valid=1), drop=0.1) is None

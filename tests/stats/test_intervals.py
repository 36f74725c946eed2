from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from pytest_thinkingbox.stats.intervals import jeffreys, new_tasks, these_tasks
from tests.stats.builders import task


@pytest.mark.parametrize(
    ("passed", "valid", "low", "high"),
    [(20, 20, 0.8834, 1.0), (0, 20, 0.0, 0.1166), (10, 20, 0.2934, 0.7066), (1, 1, 0.1467, 1.0)],
)
def test_jeffreys_intervals_of_one_task(passed: int, valid: int, low: float, high: float) -> None:
    assert jeffreys(passed=passed, valid=valid) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_jeffreys_intervals_are_quantiles_of_the_posterior(level: float) -> None:
    assert jeffreys(passed=7, valid=20, level=level) == pytest.approx(beta.interval(level, 7.5, 13.5))


def test_no_attempt_no_interval() -> None:
    assert jeffreys(passed=0, valid=0) is None
    assert these_tasks(tasks=[task(0, 0, 4)]) is None


def test_the_interval_of_a_suite_of_one_task_is_that_of_the_task() -> None:
    assert these_tasks(tasks=[task(13, 7), task(0, 0, 20)]) == pytest.approx(jeffreys(passed=13, valid=20))


def test_equally_hard_tasks_are_as_good_as_one_with_all_their_attempts() -> None:
    assert these_tasks(tasks=[task(10, 10)] * 15) == pytest.approx(jeffreys(passed=150, valid=300), abs=0.002)
    assert these_tasks(tasks=[task(20)] * 15) == pytest.approx(jeffreys(passed=300, valid=300), abs=0.001)


def test_tasks_that_always_or_never_pass_leave_little_to_chance() -> None:
    low, high = these_tasks(tasks=[task(20, 0)] * 8 + [task(0, 20)] * 8) or (0, 1)
    assert (low, high) == pytest.approx((0.483, 0.517), abs=1e-3)


@pytest.mark.parametrize("attempts", [4, 20])
@pytest.mark.parametrize(
    "chances",
    [
        np.full(15, 0.7),
        np.linspace(0.05, 0.95, 15),
        np.repeat([0.0, 1.0, 0.5], 5),
        np.full(15, 0.98),
        np.full(3, 0.5),
    ],
    ids=["equal", "spread", "extreme", "easy", "few"],
)
def test_the_interval_of_these_tasks_covers_the_truth_as_often_as_it_says(
    chances: np.ndarray, attempts: int
) -> None:
    random = np.random.default_rng(0)
    covered = 0
    for counts in random.binomial(attempts, chances, size=(1500, len(chances))):
        interval = these_tasks(tasks=[task(int(count), attempts - int(count)) for count in counts])
        assert interval is not None
        covered += interval[0] <= chances.mean() <= interval[1]
    assert covered / 1500 > 0.93  # 95 % less three standard errors; more is unavoidable near 0 and 1


def test_the_bootstrap_over_tasks_agrees_with_the_normal_interval_of_many_tasks() -> None:
    values = np.random.default_rng(1).random(500)
    half = 1.96 * values.std() / np.sqrt(500)
    assert new_tasks(values=list(values)) == pytest.approx(
        (values.mean() - half, values.mean() + half), abs=0.002
    )


def test_new_tasks_vary_more_than_the_attempts_of_these() -> None:
    tasks = [task(20, 0)] * 8 + [task(0, 20)] * 8
    low, high = new_tasks(values=[1.0] * 8 + [0.0] * 8) or (0.5, 0.5)
    these = these_tasks(tasks=tasks) or (0, 1)
    assert low < 0.3 < these[0] < these[1] < 0.7 < high


def test_the_bootstrap_gives_the_same_interval_each_time() -> None:
    values = [0.1, 0.5, 0.9, 1.0]
    assert new_tasks(values=values) == new_tasks(values=values)


def test_tasks_that_do_not_differ_say_nothing_about_new_ones() -> None:
    assert new_tasks(values=[0.5]) is None
    assert new_tasks(values=[1.0] * 15) is None

from __future__ import annotations

import pytest

from pytest_thinkingbox.stats.suite import by_tag, mean_pass_at_k, mean_pass_hat_k, pooled, reliable
from tests.stats.builders import published, task


@pytest.mark.parametrize(
    ("passes", "n_of_n", "once", "pass_at_1", "pass_hat_20", "pass_at_20"),
    [(5242, 38, 453, 51.70, 7.50, 89.35), (6163, 107, 446, 60.78, 21.10, 87.97)],
)
def test_the_published_campaigns(
    passes: int, n_of_n: int, once: int, pass_at_1: float, pass_hat_20: float, pass_at_20: float
) -> None:
    tasks = published(passes=passes, reliable=n_of_n, once=once)
    total = pooled(tasks=tasks)
    assert (total.passed, total.valid, total.requested, total.invalid) == (passes, 10_140, 10_140, 0)
    figures = [
        mean_pass_at_k(tasks=tasks, k=1),
        mean_pass_hat_k(tasks=tasks, k=20),
        mean_pass_at_k(tasks=tasks, k=20),
    ]
    assert [round(100 * (figure.mean or 0), 2) for figure in figures] == [pass_at_1, pass_hat_20, pass_at_20]
    assert {(len(figure.values), figure.of) for figure in figures} == {(507, 507)}
    observed = reliable(tasks=tasks)
    assert (observed.low, observed.high, observed.of, observed.unsettled) == (n_of_n, n_of_n, 507, ())


@pytest.mark.parametrize(
    ("n_of_n", "share"),
    [
        (241, 47.53),
        (128, 25.25),
        (82, 16.17),
        (107, 21.10),
        (102, 20.12),
        (231, 45.56),
        (68, 13.41),
        (38, 7.50),
    ],
)
def test_published_shares_of_tasks_that_passed_twenty_times(n_of_n: int, share: float) -> None:
    tasks = published(passes=20 * n_of_n + 100, reliable=n_of_n, once=n_of_n + 100)
    assert round(100 * (mean_pass_hat_k(tasks=tasks, k=20).mean or 0), 2) == share
    assert reliable(tasks=tasks).low == n_of_n


def test_the_published_gain_is_nine_points() -> None:
    base = mean_pass_at_k(tasks=published(passes=5242, reliable=38, once=453), k=1).mean or 0
    trained = mean_pass_at_k(tasks=published(passes=6163, reliable=107, once=446), k=1).mean or 0
    assert round(100 * (trained - base), 2) == 9.08


def test_t3_a_task_with_too_few_attempts_is_left_out_of_that_k_only_and_counted() -> None:
    tasks = [task(2, 2), task(1, 0, 3)]
    one, two = mean_pass_at_k(tasks=tasks, k=1), mean_pass_at_k(tasks=tasks, k=2)
    assert (one.mean, one.values, one.not_available) == (0.75, (0.5, 1.0), 0)
    assert (two.values, two.of, two.not_available) == ((pytest.approx(5 / 6),), 2, 1)


def test_a_figure_that_no_task_has_is_not_available() -> None:
    assert mean_pass_at_k(tasks=[task(1, 0, 3)], k=2).mean is None


def test_the_mean_counts_tasks_and_not_attempts() -> None:
    tasks = [task(1, 0), task(0, 9)]
    assert mean_pass_at_k(tasks=tasks, k=1).mean == 0.5
    assert (pooled(tasks=tasks).passed, pooled(tasks=tasks).valid) == (1, 10)


def test_t51_three_of_three_valid_with_seventeen_invalid_is_unsettled_and_not_reliable() -> None:
    observed = reliable(tasks=[task(3, 0, 17, task="few")])
    assert (observed.low, observed.high, observed.of, observed.unsettled) == (0, 1, 1, ("few",))


def test_n_of_n_is_a_range_while_tasks_are_unsettled() -> None:
    tasks = [task(20, task=f"t{n}") for n in range(106)]
    tasks += [task(19, 0, 1, task="a"), task(18, 0, 2, task="b")]
    tasks += [task(10, 10, task=f"f{n}") for n in range(399)]
    observed = reliable(tasks=tasks)
    assert (observed.low, observed.high, observed.of, observed.unsettled) == (106, 108, 507, ("a", "b"))


def test_an_unsettled_task_that_failed_once_cannot_be_reliable_any_more() -> None:
    observed = reliable(tasks=[task(18, 1, 1)])
    assert (observed.low, observed.high, observed.unsettled) == (0, 0, ("t",))


def test_a_task_is_in_the_group_of_each_of_its_tags() -> None:
    both, one, none = task(1, tags=("b", "a"), task="x"), task(1, tags=("a",), task="y"), task(1, task="z")
    assert by_tag(tasks=[both, one, none]) == {"a": [both, one], "b": [both]}

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_thinkingbox.stats.passes import pass_at_k, pass_hat_k, pass_rate, plug_in_pass_hat_k


@pytest.mark.parametrize(
    ("passed", "valid", "k", "at", "hat"),
    [
        (1, 1, 1, 1.0, 1.0),
        (0, 5, 3, 0.0, 0.0),
        (5, 5, 5, 1.0, 1.0),
        (2, 4, 2, 5 / 6, 1 / 6),  # 6 pairs, one of two failures, one of two passes
        (3, 10, 5, 1 - 21 / 252, 0.0),
        (19, 20, 20, 1.0, 0.0),
        (19, 20, 10, 1.0, 0.5),
    ],
)
def test_pass_at_k_and_pass_hat_k_by_hand(passed: int, valid: int, k: int, at: float, hat: float) -> None:
    assert pass_at_k(passed=passed, valid=valid, k=k) == pytest.approx(at, abs=1e-15)
    assert pass_hat_k(passed=passed, valid=valid, k=k) == pytest.approx(hat, abs=1e-15)


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_both_are_shares_of_all_draws_of_k_attempts(numbers: tuple[int, int, int]) -> None:
    valid, passed, k = numbers
    draws = list(combinations([True] * passed + [False] * (valid - passed), k))
    assert pass_at_k(passed=passed, valid=valid, k=k) == pytest.approx(sum(map(any, draws)) / len(draws))
    assert pass_hat_k(passed=passed, valid=valid, k=k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_t3_k_larger_than_the_valid_attempts_is_not_available() -> None:
    assert pass_at_k(passed=3, valid=3, k=4) is None
    assert pass_hat_k(passed=3, valid=3, k=4) is None
    assert pass_at_k(passed=0, valid=0, k=1) is None


def test_the_plug_in_lies_above_the_unbiased_pass_hat_k() -> None:
    assert plug_in_pass_hat_k(passed=10, valid=20, k=2) == 0.25
    assert pass_hat_k(passed=10, valid=20, k=2) == pytest.approx(9 / 38)


def test_the_plug_in_knows_no_limit_of_k_but_needs_an_attempt() -> None:
    assert plug_in_pass_hat_k(passed=1, valid=2, k=3) == 0.125
    assert plug_in_pass_hat_k(passed=0, valid=0, k=3) is None


def test_a_pass_rate_needs_a_valid_attempt() -> None:
    assert pass_rate(passed=3, valid=4) == 0.75
    assert pass_rate(passed=0, valid=0) is None


@pytest.mark.parametrize(("passed", "valid"), [(3, 2), (-1, 2), (1, 0)])
def test_impossible_counts_are_refused(passed: int, valid: int) -> None:
    with pytest.raises(ValueError, match="must be 0 <= passed <= valid"):
        pass_at_k(passed=passed, valid=valid, k=1)


def test_k_counts_from_one() -> None:
    with pytest.raises(ValueError, match="k=0: must be at least 1"):
        pass_hat_k(passed=1, valid=2, k=0)

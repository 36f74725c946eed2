from __future__ import annotations

import math
from collections import Counter

import pytest

from pytest_thinkingbox.agents.tokens import Generation
from thinkingbox_trainer.checks import Agreement, PoliciesDiffer, is_sampled


def compared(sampled, trained, *, step: int = 0) -> float:
    agreement = Agreement(prompt=[1, 2], write=lambda prompt: Generation([7, 8, 9], sampled), tolerance=1e-3)
    said = agreement.ask()
    assert (said.prompt, said.ids) == ([1, 2], [7, 8, 9])
    return agreement.compare(step, said, trained)


def test_the_largest_difference_of_a_token_is_what_counts():
    found = compared([-1.0, -2.0, -3.0], [-1.0, -2.0005, -3.0001])
    assert found == pytest.approx(0.0005)


def test_another_policy_ends_the_run():
    with pytest.raises(PoliciesDiffer) as stopped:
        compared([-1.0, -2.0, -3.0], [-1.0, -2.25, -3.0], step=10)
    assert str(stopped.value) == (
        "step 10: sampler and trainer differ by 0.25 in the log-probability of token 1 of a fixed sequence, more than "
        "0.001: the sampler has other weights than those that are trained"
    )


def test_what_is_no_number_agrees_with_nothing():
    with pytest.raises(PoliciesDiffer, match="differ by nan in the log-probability of token 2"):
        compared([-1.0, -2.0, math.nan], [-1.0, -2.0, -3.0])


def test_a_sampler_that_says_no_log_probabilities_is_refused():
    with pytest.raises(PoliciesDiffer, match="the sampler says no log-probabilities"):
        compared(None, [-1.0])


def test_one_member_of_each_group_is_looked_at_in_every_tenth_step():
    found = Counter(
        (step, task)
        for step in range(21)
        for task in ("a", "b")
        for member in range(1, 9)
        if is_sampled(seed=1, step=step, task=task, member=member, size=8)
    )
    assert found == {(step, task): 1 for step in (0, 10, 20) for task in ("a", "b")}


def test_which_member_it_is_differs():
    members = {
        member
        for task in "abcdefghijklmnop"
        for member in range(1, 9)
        if is_sampled(seed=1, step=0, task=task, member=member, size=8)
    }
    assert len(members) > 3

"""The table of outcomes, row by row."""

from __future__ import annotations

import pytest

from pytest_thinkingbox.episodes.outcomes import Meaning, failed, invalid, judge_checker, meaning_of, passed
from pytest_thinkingbox.errors import (
    ConfigurationError,
    InfrastructureDown,
    Invalid,
    JudgeBroke,
    ProviderDown,
    ReadOnlyState,
    SolutionBroke,
    UserBroke,
)


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (ConfigurationError("x"), Meaning("unknown", stops=True)),
        (ProviderDown("x"), Meaning("provider", new_episode=True)),
        (InfrastructureDown("x"), Meaning("infrastructure", new_episode=True)),
        (UserBroke("x"), Meaning("user", new_episode=True)),
        (JudgeBroke("x"), Meaning("judge")),
        (Invalid("raised by an agent of one's own"), Meaning("provider", new_episode=True)),
        (SolutionBroke("x"), Meaning("checker")),
        (RuntimeError("nobody classified this"), Meaning("unknown")),
    ],
)
def test_what_an_exception_in_an_episode_means(error, meaning):
    assert meaning_of(error) == meaning


def judge(error=None, unaccounted="", **named):
    arguments = {"asserted": False, "schema_unaccounted": False, "credit": 0.0, **named}
    return judge_checker(error, unaccounted=lambda: unaccounted, **arguments)


def test_a_checker_that_returns_passes():
    assert judge() == passed()
    assert passed().reward == 1.0


def test_an_assertion_fails_with_its_credit():
    assert judge(AssertionError("assert 1 == 2"), asserted=True, credit=0.5) == failed("1 == 2", credit=0.5)


def test_an_unaccounted_change_fails_and_takes_the_credit():
    assert judge(unaccounted="orders changed", credit=0.5) == failed("orders changed")
    assert judge(AssertionError("no"), asserted=True, unaccounted="orders", credit=0.5).reward == 0.0


def test_another_exception_is_invalid_whatever_changed():
    assert judge(KeyError("x"), unaccounted="orders changed") == invalid("checker", "KeyError: 'x'")
    assert judge(ReadOnlyState("no")).cause == "checker"


def test_an_unaccounted_schema_change_fails_whatever_the_checker_raised():
    verdict = judge(KeyError("x"), unaccounted="orders dropped", schema_unaccounted=True)
    assert verdict == failed("orders dropped")


def test_an_outage_that_the_checker_met_is_not_the_agent_s_doing():
    verdict = judge(JudgeBroke("no answer"), unaccounted="orders dropped", schema_unaccounted=True)
    assert (verdict.outcome, verdict.cause, verdict.reward) == ("invalid", "judge", None)

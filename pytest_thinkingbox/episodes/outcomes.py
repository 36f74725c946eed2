"""The one table of outcomes: what an exception means for an attempt, whoever asks - plugin, records or trainer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pytest_thinkingbox.episodes.model import StopReason
from pytest_thinkingbox.errors import (
    Cause,
    ConfigurationError,
    InfrastructureDown,
    Invalid,
    JudgeBroke,
    ProviderDown,
    UserBroke,
    UserRaised,
)

Outcome = Literal["passed", "failed", "invalid"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """`cause` of the invalid attempt; `new_episode`: try again; `stops`: the campaign ends before more is spent."""

    cause: Cause
    new_episode: bool = False
    stops: bool = False


# First match wins. What is not here is "unknown", and loud.
_TABLE: tuple[tuple[type[BaseException], Meaning], ...] = (
    (ConfigurationError, Meaning("unknown", stops=True)),
    (ProviderDown, Meaning("provider", new_episode=True)),
    (InfrastructureDown, Meaning("infrastructure", new_episode=True)),
    (UserRaised, Meaning("user")),  # the same code would raise again, and the agent be paid again
    (UserBroke, Meaning("user", new_episode=True)),
    # The judge asks its question again by itself; a new episode would pay for the agent twice.
    (JudgeBroke, Meaning("judge")),
)


def meaning_of(error: BaseException) -> Meaning:
    """What this exception, raised while an episode was played, says about the attempt."""
    for kind, meaning in _TABLE:
        if isinstance(error, kind):
            return meaning
    if isinstance(error, Invalid):
        return Meaning(error.cause, new_episode=error.cause == "provider")
    return Meaning("unknown")


TRUNCATED: frozenset[StopReason] = frozenset(
    {"turn_limit", "token_limit", "time_limit", "user_turn_limit", "context_overflow", "output_limit"}
)
"""Stop reasons under which an agent that did nothing did not refuse: it was cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome of one attempt. `detail` says why in words; `reward` is None for invalid attempts."""

    outcome: Outcome
    cause: Cause | None = None
    detail: str = ""
    reward: float | None = None


def passed() -> Verdict:
    return Verdict(outcome="passed", reward=1.0)


def failed(detail: str, *, credit: float = 0.0) -> Verdict:
    return Verdict(outcome="failed", detail=detail, reward=credit)


def invalid(cause: Cause, detail: str) -> Verdict:
    return Verdict(outcome="invalid", cause=cause, detail=detail)


def judge_checker(
    error: BaseException | None,
    *,
    asserted: bool,
    explanation: str = "",
    unaccounted: Callable[[], str],
    schema_unaccounted: bool,
    credit: float,
) -> Verdict:
    """What the end of a checker means.

    `error` is what it raised, None when it returned; `asserted` says that `error` is an assertion or a call of
    `pytest.fail`; `explanation` is why its comparison failed, in full; `unaccounted` describes what changed
    unasked, "" when nothing did, and is called only where that matters, for it takes a while;
    `schema_unaccounted` says that part of it is the schema - then the agent has failed even if the checker
    tripped over it.
    """
    if error is None or (schema_unaccounted and not isinstance(error, Invalid)):
        left = unaccounted()
        if left:
            return failed(left)
    if error is None:
        return passed()
    if asserted:
        # pytest's rewriting begins every explanation with the word.
        reason = explanation or str(error).removeprefix("assert ") or "the checker failed without a word"
        return failed(reason, credit=credit if credit and not unaccounted() else 0.0)
    detail = f"{type(error).__name__}: {error}"
    if isinstance(error, Invalid):
        return invalid(error.cause, detail)
    return invalid("checker", detail)

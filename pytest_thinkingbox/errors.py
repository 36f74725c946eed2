"""Every exception that decides an outcome; `pytest_thinkingbox.episodes.outcomes` maps them to verdicts."""

from __future__ import annotations

from typing import ClassVar, Literal

Cause = Literal[
    "checker", "provider", "infrastructure", "user", "judge", "crash", "unknown"
]  # why an attempt is invalid


class ThinkingboxError(Exception):
    """Base of all errors that this package raises on purpose."""


class ConfigurationError(ThinkingboxError):
    """The campaign cannot run as asked: it stops at once, before more is spent."""


class Invalid(ThinkingboxError):
    """This attempt says nothing about the agent: it is in no numerator and in no denominator.

    An agent of your own raises it when what it depends on is down.
    """

    cause: ClassVar[Cause] = "provider"


class ProviderDown(Invalid):
    """The model endpoint failed after all retries, or answered something that is no reply."""

    cause = "provider"


class InfrastructureDown(Invalid):
    """A database, tool server or container died or timed out."""

    cause = "infrastructure"


class SolutionBroke(Invalid):
    """A task's reference solution raised, or one of its calls came back as an error."""

    cause = "checker"


class UserBroke(Invalid):
    """The simulated user was unreachable, empty, stuck, out of role, contradicted a fact, or leaked what is private."""

    cause = "user"


class UserRaised(UserBroke):
    """The author's function that plays the user raised, or returned no text: it would do so again."""


class JudgeBroke(Invalid):
    """The judge was empty, cut off, unparsable or unreachable: never a "no"."""

    cause = "judge"


class ReadOnlyState(ThinkingboxError):
    """A checker tried to write to the state that it judges."""


class UnreadableState(ThinkingboxError, AssertionError):
    """What an agent left keeps a checker from reading: a definition of its own takes for ever or ends the session that
    reads, or a session that does not end holds a lock.

    An assertion, for it is the agent that failed and not the checker.
    """


class MissingSink(ThinkingboxError):
    """A checker read a sink that this environment does not have; it is never empty instead."""


class UnknownName(ThinkingboxError):
    """A checker names a table, column or key that the environment does not have: its own mistake."""


class TooAmbiguous(ThinkingboxError):
    """A comparison has too many ways to link its `Same` names: its checker must name more columns."""

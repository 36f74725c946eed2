"""The fixtures that checkers use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_thinkingbox.plugin.stash import plan_key, runner_key

if TYPE_CHECKING:
    from pytest_thinkingbox.episodes.attempt import Attempt
    from pytest_thinkingbox.episodes.judging import Judge
    from pytest_thinkingbox.state.claims import Changes
    from pytest_thinkingbox.state.outbox import Outbox


@pytest.fixture
def _thinkingbox_attempt(request: pytest.FixtureRequest) -> Attempt:
    if request.node.stash.get(plan_key, None) is None:
        raise pytest.UsageError(
            f"{request.node.nodeid} uses a fixture of pytest-thinkingbox but is no task: decorate it with "
            "@environment.task(...)"
        )
    return request.config.stash[runner_key].attempt_of(request.node)


@pytest.fixture
def attempt(_thinkingbox_attempt: Attempt) -> Attempt:
    """The attempt under test: final rows, changes, mails, conversation."""
    return _thinkingbox_attempt


@pytest.fixture
def changes(_thinkingbox_attempt: Attempt) -> Changes:
    """The net changes of the attempt; what the test does not account for fails it."""
    return _thinkingbox_attempt.changes


@pytest.fixture
def outbox(_thinkingbox_attempt: Attempt) -> Outbox:
    """What the attempt sent: `outbox.mail`."""
    return _thinkingbox_attempt.outbox


@pytest.fixture
def judge(_thinkingbox_attempt: Attempt) -> Judge:
    """Answers narrow questions about a text: `judge.yes("Does it name the date?", about=attempt.response)`."""
    return _thinkingbox_attempt.judge

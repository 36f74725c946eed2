"""The fixtures that checkers use."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from pytest_thinkingbox.plugin.stash import plan_key, runner_key

if TYPE_CHECKING:
    from pytest_thinkingbox.episodes.attempt import Attempt
    from pytest_thinkingbox.episodes.judging import Judge
    from pytest_thinkingbox.state.claims import Changes
    from pytest_thinkingbox.state.outbox import Outbox


class Fixtures:
    """They know which item runs, and do not ask `request`: for that pytest makes a fixture anew each time, which took
    a fifteenth of a check."""

    def __init__(self) -> None:
        self._item: pytest.Item | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._item = item
        try:
            return (yield)
        finally:
            self._item = None

    @pytest.fixture
    def _thinkingbox_attempt(self) -> Attempt:
        assert self._item is not None
        if self._item.stash.get(plan_key, None) is None:
            raise pytest.UsageError(
                f"{self._item.nodeid} uses a fixture of pytest-thinkingbox but is no task: decorate it with "
                "@environment.task(...)"
            )
        return self._item.config.stash[runner_key].attempt_of(self._item)

    @pytest.fixture
    def attempt(self, _thinkingbox_attempt: Attempt) -> Attempt:
        """The attempt under test: final rows, changes, mails, conversation."""
        return _thinkingbox_attempt

    @pytest.fixture
    def changes(self, _thinkingbox_attempt: Attempt) -> Changes:
        """The net changes of the attempt; what the test does not account for fails it."""
        return _thinkingbox_attempt.changes

    @pytest.fixture
    def outbox(self, _thinkingbox_attempt: Attempt) -> Outbox:
        """What the attempt sent: `outbox.mail`."""
        return _thinkingbox_attempt.outbox

    @pytest.fixture
    def judge(self, _thinkingbox_attempt: Attempt) -> Judge:
        """Answers narrow questions about a text: `judge.yes("Does it name the date?", about=attempt.response)`."""
        return _thinkingbox_attempt.judge

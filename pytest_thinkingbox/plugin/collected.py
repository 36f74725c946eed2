"""The tasks of a suite in this process, collected by pytest and not run."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.plugin import private
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.plugin.options import Options
from pytest_thinkingbox.plugin.requests import request_of
from pytest_thinkingbox.plugin.stash import options_key, plan_key

_SAID = 4000  # characters of what pytest said in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Plans by task id, and what the command line and the ini file of the suite say."""

    plans: dict[str, Plan]
    options: Options

    def request(self, task_id: str, *, campaign: str, member: int, seed: int) -> EpisodeRequest:
        """For one episode. `member` counts from 1."""
        request = request_of(self.plans[task_id], self.options, campaign=campaign)
        return replace(request, attempt=member, seed=seed)


def collect(arguments: Sequence[str], *, cwd: Path, agent: str, skipped: bool = False) -> Collected:
    """Collect with pytest as from a command line in `cwd`. `agent` is who will act, for the users to know; with
    `skipped` tasks that a mark keeps from being played are among them.

    Raises ConfigurationError with what pytest said when it cannot collect.
    """
    catch = _Catch(skipped=skipped)
    said = io.StringIO()
    settings = ["--collect-only", "-q", "--tb-agent=none", "--tb-attempts=1", "-p", "no:cacheprovider"]
    settings += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # the plugin is there before pytest is
    with contextlib.chdir(cwd), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = pytest.main([*arguments, *settings], plugins=[catch])
    if status != pytest.ExitCode.OK or catch.options is None:
        raise ConfigurationError(
            f"pytest {' '.join(arguments)} in {cwd} collects nothing that could be played (exit status "
            f"{int(status)}):\n{said.getvalue()[-_SAID:]}"
        )
    return Collected(plans=catch.plans, options=replace(catch.options, agent=agent))


class _Catch:
    def __init__(self, *, skipped: bool) -> None:
        self._skipped = skipped
        self.plans: dict[str, Plan] = {}
        self.options: Options | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.options = session.config.stash[options_key]
        for item in session.items:
            plan = item.stash.get(plan_key, None)
            if plan is not None and (self._skipped or _is_played(item)):
                self.plans.setdefault(plan.task_id, plan)


def _is_played(item: pytest.Item) -> bool:
    return not private.is_skipped_by_mark(item) and private.xfail_of(item)[1]

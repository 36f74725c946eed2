"""A pytest session that stays and grades episodes that others play: the same items, fixtures and verdicts as a
campaign's, without one pytest run for each check."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Generator, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_thinkingbox.agents import make_agent
from pytest_thinkingbox.episodes import attempt as attempts
from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.episodes.outcomes import Verdict, invalid
from pytest_thinkingbox.episodes.pool import EpisodePool, Tries
from pytest_thinkingbox.episodes.remade import RemadeLease
from pytest_thinkingbox.episodes.run import World
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.people.base import Nobody
from pytest_thinkingbox.plugin import private, pytest_assertrepr_compare
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.plugin.garbage import FewerCollections
from pytest_thinkingbox.plugin.judging import CampaignJudge
from pytest_thinkingbox.plugin.record import task_hash
from pytest_thinkingbox.plugin.runner import Run, Runner
from pytest_thinkingbox.plugin.servers import open_backend, start_server
from pytest_thinkingbox.plugin.start import check_judge, make_judge
from pytest_thinkingbox.plugin.stash import options_key, plan_key, run_key, runner_key
from pytest_thinkingbox.plugin.stop import StopFlag
from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.records.rulings import RulingStore
from pytest_thinkingbox.state.model import Rules

if TYPE_CHECKING:
    from pytest_thinkingbox.records.store import CampaignFolder

CHECKS_PER_TEARDOWN = 1000
"""After so many checks everything is torn down: pytest keeps a finalizer for every use of a shared fixture."""

_NAME = "rewards"
_HEARS_REPORTS = (
    "terminalreporter",
    "thinkingbox-campaign",
    "thinkingbox-once",
    "thinkingbox-restored",
    "thinkingbox-printable",
)
"""Plugins that keep or change every report for a summary at the end, which a held session never gets to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTask:
    """One task of the session. `prompt` is that of its parameters, `hash` of all that decides what it is worth."""

    id: str
    prompt: str
    instructions: str
    tags: tuple[str, ...]
    no_change: bool
    hash: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The suite cannot be held; `why` is what pytest said."""

    why: str


class Held:
    """Given to `pytest.main` as a plugin. `run` is called with the session once everything is collected."""

    def __init__(self, run: Any, *, folder: Path) -> None:
        self._run = run
        self._folder = folder
        self._items: dict[str, pytest.Item] = {}
        self._siblings: dict[Any, pytest.Item] = {}
        self._checks = 0
        self.broken: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        config = session.config
        self._session = session
        try:
            self._source = _Handed(_make_world(session))
        except (ConfigurationError, InfrastructureDown) as error:
            self.broken.append(str(error))
            return
        self._runner = _HeldRunner(session, self._source, self._folder)
        config.stash[runner_key] = self._runner
        config.pluginmanager.register(self._runner, "thinkingbox-runner")
        config.pluginmanager.register(FewerCollections(), "thinkingbox-garbage")
        for item in session.items:
            if plan_key in item.stash and not private.is_skipped_by_mark(item) and private.xfail_of(item)[1]:
                self._items.setdefault(item.stash[plan_key].task_id, item)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken.append(report.longreprtext)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        with private.explained_by(partial(pytest_assertrepr_compare, item.config)):
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not self.broken:
            config = session.config
            for item in self._items.values():
                # Nobody reads tracebacks, and they cost more than the check.
                item.repr_failure = _in_short  # type: ignore[assignment, method-assign]
            for name in _HEARS_REPORTS:
                if config.pluginmanager.has_plugin(name):
                    config.pluginmanager.unregister(name=name)
            private.keep_hook_proxies(session)
            self._run(self)
        return True

    def tasks(self) -> list[HeldTask]:
        plans = [item.stash[plan_key] for item in self._items.values()]
        return [_held_task(plan) for plan in plans]

    def grade(self, state: FinalState) -> Verdict:
        """What the task's test function says of this state. A checker that hangs is the caller's business."""
        item = self._items.get(state.task_id)
        if item is None:
            return invalid("checker", f"this suite has no task {state.task_id!r}")
        self._checks += 1
        self._tear_down(None if self._checks % CHECKS_PER_TEARDOWN == 0 else item)
        private.renew(item)
        if run_key in item.stash:
            del item.stash[run_key]
        self._source.state, self._source.error = state, None
        self._runner.ended = None
        ended = ""
        try:
            item.ihook.pytest_runtest_protocol(item=item, nextitem=self._sibling(item))
        except pytest.exit.Exception as error:
            ended = f"the checker called pytest.exit: {error}"
        finally:
            self._session.testsfailed = 0
            self._session.shouldfail = False
            self._session.shouldstop = False
            self._source.let_go()
        run = self._runner.ended
        verdict = None if run is None or ended else run.verdict
        if verdict is None and self._source.error is not None:
            error = self._source.error
            verdict = invalid("infrastructure", f"{type(error).__name__}: {error}")
        if verdict is None:
            verdict = invalid("checker", ended or "a fixture skipped this test, so that nothing was checked")
        if verdict.outcome == "invalid":
            self._tear_down(None)  # pytest keeps the failure of a shared fixture for all that use it
        return verdict

    def _tear_down(self, before: pytest.Item | None) -> None:
        try:
            private.tear_down(self._session, before)
        except Exception:  # noqa: BLE001  (a fixture that other tasks share: it says nothing of this one)
            print("while fixtures were torn down between two checks:", file=sys.stderr)
            traceback.print_exc()

    def _sibling(self, item: pytest.Item) -> pytest.Item:
        """What pytest takes for the next test: it keeps all that the item shares, and ends what is the item's own."""
        found = self._siblings.get(item.parent)
        if found is None:
            assert item.parent is not None
            found = self._siblings[item.parent] = _Sibling.from_parent(item.parent, name="thinkingbox-next")
        return found


def _in_short(excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    return excinfo.typename


def _held_task(plan: Plan) -> HeldTask:
    return HeldTask(
        id=plan.task_id,
        prompt=plan.prompt,
        instructions=str(plan.task.environment.instructions),
        tags=tuple(plan.task.tags),
        no_change=plan.task.no_change,
        hash=task_hash(plan),
    )


class _Sibling(pytest.Item):
    def runtest(self) -> None:
        raise NotImplementedError("only stands behind another item")


class _Handed(EpisodePool):
    """Plays nothing: the episode of the item that runs is the one that was handed in."""

    def __init__(self, world: World) -> None:
        super().__init__(
            make_world=lambda: world, concurrency=1, retry_invalid=0, stop_requested=lambda: False
        )
        self._world = world
        self.state: FinalState | None = None
        self.error: Exception | None = None
        self._backend = world.backend
        self._rules: dict[tuple[object, str | None], Rules] = {}
        self._lease: RemadeLease | None = None

    def submit(self, request: EpisodeRequest, **how: Any) -> Future[Tries]:
        assert self.state is not None
        future: Future[Tries] = Future()
        try:
            episode = self.state.episode(request)
            episode.rules = self._rules_of(request)
            self._lease = RemadeLease(self._backend, request, self.state.diff, episode.rules)
            episode.lease = self._lease
        except Exception as error:  # noqa: BLE001  (as from any pool: whoever waits gets it)
            self.error = error
            future.set_exception(error)
        else:
            future.set_result([episode])
        return future

    def _rules_of(self, request: EpisodeRequest) -> Rules:
        key = (request.environment, None if request.start is None else request.start.key)
        if key not in self._rules:
            lease = self._backend.acquire(request.environment, request.start, attempt_id=f"{_NAME}-rules")
            self._rules[key] = lease.rules
            lease.release()
        return self._rules[key]

    def let_go(self) -> None:
        """Give back what an item that ended too early did not."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def hold(self) -> Future[None]:
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def resume(self) -> None:
        """Nothing plays."""

    def close(self) -> None:
        super().close()  # a judge was asked in its loop
        self._backend.close()


def _make_world(session: pytest.Session) -> World:
    """A backend and a judge, of those that a campaign has. Nobody acts."""
    config = session.config
    options = config.stash[options_key]
    check_judge(session, options)
    plans = [item.stash[plan_key] for item in session.items if plan_key in item.stash]
    started = start_server(config, [plan.task.environment.database for plan in plans])
    url, revive = started if started is not None else (options.backend, None)
    return World(
        backend=open_backend(config, url, revive),
        agent=make_agent("none"),
        users=Nobody(),
        audit=False,
        judge=make_judge(options, None, concurrency=1),
    )


class _HeldRunner(Runner):
    """Judges as every runner does; starts nothing ahead and writes no records."""

    def __init__(self, session: pytest.Session, source: _Handed, folder: Path) -> None:
        super().__init__(
            session=session,
            options=session.config.stash[options_key],
            pool=source,
            folder=cast("CampaignFolder", None),  # only `_finish` writes to it
            campaign=_NAME,
            stop=StopFlag(folder),
            judge=CampaignJudge(
                pool=source,
                rulings=RulingStore(folder / "judge.jsonl", redactor=Redactor()),
                model=session.config.stash[options_key].judge_model,
            ),
        )
        self.ended: Run | None = None

    def _start_ahead(self, current: pytest.Item) -> None:
        """The next episode is not known."""

    def _will_run(self, item: pytest.Item) -> bool:
        return True  # the others were left out when the session began

    def _finish(self, run: Run, report: pytest.TestReport) -> None:
        if run.attempt is not None:
            attempts.close(run.attempt)
            run.attempt = None
        run.tries.clear()
        self.ended = run


def hold(arguments: Iterable[str], held: Held) -> int:
    """Run pytest until `held` has no more to do; its exit status."""
    return int(pytest.main([*arguments, *_settings(held)], plugins=[held]))


def _settings(held: Held) -> list[str]:
    from importlib.util import find_spec

    settings = [
        "--tb-agent=none",  # tasks are skipped when nobody is to act
        "--tb-attempts=1",
        f"--tb-dir={held._folder}",
        "-s",
        "-p", "no:cacheprovider",
        "--junitxml=",
        "-o", "tmp_path_retention_policy=none",
        "-W", "ignore::pytest.PytestAssertRewriteWarning",  # this module is there before pytest is
    ]  # fmt: skip
    if find_spec("xdist") is not None:
        settings += ["-p", "xdist", "-n0"]
    return settings

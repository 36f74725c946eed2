"""In the process that runs the tests: episodes ahead of their items, verdicts, records."""

from __future__ import annotations

import inspect
import logging
import re
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_thinkingbox.backends.base import NotInRecord
from pytest_thinkingbox.episodes import attempt as attempts
from pytest_thinkingbox.episodes.attempt import Attempt
from pytest_thinkingbox.episodes.judging import Judge
from pytest_thinkingbox.episodes.model import Conversation, Episode
from pytest_thinkingbox.episodes.outcomes import TRUNCATED, Verdict, failed, invalid, judge_checker
from pytest_thinkingbox.episodes.pool import BudgetSpent, EpisodePool, Stopped, Tries
from pytest_thinkingbox.episodes.run import current_attempt
from pytest_thinkingbox.errors import Cause, ConfigurationError, InfrastructureDown
from pytest_thinkingbox.lane import LANE, Turn
from pytest_thinkingbox.plugin import private
from pytest_thinkingbox.plugin.again import episode_of
from pytest_thinkingbox.plugin.campaign import NODE
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.plugin.keeping import Keeper
from pytest_thinkingbox.plugin.live import LiveLine
from pytest_thinkingbox.plugin.printable import printable
from pytest_thinkingbox.plugin.requests import request_of
from pytest_thinkingbox.plugin.stash import plan_key, run_key, work_key
from pytest_thinkingbox.plugin.stop import StopFlag
from pytest_thinkingbox.plugin.xdist import WINDOW, share

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.judging import CampaignJudge
    from pytest_thinkingbox.plugin.options import Options
    from pytest_thinkingbox.records.model import AttemptRecord
    from pytest_thinkingbox.records.store import CampaignFolder


T = TypeVar("T")

_SHOWN_BY_PYTEST = 8
"""Lines of an explanation that pytest shows without -vv."""


class InvalidAttempt(Exception):
    """The item's episode says nothing about the agent."""


@dataclass(slots=True)
class Run:
    """One attempt on its way through an item."""

    plan: Plan
    future: Future[Tries] | None = None
    tries: Tries = field(default_factory=list)
    attempt: Attempt | None = None
    in_call: bool = False
    subtest_errors: list[BaseException] = field(default_factory=list)
    explanation: list[str] = field(default_factory=list)
    verdict: Verdict | None = None
    xfail: bool = False
    xfail_strict: bool = False
    played: int = 0  # tries of an earlier run
    stored: AttemptRecord | None = None  # what is graded again instead of being played
    undecided: bool = False  # the record has not what it takes to grade it again


class Runner:
    """Registered as soon as a task was collected; one per process that runs tests."""

    def __init__(
        self,
        *,
        session: pytest.Session,
        options: Options,
        pool: EpisodePool,
        folder: CampaignFolder,
        campaign: str,
        stop: StopFlag,
        judge: CampaignJudge,
    ) -> None:
        self._session = session
        self._options = options
        self._pool = pool
        self._folder = folder
        self._campaign = campaign
        self._stop = stop
        self._judge = judge
        self._window = WINDOW * share(options.concurrency, session.config)
        self._waiting = 0
        self._turn: Turn | None = None
        self._called: Run | None = None
        self._next = 0
        self._keeper = Keeper(folder=folder, options=options, campaign=campaign)
        self._queue = private.worker_queue(session.config)
        self._live = LiveLine(
            session.config, pool.counts, total=sum(plan_key in item.stash for item in session.items)
        )
        self._log_filter = _NoEpisodes()
        private.let_threads_add_loggers()
        for handler in private.capture_handlers(session.config):
            handler.addFilter(self._log_filter)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._start_ahead(item)
        plan = item.stash.get(plan_key, None)
        if plan is None or plan.task.ahead or not self._will_run(item):
            return (yield)
        # Its fixtures may patch the process: nothing else plays from before they start until after they end.
        self._wait(self._pool.hold())
        try:
            return (yield)
        finally:
            self._pool.resume()

    def _start_ahead(self, current: pytest.Item) -> None:
        for item in self._upcoming(current):
            if self._waiting >= self._window:
                return
            plan = item.stash.get(plan_key, None)
            if plan is not None and plan.task.ahead and run_key not in item.stash and self._will_run(item):
                self._submit(item, plan)
            if self._queue is None:
                self._next += 1

    def _upcoming(self, current: pytest.Item) -> Iterator[pytest.Item]:
        items = self._session.items
        if self._queue is not None:
            yield current
            for index in self._queue():
                yield items[index]
        else:
            # Items run in order: what was looked at once is never looked at again.
            while self._next < len(items):
                yield items[self._next]

    def _will_run(self, item: pytest.Item) -> bool:
        _, runs, _ = private.xfail_of(item)
        return runs and not private.is_skipped_by_mark(item)

    def _submit(self, item: pytest.Item, plan: Plan, *, alone: bool = False) -> Run:
        run = Run(plan)
        run.xfail, _, run.xfail_strict = private.xfail_of(item)
        item.stash[run_key] = run
        request = request_of(plan, self._options, campaign=self._campaign)
        work = item.stash.get(work_key, None)
        if work is not None:
            run.played = work.played
            run.stored = None if work.stored is None else self._folder.read_at(work.stored.offset)
        stored = None if run.stored is None else episode_of(run.stored, request)
        run.future = self._pool.submit(request, alone=alone, played=run.played, stored=stored)
        self._waiting += 1
        return run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        plan = item.stash.get(plan_key, None)
        if plan is not None and plan.task.ahead and self._will_run(item):
            self._bind(item, item.stash.get(run_key, None) or self._submit(item, plan))

    def attempt_of(self, item: pytest.Item) -> Attempt:
        """The finished attempt of this item; with `ahead=False` its episode starts here."""
        plan = item.stash[plan_key]
        run = item.stash.get(run_key, None)
        if run is None:
            run = self._submit(item, plan, alone=True)
        if run.attempt is None:
            self._bind(item, run)
        assert run.attempt is not None
        return run.attempt

    def _bind(self, item: pytest.Item, run: Run) -> None:
        assert run.future is not None
        try:
            run.tries = self._wait(run.future)
        except ConfigurationError as error:
            self._stop_campaign(error)
            raise
        except Stopped:
            self._session.shouldstop = "configuration error: " + printable(self._stop.reason() or "stopped")
            raise
        except BudgetSpent as error:
            self._session.shouldstop = f"{error}; --tb-resume goes on"
            raise
        except Exception as error:  # noqa: BLE001  (nobody classified it)
            detail = f"{type(error).__name__}: {error}"
            run.tries = [self._unplayed(run.plan, "unknown", detail, error, played=run.played)]
        finally:
            self._waiting -= 1
        episode = run.tries[-1]
        if episode.cause is None:
            run.attempt = Attempt(episode, judge=Judge(partial(self._judge.ask, episode, self._wait)))
            return
        run.verdict = invalid(episode.cause, episode.detail)
        raise InvalidAttempt(f"invalid: {episode.cause}: {episode.detail}") from episode.error

    def _stop_campaign(self, error: ConfigurationError) -> None:
        self._stop.raise_(str(error))
        self._session.shouldstop = printable(f"configuration error: {error}")

    def _wait(self, future: Future[T]) -> T:
        """The future's result; in short waits, so that Ctrl-C gets through."""
        if future.done():
            self._turn = LANE.go_on(self._turn)
            return future.result()
        LANE.leave(self._turn)
        self._live.begin()
        try:
            while True:
                try:
                    return future.result(timeout=0.25)
                except NotYet:
                    if future.done():  # by now, or with a TimeoutError of its own
                        return future.result()
                    self._live.update()
        finally:
            self._live.end()
            self._turn = LANE.enter()  # to judge; until the next attempt is waited for

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        run = item.stash.get(run_key, None)
        if run is None or run.attempt is None:
            return (yield)
        error: BaseException | None = None
        result = None
        run.in_call = True
        self._called = run
        try:
            result = yield
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as raised:  # noqa: BLE001  (whatever a checker raises is part of its verdict)
            error = raised
        finally:
            run.in_call = False
            self._called = None
        if isinstance(error, ConfigurationError):
            self._stop_campaign(error)
            raise error
        run.verdict = self._verdict_of(run, error)
        if error is None and run.verdict.outcome == "failed" and not run.subtest_errors:
            pytest.fail(run.verdict.detail, pytrace=False)
        if error is not None and run.verdict.outcome == "failed" and not _asserted(error):
            raise pytest.fail.Exception(run.verdict.detail, pytrace=False) from error
        if error is not None:
            raise error
        return result

    def explained(self, lines: list[str]) -> None:
        """Remember why a comparison failed: pytest cuts its own text to a few lines."""
        if self._called is not None:
            self._called.explanation = lines

    def _verdict_of(self, run: Run, error: BaseException | None) -> Verdict:
        assert run.attempt is not None
        task = run.plan.task
        broken = [one for one in run.subtest_errors if not _asserted(one)]
        decisive = error or next(iter(broken or run.subtest_errors), None)
        run.undecided = isinstance(decisive, NotInRecord)
        if run.undecided:  # whatever changed: the checker may still have accounted for it
            return invalid("checker", f"NotInRecord: {decisive}")
        if isinstance(decisive, pytest.fail.Exception) and _never_ran(run.plan.function, decisive):
            return invalid("checker", str(decisive))
        judge = run.attempt.judge
        if judge.broken is not None:  # also where the checker caught it, and made a "no" of it
            if isinstance(judge.broken, ConfigurationError):
                self._stop_campaign(judge.broken)
            return invalid("judge", str(judge.broken))
        explanation = "\n".join(run.explanation)
        verdict = judge_checker(
            decisive,
            explanation=explanation if explanation[:200] in str(decisive) else "",
            asserted=decisive is not None and _asserted(decisive),
            unaccounted=partial(attempts.unaccounted, run.attempt) if task.strict else str,
            schema_unaccounted=task.strict and bool(run.attempt.changes.unaccounted_schema()),
            credit=attempts.earned_credit(run.attempt),
        )
        if verdict.outcome == "failed" and judge.rulings and _is_ruling(decisive):
            last = judge.rulings[-1]
            why = f"the judge answered {last.answer} to {last.question!r}\n{last.reason}\n{verdict.detail}"
            return replace(verdict, detail=why)
        if verdict.outcome == "passed" and task.no_change and not task.allow_truncated:
            reason = run.attempt.stop_reason
            if reason in TRUNCATED:
                return failed(f"nothing changed, but the agent was cut off ({reason}): that is no refusal")
        return verdict

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        error = call.excinfo.value if call.excinfo is not None else None
        run = item.stash.get(run_key, None)
        if run is None and call.when == "setup" and error is not None:
            run = self._broken_before(item, error)
        if run is None:
            if work_key in item.stash and item.stash[work_key].stored is not None and report.failed:
                report.__dict__[NODE] = "ungraded"  # with `ahead=False`: a fixture failed before ours
            return report
        if run.in_call:
            if error is not None:
                run.subtest_errors.append(error)
        elif call.when == "setup":
            self._after_setup(run, error, report)
        elif call.when == "call":
            self._after_call(run, error, report)
        else:
            if error is not None and run.verdict is not None and run.verdict.outcome != "invalid":
                run.verdict = invalid("checker", f"teardown: {type(error).__name__}: {error}")
            self._finish(run, report)
        return report

    def _broken_before(self, item: pytest.Item, error: BaseException) -> Run | None:
        """With `ahead=False`: a fixture failed, so that the episode was never asked for."""
        plan = item.stash.get(plan_key, None)
        if plan is None or isinstance(error, pytest.skip.Exception) or not self._will_run(item):
            return None
        work = item.stash.get(work_key, None)
        if work is not None and work.stored is not None:
            return None
        run = item.stash[run_key] = Run(plan)
        run.xfail, _, run.xfail_strict = private.xfail_of(item)
        played = 0 if work is None else work.played
        run.tries = [self._unplayed(plan, "checker", "", error, played=played)]
        return run

    def _unplayed(
        self, plan: Plan, cause: Cause, detail: str, error: BaseException, *, played: int = 0
    ) -> Episode:
        return Episode(
            request=request_of(plan, self._options, campaign=self._campaign),
            try_number=played + 1,
            conversation=Conversation(),
            cause=cause,
            detail=detail,
            error=error,
            started_at=time.time(),
        )

    def _after_setup(self, run: Run, error: BaseException | None, report: pytest.TestReport) -> None:
        if error is None:
            return
        if isinstance(error, pytest.skip.Exception):
            report.__dict__[NODE] = "skipped"
        elif isinstance(error, BudgetSpent):
            report.__dict__[NODE] = "unplayed"
            report.outcome = "skipped"
            report.longrepr = (*report.location[:1], report.location[1] or 0, f"Skipped: {error}")
        elif isinstance(error, ConfigurationError | Stopped):
            return
        elif run.verdict is None:
            run.verdict = invalid("checker", f"a fixture failed: {type(error).__name__}: {error}")
        if isinstance(error, InvalidAttempt) and error.__cause__ is None:
            report.longrepr = str(error)  # where in this package it was raised tells nobody anything
        if run.verdict is not None:
            _make_error(report, run.verdict)

    def _after_call(self, run: Run, error: BaseException | None, report: pytest.TestReport) -> None:
        if run.verdict is None:
            return
        if run.verdict.outcome == "failed" and len(run.explanation) > _SHOWN_BY_PYTEST:
            report.sections.append(("thinkingbox comparison, whole", run.verdict.detail))
        if run.verdict.outcome == "failed" and run.attempt is not None and run.attempt.judge.rulings:
            lines = [f"{one.answer} to {one.question!r}: {one.reason}" for one in run.attempt.judge.rulings]
            report.sections.append(("thinkingbox judge", "\n".join(lines)))
        if run.verdict.outcome == "invalid":
            if isinstance(error, InfrastructureDown):
                # Where a driver failed tells nobody anything, and what its functions were given may be a password.
                report.longrepr = str(error)
            _make_error(report, run.verdict)
        elif error is None and report.failed and run.xfail_strict:
            # Strict is judged per task, over all its attempts; one attempt that passed proves nothing.
            report.outcome = "passed"
            report.longrepr = None
            report.wasxfail = "strict, judged over all attempts"

    def _finish(self, run: Run, report: pytest.TestReport) -> None:
        rulings = () if run.attempt is None else tuple(run.attempt.judge.rulings)
        credit = None if run.attempt is None else attempts.earned_credit(run.attempt) or None
        if run.attempt is not None:
            if run.verdict is not None:
                self._keeper.keep_database(run.plan, run.attempt, run.verdict, report)
            attempts.close(run.attempt)
            run.attempt = None
        if run.verdict is not None:
            self._keeper.keep(run, run.verdict, report, rulings=rulings, credit=credit)
            run.tries.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        LANE.leave(self._turn)
        self._pool.close()
        for handler in private.capture_handlers(self._session.config):
            handler.removeFilter(self._log_filter)


def _is_ruling(error: BaseException | None) -> bool:
    """Whether the assertion was that of `assert judge.yes(...)`, or `assert not ...`."""
    return bool(re.match(r"assert (?:False|not True)\n \+  where \w+ = yes\(", str(error)))


def _asserted(error: BaseException) -> bool:
    return isinstance(error, AssertionError | pytest.fail.Exception)


def _never_ran(function: Any, error: BaseException) -> bool:
    """Whether pytest refused an `async def` checker because no plugin runs it: then nothing was checked."""
    if not (inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)):
        return False
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is inspect.unwrap(function).__code__:
            return False
        trace = trace.tb_next
    return True


def _make_error(report: pytest.TestReport, verdict: Verdict) -> None:
    """An invalid attempt is an error, not a failure: in the terminal, in JUnit, and whatever `xfail` says."""
    if report.longrepr is None or report.when == "call":
        report.sections.append(("thinkingbox", f"invalid: {verdict.cause}: {verdict.detail}"))
    report.outcome = "failed"
    report.when = "setup"
    report.__dict__.pop("wasxfail", None)


class _NoEpisodes(logging.Filter):
    """Keeps what episodes log out of the test that happens to run meanwhile."""

    def filter(self, record: logging.LogRecord) -> bool:
        return current_attempt.get() is None

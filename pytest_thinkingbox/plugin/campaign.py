"""In the process that the user started: rows from all workers, the verdict, the summary."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_thinkingbox.plugin import private
from pytest_thinkingbox.plugin.continuing import REFUSED
from pytest_thinkingbox.plugin.once import ShownOnce
from pytest_thinkingbox.plugin.stop import StopFlag

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.options import Options
    from pytest_thinkingbox.records.model import AttemptRecord, AttemptRow, CampaignInfo
    from pytest_thinkingbox.records.store import CampaignFolder
    from pytest_thinkingbox.stats.verdict import Verdict

ROW = "thinkingbox_row"
"""On the last report of an attempt: its row as ASCII JSON, which survives the wire between processes."""
NODE = "thinkingbox_node"
"""On every report of an attempt: "attempt", "skipped" when a fixture skipped it, "idle" when nobody is to act;
"regraded" or "ungraded" on the last one of an attempt that was, or could not be, graded again."""


_BROKE = 8
_OLDER = "keep the verdict on an older prompt or of an older checker"
"""Why a campaign is partial until all of it is graded again."""


class Campaign:
    """Registered where no tests are handed out by others, once an agent or model is named."""

    def __init__(self, *, config: pytest.Config, options: Options, name: str) -> None:
        self._config = config
        self._options = options
        self.folder = options.directory / name
        self.stop = StopFlag(self.folder)
        self._rows: dict[str, str] = {}
        self._skipped: set[str] = set()
        self._ungraded: set[str] = set()
        self._regraded: set[str] = set()
        self._refused = ""
        self._unpublished = ""
        self._crashed: dict[str, str] = {}
        self._ordinary_failures: set[str] = set()
        self._uncollected = False
        self.once = ShownOnce()
        self._interrupted = ""
        self._played = 0
        self._result: tuple[list[AttemptRow], CampaignInfo, Verdict] | None = None

    def pytest_report_header(self) -> str:
        options = self._options
        who = options.agent if options.model is None else f"{options.agent} {options.model}"
        times = "1 attempt" if options.attempts == 1 else f"{options.attempts} attempts"
        return f"thinkingbox: {times} a task, agent {who}, {options.shown_backend}, seed {options.seed}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        fields = report.__dict__
        if ROW in fields:
            self._rows[report.nodeid] = fields[ROW]
        kind = fields.get(NODE)
        if kind == "ungraded":
            self._ungraded.add(report.nodeid)
        if kind == "regraded":
            self._regraded.add(report.nodeid)
        if kind == "skipped":
            self._skipped.add(report.nodeid)
        elif kind is None and report.failed:
            if str(report.when) == "???":  # xdist's report of a worker that died in this test
                self._crashed[report.nodeid] = str(report.longrepr)
            else:
                self._ordinary_failures.add(report.nodeid)
        elif kind == "attempt" and report.failed and not self._config.get_verbosity() > 0:
            self.once.see(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._ordinary_failures.add(report.nodeid)
            self._uncollected = True

    def pytest_keyboard_interrupt(self) -> None:
        self._interrupted = "interrupted"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, object, object]:
        """The figures are there before pytest writes its JUnit file; the exit status comes after everybody else's."""
        broken: Exception | None = None
        try:
            status = self._finish(session, exitstatus)
        except Exception as error:  # noqa: BLE001 - raised again, once other plugins have written what they have
            broken = error
        result = yield
        if broken is not None:
            raise broken
        if status is not None:
            session.exitstatus = status
        return result

    def _finish(self, session: pytest.Session, exitstatus: int) -> int | None:
        """The exit status of the run, None to leave it as it is."""
        option = self._config.option
        if option.collectonly or option.setupplan or not (self.folder / "campaign.json").exists():
            return None
        refused = StopFlag(self.folder, REFUSED)
        if refused.is_raised():
            self._refused = refused.reason()
            refused.lower()
            return pytest.ExitCode.USAGE_ERROR
        if self._uncollected and self._options.proof is not None:
            return pytest.ExitCode.USAGE_ERROR  # nothing proves what is not there
        if exitstatus == pytest.ExitCode.USAGE_ERROR:
            return None
        self._result = self._conclude(session)
        self._publish(*self._result)
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._options.continued is not None:
            exitstatus = pytest.ExitCode.OK  # all that was asked for is there already
        if self.stop.is_raised():
            return pytest.ExitCode.USAGE_ERROR
        if self._result[1].partial and self._used_up():
            return pytest.ExitCode.INTERRUPTED
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            mixed = _OLDER in (self._result[1].partial or "")  # never green, also without a gate
            return self._result[2].exit_status or (_BROKE if mixed else 0)
        return None

    def _used_up(self) -> str:
        from pytest_thinkingbox.plugin.budget import Budget

        return Budget(self.folder, self._options).used_up()

    def _publish(self, rows: list[AttemptRow], info: CampaignInfo, verdict: Verdict) -> None:
        """Figures for JUnit's file, and the summary of a job on GitHub. A proof is no campaign to be shown."""
        if self._options.proof is not None:
            return
        from pytest_thinkingbox.report.junit import suite_properties
        from pytest_thinkingbox.report.markdown import markdown_report

        private.add_junit_properties(self._config, suite_properties(rows=rows, info=info, verdict=verdict))
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            try:
                with open(summary, "a", encoding="utf-8") as file:
                    file.write(markdown_report(rows=rows, info=info, verdict=verdict))
            except OSError as error:
                self._unpublished = f"GITHUB_STEP_SUMMARY={summary}: {error.strerror}"

    def _conclude(self, session: pytest.Session) -> tuple[list[AttemptRow], CampaignInfo, Verdict]:
        from collections import Counter
        from dataclasses import replace
        from datetime import UTC, datetime

        from pytest_thinkingbox.records.model import AttemptRow, attempt_name
        from pytest_thinkingbox.records.resume import is_gradable
        from pytest_thinkingbox.records.shards import planned_of
        from pytest_thinkingbox.records.store import CampaignFolder
        from pytest_thinkingbox.report.reading import gate_options, verdict_of

        folder = CampaignFolder.open(self.folder)
        info = folder.read_info()
        rows = [AttemptRow.from_json(text) for text in self._rows.values()]
        if self._options.continued is not None:
            self._played = len(rows)
            rows = folder.read_rows()
        known = {(row.task, row.attempt): row for row in rows}
        planned = planned_of(info.tasks, info.shard)
        skipped, crashed, nodes = set(), set(), set()
        for task, attempt in planned:
            # Where attempts were added to a task that ran once, they have other names than then.
            names = {attempt_name(task=task, attempt=attempt, requested=2)}
            names |= {task} if attempt == 1 else set()
            nodes |= names
            for node in names & self._crashed.keys() - self._rows.keys():
                earlier = known.get((task, attempt))
                if earlier is not None and is_gradable(earlier.cause):  # what was played is not lost with it
                    self._ungraded.add(node)
                    continue
                tries = 0 if earlier is None else earlier.tries
                folder.append(self._crash_record(info, task, attempt, self._crashed[node], tries=tries))
                crashed.add((task, attempt))
            if names & self._skipped and (task, attempt) not in known:
                skipped.add((task, attempt))
        if crashed:
            rows = [row for row in folder.read_rows() if (row.task, row.attempt) in {*known, *crashed}]
        order = {task: index for index, task in enumerate(info.tasks)}
        rows.sort(key=lambda row: (order.get(row.task, len(order)), row.attempt))
        ordinary = self._ordinary_failures | (self._crashed.keys() - nodes)
        requested = Counter(task for task, attempt in planned if (task, attempt) not in skipped)
        missing = set(planned) - skipped - known.keys() - crashed
        partial = self._partial(session, info, len(missing)) or self._outdated(folder, info)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        info = replace(
            info,
            partial=partial,
            tasks={
                task: number if info.shard is not None else requested[task]
                for task, number in info.tasks.items()
                if requested[task]
            },
            finished=None if partial else now,
        )
        folder.write_info(info)
        options = self._options
        verdict = verdict_of(
            info=info,
            rows=rows,
            requested=dict(requested),
            gates=gate_options(
                path=self.folder,
                min_pass_rate=options.min_pass_rate,
                min_reliable=options.min_reliable,
                baseline=options.baseline,
                max_drop=options.max_drop,
            ),
            ordinary_failures=len(ordinary),
            partial=partial is not None,
        )
        return rows, info, verdict

    def _outdated(self, folder: CampaignFolder, info: CampaignInfo) -> str | None:
        """Where only a part of the attempts was selected to go on, verdicts of two questions are no campaign."""
        from pytest_thinkingbox.records.resume import outdated, stored_attempts

        if self._options.continued is None:
            return None
        number = outdated(stored_attempts(folder), info.task_hashes)
        if not number:
            return None
        return f"{number} attempts were not selected and {_OLDER}"

    def _crash_record(
        self, info: CampaignInfo, task: str, attempt: int, detail: str, *, tries: int
    ) -> AttemptRecord:
        """The worker took what it knew of the attempt with it."""
        from datetime import UTC, datetime

        from pytest_thinkingbox.records.model import AttemptRecord

        return AttemptRecord(
            campaign=info.campaign,
            task=task,
            attempt=attempt,
            try_number=tries + 1,
            final=True,
            requested=info.tasks[task],
            outcome="invalid",
            cause="crash",
            detail=detail,
            stop_reason=None,
            reward=None,
            agent=info.agent,
            model=info.model,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            seed=info.seed,
        )

    def _partial(self, session: pytest.Session, info: CampaignInfo, missing: int) -> str | None:
        if self.stop.is_raised():
            return f"stopped: {self.stop.reason()}"
        if self._ungraded:
            return f"{len(self._ungraded)} attempts could not be graded again and {_OLDER}"
        if missing:
            why = (
                self._used_up()
                or self._interrupted
                or str(session.shouldfail or session.shouldstop or "they did not run")
            )
            return f"{missing} attempts are missing: {why}"
        if self._options.continued is not None and self._options.continued.regrade:
            return None if info.partial is not None and _OLDER in info.partial else info.partial
        option = self._config.option
        for name, flag in (("--lf", "lf"), ("--sw", "stepwise")):
            if option.__dict__.get(flag):
                return f"{name} chose which tasks run"
        return None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        # After pytest's own summaries: the table is what a person reads, so it comes last.
        result = yield
        if self._refused:
            terminalreporter.write_line(f"ERROR: {self._refused}", red=True)
        if self._unpublished:
            terminalreporter.write_line(
                f"thinkingbox: no summary for the job: {self._unpublished}", yellow=True
            )
        if self._result is not None:
            self._print(terminalreporter, *self._result)
        return result

    def _print(
        self, terminalreporter: Any, rows: list[AttemptRow], info: CampaignInfo, verdict: Verdict
    ) -> None:
        from pytest_thinkingbox.report.terminal import summary_lines

        writer = self._config.get_terminal_writer()
        terminalreporter.section("thinkingbox", sep="=")
        for line in summary_lines(
            rows=rows,
            info=info,
            verdict=verdict,
            folder=_shown_path(self.folder, self._config.invocation_params.dir),
            width=min(writer.fullwidth, 100),
            color=writer.hasmarkup,
        ):
            terminalreporter.write_line(line)
        if info.shard is not None:
            terminalreporter.write_line(f"shard     {info.shard}; thinkingbox merge judges the gates")
        if self._options.continued is not None:
            graded = len(self._regraded)
            played = self._played - graded
            kept = len(rows) - self._played
            terminalreporter.write_line(
                f"resumed   {played} played, {graded} graded again, {kept} as they were"
            )


def _shown_path(folder: Path, base: Path) -> Path:
    return folder.relative_to(base) if folder.is_relative_to(base) else folder


class Nobody:
    """Registered when nobody is to act: tasks are skipped, and one line says so."""

    def __init__(self) -> None:
        self._skipped = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._skipped += report.__dict__.get(NODE) == "idle"

    @pytest.hookimpl(wrapper=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        result = yield
        if self._skipped:
            tasks = "1 task" if self._skipped == 1 else f"{self._skipped} tasks"
            terminalreporter.write_line(
                f"thinkingbox: {tasks} skipped, nobody is to act: name a model (--tb-model) or an agent (--tb-agent)"
            )
        return result

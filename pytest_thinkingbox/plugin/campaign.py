"""In the process that the user started: rows from all workers, the verdict, the summary."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_thinkingbox.plugin.once import ShownOnce
from pytest_thinkingbox.plugin.stop import StopFlag

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.options import Options
    from pytest_thinkingbox.records.model import AttemptRecord, AttemptRow, CampaignInfo
    from pytest_thinkingbox.stats.verdict import Verdict

ROW = "thinkingbox_row"
"""On the last report of an attempt: its row as ASCII JSON, which survives the wire between processes."""
NODE = "thinkingbox_node"
"""On every report of an attempt: "attempt", or "skipped" when a fixture skipped it."""


class Campaign:
    """Registered where no tests are handed out by others, once an agent or model is named."""

    def __init__(self, *, config: pytest.Config, options: Options, name: str) -> None:
        self._config = config
        self._options = options
        self.folder = options.directory / name
        self.stop = StopFlag(self.folder)
        self._rows: dict[str, str] = {}
        self._skipped: set[str] = set()
        self._crashed: dict[str, str] = {}
        self._ordinary_failures: set[str] = set()
        self.once = ShownOnce()
        self._interrupted = ""
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

    def pytest_keyboard_interrupt(self) -> None:
        self._interrupted = "interrupted"

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if not (self.folder / "campaign.json").exists():
            return
        self._result = self._conclude(session)
        if self.stop.is_raised():
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            session.exitstatus = self._result[2].exit_status

    def _conclude(self, session: pytest.Session) -> tuple[list[AttemptRow], CampaignInfo, Verdict]:
        from dataclasses import replace
        from datetime import UTC, datetime

        from pytest_thinkingbox.records.model import AttemptRow, attempt_name
        from pytest_thinkingbox.records.store import CampaignFolder
        from pytest_thinkingbox.stats.gates import GateOptions
        from pytest_thinkingbox.stats.verdict import decide

        folder = CampaignFolder.open(self.folder)
        info = folder.read_info()
        rows = [AttemptRow.from_json(text) for text in self._rows.values()]
        requested = dict(info.tasks)
        missing = 0
        planned = set()
        for task, number in info.tasks.items():
            for attempt in range(1, number + 1):
                node = attempt_name(task=task, attempt=attempt, requested=number)
                planned.add(node)
                if node in self._skipped:
                    requested[task] -= 1
                elif node in self._crashed and node not in self._rows:
                    record = self._crash_record(info, task, attempt, self._crashed[node])
                    folder.append(record)
                    rows.append(record.row())
                elif node not in self._rows:
                    missing += 1
        order = {task: index for index, task in enumerate(info.tasks)}
        rows.sort(key=lambda row: (order.get(row.task, len(order)), row.attempt))
        ordinary = self._ordinary_failures | {node for node in self._crashed if node not in planned}
        partial = self._partial(session, missing)
        requested = {task: number for task, number in requested.items() if number}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        info = replace(info, partial=partial, tasks=requested, finished=None if partial else now)
        folder.write_info(info)
        verdict = decide(
            rows=rows,
            requested=requested,
            gates=GateOptions(min_pass_rate=self._options.min_pass_rate),
            ordinary_failures=len(ordinary),
            partial=partial is not None,
        )
        return rows, info, verdict

    def _crash_record(self, info: CampaignInfo, task: str, attempt: int, detail: str) -> AttemptRecord:
        """The worker took what it knew of the attempt with it."""
        from datetime import UTC, datetime

        from pytest_thinkingbox.records.model import AttemptRecord

        return AttemptRecord(
            campaign=info.campaign,
            task=task,
            attempt=attempt,
            try_number=1,
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

    def _partial(self, session: pytest.Session, missing: int) -> str | None:
        if self.stop.is_raised():
            return f"stopped: {self.stop.reason()}"
        if missing:
            why = self._interrupted or str(session.shouldfail or session.shouldstop or "they did not run")
            return f"{missing} attempts are missing: {why}"
        option = self._config.option
        for name, flag in (("--lf", "lf"), ("--sw", "stepwise")):
            if option.__dict__.get(flag):
                return f"{name} chose which tasks run"
        return None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        # After pytest's own summaries: the table is what a person reads, so it comes last.
        result = yield
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

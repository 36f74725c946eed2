"""What an attempt leaves behind when its item is over: records on disk, and a row on its last report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_thinkingbox.episodes.attempt import Attempt, keep_database
from pytest_thinkingbox.episodes.outcomes import Verdict, invalid
from pytest_thinkingbox.plugin.again import graded_again
from pytest_thinkingbox.plugin.campaign import NODE, ROW
from pytest_thinkingbox.plugin.record import record_of
from pytest_thinkingbox.records.model import AttemptRecord
from pytest_thinkingbox.state.rulings import Ruling

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.collect import Plan
    from pytest_thinkingbox.plugin.options import Options
    from pytest_thinkingbox.plugin.runner import Run
    from pytest_thinkingbox.records.store import CampaignFolder


class Keeper:
    """Writes into the campaign's folder."""

    def __init__(self, *, folder: CampaignFolder, options: Options, campaign: str) -> None:
        self._folder = folder
        self._options = options
        self._campaign = campaign
        self._seeds: dict[str, str] = {}

    def keep(
        self,
        run: Run,
        verdict: Verdict,
        report: pytest.TestReport,
        *,
        rulings: Sequence[Ruling],
        credit: float | None,
    ) -> None:
        """The record of every try, or of the second grading of a stored one."""
        if run.stored is not None:
            self._grade_again(run, run.stored, verdict, report, rulings=rulings, credit=credit)
            return
        records = []
        self._note_seed(run)
        for episode in run.tries:
            final = episode is run.tries[-1]
            record = record_of(
                run.plan,
                episode,
                verdict if final else invalid(episode.cause or "unknown", episode.detail),
                options=self._options,
                campaign=self._campaign,
                xfail=run.xfail,
                xfail_strict=run.xfail_strict,
                credit=credit if final else None,
                rulings=rulings if final else (),
                final=final,
            )
            self._folder.append(record, database_url=episode.database_url)
            records.append(record)
        report.__dict__[ROW] = records[-1].row(earlier=records[:-1]).to_json()

    def keep_database(
        self, plan: Plan, attempt: Attempt, verdict: Verdict, report: pytest.TestReport
    ) -> None:
        """Save the final state where --tb-keep asks for it."""
        keep = self._options.keep
        if keep == "none" or (keep == "failed" and verdict.outcome == "passed"):
            return
        path = self._folder.database_path(plan.task_id, plan.attempt)
        try:
            path.parent.mkdir(exist_ok=True)
            kept = keep_database(attempt, path)
        except Exception as error:  # noqa: BLE001 - no verdict is lost because a disk is full
            report.sections.append(
                ("thinkingbox", f"the database was not kept: {type(error).__name__}: {error}")
            )
        else:
            report.sections.append(("thinkingbox", f"database: {kept}"))

    def _grade_again(
        self,
        run: Run,
        stored: AttemptRecord,
        verdict: Verdict,
        report: pytest.TestReport,
        *,
        rulings: Sequence[Ruling],
        credit: float | None,
    ) -> None:
        [episode] = run.tries
        if episode.cause is not None or run.undecided:
            report.__dict__[NODE] = "ungraded"  # the record stays as it is
            return
        self._note_seed(run)
        regrade = self._options.continued is not None and self._options.continued.regrade
        record = graded_again(
            stored,
            run.plan,
            episode,
            verdict,
            xfail=run.xfail,
            xfail_strict=run.xfail_strict,
            rulings=rulings,
            credit=credit,
            # Regrading asks for as many attempts of all tasks as of the one that had most.
            requested=stored.requested if regrade else run.plan.requested,
        )
        self._folder.append(record, database_url=episode.database_url)
        report.__dict__[ROW] = record.row().to_json()
        report.__dict__[NODE] = "regraded"

    def _note_seed(self, run: Run) -> None:
        name, seed = run.plan.task.environment.name, run.tries[-1].seed_hash
        if seed is not None and self._seeds.get(name) != seed:
            self._seeds[name] = seed
            self._folder.note_seed(name, seed)

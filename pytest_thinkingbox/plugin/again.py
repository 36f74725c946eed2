"""An attempt from its record, and the record of its second grading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pytest_thinkingbox.episodes.final import FinalState
from pytest_thinkingbox.episodes.model import Episode, EpisodeRequest
from pytest_thinkingbox.episodes.outcomes import Verdict
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.plugin.record import hashes_of, usage_records
from pytest_thinkingbox.records.model import AttemptRecord
from pytest_thinkingbox.state.rulings import Ruling


def episode_of(record: AttemptRecord, request: EpisodeRequest) -> Episode:
    """What a checker sees of it, but for the database, which the pool makes again."""
    episode = FinalState.of_record(record).episode(request)
    episode.seconds = dict(record.seconds)
    episode.started_at = datetime.fromisoformat(record.started_at).timestamp()
    return episode


def graded_again(
    record: AttemptRecord,
    plan: Plan,
    episode: Episode,
    verdict: Verdict,
    *,
    xfail: bool,
    xfail_strict: bool,
    rulings: Sequence[Ruling],
    credit: float | None,
    requested: int,
) -> AttemptRecord:
    """The same try with another verdict: what the agent did, and what it was told, is as it was."""
    task = plan.task
    now = hashes_of(plan, seed=episode.seed_hash)
    return replace(
        record,
        final=True,
        requested=requested,
        outcome=verdict.outcome,
        cause=verdict.cause,
        detail=verdict.detail,
        reward=verdict.reward,
        credit=credit,
        rulings=rulings,
        usage=usage_records(episode.conversation),  # a judge may have been asked something new
        seconds=episode.seconds,
        tags=task.tags,
        no_change=task.no_change,
        xfail=xfail,
        xfail_strict=xfail_strict,
        min_pass_rate=task.min_pass_rate,
        hashes=replace(record.hashes, seed=now.seed, checker=now.checker),
        volatile=tuple(task.environment.database.volatile),
        regraded_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )

"""An episode from its record: nothing is played, the final state is made again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.backends.base import Backend, Lease, NotInRecord
from pytest_thinkingbox.episodes.model import Episode
from pytest_thinkingbox.episodes.outcomes import meaning_of
from pytest_thinkingbox.episodes.run import current_attempt
from pytest_thinkingbox.state.diff import same
from pytest_thinkingbox.state.model import StateDiff
from pytest_thinkingbox.threads import run_in_turn

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


async def restore_episode(backend: Backend, episode: Episode) -> Episode:
    """Give a stored episode its database and its rules. Its `cause` says when that failed."""
    current_attempt.set(episode.request.attempt_id)
    try:
        await run_in_turn(partial(_restore, backend, episode))
    except Exception as error:
        meaning = meaning_of(error)
        if meaning.stops:
            raise
        episode.cause, episode.detail, episode.error = (
            meaning.cause,
            f"{type(error).__name__}: {error}",
            error,
        )
        if episode.lease is not None:
            await run_in_turn(episode.lease.release)
            episode.lease = None
    return episode


def _restore(backend: Backend, episode: Episode) -> None:
    request = episode.request
    assert episode.diff is not None
    episode.seed_hash = backend.seed_hash(request.environment)
    lease = backend.acquire(
        request.environment, request.start, attempt_id=f"{request.campaign}-again-{request.attempt_id}"
    )
    episode.lease, episode.rules, episode.database_url = lease, lease.rules, lease.url
    try:
        lease.rebuild(episode.diff)
        lease.cut()
        if not same(lease.read_changes(audit=False), episode.diff):
            raise NotInRecord(
                "the state that was made from its changes is not the one that they were read from"
            )
    except NotInRecord as error:
        episode.lease = Unmade(lease, error)


class Unmade:
    """The lease of a state that a record does not hold: asking for it says why. What changed is known all the same."""

    def __init__(self, lease: Lease, why: NotInRecord) -> None:
        self.url = lease.url
        self.rules = lease.rules
        self._lease = lease
        self._why = why

    @property
    def engine(self) -> Engine:
        raise self._why

    def cut(self) -> None:
        raise self._why

    def read_changes(self, *, audit: bool) -> StateDiff:
        raise self._why

    def rebuild(self, diff: StateDiff) -> None:
        raise self._why

    def keep(self, path: Path) -> Path:
        raise self._why

    def rows(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        raise self._why

    def connect_after(self) -> Connection:
        raise self._why

    def connect_before(self) -> Connection:
        return self._lease.connect_before()

    def alive(self) -> bool:
        return self._lease.alive()

    def blames(self, error: BaseException, *, connecting: bool, lost: bool) -> bool:
        return self._lease.blames(error, connecting=connecting, lost=lost)

    def release(self) -> None:
        self._lease.release()

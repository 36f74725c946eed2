"""Episodes of a suite for a trainer: the pool, the users and the databases of a campaign, without items."""

from __future__ import annotations

import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from pytest_thinkingbox.agents.base import Agent
from pytest_thinkingbox.episodes.model import Episode, EpisodeRequest
from pytest_thinkingbox.episodes.pool import EpisodePool, Tries
from pytest_thinkingbox.episodes.run import World
from pytest_thinkingbox.people.models import Settings, make_model
from pytest_thinkingbox.people.users import CampaignUsers
from pytest_thinkingbox.plugin.collected import Collected, collect
from pytest_thinkingbox.plugin.record import task_hash
from pytest_thinkingbox.plugin.requests import prepare_databases
from pytest_thinkingbox.rewards.servers import opened

T = TypeVar("T")


class Player:
    """Plays episodes of the suite that `arguments` (pytest's) name, up to `concurrency` at once.

    Nothing is played again here: whoever trains decides what an invalid episode means. Databases are given back as soon
    as an episode has ended, unless somebody wants to look again: what changed is in the episode.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        agent: Agent,
        *,
        name: str,
        concurrency: int,
        cwd: Path | None = None,
    ) -> None:
        self._agent = agent
        self._name = name
        self._concurrency = concurrency
        self._collected: Collected = collect(arguments, cwd=cwd or Path.cwd(), agent=agent.name)
        self._stopped = threading.Event()
        self._servers = ExitStack()
        self._pool = EpisodePool(
            make_world=self._world,
            concurrency=concurrency,
            retry_invalid=0,
            stop_requested=self._stopped.is_set,
        )

    @property
    def tasks(self) -> list[str]:
        """Ids, in the order of collection."""
        return list(self._collected.plans)

    def request(self, task_id: str, *, member: int, seed: int) -> EpisodeRequest:
        """What `play` plays."""
        return self._collected.request(task_id, campaign=self._name, member=member, seed=seed)

    def hashes(self) -> dict[str, str]:
        """Of each task, what is known of it before there is a database."""
        return {task: task_hash(plan) for task, plan in self._collected.plans.items()}

    def play(self, task_id: str, *, member: int, seed: int, keep: bool = False) -> Future[Episode]:
        """One episode. The future raises what stops a campaign: ConfigurationError, Stopped.

        With `keep` the database of a valid one stays until the caller releases its lease.
        """
        request = self.request(task_id, member=member, seed=seed)
        ended: Future[Episode] = Future()
        self._pool.submit(request).add_done_callback(lambda tries: _hand_over(tries, ended, keep=keep))
        return ended

    def run(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """In the loop in which the agent lives: a question to its engine, beside whatever plays."""
        return self._pool.run(coroutine)

    def close(self) -> None:
        self._stopped.set()
        try:
            self._pool.close()
        finally:
            self._servers.close()

    def _world(self) -> World:
        options = self._collected.options
        if any(plan.task.environment.servers for plan in self._collected.plans.values()):
            import_module(
                "pytest_thinkingbox.tools.connect"
            )  # takes a second, which is no part of an episode
        user = Settings(
            role="user",
            model=options.user_model,
            base_url=options.user_base_url,
            agent_base_url=options.base_url,
            concurrency=self._concurrency,
        )
        databases = [plan.task.environment.database for plan in self._collected.plans.values()]
        backend = self._servers.enter_context(opened(options.backend, databases, label=self._name))
        return World(
            backend=backend,
            agent=self._agent,
            users=CampaignUsers(make_model(user, None)),
            audit=options.audit,
            prepare=partial(prepare_databases, backend, self._collected.plans.values()),
        )


def _hand_over(played: Future[Tries], ended: Future[Episode], *, keep: bool) -> None:
    error = played.exception()
    if error is not None:
        ended.set_exception(error)
        return
    [episode] = played.result()
    if episode.lease is not None and not keep:
        episode.lease.release()
        episode.lease = None
    ended.set_result(episode)

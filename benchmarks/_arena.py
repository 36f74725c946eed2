"""Episodes of a suite by the hundred, graded by its test functions: what probes and demonstrations are made of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType

from pytest_thinkingbox.agents.base import Agent, AgentSession, AgentTask
from pytest_thinkingbox.episodes.model import Episode, EpisodeRequest
from pytest_thinkingbox.episodes.seeds import derive_seed
from pytest_thinkingbox.rewards.player import Player
from pytest_thinkingbox.rewards.suite import load_suite
from pytest_thinkingbox.stats.counts import TaskCounts


class _Whoever:
    """Collecting a suite takes seconds, and is done once: who acts in it is put in here."""

    name = "whoever"
    model: str | None = None

    def __init__(self) -> None:
        self.agent: Agent | None = None

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[AgentSession]:
        assert self.agent is not None
        async with self.agent.open(task, request) as session:
            yield session

    async def aclose(self) -> None:
        """An engine's last batch has ended when its episodes have."""


class Arena:
    """One suite, played by one agent after the other."""

    def __init__(self, suite: Path, *, concurrency: int = 64) -> None:
        self._whoever = _Whoever()
        self._suite = load_suite(".", cwd=suite)
        self._player = Player(["."], self._whoever, name="learning", concurrency=concurrency, cwd=suite)

    @property
    def tasks(self) -> list[str]:
        return self._player.tasks

    def play(
        self,
        agent: Agent,
        tasks: Sequence[str],
        *,
        attempts: int,
        seed: int,
        stage: str,
        look: Callable[[Episode], None] = lambda episode: None,
    ) -> list[TaskCounts]:
        """So many attempts of each task, all at once; an invalid one stays invalid."""
        self._whoever.agent = agent
        played = [
            (task, self._player.play(task, member=number, seed=derive_seed(seed, stage, task, number)))
            for task in tasks  # attempts of one task together: an engine reads once what they are shown alike
            for number in range(1, attempts + 1)
        ]
        outcomes: dict[str, list[str]] = {task: [] for task in tasks}
        for task, future in played:
            episode = future.result()
            look(episode)
            outcomes[task].append(self._suite.grade(episode).outcome)
        return [
            TaskCounts(
                task=task,
                requested=attempts,
                passed=found.count("passed"),
                failed=found.count("failed"),
                invalid=found.count("invalid"),
            )
            for task, found in outcomes.items()
        ]

    def close(self) -> None:
        self._player.close()
        self._suite.close()

    def __enter__(self) -> Arena:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

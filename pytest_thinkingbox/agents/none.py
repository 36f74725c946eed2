"""The agent that does nothing; a task that it passes checks nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pytest_thinkingbox.agents.base import AgentTask
from pytest_thinkingbox.agents.transcript import hear, say
from pytest_thinkingbox.episodes.model import EpisodeRequest


class NoneAgent:
    """Calls no tool and says nothing."""

    name = "none"
    model: str | None = None

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[NoneSession]:
        yield NoneSession(task)

    async def aclose(self) -> None:
        """Nothing is held between episodes."""


class NoneSession:
    def __init__(self, task: AgentTask) -> None:
        self._task = task

    async def reply(self, message: str) -> str:
        hear(self._task.conversation, message)
        say(self._task.conversation, "")
        return ""

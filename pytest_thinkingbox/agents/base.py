"""Who acts in an episode."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pytest_thinkingbox.declare import Limits
from pytest_thinkingbox.episodes.clock import AgentClock
from pytest_thinkingbox.episodes.model import Conversation, EpisodeRequest, StopReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as the agent sees it. `input_schema` is a JSON Schema of an object.

    `read_only` is what the server says of it, not what is so.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool call gave: `text` is for the agent; `value` is structured content or None.

    `fault` says what was done to the call on purpose, "" when nothing was. `said` is what the tool told the user by
    itself; with `ends` the conversation is over. `late` says that it did not answer in time.
    """

    text: str
    error: bool = False
    value: Any = None
    fault: str = ""
    said: str | None = None
    ends: bool = False
    late: bool = field(default=False, compare=False)


@dataclass(slots=True, kw_only=True)
class AgentTask:
    """What an agent is given: the task's public side, its tools and the conversation so far.

    `call_tool(name, arguments, call_id=None)` plays a tool and records it; tool failures come back as text with
    `error=True`, never as an exception. `database_url` is None unless the environment says `agent_database=True`;
    `workdir` is the attempt's working directory, None without one. A call of one of `ending` is the last of its turn
    and of the conversation; other calls of the same message are not played.
    Wrap what is not the agent's own time - queues, retries - in `with task.clock.paused():`.
    """

    attempt_id: str
    prompt: str
    instructions: str
    tools: Sequence[ToolSpec]
    limits: Limits
    seed: int
    conversation: Conversation
    call_tool: Callable[..., Awaitable[ToolOutput]]
    clock: AgentClock
    database_url: str | None = None
    workdir: Path | None = None
    ending: frozenset[str] = frozenset()


class Stop(Exception):
    """The agent's episode ends here for a reason that is the agent's own; the checker decides."""

    def __init__(self, reason: StopReason, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason
        self.detail = detail


def is_exit(error: BaseException) -> bool:
    """Whether foreign code that raised this ends itself only: `sys.exit()`, a cancellation that nobody asked for.

    False for what ends the running task from outside, which must get through.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or not task.cancelling()
    return not isinstance(error, GeneratorExit)


class AgentSession(Protocol):
    async def reply(self, message: str) -> str:
        """The user's message in, the agent's final text of that turn out.

        Appends what it says to `task.conversation.messages`. Raises Stop for the agent's own failures and Invalid
        for those of others.
        """


class Agent(Protocol):
    """One object per campaign; `open` is entered once per episode, in the episode's own task."""

    name: str
    model: str | None

    def open(self, task: AgentTask, request: EpisodeRequest) -> AbstractAsyncContextManager[AgentSession]: ...

    async def aclose(self) -> None: ...

"""Tasks whose servers need more than to be started: who opens them says here what the episode then finds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_thinkingbox.agents.base import ToolOutput, ToolSpec
from pytest_thinkingbox.declare import Player


class Tools(Protocol):
    """What an agent can call."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...

    async def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolOutput: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One attempt's servers, begun. `history` are chat-completions messages that went before the prompt.

    `ending` are the tools whose call ends the conversation, `ends` says whether an answer of the agent does.
    `finish` is awaited once when the conversation is over, whatever ended it: no call is played after that.
    """

    toolbox: Tools
    prompt: str
    user: Player | None
    instructions: str
    history: Sequence[Mapping[str, Any]]
    ending: frozenset[str]
    ends: Callable[[str], bool]
    finish: Callable[[], Awaitable[None]]

"""What agents that are somebody else's code have in common: their calls are watched and written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_thinkingbox.agents.base import AgentTask, ToolOutput
from pytest_thinkingbox.agents.transcript import hear, say, transcribe_calls


class Watch:
    """Plays the task's tools for code that may hide what ended the attempt, and keeps the transcript.

    `failure` is the exception that a call raised, whatever the agent made of it.
    """

    def __init__(self, task: AgentTask) -> None:
        self.failure: Exception | None = None
        self._task = task
        self._calls = len(task.conversation.tool_calls)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | str, call_id: str | None = None
    ) -> ToolOutput:
        try:
            return await self._task.call_tool(name, arguments, call_id)
        except Exception as error:
            self.failure = self.failure or error
            raise

    def hear(self, message: str) -> None:
        hear(self._task.conversation, message)

    def write_down(self, answer: str | None = None) -> None:
        """Append the calls since the last time, and the answer of this turn, to the messages."""
        conversation = self._task.conversation
        transcribe_calls(conversation, conversation.tool_calls[self._calls :])
        self._calls = len(conversation.tool_calls)
        if answer is not None:
            say(conversation, answer)

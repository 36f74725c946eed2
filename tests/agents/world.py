"""What the tests of black-box agents share: a task whose tools are plain functions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_thinkingbox.agents.base import Agent, AgentTask, ToolOutput, ToolSpec
from pytest_thinkingbox.declare import Database, Environment, Limits, User
from pytest_thinkingbox.episodes.clock import AgentClock
from pytest_thinkingbox.episodes.model import Conversation, EpisodeRequest, ToolCall

environment = Environment(name="shop", database=Database(schema=lambda connection: None), servers=[])

BOOK = ToolSpec(
    name="book",
    description="Book a room.",
    input_schema={"type": "object", "properties": {"guest": {"type": "string"}}, "required": ["guest"]},
)


def booked(name: str, arguments: Mapping[str, Any]) -> ToolOutput:
    return ToolOutput(f"booked for {arguments['guest']}")


class Play:
    """One episode of an agent. `tool` answers the calls and may raise."""

    def __init__(
        self,
        *,
        tool: Callable[[str, Mapping[str, Any]], ToolOutput] = booked,
        instructions: str = "Be kind.",
        database_url: str | None = None,
        user: str | None = None,
    ) -> None:
        self.conversation = Conversation()
        self._tool = tool
        self.request = EpisodeRequest(
            task_id="test_shop.py::test_book",
            attempt=3,
            environment=environment,
            prompt="Book a room.",
            user=None if user is None else User(user),
            start=None,
            solution=None,
            parameters={},
            limits=Limits(),
            campaign="c1",
            seed=1,
        )
        self.task = AgentTask(
            attempt_id=self.request.attempt_id,
            prompt=self.request.prompt,
            instructions=instructions,
            tools=[BOOK],
            limits=self.request.limits,
            seed=1,
            conversation=self.conversation,
            call_tool=self.call_tool,
            clock=AgentClock(seconds=60),
            database_url=database_url,
        )

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], call_id: str | None = None
    ) -> ToolOutput:
        output = self._tool(name, arguments)
        calls = self.conversation.tool_calls
        calls.append(
            ToolCall(call_id or f"call_{len(calls) + 1}", name, arguments, output.text, output.error, 0.0)
        )
        return output

    def run(self, agent: Agent, messages: Sequence[str] = ("Book a room.",)) -> list[str]:
        async def play() -> list[str]:
            replies = []
            try:
                async with agent.open(self.task, self.request) as session:
                    for message in messages:
                        replies.append(await session.reply(message))
            finally:
                await agent.aclose()
            return replies

        return asyncio.run(play())

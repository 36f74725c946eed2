"""Reference solutions as a model would have written them: episodes on real databases, by token ids."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pytest_thinkingbox.agents.base import AgentTask
from pytest_thinkingbox.agents.solution import advance, check, result_of, steps_of
from pytest_thinkingbox.agents.tokens import Generation, TokensAgent, Trace
from pytest_thinkingbox.declare.solution import Say
from pytest_thinkingbox.episodes.model import Episode, EpisodeRequest
from pytest_thinkingbox.tokens.chat import Chat
from pytest_thinkingbox.tokens.reading import WrittenCall


class DemonstratingAgent:
    """Plays the solution of a task; `traces` holds the ids of each, rendered by the `Chat` of the policy.

    A demonstration that its own `Chat` reads as anything else than what was meant is an error.
    """

    name = "demonstration"
    model: str | None = None

    def __init__(self, policy: TokensAgent) -> None:
        self._policy = policy
        self.traces: dict[str, Trace] = {}

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[_Session]:
        trace = self.traces[request.task_id] = Trace()
        yield _Session(task, request, self._policy.chat_of(tuple(task.tools)), trace)

    async def aclose(self) -> None:
        """Nothing is held between episodes."""


class _Session:
    def __init__(self, task: AgentTask, request: EpisodeRequest, chat: Chat, trace: Trace) -> None:
        self._task = task
        self._steps = steps_of(request)
        self._chat = chat
        self._trace = trace

    async def reply(self, message: str) -> str:
        told: list[dict[str, Any]] = [{"role": "user", "content": message}]
        if self._task.instructions:
            told.insert(0, {"role": "system", "content": self._task.instructions})
        self._trace.prompt = self._chat.start(told)
        number, result = 0, None
        while (step := advance(self._steps, result, number)) is not None:
            number += 1
            if isinstance(step, Say):
                self._write({"role": "assistant", "content": step.text})
                return step.text
            arguments = dict(step.arguments)
            function = {"name": step.tool, "arguments": arguments}
            self._write({"role": "assistant", "content": "", "tool_calls": [{"function": function}]})
            output = await self._task.call_tool(step.tool, arguments, f"call{number}")
            check(step, output, number)
            result = result_of(output)
            told = [{"role": "tool", "tool_call_id": f"call{number}", "content": output.text}]
            self._trace.told(self._chat.observe(told))
        raise AssertionError("a demonstration must end with call.say")

    def _write(self, message: dict[str, Any]) -> None:
        ids = self._chat.written(message)
        reading = self._chat.read(ids)
        functions = [one["function"] for one in message.get("tool_calls", [])]
        meant = tuple(WrittenCall(one["name"], one["arguments"]) for one in functions)
        if (reading.content, reading.calls, reading.finished) != (message["content"], meant, True):
            raise AssertionError(f"{json.dumps(message)} was written, and {reading} is read")
        self._trace.wrote(Generation(ids))


def said(episode: Episode) -> list[str]:
    """Everything that a conversation holds, calls in the notation of the model."""
    found = [str(episode.request.environment.instructions)]
    for message in episode.conversation.messages:
        found.append(message.get("content") or "")
        for one in message.get("tool_calls") or []:
            function = one["function"]
            found.append(
                json.dumps({"name": function["name"], "arguments": json.loads(function["arguments"])})
            )
    return found

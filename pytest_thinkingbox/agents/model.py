"""An agent that is a model behind an endpoint, whatever API it speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pytest_thinkingbox.agents.base import AgentTask, Stop, ToolSpec
from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.control import Control
from pytest_thinkingbox.agents.endpoint import Endpoint
from pytest_thinkingbox.agents.wire import Answer, Api, RequestedCall, Transcript
from pytest_thinkingbox.episodes.clock import TimeIsUp
from pytest_thinkingbox.episodes.model import EpisodeRequest


class ModelAgent:
    """Asks `model` at `base_url` until it answers with text; plays the tool calls that it makes on the way.

    `parameters` are further fields of every request, as the API names them. The attempt's seed is sent unless the
    API or the endpoint does not know it. `concurrency` limits the requests that are under way at once.
    """

    name = "model"

    def __init__(
        self,
        model: str,
        *,
        api: Api,
        base_url: str | None = None,
        api_key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        send_seed: bool = True,
        concurrency: int = 8,
    ) -> None:
        self.model: str | None = model
        self.endpoint = Endpoint(
            base_url or api.default_url, api=api, api_key=api_key, concurrency=concurrency
        )
        self.chat = ChatModel(self.endpoint, model, parameters=parameters, send_seed=send_seed)
        self._tools: tuple[ToolSpec, ...] = ()
        self._encoded_tools = b""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r} at {self.endpoint.url!r})"

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[ModelSession]:
        yield ModelSession(self.chat, task, tools=self._encoded(tuple(task.tools)))

    def _encoded(self, tools: tuple[ToolSpec, ...]) -> bytes:
        """Attempts that follow upon one another mostly have the same tools."""
        if tools != self._tools:
            self._tools, self._encoded_tools = tools, self.endpoint.api.encode_tools(tools)
        return self._encoded_tools

    async def aclose(self) -> None:
        await self.endpoint.aclose()


class ModelSession:
    """One conversation. What the conversation holds already is sent first."""

    def __init__(self, chat: ChatModel, task: AgentTask, *, tools: bytes) -> None:
        self._chat = chat
        self._task = task
        self._transcript = Transcript()
        self._tools = tools
        self._tool_names = frozenset(tool.name for tool in task.tools)
        self._turns = 0
        self._output_tokens = 0
        self._said_by_tools: list[str] = []
        messages = task.conversation.messages
        if task.instructions and not any(message["role"] == "system" for message in messages):
            messages.insert(0, {"role": "system", "content": task.instructions})
        for message in messages:
            self._transcript.append(message)

    async def reply(self, message: str) -> str:
        self._say({"role": "user", "content": message})
        said = ""
        while True:
            answer = await self._next()
            if answer.finish == "pause" and not answer.calls:
                said += answer.text
            elif not answer.calls:
                return said + answer.text
            ending = [call for call in answer.calls if call.name in self._task.ending]
            for call in ending or answer.calls:
                await self._play(call, legacy=answer.legacy)
            if ending:
                return said + answer.text
            self._pass_on()

    async def _next(self) -> Answer:
        """The model's next answer, within the limits, whole, and neither filtered nor refused."""
        task = self._task
        limits = task.limits
        if self._turns >= limits.turns:
            raise Stop("turn_limit", f"the model answered {self._turns} times and was not done")
        control = Control(self._chat, task.conversation, limit=limits.seconds, requests=self._turns + 1)
        try:
            with task.clock.paused():
                answer = await self._chat.complete(
                    self._transcript,
                    tools=self._tools,
                    tool_names=self._tool_names,
                    seed=task.seed,
                    clock=task.clock,
                    late=control.check,
                )
                self._turns += 1
                self._count(answer)
                task.conversation.messages.append(answer.message)
                self._transcript.append(answer.echo)
                if task.clock.left <= 0:
                    await control.check()
        finally:
            await control.aclose()
        stop = self._stop(answer)
        if stop is not None:
            task.conversation.response = answer.refusal or answer.text
            raise stop
        if task.clock.left <= 0:
            raise TimeIsUp
        return answer

    def _stop(self, answer: Answer) -> Stop | None:
        limits = self._task.limits
        if answer.finish == "content_filter":
            return Stop("content_filter", "the endpoint cut the answer off")
        if answer.finish == "length":
            return Stop("output_limit", "the answer was cut off at the longest length that was asked for")
        if answer.finish == "context":
            return Stop("context_overflow", "the answer was cut off where the model's context ends")
        if answer.refusal is not None:
            return Stop("refusal", answer.refusal)
        if self._output_tokens > limits.tokens:
            return Stop(
                "token_limit", f"{self._output_tokens} tokens were generated, the limit is {limits.tokens}"
            )
        return None

    def _count(self, answer: Answer) -> None:
        tokens = answer.tokens
        self._task.conversation.usage["agent"].add(
            input_tokens=tokens.input_tokens,
            cached_tokens=tokens.cached_tokens,
            output_tokens=tokens.output_tokens,
            reasoning_tokens=tokens.reasoning_tokens,
        )
        self._output_tokens += tokens.output_tokens or 0

    async def _play(self, call: RequestedCall, *, legacy: bool) -> None:
        output = await self._task.call_tool(call.name, call.arguments, call_id=call.id)
        if legacy:
            self._say({"role": "function", "name": call.name, "content": output.text})
        else:
            self._say({"role": "tool", "tool_call_id": call.id, "content": output.text})
        if output.said is not None:
            self._said_by_tools.append(output.said)

    def _pass_on(self) -> None:
        """What tools told the user themselves, once every call of the message has its answer."""
        for text in self._said_by_tools:
            self._task.conversation.messages.append({"role": "assistant", "content": text, "direct": True})
            self._transcript.append({"role": "assistant", "content": text})
        self._said_by_tools.clear()

    def _say(self, message: dict[str, Any]) -> None:
        self._task.conversation.messages.append(message)
        self._transcript.append(message)

"""An agent that is a local model, by token ids: what it is trained on is what it saw and wrote, to the token."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_thinkingbox.agents.base import AgentTask, Stop, ToolSpec
from pytest_thinkingbox.episodes.clock import TimeIsUp
from pytest_thinkingbox.episodes.model import EpisodeRequest, StopReason
from pytest_thinkingbox.tokens.chat import Chat, Tokenizer
from pytest_thinkingbox.tokens.reading import BrokenCall, Reading


@dataclass(frozen=True, slots=True)
class Generation:
    """New ids, the end token among them if the model wrote it; log-probabilities of them where the engine gives any.

    `policy_version` is the number of updates of the weights that wrote them, None from an engine whose weights stay.
    """

    ids: Sequence[int]
    logprobs: Sequence[float] | None = None
    policy_version: int | None = None


class Continues(Protocol):
    """Continues ids. Raises ProviderDown when it cannot."""

    async def generate(self, ids: Sequence[int], *, seed: int, most: int) -> Generation: ...


class Engine(Continues, Protocol):
    """What it continues by itself belongs to no conversation; `of` is for one whose time it takes and whose outages
    it has."""

    def of(self, task: AgentTask) -> Continues: ...

    async def aclose(self) -> None: ...


@dataclass(slots=True, kw_only=True)
class Trace:
    """The ids of one episode: `prompt` is what came before the model's first token; of `completion`, `mask` has 1 for
    what the model wrote and 0 for what it was told."""

    prompt: list[int] = field(default_factory=list)
    completion: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] | None = field(default_factory=list)
    chat: str = ""
    policy_versions: set[int] = field(default_factory=set)
    seconds: float = 0.0
    """How long the engine was waited for."""

    def wrote(self, generation: Generation) -> None:
        if generation.policy_version is not None:
            self.policy_versions.add(generation.policy_version)
        self.completion += generation.ids
        self.mask += [1] * len(generation.ids)
        if generation.logprobs is None or self.logprobs is None:
            self.logprobs = None
        else:
            self.logprobs += generation.logprobs

    def told(self, ids: Sequence[int]) -> None:
        self.completion += ids
        self.mask += [0] * len(ids)
        if self.logprobs is not None:
            self.logprobs += [0.0] * len(ids)

    @property
    def length(self) -> int:
        return len(self.prompt) + len(self.completion)


class Chats:
    """The interpretation for each set of tools; what proves its template is done once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: list[tuple[tuple[ToolSpec, ...], Chat]] = []

    def of(self, tools: tuple[ToolSpec, ...]) -> Chat:
        for known, chat in self._known:
            if known == tools:
                return chat
        chat = Chat(self._tokenizer, tools=[_function(one) for one in tools])
        self._known.append((tools, chat))
        return chat


class TokensAgent:
    """`longest` is how many ids a conversation may have in all, `answer` how many one generation may.

    `keep` is given the trace of every episode when it ends, in whatever way.
    """

    name = "tokens"

    def __init__(
        self,
        engine: Engine,
        tokenizer: Tokenizer,
        *,
        model: str | None = None,
        longest: int,
        answer: int,
        keep: Callable[[EpisodeRequest, Trace], None] | None = None,
    ) -> None:
        self.model = model
        self.engine = engine
        self._longest = longest
        self._answer = answer
        self._keep = keep
        self._chats = Chats(tokenizer)

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[TokensSession]:
        chat = self.chat_of(tuple(task.tools))
        task.conversation.chat = chat.hash
        trace = Trace(chat=chat.hash)
        try:
            yield TokensSession(
                self.engine.of(task), chat, task, trace=trace, longest=self._longest, answer=self._answer
            )
        finally:
            if self._keep is not None:
                self._keep(request, trace)

    def chat_of(self, tools: tuple[ToolSpec, ...]) -> Chat:
        """The interpretation for these tools."""
        return self._chats.of(tools)

    async def aclose(self) -> None:
        await self.engine.aclose()


class TokensSession:
    """One conversation."""

    def __init__(
        self, engine: Continues, chat: Chat, task: AgentTask, *, trace: Trace, longest: int, answer: int
    ) -> None:
        self._engine = engine
        self._chat = chat
        self._task = task
        self._trace = trace
        self._longest = longest
        self._answer = answer
        self._turns = 0
        if task.instructions:
            task.conversation.messages.insert(0, {"role": "system", "content": task.instructions})

    async def reply(self, message: str) -> str:
        self._say([{"role": "user", "content": message}])
        while True:
            reading = await self._next()
            if not reading.calls:
                return reading.content
            observed = []
            for at, call in enumerate(reading.calls):
                name = f"call{self._turns}-{at}"
                if isinstance(call, BrokenCall):
                    text = f"Error: this tool call cannot be read: {call.why}"
                else:
                    output = await self._task.call_tool(call.name, dict(call.arguments), call_id=name)
                    text = output.text
                observed.append({"role": "tool", "tool_call_id": name, "content": text})
            self._say(observed)

    def _say(self, messages: list[dict[str, Any]]) -> None:
        conversation = self._task.conversation.messages
        conversation += messages
        if self._trace.completion:
            self._trace.told(self._chat.observe(messages))
        else:
            self._trace.prompt = self._chat.start(conversation)

    async def _next(self) -> Reading:
        task, trace = self._task, self._trace
        if self._turns >= task.limits.turns:
            raise Stop("turn_limit", f"the model answered {self._turns} times and was not done")
        room = self._longest - trace.length
        if room <= 0:
            raise Stop(
                "context_overflow", f"{trace.length} tokens, the conversation may have {self._longest}"
            )
        before = sum(trace.mask)
        spare = task.limits.tokens - before
        if spare <= 0:
            raise Stop("token_limit", f"{before} tokens were generated, the limit is {task.limits.tokens}")
        shown = [*trace.prompt, *trace.completion]
        most = min(room, spare, self._answer)
        asked = time.perf_counter()
        try:
            generation = await self._engine.generate(
                shown, seed=(task.seed + self._turns) & 0x7FFFFFFF, most=most
            )
        finally:
            trace.seconds += time.perf_counter() - asked
        self._turns += 1
        trace.wrote(generation)
        task.conversation.usage["agent"].add(
            input_tokens=len(shown),
            cached_tokens=None,
            output_tokens=len(generation.ids),
            reasoning_tokens=None,
        )
        reading = self._chat.read(generation.ids)
        task.conversation.messages.append(self._message(reading))
        if not reading.finished:
            task.conversation.response = reading.content
            # Fewer than were asked for: the engine itself has come to the end of the model's context.
            full = most == room or len(generation.ids) < most
            reason: StopReason = (
                "context_overflow" if full else "token_limit" if most == spare else "output_limit"
            )
            raise Stop(reason, f"cut off after {len(generation.ids)} tokens")
        if task.clock.left <= 0:
            raise TimeIsUp
        return reading

    def _message(self, reading: Reading) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reading.content}
        if reading.reasoning:
            message["reasoning_content"] = reading.reasoning
        if reading.calls:
            message["tool_calls"] = [
                {
                    "id": f"call{self._turns}-{at}",
                    "type": "function",
                    "function": {"name": "", "arguments": call.text}
                    if isinstance(call, BrokenCall)
                    else {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for at, call in enumerate(reading.calls)
            ]
        return message


def _function(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.input_schema),
        },
    }

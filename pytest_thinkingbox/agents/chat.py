"""One model of one endpoint: what it is asked, and what its refusals mean."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import nullcontext
from typing import Any

from pytest_thinkingbox.agents.base import Stop
from pytest_thinkingbox.agents.endpoint import Endpoint, Rejected, Watch
from pytest_thinkingbox.agents.provider_errors import ErrorReply
from pytest_thinkingbox.agents.wire import Answer, TokenCount, Transcript
from pytest_thinkingbox.episodes.clock import AgentClock
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown

_REASONING = "reasoning"  # in `refused`: the model's earlier reasoning is not sent back
_THINKING = frozenset({"thinking", "reasoning", "reasoning_effort"})
_WORD = {"role": "user", "content": "Reply with the word OK and nothing else."}
AGENTS_MODEL = "--tb-model"
_TOKENS_OF_A_WORD = 16  # the Responses API allows no fewer


class ChatModel:
    """One model of one endpoint. `parameters` are further fields of the request, sent as they are.

    When the endpoint says that it does not know a field that it can do without (`seed`, `parallel_tool_calls`,
    `include`), it is left out from then on; `max_tokens` and `max_completion_tokens` are exchanged; reasoning is not
    sent back. `refused` names these. Of `parameters`, those in `droppable` are left out once the
    endpoint complains of them in any words. `option` is the one that the model is named with.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        droppable: Collection[str] = (),
        send_seed: bool = True,
        option: str = AGENTS_MODEL,
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self._droppable = frozenset(droppable)
        self.parameters = dict(parameters or {})
        self.refused: set[str] = set()
        self._api = endpoint.api
        self._option = option
        self._send_seed = send_seed and self._api.knows_seed
        taken = self._api.own_fields & self.parameters.keys()
        if taken:
            raise ConfigurationError(
                f"the parameters of {model} set {', '.join(sorted(taken))}: these are set by the agent itself"
            )

    def __repr__(self) -> str:
        return f"ChatModel({self.model!r} at {self.endpoint.url!r})"

    async def complete(
        self,
        transcript: Transcript,
        *,
        tools: bytes = b"",
        tool_names: Collection[str] = (),
        seed: int | None = None,
        clock: AgentClock | None = None,
        late: Callable[[], Awaitable[None]] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Answer:
        """The model's next answer. `tools` is encoded by this endpoint's API; `tool_names` are their names; `extra` are
        fields of this request alone.

        Only the seconds of the request that succeeded are taken from `clock`: before its answer is there, nobody
        can tell the model's time from an outage. `late` is called while an answer is awaited for longer than was left,
        and raises when that is not the model's own time. Raises Stop for what the conversation itself has caused,
        ConfigurationError for what no retry will mend, ProviderDown for the rest.
        """

        def read(body: bytes, content_type: str) -> Answer:
            return self._api.read(body, content_type, tools=tool_names)

        watch = None if clock is None or late is None else Watch(clock.left, late)
        with clock.paused() if clock is not None else nullcontext():
            while True:
                fields = {**self._fields(seed), **(extra or {})}
                reasoning = _REASONING not in self.refused
                body = self._api.body(fields, tools, transcript, reasoning=reasoning)
                try:
                    answer, seconds = await self.endpoint.ask(body, read, watch=watch)
                except Rejected as rejected:
                    if not self._adapt(rejected.reply, fields, reasoning=reasoning):
                        raise self._meaning(rejected) from None
                    continue
                self.endpoint.answered.add(self.model)
                if clock is not None:
                    clock.left -= seconds
                return answer

    async def probe(self, *, seconds: float) -> TokenCount:
        """Ask for one word. Raises ProviderDown when nothing answers within `seconds`, queueing apart."""

        async def slow() -> None:
            raise ProviderDown(
                f"{self.endpoint.url} is slow: the attempt's time was up, and a control request for one word "
                f"(model {self.model!r}) was not answered within {seconds:.3g} s either"
            )

        def read(body: bytes, content_type: str) -> Answer:
            return self._api.read(body, content_type)

        transcript = Transcript()
        transcript.append(_WORD)
        fields = self._fields(None)
        if not _THINKING & fields.keys():
            names = [name for name in (*self._api.lengths, self._api.length_field) if name in fields]
            fields[names[0] if names else self._api.length_field] = _TOKENS_OF_A_WORD
        body = self._api.body(fields, b"", transcript, reasoning=False)
        try:
            answer, _ = await self.endpoint.ask(body, read, watch=Watch(seconds, slow))
        except Rejected:  # an answer all the same, and in time
            return TokenCount()
        return answer.tokens

    def _fields(self, seed: int | None) -> dict[str, Any]:
        fields = {"model": self.model, **self._api.defaults, **self.parameters}
        if seed is not None and self._send_seed:
            fields.setdefault("seed", seed)
        for name in self.refused & fields.keys():
            value = fields.pop(name)
            if name in self._api.lengths:
                fields[self._api.lengths[name]] = value
        return fields

    def _adapt(self, reply: ErrorReply, sent: Mapping[str, Any], *, reasoning: bool) -> bool:
        """Whether the request will be another one when it is sent again."""
        for name in self._api.droppable:
            if name in sent and reply.refuses_parameter(name):
                self.refused.add(name)
                return True
        for name in self._droppable & sent.keys():
            if reply.names_parameter(name):
                self.refused.add(name)
                return True
        for name, other in self._api.lengths.items():
            if name in sent and other not in self.refused and reply.refuses_parameter(name):
                self.refused.add(name)
                return True
        if reasoning and any(reply.refuses_parameter(name) for name in self._api.reasoning_fields):
            self.refused.add(_REASONING)
            return True
        return False

    def _meaning(self, rejected: Rejected) -> Exception:
        reply = rejected.reply
        answered = self.endpoint.answered
        said = self.endpoint.redact(f"{self.endpoint.url} answered {reply} (model {self.model!r})")
        if reply.context_overflow and (self.model in answered or not reply.output_too_large):
            return Stop("context_overflow", said)
        if reply.content_filter:
            return Stop("content_filter", said)
        if self.model in answered or (answered and reply.status == 401):
            return ProviderDown(said)
        return ConfigurationError(f"{said}. {self._way_out(rejected)}")

    def _way_out(self, rejected: Rejected) -> str:
        reply = rejected.reply
        names = self.endpoint.names
        if 300 <= reply.status < 400:
            return f"It wants to be asked at {rejected.location or 'another address'}: change {names.url}."
        if reply.out_of_credit:
            return "The account has no credit or quota left: top it up, or take another key or endpoint."
        if reply.status == 401:
            if not self.endpoint.has_key:
                return f"No key was sent: set {names.key}."
            return f"Check {names.key}: the endpoint does not accept this key."
        if reply.about_the_model:
            return f"Name a model that this endpoint serves and this key may use with {self._option}."
        if reply.status == 403:
            return f"The key may not do this here: check {names.key} and {names.url}."
        if reply.status in (404, 405):
            return (
                f"Check {names.url}, as in {self._api.default_url}, and whether this endpoint speaks the API "
                f"{self._api.name!r}."
            )
        if self._option != AGENTS_MODEL:
            return f"Name another model with {self._option}, or another endpoint, that takes the request."
        return (
            "Change the model, its parameters (--tb-temperature, --tb-extra-body) or the names or schemas of the "
            "tools so that the endpoint accepts the request."
        )

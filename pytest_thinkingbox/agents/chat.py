"""A model behind a chat-completions endpoint: requests that fit the endpoint, and what its refusals mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from typing import Any

from pytest_thinkingbox.agents.base import Stop
from pytest_thinkingbox.agents.endpoint import Endpoint, Rejected
from pytest_thinkingbox.agents.provider_errors import ErrorReply
from pytest_thinkingbox.agents.wire import REASONING_FIELDS, Answer, Transcript, encode, read_answer
from pytest_thinkingbox.episodes.clock import AgentClock
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown

_OWN_FIELDS = frozenset({"model", "messages", "tools", "stream", "n"})
_LENGTHS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_DROPPABLE = ("seed", "parallel_tool_calls")


class ChatModel:
    """One model of one endpoint. `parameters` are further fields of the request, sent as they are.

    When the endpoint says that it does not know `seed` or `parallel_tool_calls`, they are left out from then on;
    `max_tokens` and `max_completion_tokens` are exchanged; reasoning is not sent back. `refused` names these.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        send_seed: bool = True,
    ) -> None:
        self.endpoint = endpoint
        self.model = model
        self.parameters = dict(parameters or {})
        self.refused: set[str] = set()
        self._send_seed = send_seed
        taken = _OWN_FIELDS & self.parameters.keys()
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
    ) -> Answer:
        """The model's next answer. `tools` is encoded JSON; `tool_names` are their names.

        Only the seconds of the request that succeeded are taken from `clock`: before its answer is there, nobody
        can tell the model's time from an outage. Raises Stop for what the conversation itself has caused,
        ConfigurationError for what no retry will mend, ProviderDown for the rest.
        """

        def read(body: bytes, content_type: str) -> Answer:
            return read_answer(body, content_type, tools=tool_names)

        with clock.paused() if clock is not None else nullcontext():
            while True:
                fields = self._fields(seed)
                reasoning = bool(tools) and "reasoning" not in self.refused
                try:
                    answer, seconds = await self.endpoint.ask(
                        _body(fields, tools, transcript.encoded(reasoning=reasoning)), read
                    )
                except Rejected as rejected:
                    if not self._adapt(rejected.reply, fields, reasoning=reasoning):
                        raise self._meaning(rejected) from None
                    continue
                if clock is not None:
                    clock.left -= seconds
                self.endpoint.answered.add(self.model)
                return answer

    def _fields(self, seed: int | None) -> dict[str, Any]:
        fields = {"model": self.model, **self.parameters}
        if seed is not None and self._send_seed:
            fields.setdefault("seed", seed)
        for name in self.refused & fields.keys():
            value = fields.pop(name)
            if name in _LENGTHS:
                fields[_LENGTHS[name]] = value
        return fields

    def _adapt(self, reply: ErrorReply, sent: Mapping[str, Any], *, reasoning: bool) -> bool:
        """Whether the request will be another one when it is sent again."""
        for name in _DROPPABLE:
            if name in sent and reply.refuses_parameter(name):
                self.refused.add(name)
                return True
        for name, other in _LENGTHS.items():
            if name in sent and other not in self.refused and reply.refuses_parameter(name):
                self.refused.add(name)
                return True
        if reasoning and any(reply.refuses_parameter(name) for name in REASONING_FIELDS):
            self.refused.add("reasoning")
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
        if 300 <= reply.status < 400:
            return f"It wants to be asked at {rejected.location or 'another address'}: change --tb-base-url."
        if reply.out_of_credit:
            return "The account has no credit or quota left: top it up, or take another key or endpoint."
        if reply.status == 401:
            if not self.endpoint.has_key:
                return "No key was sent: set OPENAI_API_KEY."
            return "Check OPENAI_API_KEY: the endpoint does not accept this key."
        if reply.about_the_model:
            return "Name a model that this endpoint serves and this key may use with --tb-model."
        if reply.status == 403:
            return "The key may not do this here: check OPENAI_API_KEY and --tb-base-url."
        if reply.status in (404, 405):
            return "Check --tb-base-url (or OPENAI_BASE_URL): it usually ends in /v1."
        return (
            "Change the model, its parameters or the tools' schemas so that the endpoint accepts the request."
        )


def _body(fields: Mapping[str, Any], tools: bytes, messages: bytes) -> bytes:
    head = encode(fields)[:-1]
    if tools:
        return b'%b,"tools":%b,"messages":%b}' % (head, tools, messages)
    return b'%b,"messages":%b}' % (head, messages)

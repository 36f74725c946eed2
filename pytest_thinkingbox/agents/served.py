"""Models behind `/v1/completions` with token ids - vLLM's server, or `thinkingbox serve` -, as an agent that is
measured and as an engine of episodes that are trained on.

Only what both have is used. Nothing is left to a server's own settings: sampling, and what ends a generation, are what
they are where the model is trained.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

from pytest_thinkingbox.agents.base import AgentTask, ToolSpec
from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.completions import ChatCompletions
from pytest_thinkingbox.agents.control import Control
from pytest_thinkingbox.agents.endpoint import Endpoint, Names, Rejected
from pytest_thinkingbox.agents.provider_errors import ErrorReply
from pytest_thinkingbox.agents.tokens import Chats, Generation, TokensSession, Trace
from pytest_thinkingbox.agents.wire import (
    Answer,
    NoReply,
    TokenCount,
    Transcript,
    count,
    encode_request,
    glimpse,
    read_object,
)
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown
from pytest_thinkingbox.tokens.chat import Tokenizer


class TokenCompletions(ChatCompletions):
    """Ids in and out. A transcript has one message, `{"ids": [...]}`; so has an answer.

    `end` is the id that ends a generation, and nothing else ends one. With `logprobs` the message of an answer has the
    log-probability of each id, and an answer without them is no reply.
    """

    name = "completions"
    default_url = "http://127.0.0.1:8000/v1"
    own_fields = frozenset(
        {
            "model",
            "prompt",
            "stream",
            "n",
            "echo",
            "stop",
            "stop_token_ids",
            "ignore_eos",
            "logprobs",
            "return_token_ids",
            "return_tokens_as_token_ids",
        }
    )
    # A server may have others of its own, from the model's generation_config.json.
    defaults: Mapping[str, Any] = MappingProxyType(
        {
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
        }
    )
    droppable = ("seed",)
    lengths: Mapping[str, str] = MappingProxyType({})
    length_field = "max_tokens"
    reasoning_fields = ()

    def __init__(self, end: int, *, logprobs: bool = False) -> None:
        self._end = end
        self._logprobs = logprobs

    def path(self, base: str) -> str:
        return base if base.endswith("/completions") else f"{base}/completions"

    def body(
        self, fields: Mapping[str, Any], tools: bytes, transcript: Transcript, *, reasoning: bool
    ) -> bytes:
        own = {"return_token_ids": True, "stop_token_ids": [self._end], "ignore_eos": True}
        if self._logprobs:  # of none but the id that was drawn
            own |= {"logprobs": 0, "return_tokens_as_token_ids": True}
        [prompt] = transcript.encoded(self._encode)
        return encode_request({**fields, **own}, [(b"prompt", prompt)])

    def _encode(self, message: Mapping[str, Any]) -> bytes:
        # A control request has words, and any prompt will do for it.
        ids: Sequence[int] = message.get("ids", [self._end])
        return b"[%b]" % ",".join(map(str, ids)).encode()

    def read(self, body: bytes, content_type: str, *, tools: Collection[str] = ()) -> Answer:
        reply = read_object(body, content_type, lambda text: {})
        choices = reply.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise NoReply(f"its answer has no choices: {glimpse(body)}")
        choice = choices[0]
        finish = choice.get("finish_reason")
        if finish not in ("stop", "length"):
            raise NoReply(f"the endpoint gave up while it answered: finish_reason {finish!r}")
        ids = choice.get("token_ids")
        if ids is None:
            text = "its answers hold no token_ids, it does not know return_token_ids (vLLM does since 0.10.2)"
            raise NoReply(text, error=ErrorReply(status=400, message=text))
        if not _are_ids(ids):
            raise NoReply(f"its token_ids are none: {glimpse(body)}")
        if finish == "stop" and (not ids or ids[-1] != self._end):
            raise NoReply(f"it ended a generation without the id {self._end}, which alone ends one")
        message = {
            "ids": ids,
            "prompt": choice.get("prompt_token_ids"),
            "logprobs": _read_logprobs(choice.get("logprobs"), ids, body) if self._logprobs else None,
        }
        return Answer(
            message=message,
            echo=message,
            text="",
            calls=(),
            finish="stop" if finish == "stop" else "length",
            refusal=None,
            tokens=TokenCount(
                input_tokens=count(reply.get("usage"), "prompt_tokens"),
                output_tokens=count(reply.get("usage"), "completion_tokens"),
            ),
        )


class _ModelList(ChatCompletions):
    name = "models"
    default_url = TokenCompletions.default_url
    method = "GET"

    def path(self, base: str) -> str:
        return f"{base.removesuffix('/completions')}/models"


class ServedAgent:
    """`model` at `base_url`, whose tokenizer is `tokenizer`. `parameters` are further fields of every request;
    `max_tokens` among them limits one generation.

    A conversation may have as many ids as the endpoint says of the model (`max_model_len`).
    """

    name = "tokens"

    def __init__(
        self,
        model: str,
        *,
        tokenizer: Tokenizer,
        base_url: str | None = None,
        api_key: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        concurrency: int = 8,
    ) -> None:
        self.model: str | None = model
        fields = dict(parameters or {})
        self._answer = _length(fields.pop("max_tokens", None))
        self._chats = Chats(tokenizer)
        api = TokenCompletions(self._chats.of(()).end)
        address = base_url or api.default_url
        self.endpoint = Endpoint(address, api=api, api_key=api_key, concurrency=concurrency)
        self._list = Endpoint(address, api=_ModelList(), api_key=api_key, concurrency=1)
        self._model = ChatModel(self.endpoint, model, parameters=fields)
        self._longest: int | None = None
        self._asking = asyncio.Lock()

    def __repr__(self) -> str:
        return f"ServedAgent({self.model!r} at {self.endpoint.url!r})"

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[TokensSession]:
        chat = self._chats.of(tuple(task.tools))
        task.conversation.chat = chat.hash
        longest = await self._longest_conversation()
        yield TokensSession(
            _Asked(self._model, task, version=lambda: None),
            chat,
            task,
            trace=Trace(chat=chat.hash),
            longest=longest,
            answer=self._answer or longest,
        )

    def chat_of(self, tools: tuple[ToolSpec, ...]) -> str:
        """The hash of the interpretation."""
        return self._chats.of(tools).hash

    async def _longest_conversation(self) -> int:
        """Asked once. Raises ConfigurationError where nothing says it, ProviderDown where nobody answers."""
        async with self._asking:
            if self._longest is None:
                try:
                    known, _ = await self._list.ask(b"", _read_models)
                except Rejected:  # this one lists no models
                    known = {}
                self._longest = self._choose(known)
        return self._longest

    def _choose(self, known: Mapping[str, int | None]) -> int:
        if known and self.model not in known:
            raise ConfigurationError(
                f"{self._list.url} serves {', '.join(sorted(known))}, not {self.model!r}: name one of them with "
                "--tb-model"
            )
        longest = known.get(self.model or "")
        if longest is None and self._answer is None:
            raise ConfigurationError(
                f"{self._list.url} does not say how long a conversation with {self.model!r} may be (max_model_len): "
                "limit an answer by --tb-extra-body='{\"max_tokens\": N}'"
            )
        return longest or sys.maxsize

    async def aclose(self) -> None:
        await self.endpoint.aclose()
        await self._list.aclose()


class ServedEngine:
    """`model` at `base_url` continues ids and says their log-probabilities. `end` is the id that ends a generation;
    `parameters` are further fields of every request; `named` is where address and model are written, for errors.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        end: int,
        parameters: Mapping[str, Any],
        concurrency: int,
        named: tuple[str, str],
    ) -> None:
        url, option = named
        api = TokenCompletions(end, logprobs=True)
        names = Names(url=url, key=api.key_variable)
        self._endpoint = Endpoint(base_url, api=api, concurrency=concurrency, names=names)
        self._model = ChatModel(self._endpoint, model, parameters=parameters, option=option)
        self.policy_version = 0
        """How many updates made the weights that the server has; whoever sends them says so."""

    def of(self, task: AgentTask) -> _Asked:
        return _Asked(self._model, task, version=lambda: self.policy_version)

    async def generate(self, ids: Sequence[int], *, seed: int, most: int) -> Generation:
        """For nobody's conversation. Raises ProviderDown, and ConfigurationError for what no retry will mend."""
        version = self.policy_version
        transcript = Transcript()
        transcript.append({"ids": ids})
        answer = await self._model.complete(transcript, seed=seed, extra={"max_tokens": most})
        return _generation(answer, ids, most=most, url=self._endpoint.url, version=version)

    async def aclose(self) -> None:
        await self._endpoint.aclose()


class _Asked:
    """The engine of one session: its time and its outages are those of the session's task."""

    def __init__(self, model: ChatModel, task: AgentTask, *, version: Callable[[], int | None]) -> None:
        self._model = model
        self._task = task
        self._version = version
        self._turns = 0

    async def generate(self, ids: Sequence[int], *, seed: int, most: int) -> Generation:
        task = self._task
        self._turns += 1
        version = self._version()
        transcript = Transcript()
        transcript.append({"ids": ids})
        control = Control(self._model, task.conversation, limit=task.limits.seconds, requests=self._turns)
        try:
            with task.clock.paused():
                answer = await self._model.complete(
                    transcript,
                    seed=seed,
                    clock=task.clock,
                    late=control.check,
                    extra={"max_tokens": most},
                )
                new = _generation(answer, ids, most=most, url=self._model.endpoint.url, version=version)
                if task.clock.left <= 0:
                    try:
                        await control.check()
                    except ProviderDown:  # what was generated is used up all the same
                        task.conversation.usage["agent"].add(
                            input_tokens=len(ids),
                            cached_tokens=None,
                            output_tokens=len(new.ids),
                            reasoning_tokens=None,
                        )
                        raise
                return new
        finally:
            await control.aclose()


def _generation(
    answer: Answer, ids: Sequence[int], *, most: int, url: str, version: int | None
) -> Generation:
    new: list[int] = answer.message["ids"]
    if len(new) > most:
        raise ProviderDown(f"{url} gave {len(new)} ids, at most {most} were asked for")
    shown = answer.message["prompt"]
    if shown is not None and shown != list(ids):
        raise ConfigurationError(
            f"{url} shows the model another prompt than it was given: it must not change ids"
        )
    return Generation(new, answer.message["logprobs"], version)


def _read_models(body: bytes, content_type: str) -> dict[str, int | None]:
    """How many ids each model takes, None where that is not said."""
    reply = read_object(body, content_type, lambda text: {})
    cards = reply.get("data")
    found: dict[str, int | None] = {}
    for card in cards if isinstance(cards, list) else []:
        if isinstance(card, dict) and isinstance(card.get("id"), str):
            longest = card.get("max_model_len")
            found[card["id"]] = longest if isinstance(longest, int) and longest > 0 else None
    return found


def _read_logprobs(value: Any, ids: Sequence[int], body: bytes) -> list[float]:
    """Raises NoReply where they are not those of `ids`: an importance ratio of other tokens would train on nothing."""
    if not isinstance(value, dict):
        text = (
            "its answers hold no log-probabilities, which the importance ratio needs: it ignores `logprobs`"
        )
        raise NoReply(text, error=ErrorReply(status=400, message=text))
    found, tokens = value.get("token_logprobs"), value.get("tokens")
    if tokens != [f"token_id:{one}" for one in ids]:
        raise NoReply(f"its log-probabilities are of other tokens than its token_ids: {glimpse(body)}")
    if not isinstance(found, list) or len(found) != len(ids) or not all(map(_is_number, found)):
        raise NoReply(f"its log-probabilities are not one number for each id: {glimpse(body)}")
    return [float(one) for one in found]


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and one >= 0 for one in value)


def _length(value: Any) -> int | None:
    if value is None:
        return None
    if type(value) is not int or value < 1:
        raise ConfigurationError(
            f"--tb-extra-body: max_tokens is {value!r}, it must be a whole number from 1"
        )
    return value

"""`/v1/completions` by token ids, in the shapes of vLLM's server: what asks this one can ask that one."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pytest_thinkingbox.tokens.chat import Tokenizer
from thinkingbox_trainer.engine import Sampling, TransformersEngine, Written

Id = Annotated[int, Field(ge=0)]
_Nought = Annotated[float, Field(ge=0, le=0)]
_One = Annotated[float, Field(ge=1, le=1)]
_Empty = Annotated[list[Any], Field(max_length=0)]

_LEAST = -9999.0  # JSON knows no infinity
_GREEDY = 1e-5  # a temperature below it is 0, as in vLLM: 32 bits hold nothing that was divided by less


class _Asked(BaseModel):
    """A request. Fields after `user` may be there, but only with the value that changes nothing."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    model: str | None = None
    prompt: (
        Annotated[list[Id], Field(min_length=1)]
        | Annotated[list[Annotated[list[Id], Field(min_length=1)]], Field(min_length=1)]
    )
    max_tokens: Annotated[int, Field(ge=1)] = 16
    temperature: Annotated[float, Field(ge=0)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=-1)] | None = None
    seed: int | None = None
    stop_token_ids: list[Id] | None = None
    ignore_eos: bool = False
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    return_token_ids: bool | None = None
    return_tokens_as_token_ids: bool | None = None
    user: str | None = None
    n: Annotated[int, Field(ge=1, le=1)] = 1
    stream: bool | None = None
    echo: bool | None = None
    stop: _Empty | None = None
    min_p: _Nought | None = None
    repetition_penalty: _One | None = None
    presence_penalty: _Nought | None = None
    frequency_penalty: _Nought | None = None

    @property
    def prompts(self) -> list[list[int]]:
        first = self.prompt[0]
        return [self.prompt] if isinstance(first, int) else self.prompt  # type: ignore[list-item,return-value]

    @property
    def sampling(self) -> Sampling:
        return Sampling(
            temperature=1.0
            if self.temperature is None
            else 0.0
            if self.temperature < _GREEDY
            else self.temperature,
            top_p=1.0 if self.top_p is None else self.top_p,
            top_k=max(0, self.top_k or 0),
        )


class _Refused(Exception):
    """`param` is the field that it is about."""

    def __init__(
        self, message: str, *, param: str | None, status: HTTPStatus = HTTPStatus.BAD_REQUEST
    ) -> None:
        super().__init__(message)
        self.param = param
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A model as it is offered: `ends` are the ids that end a generation that does not say `ignore_eos`, `longest` is
    how many ids prompt and answer may have together, `vocabulary` how many ids there are."""

    name: str
    engine: TransformersEngine
    tokenizer: Tokenizer
    ends: frozenset[int]
    longest: int
    vocabulary: int


def make_app(served: Served) -> Starlette:
    return Starlette(
        routes=[
            Route("/health", _health),
            Route("/v1/models", _Models(served).get),
            Route("/v1/completions", _Completions(served).post, methods=["POST"]),
        ]
    )


async def _health(request: Request) -> Response:
    return Response()


class _Models:
    def __init__(self, served: Served) -> None:
        self._served = served
        self._created = int(time.time())

    async def get(self, request: Request) -> Response:
        card = {
            "id": self._served.name,
            "object": "model",
            "created": self._created,
            "owned_by": "thinkingbox",
            "max_model_len": self._served.longest,
        }
        return JSONResponse({"object": "list", "data": [card]})


class _Completions:
    def __init__(self, served: Served) -> None:
        self._served = served

    async def post(self, request: Request) -> Response:
        try:
            asked = self._read(await request.body())
        except _Refused as refused:
            return _error(refused.status, str(refused), refused.param)
        answering = asyncio.ensure_future(self._answer(asked))
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                return Response(status_code=499)  # nobody reads it
            if answering.cancelled():
                return _error(HTTPStatus.SERVICE_UNAVAILABLE, "the server is ending", None)
            return JSONResponse(answering.result())
        except Exception as error:  # noqa: BLE001  (whoever asked gets it; the server goes on)
            return _error(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}", None)
        finally:
            for one in (answering, gone):
                one.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)

    def _read(self, body: bytes) -> _Asked:
        """Raises _Refused."""
        served = self._served
        try:
            asked = _Asked.model_validate_json(body)
        except ValidationError as error:
            raise _refusal(error) from None
        if asked.model not in (None, served.name):
            text = f"The model `{asked.model}` does not exist: this server has `{served.name}`."
            raise _Refused(text, param="model", status=HTTPStatus.NOT_FOUND)
        for name in ("stream", "echo"):
            if asked.__dict__[name]:
                raise _Refused(f"{name}: this server does not do that", param=name)
        for ids in asked.prompts:
            if max(ids) >= served.vocabulary:
                raise _Refused(
                    f"prompt: the id {max(ids)} is none of this model, which has {served.vocabulary}",
                    param="prompt",
                )
            if len(ids) + asked.max_tokens > served.longest:
                raise _Refused(
                    f"prompt: the maximum context length is {served.longest} tokens, but the prompt has {len(ids)} and "
                    f"max_tokens asks for {asked.max_tokens} more. Shorten the prompt, or ask for fewer.",
                    param="prompt",
                )
        return asked

    async def _answer(self, asked: _Asked) -> dict[str, Any]:
        served = self._served
        stops = frozenset(asked.stop_token_ids or ())
        ends = stops if asked.ignore_eos else stops | served.ends
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    served.engine.generate(
                        ids,
                        seed=secrets.randbits(31) if asked.seed is None else asked.seed & 0x7FFFFFFFFFFFFFFF,
                        most=asked.max_tokens,
                        sampling=asked.sampling,
                        ends=ends,
                        others=asked.logprobs or 0,
                    )
                )
                for ids in asked.prompts
            ]
        answers = [task.result() for task in tasks]
        given, made = sum(map(len, asked.prompts)), sum(len(one.ids) for one in answers)
        return {
            "id": f"cmpl-{secrets.token_hex(12)}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": served.name,
            "choices": [
                self._choice(asked, at, ids, answer, ends)
                for at, (ids, answer) in enumerate(zip(asked.prompts, answers, strict=True))
            ],
            "usage": {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made},
        }

    def _choice(
        self, asked: _Asked, at: int, prompt: list[int], answer: Written, ends: frozenset[int]
    ) -> dict[str, Any]:
        ids = list(answer.ids)
        ended = ids[-1] in ends
        text = self._served.tokenizer.decode(ids[:-1] if ended else ids, skip_special_tokens=True)
        by_stop = ended and (asked.ignore_eos or ids[-1] not in self._served.ends)
        return {
            "index": at,
            "text": text,
            "logprobs": None if asked.logprobs is None else self._logprobs(asked, ids, answer),
            "finish_reason": "stop" if ended else "length",
            "stop_reason": ids[-1] if by_stop else None,
            "token_ids": ids if asked.return_token_ids else None,
            "prompt_token_ids": prompt if asked.return_token_ids else None,
        }

    def _logprobs(self, asked: _Asked, ids: Sequence[int], answer: Written) -> dict[str, Any]:
        assert answer.logprobs is not None

        def name(one: int) -> str:
            if asked.return_tokens_as_token_ids:
                return f"token_id:{one}"
            return str(self._served.tokenizer.decode([one]))

        tokens = [name(one) for one in ids]
        offsets = [0]
        for token in tokens[:-1]:
            offsets.append(offsets[-1] + len(token))
        return {
            "text_offset": offsets,
            "tokens": tokens,
            "token_logprobs": list(answer.logprobs),
            "top_logprobs": [
                {name(one): max(chance, _LEAST) for one, chance in {token: own, **others}.items()}
                for token, own, others in zip(
                    ids, answer.logprobs, answer.others or [{}] * len(ids), strict=True
                )
            ],
        }


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _refusal(error: ValidationError) -> _Refused:
    """The first complaint; of a prompt, which has two forms, one that fits both."""
    first = error.errors(include_url=False)[0]
    where = [str(part) for part in first["loc"]]
    field = where[0] if where else None
    if field == "prompt" and first["type"] != "missing":
        return _Refused(
            "prompt: give a list of token ids, or a list of such lists, none of them empty (this server takes no text)",
            param=field,
        )
    if first["type"] == "extra_forbidden":
        return _Refused(f"{field}: this server does not know this field", param=field)
    shown = json.dumps(first["input"], default=str)[:80] if field else ""
    return _Refused(f"{field or 'body'}: {first['msg']}{f', got {shown}' if shown else ''}", param=field)


def _error(status: HTTPStatus, message: str, param: str | None) -> JSONResponse:
    kind = status.phrase.title().replace(" ", "") + "Error"
    return JSONResponse(
        {"error": {"message": message, "type": kind, "param": param, "code": int(status)}}, status_code=status
    )

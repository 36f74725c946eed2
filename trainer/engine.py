"""A token engine for CPUs: a model of the transformers library, requests that wait generated as one batch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pytest_thinkingbox.agents.tokens import Generation


@dataclass(slots=True, eq=False)
class _Asked:
    ids: list[int]
    seed: int
    most: int
    future: asyncio.Future[Generation]


class TransformersEngine:
    """Continues ids with `model`. `temperature` 0 is greedy; every request samples from a generator of its own, so that
    what it gets does not depend on what is generated beside it (but for the last bits of floating point).

    `batch` is how many are generated together.
    """

    def __init__(self, model: Any, *, end: int, temperature: float, batch: int = 64) -> None:
        self._model = model
        self._end = end
        self._temperature = temperature
        self._batch = batch
        self._waiting: list[_Asked] = []
        self._working: asyncio.Task[None] | None = None
        self._lock = threading.Lock()

    async def generate(self, ids: Sequence[int], *, seed: int, most: int) -> Generation:
        future: asyncio.Future[Generation] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Asked(list(ids), seed, most, future))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await future

    async def aclose(self) -> None:
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])

    async def _work(self) -> None:
        await asyncio.sleep(0.002)  # those who ask at the same time go together
        while self._waiting:
            batch, self._waiting = self._waiting[: self._batch], self._waiting[self._batch :]
            batch = [one for one in batch if not one.future.done()]
            if not batch:
                continue
            try:
                answers = await asyncio.to_thread(self._continue, batch)
            except Exception as error:  # noqa: BLE001  (whoever asked gets it)
                for one in batch:
                    if not one.future.done():
                        one.future.set_exception(error)
                continue
            for one, answer in zip(batch, answers, strict=True):
                if not one.future.done():
                    one.future.set_result(answer)

    def _continue(self, batch: list[_Asked]) -> list[Generation]:
        with self._lock, torch.inference_mode():
            was_training = self._model.training
            self._model.eval()
            try:
                return self._sample(batch)
            finally:
                self._model.train(was_training)

    def _sample(self, batch: list[_Asked]) -> list[Generation]:
        width = max(len(one.ids) for one in batch)
        shown = torch.tensor([[self._end] * (width - len(one.ids)) + one.ids for one in batch])
        attention = torch.tensor([[0] * (width - len(one.ids)) + [1] * len(one.ids) for one in batch])
        generators = [torch.Generator().manual_seed(one.seed) for one in batch]
        written: list[list[int]] = [[] for _ in batch]
        chances: list[list[float]] = [[] for _ in batch]
        open_ = set(range(len(batch)))
        cache = None
        while open_:
            positions = (attention.cumsum(-1) - 1).clamp(min=0)[:, -shown.shape[1] :]
            out = self._model(
                input_ids=shown,
                attention_mask=attention,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            cache = out.past_key_values
            logits = out.logits[:, -1].float()
            following = torch.full((len(batch), 1), self._end)
            for at in sorted(open_):
                token, chance = self._choose(logits[at], generators[at])
                written[at].append(token)
                chances[at].append(chance)
                following[at, 0] = token
                if token == self._end or len(written[at]) >= batch[at].most:
                    open_.discard(at)
            shown = following
            attention = torch.cat([attention, torch.ones((len(batch), 1), dtype=attention.dtype)], dim=1)
        return [Generation(ids, logprobs) for ids, logprobs in zip(written, chances, strict=True)]

    def _choose(self, logits: torch.Tensor, generator: torch.Generator) -> tuple[int, float]:
        if self._temperature == 0:
            token = int(logits.argmax())
            return token, float(logits.log_softmax(-1)[token])
        chances = (logits / self._temperature).log_softmax(-1)
        token = int(torch.multinomial(chances.exp(), 1, generator=generator))
        return token, float(chances[token])

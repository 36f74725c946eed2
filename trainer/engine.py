"""A token engine in this process: a model of the transformers library, requests that wait generated as one batch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from pytest_thinkingbox.agents.base import AgentTask
from pytest_thinkingbox.agents.tokens import Generation
from pytest_thinkingbox.episodes.clock import AgentClock


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are drawn. `temperature` 0 is greedy; `top_k` 0 and `top_p` 1 leave every token its chance.

    First the temperature counts, then `top_k`, then `top_p` of what is left.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0

    def log_chances(self, logits: torch.Tensor) -> torch.Tensor:
        """Of every token (the last dimension), by natural logarithm: of what is drawn from, so minus infinity for what
        was left out."""
        if self.temperature == 0:
            return logits.log_softmax(-1)
        scores = logits / self.temperature
        if 0 < self.top_k < scores.shape[-1]:
            scores = scores.masked_fill(scores < scores.topk(self.top_k).values[..., -1:], -torch.inf)
        if self.top_p < 1:
            ordered, order = scores.sort(descending=True)
            chances = ordered.softmax(-1)
            # Out is what begins where `top_p` is reached already: the most likely one always stays.
            out = torch.empty_like(scores, dtype=torch.bool)
            out.scatter_(-1, order, chances.cumsum(-1) - chances >= self.top_p)
            scores = scores.masked_fill(out, -torch.inf)
        return scores.log_softmax(-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Generation):
    """`others` are the most likely tokens of each place with their log-probabilities, where they were asked for."""

    others: Sequence[Mapping[int, float]] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class _Asked:
    ids: list[int]
    seed: int
    most: int
    sampling: Sampling
    ends: frozenset[int]
    others: int
    future: asyncio.Future[Written]
    generator: torch.Generator = field(init=False)
    written: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    found: list[dict[int, float]] = field(default_factory=list)
    version: int | None = None

    def __post_init__(self) -> None:
        # On the CPU, so that a seed draws the same on every device.
        self.generator = torch.Generator().manual_seed(self.seed)

    @property
    def over(self) -> bool:
        """Also when whoever asked has gone: the others are not to wait for it."""
        ended = bool(self.written) and self.written[-1] in self.ends
        return ended or len(self.written) >= self.most or self.future.done()

    def answer(self) -> Written:
        return Written(self.written, self.logprobs, self.version, others=self.found)


class TransformersEngine:
    """Continues ids with `model`. What is said here holds for requests that say nothing else: `end` is the token that
    ends a generation, the rest is `Sampling`.

    Every request samples from a generator of its own, so that what it gets does not depend on what is generated beside
    it (but for the last bits of floating point). `batch` is how many are generated together.
    """

    def __init__(
        self,
        model: Any,
        *,
        end: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        batch: int = 64,
    ) -> None:
        self._model = model
        self._end = end
        self._sampling = Sampling(temperature=temperature, top_p=top_p, top_k=top_k)
        self._batch = batch
        self.policy_version = 0
        """How many updates made the weights of `model`; whoever updates them says so."""
        self._waiting: list[_Asked] = []
        self._under_way: list[_Asked] = []
        self._working: asyncio.Task[None] | None = None
        self._lock = threading.Lock()

    async def generate(
        self,
        ids: Sequence[int],
        *,
        seed: int,
        most: int,
        sampling: Sampling | None = None,
        ends: Collection[int] | None = None,
        others: int = 0,
    ) -> Written:
        """At most `most` new ids, up to the first one of `ends`, with that; log-probabilities are those of the
        distribution that was drawn from. `others` asks for the most likely tokens of each place."""
        future: asyncio.Future[Written] = asyncio.get_running_loop().create_future()
        self._waiting.append(
            _Asked(
                ids=list(ids),
                seed=seed,
                most=most,
                sampling=sampling or self._sampling,
                ends=frozenset((self._end,) if ends is None else ends),
                others=others,
                future=future,
            )
        )
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await future

    def of(self, task: AgentTask) -> _Unhurried:
        return _Unhurried(self, task.clock)

    async def aclose(self) -> None:
        for one in (*self._waiting, *self._under_way):
            one.future.cancel()
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])

    async def _work(self) -> None:
        await asyncio.sleep(0.002)  # those who ask at the same time go together
        while self._waiting:
            batch, self._waiting = self._waiting[: self._batch], self._waiting[self._batch :]
            batch = self._under_way = [one for one in batch if not one.future.done()]
            if not batch:
                continue
            try:
                await asyncio.to_thread(self._continue, batch)
            except Exception as error:  # noqa: BLE001  (whoever asked gets it)
                for one in batch:
                    if not one.future.done():
                        one.future.set_exception(error)
                continue
            for one in batch:
                if not one.future.done():
                    one.future.set_result(one.answer())

    def _continue(self, batch: list[_Asked]) -> None:
        with self._lock, torch.inference_mode():
            was_training = self._model.training
            self._model.eval()
            try:
                self._sample(batch)
            finally:
                self._model.train(was_training)

    def _sample(self, batch: list[_Asked]) -> None:
        for one in batch:
            one.version = self.policy_version
        device = self._model.device
        # Members of a group are shown the same, at first at least: what is the same is read once.
        places: dict[tuple[int, ...], int] = {}
        rows = [places.setdefault(tuple(one.ids), len(places)) for one in batch]
        width = max(map(len, places))
        shown = torch.tensor([[self._end] * (width - len(ids)) + [*ids] for ids in places], device=device)
        attention = torch.tensor([[0] * (width - len(ids)) + [1] * len(ids) for ids in places], device=device)
        cache, logits = self._forward(shown, attention, None)
        _draw(batch, logits[rows])
        while left := [at for at, one in enumerate(batch) if not one.over]:
            # Whose generation has ended is dropped; the first time each of the others gets its copy of what was read.
            rows, batch = [rows[at] for at in left], [batch[at] for at in left]
            if rows != list(range(len(attention))):
                taken = torch.tensor(rows, device=device)
                cache.reorder_cache(taken)
                attention = attention[taken]
                rows = list(range(len(batch)))
            shown = torch.tensor([one.written[-1:] for one in batch], device=device)
            attention = torch.cat([attention, torch.ones_like(shown)], dim=1)
            cache, logits = self._forward(shown, attention, cache)
            _draw(batch, logits)

    def _forward(self, shown: torch.Tensor, attention: torch.Tensor, cache: Any) -> tuple[Any, torch.Tensor]:
        """The cache with what is shown now, and the logits of the next token, on the CPU."""
        out = self._model(
            input_ids=shown,
            attention_mask=attention,
            position_ids=(attention.cumsum(-1) - 1).clamp(min=0)[:, -shown.shape[1] :],
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return out.past_key_values, out.logits[:, -1].float().cpu()


class _Unhurried:
    """The engine of one conversation, whose time stands still meanwhile: how long a batch takes, and those before it,
    says something of this machine, and nothing of the agent. How much it writes is limited in tokens."""

    def __init__(self, engine: TransformersEngine, clock: AgentClock) -> None:
        self._engine = engine
        self._clock = clock

    async def generate(self, ids: Sequence[int], *, seed: int, most: int) -> Generation:
        with self._clock.paused():
            return await self._engine.generate(ids, seed=seed, most=most)


def _draw(batch: Sequence[_Asked], logits: torch.Tensor) -> None:
    """The next token of each, written down."""
    alike: dict[Sampling, list[int]] = {}
    for at, one in enumerate(batch):
        alike.setdefault(one.sampling, []).append(at)
    for sampling, rows in alike.items():
        chances = sampling.log_chances(logits[rows])
        if sampling.temperature == 0:
            tokens = logits[rows].argmax(-1)
        else:
            # In 64 bits, so that the rounding of a sum over the vocabulary gives no token another chance. A point is
            # below 1: what has no chance, and what is behind the last one, is never reached.
            sums = chances.double().exp().cumsum(-1)
            points = [torch.rand(1, generator=batch[at].generator, dtype=torch.float64) for at in rows]
            tokens = torch.searchsorted(sums, torch.stack(points) * sums[:, -1:], right=True)[:, 0]
        of_tokens = chances.gather(-1, tokens[:, None])[:, 0].tolist()
        for row, (at, token, logprob) in enumerate(zip(rows, tokens.tolist(), of_tokens, strict=True)):
            one = batch[at]
            one.written.append(token)
            one.logprobs.append(logprob)
            if one.others:
                found = chances[row].topk(min(one.others, chances.shape[-1]))
                one.found.append(dict(zip(found.indices.tolist(), found.values.tolist(), strict=True)))


def logprobs(
    model: Any, prompt: Sequence[int], completion: Sequence[int], *, temperature: float, device: Any = None
) -> list[float]:
    """Of each id of `completion`, in one forward pass without a cache, as the loss computes them. `device` is the one
    that computes, where weights lie on another. Of weights that are split, all processes ask at once."""
    ids = torch.tensor([[*prompt, *completion]], device=device or model.device)
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
        chances = (logits[0, len(prompt) - 1 : -1].float() / temperature).log_softmax(-1)
    found: list[float] = chances.gather(-1, ids[0, len(prompt) :, None])[:, 0].tolist()
    return found

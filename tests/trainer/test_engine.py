"""Whose time it is that the model of this process takes, and what it draws."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")
pytest.importorskip("transformers", reason="transformers is not installed (dependency group `train`)")

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from pytest_thinkingbox.agents.tokens import Generation, TokensAgent
from pytest_thinkingbox.episodes.clock import AgentClock
from tests.agents.world import Play
from tests.tokens.tokenizer import END, ByteTokenizer
from thinkingbox_trainer.engine import TransformersEngine, Written, logprobs


class Slow(TransformersEngine):
    """Takes a while for a batch, and writes the same answer to everyone."""

    def _continue(self, batch: list[Any]) -> None:
        time.sleep(0.6)
        for one in batch:
            one.written += ByteTokenizer().encode(f"Booked.{END}")


def test_a_machine_that_is_slow_uses_up_nobodys_time() -> None:
    """Each waits for its own batch of 0.6 s and for those before it, and has 1 s."""
    plays = [Play() for _ in range(3)]
    for one in plays:
        one.task.clock = AgentClock(seconds=1.0)
    agent = TokensAgent(Slow(None, end=257, batch=1), ByteTokenizer(), longest=5000, answer=100)

    async def reply(one: Play) -> str:
        with one.task.clock.running():
            async with agent.open(one.task, one.request) as session:
                return await session.reply("Book a room.")

    async def replies() -> Sequence[str]:
        return await asyncio.gather(*map(reply, plays))

    assert asyncio.run(replies()) == ["Booked."] * 3


def tiny() -> Any:
    torch.manual_seed(5)
    return Qwen3ForCausalLM(
        Qwen3Config(
            hidden_size=16, num_hidden_layers=2, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1,
            head_dim=8, vocab_size=40, tie_word_embeddings=True,
        )
    ).eval()  # fmt: skip


PROMPTS = ([7, 8, 9], [7, 8, 9], [3], [7, 8, 9], [5, 6, 3, 2, 1])


def asked_together(engine: TransformersEngine, **asked: Any) -> list[Generation]:
    async def all_at_once() -> list[Generation]:
        return await asyncio.gather(
            *(engine.generate(ids, seed=at, most=2 + 3 * at, **asked) for at, ids in enumerate(PROMPTS))
        )

    return asyncio.run(all_at_once())


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_what_one_gets_does_not_depend_on_what_is_generated_beside_it(temperature: float) -> None:
    model = tiny()
    together = asked_together(TransformersEngine(model, end=0, temperature=temperature))
    alone = asked_together(TransformersEngine(model, end=0, temperature=temperature, batch=1))
    assert [one.ids for one in together] == [one.ids for one in alone]
    for one, ids in zip(together, PROMPTS, strict=True):
        found = logprobs(model, ids, one.ids, temperature=temperature or 1.0)
        assert one.logprobs == pytest.approx(found, abs=1e-4)


def test_what_is_asked_alike_is_read_once_and_what_has_ended_is_dropped() -> None:
    shapes: list[tuple[int, ...]] = []
    model = tiny()
    model.register_forward_pre_hook(
        lambda module, args, given: shapes.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    written = asked_together(TransformersEngine(model, end=0), ends=())
    assert [len(one.ids) for one in written] == [2, 5, 8, 11, 14]
    assert shapes[0] == (3, 5)
    assert shapes[1:] == [(5, 1), *[(4, 1)] * 3, *[(3, 1)] * 3, *[(2, 1)] * 3, *[(1, 1)] * 3]


def test_what_has_no_chance_is_never_drawn_and_the_others_as_often_as_they_should() -> None:
    """Of 2,000 draws 3 standard deviations are 0.03."""
    model = tiny()
    engine = TransformersEngine(model, end=0, top_k=2, batch=2000)

    async def draws() -> list[Written]:
        return await asyncio.gather(
            *(engine.generate([7, 8, 9], seed=at, most=1, others=40) for at in range(2000))
        )

    drawn = asyncio.run(draws())
    chances = {token: math.exp(one) for token, one in drawn[0].others[0].items() if one > -math.inf}
    assert len(chances) == 2
    for token, chance in chances.items():
        assert sum(list(one.ids) == [token] for one in drawn) / 2000 == pytest.approx(chance, abs=0.04)

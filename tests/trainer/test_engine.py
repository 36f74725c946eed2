"""Whose time it is that the model of this process takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (dependency group `train`)")

from pytest_thinkingbox.agents.tokens import TokensAgent
from pytest_thinkingbox.episodes.clock import AgentClock
from tests.agents.world import Play
from tests.tokens.tokenizer import END, ByteTokenizer
from thinkingbox_trainer.engine import TransformersEngine


class Slow(TransformersEngine):
    """Takes a while for a batch, and writes the same answer to everyone."""

    def _continue(self, batch: list[Any]) -> None:
        time.sleep(0.3)
        for one in batch:
            one.written += ByteTokenizer().encode(f"Booked.{END}")


def test_a_machine_that_is_slow_uses_up_nobodys_time() -> None:
    """Each waits for its own batch of 0.3 s and for those before it, and has 0.2 s."""
    plays = [Play() for _ in range(3)]
    for one in plays:
        one.task.clock = AgentClock(seconds=0.2)
    agent = TokensAgent(Slow(None, end=257, batch=1), ByteTokenizer(), longest=5000, answer=100)

    async def reply(one: Play) -> str:
        with one.task.clock.running():
            async with agent.open(one.task, one.request) as session:
                return await session.reply("Book a room.")

    async def replies() -> Sequence[str]:
        return await asyncio.gather(*map(reply, plays))

    assert asyncio.run(replies()) == ["Booked."] * 3

"""Whose fault it is that an attempt's time is up: the model's that answers, or the provider's that is slow.

When an answer is not there as the agent's time runs out, a control request goes to the same model: one word is asked
for. The provider is slow when that word alone, asked for as often as the attempt has asked, would have used up half of
the attempt's time. Then the attempt is invalid. Else the time was the agent's own, and the checker decides.
"""

from __future__ import annotations

import asyncio

from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.episodes.model import Conversation, Usage


class Control:
    """The control request of one answer, sent at most once. `requests` counts this answer's, too.

    Its tokens are counted as those of a role of their own, `control`.
    """

    def __init__(self, chat: ChatModel, conversation: Conversation, *, limit: float, requests: int) -> None:
        self._chat = chat
        self._conversation = conversation
        self._allowed = limit / 2 / requests
        self._asking: asyncio.Task[None] | None = None

    async def check(self) -> None:
        """Raises ProviderDown when the provider is slow. May be called again, and by several at once."""
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._ask())
        await asyncio.shield(self._asking)

    async def _ask(self) -> None:
        tokens = await self._chat.probe(seconds=self._allowed)
        self._conversation.usage.setdefault("control", Usage()).add(
            input_tokens=tokens.input_tokens,
            cached_tokens=tokens.cached_tokens,
            output_tokens=tokens.output_tokens,
            reasoning_tokens=tokens.reasoning_tokens,
        )

    async def aclose(self) -> None:
        if self._asking is not None and not self._asking.done():
            self._asking.cancel()
            await asyncio.wait({self._asking})

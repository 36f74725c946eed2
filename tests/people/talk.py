"""A conversation of a simulated user with an agent that says given texts, over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.endpoint import Endpoint
from pytest_thinkingbox.declare import Limits, User
from pytest_thinkingbox.episodes.model import Conversation
from pytest_thinkingbox.errors import UserBroke
from pytest_thinkingbox.people.user import LlmUser
from tests.support.stub_endpoint import Reply, StubEndpoint

CONTEXT = (
    "You are Dana Ortiz. Your booking is 1042. You have not asked your manager yet; say so only when asked."
)


class Talk:
    """A conversation of a simulated user with an agent that says given texts."""

    def __init__(
        self, user: User | None = None, *, prompt: str = "The cheaper room, please.", user_turns: int = 12
    ) -> None:
        self.user = user or User(CONTEXT)
        self.prompt = prompt
        self.conversation = Conversation(
            messages=[
                {"role": "system", "content": "The agent's own instructions."},
                {"role": "user", "content": prompt},
            ]
        )
        self.limits = Limits(user_turns=user_turns)

    def agent_says(self, text: str) -> None:
        self.conversation.messages.append({"role": "assistant", "content": text})
        self.conversation.response = text

    def run(self, stub: StubEndpoint, texts: Sequence[str]) -> list[str | None]:
        """The user's replies to the agent's texts, in order, up to the end."""

        async def play() -> list[str | None]:
            endpoint = Endpoint(stub.url, backoff=0.001, retries=1)
            chat = ChatModel(endpoint, "m")
            user = LlmUser(chat, self.user, prompt=self.prompt, limits=self.limits, seed=5)
            replies: list[str | None] = []
            try:
                for text in texts:
                    self.agent_says(text)
                    replied = await user.reply(self.conversation)
                    replies.append(replied)
                    if replied is None:
                        break
                    self.conversation.messages.append({"role": "user", "content": replied})
            finally:
                await endpoint.aclose()
            return replies

        return asyncio.run(play())


def broken(script: Sequence[Reply], texts: Sequence[str], *, user: User | None = None, **options: Any) -> str:
    """How the user broke."""
    with StubEndpoint(script) as stub, pytest.raises(UserBroke) as caught:
        Talk(user, **options).run(stub, texts)
    return str(caught.value)

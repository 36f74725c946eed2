from __future__ import annotations

from typing import Protocol

from pytest_thinkingbox.episodes.model import Conversation, EpisodeRequest


class UserSession(Protocol):
    """The other side of a conversation. Sees what was said, never the tools."""

    async def reply(self, conversation: Conversation) -> str | None:
        """The user's next message; None when the user is done.

        Raises UserBroke when the simulation fails, Stop when the agent used up `limits.user_turns`.
        """


class Users(Protocol):
    """Makes the user of each attempt; one object per campaign and process."""

    def __call__(self, request: EpisodeRequest, *, seed: int) -> UserSession | None:
        """The user of this attempt; None when the conversation ends with the agent's first answer."""

    async def aclose(self) -> None: ...


class Nobody:
    """No user replies: the agent's first final text ends the episode."""

    def __call__(self, request: EpisodeRequest, *, seed: int) -> None:
        return None

    async def aclose(self) -> None: ...

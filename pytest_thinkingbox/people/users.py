"""The users of a campaign: who plays each of them, and where the model is asked."""

from __future__ import annotations

from pytest_thinkingbox.declare import Script, User
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.people.base import UserSession
from pytest_thinkingbox.people.models import PeopleModel
from pytest_thinkingbox.people.scripted import FunctionUser, ScriptUser
from pytest_thinkingbox.people.user import LlmUser


class CampaignUsers:
    """Makes the user of each attempt; tasks without one have none.

    `model` plays the users that are a `User`. Call `aclose` at the end.
    """

    def __init__(self, model: PeopleModel | None) -> None:
        self.model = model

    def __call__(self, request: EpisodeRequest, *, seed: int) -> UserSession | None:
        user = request.user
        match user:
            case None:
                return None
            case Script():
                return ScriptUser(user, limits=request.limits)
            case User():
                if self.model is None:
                    raise ConfigurationError(
                        f"{request.task_id} has a user, and no model plays it: name one with --tb-user-model"
                    )
                return LlmUser(self.model.chat, user, prompt=request.prompt, limits=request.limits, seed=seed)
        return FunctionUser(user, limits=request.limits)

    async def aclose(self) -> None:
        if self.model is not None:
            await self.model.aclose()

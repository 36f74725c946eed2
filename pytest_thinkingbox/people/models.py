"""Where the models are asked that are not the agent: an endpoint of their own, or the agent's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_thinkingbox.agents.base import Agent
from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.completions import CHAT
from pytest_thinkingbox.agents.endpoint import Endpoint, Names
from pytest_thinkingbox.agents.model import ModelAgent
from pytest_thinkingbox.agents.wire import Api
from pytest_thinkingbox.errors import ConfigurationError

Role = Literal["user", "judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the options say of one role. What is None is the agent's."""

    role: Role
    model: str | None
    base_url: str | None
    agent_base_url: str | None
    concurrency: int


@dataclass(frozen=True, slots=True)
class PeopleModel:
    """A model, and its endpoint if that is not the agent's, which then must be closed."""

    chat: ChatModel
    own: Endpoint | None

    async def aclose(self) -> None:
        if self.own is not None:
            await self.own.aclose()


def key_variable(role: Role) -> str:
    """The variable that holds the key of a role's own endpoint; without it the agent's key is used."""
    return f"THINKINGBOX_{role.upper()}_API_KEY"


def named(role: Role, error: ConfigurationError) -> ConfigurationError:
    """What is wrong with the model of this role."""
    return ConfigurationError(
        f"{'the model that plays the user' if role == 'user' else 'the judge'}: {error}"
    )


def make_model(
    settings: Settings,
    agent: Agent | None,
    *,
    parameters: Callable[[Api], Mapping[str, Any]] = lambda api: {},
) -> PeopleModel | None:
    """The model of this role; None when none is named and none acts.

    An endpoint of its own speaks chat completions. What `parameters` says for the API goes with every request, until
    the endpoint complains of it.
    """
    chat = agent.chat if isinstance(agent, ModelAgent) else None
    model = settings.model or (chat.model if chat else None)
    if model is None:
        return None
    key = os.environ.get(key_variable(settings.role)) or None
    if chat is not None and settings.base_url is None and key is None:
        return PeopleModel(_asked_at(chat.endpoint, model, parameters, settings.role), None)
    api = CHAT if chat is None or settings.base_url is not None else chat.endpoint.api
    try:
        own = Endpoint(
            settings.base_url or settings.agent_base_url or api.default_url,
            api=api,
            api_key=key or os.environ.get(api.key_variable),
            concurrency=settings.concurrency,
            names=Names(
                url=f"--tb-{settings.role}-base-url or THINKINGBOX_{settings.role.upper()}_BASE_URL, or the agent's "
                "--tb-base-url",
                key=f"{key_variable(settings.role)}, or the agent's {api.key_variable}",
            ),
        )
    except ConfigurationError as error:
        raise named(settings.role, error) from None
    return PeopleModel(_asked_at(own, model, parameters, settings.role), own)


def _asked_at(
    endpoint: Endpoint, model: str, parameters: Callable[[Api], Mapping[str, Any]], role: Role
) -> ChatModel:
    fields = parameters(endpoint.api)
    return ChatModel(endpoint, model, parameters=fields, droppable=fields, option=f"--tb-{role}-model")

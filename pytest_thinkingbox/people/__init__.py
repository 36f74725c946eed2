"""Whom the agent talks to."""

from __future__ import annotations

import os

from pytest_thinkingbox.agents.base import Agent
from pytest_thinkingbox.agents.model import ModelAgent
from pytest_thinkingbox.agents.openai import DEFAULT_URL
from pytest_thinkingbox.people.base import Nobody, Users
from pytest_thinkingbox.people.user import LlmUsers


def make_users(agent: Agent, *, model: str | None, base_url: str | None, concurrency: int) -> Users:
    """Who plays the users of this campaign: `model`, else the model that acts, else nobody."""
    if isinstance(agent, ModelAgent):
        return LlmUsers(agent.chat, model=model)
    if model is None:
        return Nobody()
    return LlmUsers(
        None,
        model=model,
        base_url=base_url or DEFAULT_URL,
        api_key=os.environ.get("OPENAI_API_KEY"),
        concurrency=concurrency,
    )

"""Whom the agent talks to."""

from __future__ import annotations

from pytest_thinkingbox.agents.base import Agent
from pytest_thinkingbox.people.base import MakeUser, nobody


def make_users(agent: Agent, *, model: str | None) -> MakeUser:
    """Who plays the users of this campaign."""
    return nobody

"""The world in which a proof is played."""

from __future__ import annotations

from pytest_thinkingbox.backends.base import Backend
from pytest_thinkingbox.episodes.run import World
from pytest_thinkingbox.people.base import Nobody
from pytest_thinkingbox.people.judge import JudgeModel
from pytest_thinkingbox.proof.agent import ProofAgent
from pytest_thinkingbox.proof.model import Plan
from pytest_thinkingbox.proof.tamper import Tamper
from pytest_thinkingbox.tools.containers import Containers


def proof_world(
    plan: Plan, backend: Backend, *, audit: bool, judge: JudgeModel | None, containers: Containers
) -> World:
    """Nobody talks to the agent but the task's prompt: a solution needs no user."""
    return World(
        backend=backend,
        agent=ProofAgent(plan),
        users=Nobody(),
        audit=audit,
        judge=judge,
        tamper=Tamper(plan),
        containers=containers,
    )

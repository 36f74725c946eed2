"""From a plan to the request for its episode, and to the database that it begins with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from pytest_thinkingbox.episodes.model import EpisodeRequest, StartState
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.plugin.collect import Plan

if TYPE_CHECKING:
    from pytest_thinkingbox.backends.base import Backend
    from pytest_thinkingbox.declare import Environment
    from pytest_thinkingbox.plugin.options import Options


def start_of(plan: Plan) -> StartState | None:
    """What the plan's attempts begin with beside the seed."""
    if plan.task.start is None:
        return None
    key = sha256(plan.task_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return StartState(key=key, run=plan.task.start, parameters=plan.parameters)


def prepare_databases(backend: Backend, plans: Iterable[Plan]) -> None:
    """Load every seed, and every start for one of the tasks that have it. Raises ConfigurationError.

    A start is not loaded for all parameters, of which there may be thousands. What runs alone needs its fixtures, and
    an outage is the affair of attempts, which are played again.
    """
    loaded: set[tuple[Environment, int]] = set()
    for plan in plans:
        which = plan.task.environment, id(plan.task.start)
        if plan.task.ahead and which not in loaded:
            loaded.add(which)
            try:
                backend.prepare(plan.task.environment, start_of(plan))
            except InfrastructureDown:
                return


def request_of(plan: Plan, options: Options, *, campaign: str) -> EpisodeRequest:
    task = plan.task
    return EpisodeRequest(
        task_id=plan.task_id,
        attempt=plan.attempt,
        environment=task.environment,
        prompt=plan.prompt,
        user=plan.user if options.plays(plan.user) else None,
        start=start_of(plan),
        solution=task.solution,
        parameters=plan.parameters,
        limits=task.limits if options.timeout is None else replace(task.limits, seconds=options.timeout),
        campaign=campaign,
        seed=options.seed,
        routes=task.routes,
        tools=task.tools,
        faults=task.faults,
        campaign_faults=options.faults,
        host=task.host,
    )

"""From a plan to the request for its episode."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING

from pytest_thinkingbox.episodes.model import EpisodeRequest, StartState
from pytest_thinkingbox.plugin.collect import Plan

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.options import Options


def request_of(plan: Plan, options: Options, *, campaign: str) -> EpisodeRequest:
    task = plan.task
    start = None
    if task.start is not None:
        key = sha256(plan.task_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        start = StartState(key=key, run=task.start, parameters=plan.parameters)
    return EpisodeRequest(
        task_id=plan.task_id,
        attempt=plan.attempt,
        environment=task.environment,
        prompt=plan.prompt,
        user=plan.user if options.plays(plan.user) else None,
        start=start,
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

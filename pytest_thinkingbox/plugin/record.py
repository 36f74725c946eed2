"""From an episode and its verdict to the record."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.declare import Environment
from pytest_thinkingbox.episodes.model import Episode
from pytest_thinkingbox.episodes.outcomes import Verdict
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.records.model import AttemptRecord, Hashes, ToolCallRecord, UsageRecord
from pytest_thinkingbox.state.codec import encode_diff

if TYPE_CHECKING:
    from pytest_thinkingbox.plugin.options import Options


def record_of(
    plan: Plan,
    episode: Episode,
    verdict: Verdict,
    *,
    options: Options,
    campaign: str,
    xfail: bool,
    xfail_strict: bool,
    credit: float | None,
    final: bool,
) -> AttemptRecord:
    """The record of one try; `final` says that its verdict is the attempt's."""
    conversation = episode.conversation
    return AttemptRecord(
        campaign=campaign,
        task=plan.task_id,
        attempt=plan.attempt,
        try_number=episode.try_number,
        final=final,
        requested=plan.requested,
        outcome=verdict.outcome,
        cause=verdict.cause,
        detail=verdict.detail,
        stop_reason=conversation.stop_reason,
        stop_detail=conversation.stop_detail,
        reward=verdict.reward,
        credit=credit,
        messages=conversation.messages,
        tool_calls=[
            ToolCallRecord(
                id=one.id,
                name=one.name,
                arguments=one.arguments,
                result=one.result,
                error=one.error,
                seconds=one.seconds,
            )
            for one in conversation.tool_calls
        ],
        response=conversation.response,
        changes=None if episode.diff is None else encode_diff(episode.diff),
        mail=episode.mail,
        usage={
            role: UsageRecord(
                requests=one.requests,
                input_tokens=one.input_tokens,
                cached_tokens=one.cached_tokens,
                output_tokens=one.output_tokens,
                reasoning_tokens=one.reasoning_tokens,
            )
            for role, one in conversation.usage.items()
        },
        agent=options.agent or "",
        model=options.model,
        seconds=episode.seconds,
        started_at=datetime.fromtimestamp(episode.started_at, UTC).isoformat(timespec="milliseconds"),
        seed=options.seed,
        tags=plan.task.tags,
        no_change=plan.task.no_change,
        xfail=xfail,
        xfail_strict=xfail_strict,
        min_pass_rate=plan.task.min_pass_rate,
        hashes=hashes_of(plan, seed=episode.seed_hash),
    )


def hashes_of(plan: Plan, *, seed: str | None) -> Hashes:
    """What decides whether a stored attempt still answers the same question."""
    return Hashes(
        prompt=_digest(plan.prompt, plan.user or ""),
        environment=_environment(plan.task.environment),
        seed=seed,
        checker=_source(plan.function),
    )


@cache
def _environment(environment: Environment) -> str:
    servers = [
        (one.kind, one.command, sorted(one.environ.items()), one.url, _source(one.build) if one.build else "",
         [_source(function) for function in one.functions_])
        for one in environment.servers
    ]  # fmt: skip
    return _digest(environment.name, str(environment.instructions), repr(servers), str(environment.now))


@cache
def _source(function: Any) -> str:
    try:
        return _digest(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):  # no source: made by exec, or a callable object
        return _digest(f"{function.__module__}.{function.__qualname__}")


def _digest(*texts: str) -> str:
    return sha256("\x1f".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

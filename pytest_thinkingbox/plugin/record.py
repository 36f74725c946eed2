"""From an episode and its verdict to the record."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pytest_thinkingbox.declare import Environment, Player, Script, User
from pytest_thinkingbox.episodes.model import Conversation, Episode
from pytest_thinkingbox.episodes.outcomes import Verdict
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.records.model import AttemptRecord, Hashes, ToolCallRecord, UsageRecord
from pytest_thinkingbox.state.codec import encode_diff
from pytest_thinkingbox.state.rulings import Ruling

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
    rulings: Sequence[Ruling],
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
                fault=one.fault,
            )
            for one in conversation.tool_calls
        ],
        response=conversation.response,
        rulings=rulings,
        changes=None if episode.diff is None else encode_diff(episode.diff),
        mail=episode.mail,
        http=episode.http,
        files=episode.files,
        usage=usage_records(conversation),
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
        volatile=tuple(plan.task.environment.database.volatile),
        chat=conversation.chat,
    )


def usage_records(conversation: Conversation) -> dict[str, UsageRecord]:
    return {
        role: UsageRecord(
            requests=one.requests,
            input_tokens=one.input_tokens,
            cached_tokens=one.cached_tokens,
            output_tokens=one.output_tokens,
            reasoning_tokens=one.reasoning_tokens,
        )
        for role, one in conversation.usage.items()
    }


def hashes_of(plan: Plan, *, seed: str | None) -> Hashes:
    """What decides whether a stored attempt still answers the same question; `seed` is the backend's hash."""
    task = plan.task
    rules = (task.strict, task.no_change, task.allow_truncated, *_rules(task.environment))
    return Hashes(
        prompt=_digest(
            plan.prompt,
            _user(plan.user),
            repr(task.limits),
            repr(task.routes),
            repr(task.faults),
            repr(task.tools),
            *([] if task.host is None else [repr(task.host)]),
        ),
        environment=environment_hash(task.environment),
        seed=None if seed is None else started_from(plan, seed),
        checker=_digest(_source(plan.function), repr(rules)),
    )


def task_hash(plan: Plan) -> str:
    """Of all that decides an attempt and is known before there is a database: for its rows stands the text of what
    makes them."""
    database = plan.task.environment.database
    hashes = hashes_of(plan, seed=_digest(_made_by(database.schema), _made_by(database.seed)))
    parts = (hashes.prompt, hashes.environment, hashes.seed, hashes.checker, _stable(dict(plan.parameters)))
    return _digest(*(str(one) for one in parts))


def _made_by(source: Any) -> str:
    if source is None:
        return ""
    if isinstance(source, Path):
        return _file(source)
    return _source(source) if callable(source) else repr([repr(table) for table in source.sorted_tables])


def _user(user: Player | None) -> str:
    """What the user depends on. One that is notes and nothing else is hashed as these."""
    match user:
        case None:
            return ""
        case User() if user == User(user.context):
            return user.context
        case User() | Script():
            return repr(user)
    return _source(user)


@cache
def environment_hash(environment: Environment) -> str:
    """Of what the agent works with; the database has a hash of its own, and how it is compared is the checker's."""
    servers = [
        (one.kind, one.command, sorted(one.environ.items()), one.url, _source(one.build) if one.build else "",
         [_source(function) for function in one.functions_], repr(one.tools),
         *((one.image, one.ports, one.scope) if one.kind == "container" else ()))
        for one in environment.servers
    ]  # fmt: skip
    return _digest(
        environment.name,
        str(environment.instructions),
        repr(servers),
        str(environment.now),
        repr(environment.tools),
        *_folder(environment.workdir),
    )


def _folder(workdir: bool | str | Path) -> list[str]:
    """What each file of the folder that attempts start from is called and holds."""
    if not isinstance(workdir, Path):
        return [str(workdir)]
    files = sorted(one for one in workdir.rglob("*") if one.is_file())
    return [f"{one.relative_to(workdir)}={_file(one)}" for one in files]


@cache
def _rules(environment: Environment) -> tuple[object, ...]:
    database = environment.database
    return sorted(database.volatile), sorted(database.bookkeeping)


def started_from(plan: Plan, seed: str) -> str:
    """The hash of what an attempt starts from: that of the seed, with the start state where the task has one."""
    start = plan.task.start
    if start is None:
        return seed
    written = _file(start) if isinstance(start, Path) else _source(start)
    return _digest(seed, written, *(f"{name}={_stable(value)}" for name, value in plan.parameters.items()))


def _stable(value: object) -> str:
    """The same in every process: the words of an object of somebody else may hold an address."""
    if isinstance(value, dict):
        return repr([(_stable(key), _stable(one)) for key, one in value.items()])
    if isinstance(value, list | tuple | set | frozenset):
        parts = [_stable(one) for one in value]
        return repr(sorted(parts) if isinstance(value, set | frozenset) else parts)
    plain = value is None or isinstance(value, str | int | float | bytes | date | Decimal | UUID | Enum)
    return repr(value) if plain else f"{type(value).__module__}.{type(value).__qualname__}"


@cache
def _file(path: Path) -> str:
    return _digest(path.read_bytes().decode("utf-8", "surrogateescape"))


def _source(function: Any) -> str:
    """Of a function, of what is bound to it, or of the class of an object that can be called."""
    if isinstance(function, partial):
        return _digest(_source(function.func), _stable(function.args), _stable(function.keywords))
    code: Any = function if inspect.isroutine(function) else type(function)
    return _code(code)


@cache
def _code(function: Any) -> str:
    try:
        return _digest(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):  # no source: made by exec, or not in Python
        return _digest(f"{function.__module__}.{function.__qualname__}")


def _digest(*texts: str) -> str:
    return sha256("\x1f".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]

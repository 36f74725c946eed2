"""Everything heavy begins here, once a task is about to run: backend, agent, pool, campaign folder."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from filelock import FileLock

from pytest_thinkingbox.agents import make_agent
from pytest_thinkingbox.agents.base import Agent
from pytest_thinkingbox.episodes.pool import EpisodePool
from pytest_thinkingbox.episodes.run import World
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.people.framing import INSTRUCTIONS, content_hash
from pytest_thinkingbox.people.judge import JudgeModel, parameters
from pytest_thinkingbox.people.models import Settings, key_variable, make_model
from pytest_thinkingbox.people.user import PROMPT
from pytest_thinkingbox.people.users import CampaignUsers
from pytest_thinkingbox.plugin import private
from pytest_thinkingbox.plugin.budget import Budget
from pytest_thinkingbox.plugin.collect import Plan
from pytest_thinkingbox.plugin.interpretation import chat_hash
from pytest_thinkingbox.plugin.judging import CampaignJudge
from pytest_thinkingbox.plugin.options import Options
from pytest_thinkingbox.plugin.record import environment_hash, hashes_of
from pytest_thinkingbox.plugin.requests import prepare_databases
from pytest_thinkingbox.plugin.runner import Runner
from pytest_thinkingbox.plugin.servers import open_backend, say_to, start_server
from pytest_thinkingbox.plugin.stash import (
    backend_key,
    campaign_key,
    options_key,
    plan_key,
    runner_key,
    servers_key,
    tools_key,
)
from pytest_thinkingbox.plugin.stop import StopFlag
from pytest_thinkingbox.plugin.xdist import WINDOW, share
from pytest_thinkingbox.proof.world import proof_world
from pytest_thinkingbox.records.model import CampaignInfo, Hashes
from pytest_thinkingbox.records.redact import Redactor
from pytest_thinkingbox.records.resume import extended, graded_again
from pytest_thinkingbox.records.rulings import RulingStore
from pytest_thinkingbox.records.running import Running
from pytest_thinkingbox.records.store import CampaignFolder
from pytest_thinkingbox.stats.cost import role_models, used_prices
from pytest_thinkingbox.tools.containers import Containers

_FILES_OF_AN_ATTEMPT = 16
"""Database, journal, guard, sink and sockets of one attempt, generously counted."""


def make_runner(session: pytest.Session) -> Runner:
    config = session.config
    options = config.stash[options_key]
    name = config.stash[campaign_key]
    path = options.directory / name
    concurrency = share(options.concurrency, config)
    _allow_open_files(WINDOW * concurrency)

    plans = [item.stash[plan_key] for item in session.items if plan_key in item.stash]
    url, revive, refused = options.backend, None, None
    try:
        started = start_server(config, [plan.task.environment.database for plan in plans])
        if started is not None:
            url, revive = started
    except (ConfigurationError, InfrastructureDown) as error:
        refused = ConfigurationError(str(error))

    def make_world() -> World:
        assert options.agent is not None
        if refused is not None:
            raise refused
        check_judge(session, options)
        check_users(session, options)
        if any(plan.task.environment.servers for plan in plans):
            # Takes a second, which is no part of the first episodes.
            import_module("pytest_thinkingbox.tools.connect")
        containers = Containers(claim=config.stash.get(tools_key, None))
        containers.prepare(
            (server for plan in plans for server in plan.task.environment.servers), say=say_to(config)
        )
        backend = config.stash.get(backend_key, None)
        if backend is None:
            backend = open_backend(config, url, revive)
        prepare = partial(prepare_databases, backend, _played(session))
        if options.proof is not None:
            judge = make_judge(options, None, concurrency=concurrency)
            return replace(
                proof_world(options.proof, backend, audit=options.audit, judge=judge, containers=containers),
                prepare=prepare,
            )
        agent = make_agent(
            "none" if options.continued is not None and options.continued.regrade else options.agent,
            model=options.model,
            base_url=options.base_url,
            api=options.api,
            parameters=options.parameters,
            concurrency=concurrency,
            tokenizer=options.tokenizer,
        )
        return World(
            backend=backend,
            agent=agent,
            users=CampaignUsers(
                make_model(
                    Settings(
                        role="user",
                        model=options.user_model,
                        base_url=options.user_base_url,
                        agent_base_url=options.base_url,
                        concurrency=concurrency,
                    ),
                    agent,
                )
            ),
            audit=options.audit,
            judge=make_judge(options, agent, concurrency=concurrency),
            containers=containers,
            servers=config.stash.get(servers_key, None),
            prepare=prepare,
        )

    stop = StopFlag(path)
    redactor = Redactor(secrets=_keys(), urls=[options.backend, url])
    pool = EpisodePool(
        make_world=make_world,
        concurrency=concurrency,
        retry_invalid=options.retry_invalid,
        stop_requested=stop.is_raised,
        purse=None if options.max_cost is None and options.max_tokens is None else Budget(path, options),
    )
    runner = Runner(
        session=session,
        options=options,
        campaign=name,
        folder=_open_folder(path, session, options, redactor),
        stop=stop,
        pool=pool,
        judge=CampaignJudge(
            pool=pool,
            rulings=RulingStore(path / "judge.jsonl", redactor=redactor),
            model=options.judge_model,
        ),
    )
    config.stash[runner_key] = runner
    if options.baseline is not None:
        from pytest_thinkingbox.report.reading import refused_before  # scipy takes half a second

        refusals = refused_before(_describe(name, session, options), baseline=options.baseline)
        if refusals:
            stop.raise_(f"--tb-baseline={options.baseline}: not comparable: {'; '.join(refusals)}")
    return runner


def check_judge(session: pytest.Session, options: Options) -> None:
    """Before anything is spent: whoever asks a judge has one."""
    if options.judge_model is not None:
        return
    for item in _attempts(session):
        if "judge" in item.fixturenames:
            raise ConfigurationError(
                f"{item.nodeid} asks a judge, and there is none: name a model with --tb-judge-model"
            )


def check_users(session: pytest.Session, options: Options) -> None:
    """Before anything is spent: an agent that asks its user back, and hears nothing, has not failed."""
    for item in _attempts(session):
        if options.leaves_alone(item.stash[plan_key].user):
            raise ConfigurationError(
                f"{item.nodeid} has a user that a model plays, and there is none: name one with --tb-user-model"
            )


def _attempts(session: pytest.Session) -> Iterator[pytest.Function]:
    """Those that will run."""
    for item in session.items:
        if (
            isinstance(item, pytest.Function)
            and plan_key in item.stash
            and not private.is_skipped_by_mark(item)
        ):
            yield item


def make_judge(options: Options, agent: Agent | None, *, concurrency: int) -> JudgeModel | None:
    if options.judge_model is None:
        return None
    model = make_model(
        Settings(
            role="judge",
            model=options.judge_model,
            base_url=options.judge_base_url,
            agent_base_url=options.base_url,
            concurrency=concurrency,
        ),
        agent,
        parameters=parameters,
    )
    return None if model is None else JudgeModel(model)


def _keys() -> list[str]:
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", key_variable("user"), key_variable("judge"))
    return [os.environ[name] for name in names if os.environ.get(name)]


def _allow_open_files(attempts: int) -> None:
    """Raise this process's soft limit of open files where `attempts` databases, sinks and sessions would not fit."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 256 + _FILES_OF_AN_ATTEMPT * attempts
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _open_folder(path: Path, session: pytest.Session, options: Options, redactor: Redactor) -> CampaignFolder:
    path.mkdir(parents=True, exist_ok=True)
    with FileLock(path / "create.lock"):
        session.config.add_cleanup(Running(path).close)
        if options.continued is not None:
            return _continue(CampaignFolder.open(path, redactor=redactor), session, options)
        if (path / "campaign.json").exists():  # another worker, which collected the same items
            return CampaignFolder.open(path, redactor=redactor)
        return CampaignFolder.create(path, _describe(path.name, session, options), redactor=redactor)


def _continue(folder: CampaignFolder, session: pytest.Session, options: Options) -> CampaignFolder:
    """Every worker says the same, so that it makes no difference who does it and how often."""
    assert options.continued is not None
    info, now = folder.read_info(), _describe(folder.path.name, session, options)
    folder.write_info(graded_again(info, now) if options.continued.regrade else extended(info, now))
    return folder


def _played(session: pytest.Session) -> list[Plan]:
    return [
        item.stash[plan_key]
        for item in session.items
        if plan_key in item.stash and not private.is_skipped_by_mark(item) and private.xfail_of(item)[1]
    ]


def _describe(name: str, session: pytest.Session, options: Options) -> CampaignInfo:
    plans = _played(session)
    return replace(
        described(name, options),
        tasks={plan.task_id: plan.requested for plan in plans},
        environments={
            one.name: Hashes(environment=environment_hash(one))
            for one in {plan.task.environment: None for plan in plans}
        },
        task_hashes={plan.task_id: hashes_of(plan, seed=None) for plan in plans},
    )


def described(name: str, options: Options) -> CampaignInfo:
    """What is known before anything was collected."""
    return CampaignInfo(
        campaign=name,
        created=_now(),
        agent=options.agent or "",
        model=options.model,
        seed=options.seed,
        purpose=options.purpose,
        shard=None if options.shard is None else str(options.shard),
        min_pass_rate=options.min_pass_rate,
        options={
            "attempts": options.attempts,
            "backend": options.shown_backend,
            "base_url": options.base_url,
            "api": options.api,
            "tokenizer": options.tokenizer,
            "chat": chat_hash(options),
            "temperature": options.temperature,
            "extra_body": dict(options.extra_body),
            "user_model": options.user_model,
            "user_base_url": options.user_base_url,
            "judge_model": options.judge_model,
            "user_prompt": content_hash(PROMPT)[:16],
            "judge_base_url": options.judge_base_url,
            "judge_prompt": content_hash(INSTRUCTIONS)[:16],
            "concurrency": options.concurrency,
            "retry_invalid": options.retry_invalid,
            "timeout": options.timeout,
            "audit": options.audit,
            "faults": [repr(one) for one in options.faults],
            "min_reliable": options.min_reliable,
            "baseline": None if options.baseline is None else str(options.baseline),
            "max_drop": options.max_drop,
            "prices": used_prices(
                options.prices,
                role_models(
                    model=options.model,
                    options={"user_model": options.user_model, "judge_model": options.judge_model},
                ).values(),
            ),
        },
        versions={
            "python": platform.python_version(),
            **{
                package: version(package) for package in ("pytest-thinkingbox", "pytest", "mcp", "sqlalchemy")
            },
        },
    )


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds")

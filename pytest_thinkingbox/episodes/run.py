"""One episode: acquire, converse, cut off, read. The only way to run an attempt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from pytest_thinkingbox.agents.base import Agent, AgentTask, Stop, ToolOutput, is_exit
from pytest_thinkingbox.backends.base import Backend, Lease
from pytest_thinkingbox.declare.faults import Fault
from pytest_thinkingbox.effects.files import WorkDir
from pytest_thinkingbox.effects.sinks import Sinks, open_sinks
from pytest_thinkingbox.episodes.clock import AgentClock, TimeIsUp
from pytest_thinkingbox.episodes.model import Conversation, Episode, EpisodeRequest, ToolCall
from pytest_thinkingbox.episodes.outcomes import meaning_of
from pytest_thinkingbox.episodes.seeds import derive_seed
from pytest_thinkingbox.errors import Invalid
from pytest_thinkingbox.people.base import Users
from pytest_thinkingbox.people.judge import JudgeModel
from pytest_thinkingbox.state.model import StateDiff
from pytest_thinkingbox.threads import run_in_turn
from pytest_thinkingbox.tools.containers import Containers
from pytest_thinkingbox.tools.faults import FaultyTools, check_faults
from pytest_thinkingbox.tools.host import Stage, Tools
from pytest_thinkingbox.tools.session import open_toolbox

CLOSE_GRACE = 5.0
"""Seconds that tools and agents get to close before the cut leaves them behind."""

current_attempt: ContextVar[str | None] = ContextVar("thinkingbox_attempt", default=None)
"""The attempt whose episode this task or thread is playing, so that its logs are not taken for a test's."""


class Closeable(Protocol):
    async def aclose(self) -> None: ...


class Tamper(Protocol):
    """What else happens to an attempt's world when the agent is done, before the cut. Called in a thread."""

    def __call__(
        self, request: EpisodeRequest, lease: Lease, sinks: Sinks, workdir: WorkDir | None
    ) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What all episodes of a process share."""

    backend: Backend
    agent: Agent
    users: Users
    audit: bool
    judge: JudgeModel | None = None
    tamper: Tamper | None = None
    containers: Containers = field(default_factory=Containers)
    servers: Closeable | None = None
    """What the hosts of tasks share."""
    prepare: Callable[[], None] = lambda: None
    """Called once, in a thread, before a model is: whatever raises ConfigurationError there has cost nothing."""


async def run_episode(world: World, request: EpisodeRequest, *, try_number: int) -> Episode:
    """Play one try to its end. Never raises but for configuration errors and cancellation: the episode says why."""
    current_attempt.set(request.attempt_id)
    episode = Episode(
        request=request, try_number=try_number, conversation=Conversation(), started_at=time.time()
    )
    try:
        await _play(world, request, episode)
    except BaseException as error:
        if not is_exit(error):
            raise
        meaning = meaning_of(error)
        if meaning.stops:
            raise
        episode.cause = meaning.cause
        episode.again = meaning.new_episode
        episode.detail = f"{type(error).__name__}: {error}" if not isinstance(error, Invalid) else str(error)
        if meaning.cause == "unknown":
            error.add_note(f"while {request.attempt_id} was played")
            episode.error = error
    finally:
        # What lives on of an agent must not write into the record of a conversation that is over.
        episode.conversation = _copy(episode.conversation)
        if (episode.cause is not None or episode.diff is None) and episode.lease is not None:
            await asyncio.shield(run_in_turn(episode.lease.release))
            episode.lease = None
    return episode


async def _play(world: World, request: EpisodeRequest, episode: Episode) -> None:
    with _timed(episode, "acquire"):
        lease = await run_in_turn(partial(_acquire, world.backend, request, episode))
    source = request.environment.workdir
    if source is False:
        await _play_with(world, request, episode, lease, None)
        return
    workdir = await run_in_turn(partial(WorkDir, source if isinstance(source, Path) else None))
    try:
        await _play_with(world, request, episode, lease, workdir)
    finally:
        await asyncio.shield(run_in_turn(workdir.remove))


async def _play_with(
    world: World, request: EpisodeRequest, episode: Episode, lease: Lease, workdir: WorkDir | None
) -> None:
    async with (
        open_sinks(request.environment, request.routes) as sinks,
        _stage(request, episode, lease) as stage,
    ):
        with _timed(episode, "converse"):
            await _converse_then_leave(world, request, episode, lease, sinks, workdir, stage)
        if stage is not None:
            with _timed(episode, "finish"):
                await stage.finish()
        if world.tamper is not None:
            await asyncio.to_thread(world.tamper, request, lease, sinks, workdir)
    episode.mail = None if sinks.mail is None else tuple(sinks.mail.received)
    episode.http = None if sinks.http is None else tuple(sinks.http.received)
    with _timed(episode, "read"):
        episode.diff = await run_in_turn(partial(_cut_and_read, lease, audit=world.audit))
        episode.rules = lease.rules
        if workdir is not None:
            episode.files = await run_in_turn(workdir.changes)


@asynccontextmanager
async def _stage(request: EpisodeRequest, episode: Episode, lease: Lease) -> AsyncIterator[Stage | None]:
    if request.host is None:
        yield None
        return
    async with AsyncExitStack() as stack:
        with _timed(episode, "begin"):
            stage = await stack.enter_async_context(
                request.host(
                    engine=lease.engine, database_url=lease.url, attempt_id=request.attempt_id,
                    user=request.user, limits=request.limits,
                )
            )  # fmt: skip
        yield stage


# Each step in a thread is a hop there and back: what follows upon one another goes in one.


def _acquire(backend: Backend, request: EpisodeRequest, episode: Episode) -> Lease:
    episode.seed_hash = backend.seed_hash(request.environment)
    episode.lease = backend.acquire(
        request.environment,
        request.start,
        attempt_id=f"{request.campaign}-{derive_seed(request.attempt_id, episode.try_number):08x}",
    )
    episode.database_url = episode.lease.url
    return episode.lease


def _cut_and_read(lease: Lease, *, audit: bool) -> StateDiff:
    lease.cut()
    return lease.read_changes(audit=audit)


async def _converse_then_leave(
    world: World,
    request: EpisodeRequest,
    episode: Episode,
    lease: Lease,
    sinks: Sinks,
    workdir: WorkDir | None,
    stage: Stage | None,
) -> None:
    """Run the conversation in a task of its own; one that will not end is left behind, and the cut disarms it."""
    conversation = episode.conversation
    clock = AgentClock(seconds=request.limits.seconds)
    said: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    recorder = _Recorder(conversation, said)
    playing = asyncio.create_task(
        _converse(world, request, episode, lease, sinks, workdir, stage, clock, recorder),
        name=request.attempt_id,
    )
    overdue = asyncio.create_task(clock.overdue(CLOSE_GRACE))
    try:
        await asyncio.wait({playing, overdue, said}, return_when=asyncio.FIRST_COMPLETED)
        if said.done() and not playing.done():
            await asyncio.wait({playing}, timeout=CLOSE_GRACE)
        if playing.done():
            recorder.settle()
            playing.result()
            return
        playing.cancel()
        await asyncio.wait({playing}, timeout=0.1)
        recorder.settle()
        if not playing.done():
            _left_behind.add(playing)
            playing.add_done_callback(_forget)
            episode.conversation = _copy(conversation)
        elif not playing.cancelled():
            playing.result()
        if not said.done():
            episode.conversation.stop_reason = "time_limit"
        recorder.raise_failure()
    finally:
        for task in (overdue, playing):
            task.cancel()
        await asyncio.gather(overdue, return_exceptions=True)
        if not playing.done() and playing not in _left_behind:
            await asyncio.wait({playing}, timeout=CLOSE_GRACE)


_left_behind: set[asyncio.Task[None]] = set()  # the loop itself holds tasks by weak references only


def _forget(task: asyncio.Task[None]) -> None:
    _left_behind.discard(task)
    if not task.cancelled():
        task.exception()  # seen: an abandoned conversation can fail in any way, its attempt is graded already


def _copy(conversation: Conversation) -> Conversation:
    return Conversation(
        messages=list(conversation.messages),
        tool_calls=list(conversation.tool_calls),
        usage=dict(conversation.usage),
        response=conversation.response,
        stop_reason=conversation.stop_reason,
        stop_detail=conversation.stop_detail,
        chat=conversation.chat,
    )


async def _converse(
    world: World,
    request: EpisodeRequest,
    episode: Episode,
    lease: Lease,
    sinks: Sinks,
    workdir: WorkDir | None,
    stage: Stage | None,
    clock: AgentClock,
    recorder: _Recorder,
) -> None:
    conversation = episode.conversation
    environment = request.environment
    seed = derive_seed("policy", request.seed, request.task_id, request.attempt, episode.try_number)
    async with AsyncExitStack() as stack:
        toolbox: Tools = (
            stage.toolbox
            if stage is not None
            else await stack.enter_async_context(
                open_toolbox(
                    environment,
                    engine=lease.engine,
                    database_url=lease.url,
                    attempt_id=request.attempt_id,
                    mail_host=sinks.mail.host if sinks.mail else "",
                    mail_port=sinks.mail.port if sinks.mail else 0,
                    http_url=sinks.http.url if sinks.http else "",
                    workdir=workdir.folder if workdir else None,
                    seed=seed,
                    limits=request.limits,
                    tools=request.tools,
                    containers=world.containers,
                    alive=lease.alive,
                    blames=lease.blames,
                )
            )
        )
        if stage is not None:
            request = replace(request, prompt=stage.prompt, user=stage.user)
            conversation.messages += [dict(one) for one in stage.history]
        recorder.tools = _faulty(request, toolbox, seed)
        task = AgentTask(
            attempt_id=request.attempt_id,
            prompt=request.prompt,
            instructions=str(environment.instructions) if stage is None else stage.instructions,
            tools=toolbox.specs,
            limits=request.limits,
            seed=seed,
            conversation=conversation,
            call_tool=recorder,
            clock=clock,
            database_url=lease.url if environment.agent_database else None,
            workdir=workdir.folder if workdir else None,
            ending=frozenset() if stage is None else stage.ending,
        )
        user = world.users(request, seed=derive_seed("user", seed))
        try:
            session = await stack.enter_async_context(world.agent.open(task, request))
            message: str | None = request.prompt
            while message is not None:
                with clock.running():
                    conversation.response = await session.reply(message)
                over = recorder.ended or (stage is not None and stage.ends(conversation.response))
                if user is None or over:
                    break
                asked = time.perf_counter()
                try:
                    message = await user.reply(conversation)
                finally:
                    episode.user_seconds += time.perf_counter() - asked
        except Stop as stop:
            conversation.stop_reason = stop.reason
            conversation.stop_detail = stop.detail
        except TimeIsUp:
            conversation.stop_reason = "time_limit"
        finally:
            recorder.all_said()
        recorder.raise_failure()


def _faulty(request: EpisodeRequest, toolbox: Tools, seed: int) -> FaultyTools:
    faults = (*request.faults, *request.campaign_faults)
    names = [one.name for one in toolbox.specs]
    check_faults(request.faults, names, where=request.task_id)
    return FaultyTools(
        toolbox.call,
        faults,
        tools=names,
        seed=derive_seed("faults", seed),
        seconds=request.limits.tool_seconds,
    )


class _Recorder:
    """Plays tool calls and writes down what the agent saw of them, and what it gave up waiting for.

    What ends the attempt does so whatever the agent makes of it: one that tries again and again until its time is up
    has not failed. Of calls that come once all is said, only the text counts: servers are being closed.
    """

    def __init__(self, conversation: Conversation, said: asyncio.Future[None]) -> None:
        self.tools: FaultyTools | None = None
        self._said = said
        self.ended = False  # a tool was called that ends the conversation
        self._conversation = conversation
        self._failure: Exception | None = None
        self._open: list[_OpenCall] = []  # those that are not yet answered

    def all_said(self) -> None:
        if not self._said.done():
            self._said.set_result(None)

    def raise_failure(self) -> None:
        """Raise what a call raised before all was said."""
        if self._failure is not None:
            raise self._failure

    def settle(self) -> None:
        """Write down the calls whose answer nobody waits for any more."""
        for call in list(self._open):
            self._write_down(call, _UNANSWERED)

    async def __call__(
        self, name: str, arguments: Mapping[str, Any] | str, call_id: str | None = None
    ) -> ToolOutput:
        assert self.tools is not None
        fault = self.tools.draw(name)
        call = _OpenCall(call_id, name, arguments, fault)
        self._open.append(call)
        try:
            output = await self.tools.play(name, arguments, fault)
        except asyncio.CancelledError:
            self._write_down(call, _UNANSWERED)
            raise
        except Exception as error:
            if call in self._open:
                self._open.remove(call)
            if not self._said.done():
                self._failure = self._failure or error
            raise
        self._write_down(call, output)
        self.ended = self.ended or output.ends
        return output

    def _write_down(self, call: _OpenCall, output: ToolOutput) -> None:
        if call not in self._open:
            return  # settled
        self._open.remove(call)
        calls = self._conversation.tool_calls
        arguments = call.arguments
        calls.append(
            ToolCall(
                id=call.id or f"call_{len(calls) + 1}",
                name=call.name,
                arguments=dict(arguments) if isinstance(arguments, Mapping) else {"_unparsed": arguments},
                result=output.text,
                error=output.error,
                seconds=time.perf_counter() - call.started,
                fault=call.fault.words if output is _UNANSWERED and call.fault is not None else output.fault,
            )
        )


@dataclass(slots=True, eq=False)
class _OpenCall:
    """A tool call that is not yet answered."""

    id: str | None
    name: str
    arguments: Mapping[str, Any] | str
    fault: Fault | None
    started: float = field(default_factory=time.perf_counter)


_UNANSWERED = ToolOutput("(nobody waited for the answer)", error=True)


class _timed:
    def __init__(self, episode: Episode, phase: str) -> None:
        self._episode, self._phase = episode, phase

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._episode.seconds[self._phase] = time.perf_counter() - self._started

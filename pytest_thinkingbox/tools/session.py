"""The tools of one attempt: a session with every server of its environment, as one catalogue."""

from __future__ import annotations

import asyncio
import difflib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio

from pytest_thinkingbox.agents.base import ToolOutput, ToolSpec
from pytest_thinkingbox.declare import Environment, Limits, Server, ServerContext
from pytest_thinkingbox.declare.tools import Tools
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.tools.ending import to_the_end
from pytest_thinkingbox.tools.routes import Route, routes_of
from pytest_thinkingbox.tools.scrub import Scrubber

if TYPE_CHECKING:
    from mcp_types import Tool
    from sqlalchemy import Engine

    from pytest_thinkingbox.tools.connection import Connection
    from pytest_thinkingbox.tools.containers import Containers
    from pytest_thinkingbox.tools.direct import DirectConnection
    from pytest_thinkingbox.tools.failures import Blames, DatabaseWatch

    AnyConnection = Connection | DirectConnection

_GRACE = 0.2  # seconds that a call may take over its limit before its thread counts as hanging


class Toolbox:
    """What an agent can call. `specs` are the tools in the order of the environment's servers."""

    def __init__(
        self,
        routes: Mapping[str, Route],
        *,
        limits: Limits,
        scrubber: Scrubber,
        watch: DatabaseWatch,
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self.specs = tuple(
            ToolSpec(
                name=name,
                description=route.shown.description or "",
                input_schema=route.shown.input_schema,
                read_only=route.shown.annotations is not None
                and route.shown.annotations.read_only_hint is True,
            )
            for name, route in routes.items()
        )
        self._routes = routes
        self._seconds = limits.tool_seconds
        self._scrub = scrubber
        self._watch = watch
        self._alive = alive
        self._calls: set[asyncio.Task[Any]] = set()
        self._closed = False

    def close(self) -> None:
        """Play nothing more, whoever of the agent's own tasks and threads lives on and asks for it."""
        self._closed = True

    @property
    def busy(self) -> bool:
        """Whether code of a tool still runs in this process although nobody waits for it any more."""
        return any(not call.done() for call in self._calls) or any(
            route.connection.busy for route in self._routes.values()
        )

    async def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolOutput:
        """Play a tool. Whatever the agent did wrong comes back as text with `error=True`.

        Raises InfrastructureDown when a server or the database died.
        """
        if self._closed:
            return ToolOutput(f"{name} was not called: the attempt is over.", error=True)
        if name not in self._routes:
            return ToolOutput(self._no_such_tool(name), error=True)
        route = self._routes[name]
        try:
            checked = _checked(arguments)
            _known(checked, route)
        except ValueError as error:
            return ToolOutput(f"{name} was not called: {error}", error=True)
        output = await self._play(
            route.connection, route.tool, checked | dict(route.fixed) if route.fixed else checked
        )
        if self._watch.dead is not None:
            raise InfrastructureDown(f"the database died while {name} ran: {self._watch.dead}")
        if output.late and not await asyncio.to_thread(self._alive):
            raise InfrastructureDown(f"the database server did not answer any more while {name} ran")
        text = (
            self._scrub.error(route.words(output.text)) if output.error else self._scrub.result(output.text)
        )
        return ToolOutput(text, error=output.error, value=output.value, late=output.late)

    async def _play(self, connection: AnyConnection, tool: Tool, arguments: dict[str, Any]) -> ToolOutput:
        from pytest_thinkingbox.tools import play

        if connection.can_be_left(tool):
            return await play.play(connection, tool, arguments, seconds=self._seconds)
        # The SDK waits for the thread of a synchronous tool, which nothing can interrupt. Its call gets a task
        # that may be left behind, so that neither the limit nor the end of the episode has to wait for it.
        scope = anyio.CancelScope()

        async def run() -> ToolOutput:
            with scope:
                return await play.play(connection, tool, arguments, seconds=self._seconds)
            return ToolOutput("", error=True)  # nobody reads it: whoever waited was cancelled

        call = asyncio.create_task(run(), name=tool.name)
        self._calls.add(call)
        call.add_done_callback(self._done)
        try:
            await asyncio.wait({call}, timeout=self._seconds + _GRACE)
        except asyncio.CancelledError:
            scope.cancel()
            raise
        if call.done():
            return call.result()
        _lend_a_thread(call)
        return play.too_late(tool, self._seconds)

    def _done(self, call: asyncio.Task[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # seen: an abandoned call may fail in any way

    def _no_such_tool(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._routes, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        return f"There is no tool named {name!r}.{hint} The tools are: {', '.join(self._routes) or 'none'}."


def _lend_a_thread(call: asyncio.Task[Any]) -> None:
    """Hanging tools must not use up the threads that those of other attempts need."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    limiter.total_tokens += 1

    def back(_: asyncio.Task[Any]) -> None:
        limiter.total_tokens -= 1

    call.add_done_callback(back)


def _checked(arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """The arguments as a JSON object. Raises ValueError with words for the agent."""
    parsed: Any = arguments
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise ValueError(f"its arguments are not valid JSON: {error}") from None
        if not isinstance(parsed, dict):
            raise ValueError(f"its arguments must be a JSON object, not {arguments[:80]}")
    try:
        text = json.dumps(dict(parsed), ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("its arguments hold characters that are no valid Unicode") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its arguments are not JSON: {error}") from None
    checked: dict[str, Any] = json.loads(text)
    return checked


def _known(arguments: Mapping[str, Any], route: Route) -> None:
    """Refuse arguments that are hidden, or that a closed schema does not have: servers drop them silently."""
    schema = route.shown.input_schema
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    if not closed and not route.hidden:
        return
    properties = schema.get("properties", {})
    for name in arguments:
        if name in route.hidden or (closed and name not in properties):
            known = ", ".join(properties) or "none"
            raise ValueError(f"it has no argument {name!r}; its arguments are: {known}")


@asynccontextmanager
async def open_toolbox(
    environment: Environment,
    *,
    engine: Engine,
    database_url: str,
    attempt_id: str,
    mail_host: str,
    mail_port: int,
    seed: int,
    limits: Limits,
    http_url: str = "",
    workdir: Path | None = None,
    tools: Tools | None = None,
    containers: Containers,
    alive: Callable[[], bool],
    blames: Blames,
) -> AsyncIterator[Toolbox]:
    """Sessions with all servers of the environment, for one attempt; closed, processes and all, at the end.

    `mail_host` is "" without a mail sink, `http_url` without an HTTP sink; `tools` are the task's own; `containers`
    are those of this process; `alive` and `blames` are those of the lease. Raises ConfigurationError for what
    the author has to change (placeholders, two tools of one name, no such program) and InfrastructureDown for a
    server that does not start.
    """
    from pytest_thinkingbox.tools.connect import connect
    from pytest_thinkingbox.tools.failures import DatabaseWatch
    from pytest_thinkingbox.tools.placeholders import database_file

    context = ServerContext(
        engine=engine,
        database_url=database_url,
        attempt_id=attempt_id,
        now=environment.now,
        mail_host=mail_host,
        mail_port=mail_port,
        http_url=http_url,
        workdir=workdir,
    )
    filled = any(server.kind in ("stdio", "http", "container") for server in environment.servers)
    values = {
        "database_url": database_url,
        "database_path": database_file(database_url) if filled else None,
        "attempt_id": attempt_id,
        "now": environment.now.isoformat() if environment.now else None,
        "mail_host": mail_host or None,
        "mail_port": str(mail_port) if mail_host else None,
        "http_url": http_url or None,
        "workdir": str(workdir) if workdir else None,
    }
    labels = [_label(environment, index) for index in range(len(environment.servers))]
    watch = DatabaseWatch(blames)
    connections: list[AnyConnection] = []
    scrubber = Scrubber(database_url)
    with watch.on(engine):
        try:
            for server, label in zip(environment.servers, labels, strict=True):
                connections.append(
                    connect(
                        server,
                        context,
                        label=label,
                        values=values,
                        watch=watch,
                        scrubber=scrubber,
                        containers=containers,
                    )
                )
            for connection in connections:
                await connection.opened()
            servers = zip(connections, (one.tools for one in environment.servers), strict=True)
            overrides = [(environment.name, environment.tools), (attempt_id, tools)]
            toolbox = Toolbox(
                routes_of(servers, overrides), limits=limits, scrubber=scrubber, watch=watch, alive=alive
            )
            try:
                yield toolbox
            finally:
                toolbox.close()
        except BaseException:
            await _closed(connections)  # what was raised here says more than a server that does not close
            raise
        for failure in await _closed(connections):
            raise failure


async def _closed(connections: list[AnyConnection]) -> list[BaseException]:
    """Close all, also while this task is cancelled; what went wrong."""
    if all(one.closed for one in connections):
        return []
    ended = await to_the_end(asyncio.gather(*(one.close() for one in connections), return_exceptions=True))
    return [failure for failure in ended if failure is not None]


def _label(environment: Environment, index: int) -> str:
    server: Server = environment.servers[index]
    match server.kind:
        case "stdio":
            what = server.command[0]
        case "http":
            parts = urlsplit(server.url)
            where = parts.netloc.rpartition("@")[2]
            what = f"{parts.scheme}://{where}{parts.path}"
        case "container":
            what = server.image
        case "functions":
            what = ", ".join(one.__name__ for one in server.functions_[:3])
        case _:
            what = getattr(server.build, "__name__", type(server.build).__name__)
    return f"{environment.name}: servers[{index}] ({server.kind} {what})"

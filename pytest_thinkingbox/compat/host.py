"""Opens the servers of one attempt of a dataset's task, begins them, and reads what they say at the end.

Servers have tools of their own for that. They are called here, are never offered to an agent, and cannot be called by
one: some of them tell what the right end would be.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.agents.base import ToolOutput, ToolSpec
from pytest_thinkingbox.compat.dataset import DatasetTask
from pytest_thinkingbox.compat.direct import BROKEN, formatted
from pytest_thinkingbox.compat.files import BrokenDataset, ToolFile
from pytest_thinkingbox.compat.servers import Servers
from pytest_thinkingbox.compat.world import write
from pytest_thinkingbox.declare import Limits, Player, User
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.threads import run_in_turn
from pytest_thinkingbox.tools.connection import Connection
from pytest_thinkingbox.tools.ending import to_the_end
from pytest_thinkingbox.tools.failures import DatabaseWatch, nobody_to_blame
from pytest_thinkingbox.tools.host import Stage
from pytest_thinkingbox.tools.play import play
from pytest_thinkingbox.tools.routes import Route
from pytest_thinkingbox.tools.scrub import Scrubber
from pytest_thinkingbox.tools.session import Toolbox

if TYPE_CHECKING:
    from mcp_types import Tool
    from sqlalchemy import Engine

RESERVED = "__reserved__"
INIT, EFFECTS, TEARDOWN = (f"{RESERVED}{name}" for name in ("init", "geteffects", "teardown"))
DONE = "<DONE>"
"""The end of an answer that ends the conversation."""
SOURCES = "sources"
"""The key of a server's configuration that holds what a search engine is to index."""
_SECONDS = 120.0  # for each of the servers' own tools
_TEARDOWN_SECONDS = 10.0  # a server that is no longer needed is not waited for


@dataclass(frozen=True, slots=True, eq=False)
class DatasetHost:
    """The host of one task. `without_sources` begins servers without what a search engine would index."""

    task: DatasetTask
    servers: Servers
    without_sources: bool

    def __repr__(self) -> str:
        """Equal for what is the same to an agent: it is part of the hash of what an attempt depends on."""
        task = self.task
        told = (
            self._configurations(), [tool.model_dump() for tool in task.tools],
            task.instructions, task.format_query, task.history.messages,
        )  # fmt: skip
        text = json.dumps(told, ensure_ascii=True, sort_keys=True, default=str)
        return f"DatasetHost({task.uid!r}, {sha256(text.encode('ascii')).hexdigest()[:16]})"

    def _configurations(self) -> dict[str, dict[str, Any]]:
        return {
            name: {
                key: value for key, value in config.items() if not (self.without_sources and key == SOURCES)
            }
            for name, config in self.task.servers.items()
        }

    @asynccontextmanager
    async def __call__(
        self, *, engine: Engine, database_url: str, attempt_id: str, user: Player | None, limits: Limits
    ) -> AsyncIterator[Stage]:
        """Raises ConfigurationError for a server that never began yet, InfrastructureDown for one that did before."""
        scrubber = Scrubber(database_url)
        opened = _Opened(self, attempt_id, limits)
        try:
            for name in self.task.servers:
                opened.connections[name] = await self.servers.connect(name, scrubber=scrubber)
            await opened.begin()
            routes = routes_of(self.task, opened.connections)
            toolbox = _Toolbox(
                self.task,
                Toolbox(routes, limits=limits, scrubber=scrubber, watch=DatabaseWatch(nobody_to_blame)),
            )
            await opened.replay(toolbox)
            yield self._stage(opened, toolbox, engine, user)
        except BaseException:
            await to_the_end(
                opened.close()
            )  # what was raised here says more than a server that does not close
            raise
        for failure in await to_the_end(opened.close()):
            raise failure

    def _stage(self, opened: _Opened, toolbox: _Toolbox, engine: Engine, user: Player | None) -> Stage:
        task = self.task
        prompt, instructions = task.query, task.instructions
        if task.format_query:
            fill = partial(_filled, init=opened.init, where=task.uid)
            prompt, instructions = fill(prompt), fill(instructions)
            if isinstance(user, User):
                user = replace(user, context=fill(user.context))
        system = (
            [{"role": "system", "content": instructions}] if task.history.messages and instructions else []
        )

        async def finish() -> None:
            toolbox.close()
            effects = await opened.effects()
            await run_in_turn(partial(write, engine, init=opened.init, effects=effects))

        return Stage(
            toolbox=toolbox,
            prompt=prompt,
            user=user,
            instructions=instructions,
            history=[*system, *task.history.messages],
            ending=toolbox.ending,
            ends=lambda answer: answer.rstrip().endswith(DONE),
            finish=finish,
        )


class _Opened:
    """The sessions of one attempt, in the order of its servers."""

    def __init__(self, host: DatasetHost, attempt_id: str, limits: Limits) -> None:
        self.connections: dict[str, Connection] = {}
        self.init: dict[str, Any] = {}
        self._host = host
        self._attempt_id = attempt_id
        self._limits = limits
        self._begun: list[str] = []

    async def begin(self) -> None:
        """Tell every server where this task begins, one after the other."""
        servers = self._host.servers
        for name, connection in self.connections.items():
            try:
                await connection.opened()
                servers.opened(name, connection)
                output = await self._reserved(name, INIT, {"config": self._host._configurations()[name]})
            except InfrastructureDown as down:
                if name in servers.begun or not connection.lost:  # late is not gone
                    raise
                raise ConfigurationError(
                    f"{down}. --tb-servers-python names the Python that the servers of {servers.path} are installed in"
                ) from down
            self.init[name] = self._checked(name, output)
            self._begun.append(name)
            servers.begun.add(name)

    def _checked(self, name: str, output: ToolOutput | None) -> dict[str, Any]:
        """What a server answered when it began; nothing for one that has no such tool."""
        if output is None:
            return {}
        if output.late:
            raise InfrastructureDown(f"{self._attempt_id}: the server {name}: {output.text}")
        try:
            answer = json.loads(output.text)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict) and not output.error:
            status = answer.pop("status", None)
            if status == "ok" or not (answer or status):
                return answer
        said = answer.get("message") if isinstance(answer, dict) else output.text
        problem = f"{self._attempt_id}: the server {name} did not begin: {said}"
        if self._host.task.servers[name].get(SOURCES) and not self._host.without_sources:
            problem += (
                f". It was given {SOURCES} to index: start the search engine that it needs (Typesense), or leave them "
                "out with --tb-without-sources"
            )
        raise InfrastructureDown(problem) if name in self._host.servers.begun else ConfigurationError(problem)

    async def replay(self, toolbox: _Toolbox) -> None:
        """Play the calls of the history, so that servers are where it ended. An error is the history's, as it was.

        Raises InfrastructureDown where nobody knows whether a call took effect.
        """
        for name, arguments in self._host.task.history.calls:
            if name not in toolbox.builtin:
                output = await toolbox.call(name, arguments)
                if output.late:
                    raise InfrastructureDown(f"{self._attempt_id}: its history: {output.text}")

    async def effects(self) -> dict[str, Any]:
        """What every server says that was done; {} for one that has no such tool, or whose answer is no JSON object.

        Raises InfrastructureDown for one that fails or is late: "nothing was done" would be a verdict.
        """
        found: dict[str, Any] = {}
        for name in self.connections:
            output = await self._reserved(name, EFFECTS, {})
            if output is not None and output.error:
                raise InfrastructureDown(f"the server {name} does not say what was done: {output.text}")
            try:
                answer = json.loads(output.text) if output is not None else {}
            except (ValueError, RecursionError):
                answer = {}
            found[name] = answer if isinstance(answer, dict) else {}
        return found

    async def close(self) -> list[Exception]:
        """End all; what went wrong."""
        try:
            for name in self._begun:
                try:
                    await self._reserved(name, TEARDOWN, {}, seconds=_TEARDOWN_SECONDS)
                except InfrastructureDown:
                    continue  # it is gone already: there is nothing to end
        finally:
            closed = await asyncio.gather(
                *(one.close() for one in self.connections.values()), return_exceptions=True
            )
        return [failure for failure in closed if isinstance(failure, Exception)]

    async def _reserved(
        self, name: str, tool: str, arguments: Mapping[str, Any], *, seconds: float = _SECONDS
    ) -> ToolOutput | None:
        """Call one of the servers' own tools; None where the server has none of that name."""
        connection = self.connections[name]
        found = _tool(connection, tool)
        if found is None:
            return None
        given = dict(arguments)
        if "session_id" in found.input_schema.get("properties", {}):
            given["session_id"] = self._attempt_id
        return await play(connection, found, given, seconds=seconds)


def _tool(connection: Connection, name: str) -> Tool | None:
    return next((one for one in connection.tools if one.name == name), None)


def routes_of(task: DatasetTask, connections: Mapping[str, Connection]) -> dict[str, Route]:
    """The tools that the scenario lists, as it shows them. Of two of one name that of the later server is meant."""
    shown = {tool.name: tool for tool in task.scenario.tools}
    routes: dict[str, Route] = {}
    for connection in connections.values():
        for tool in connection.tools:
            if tool.name in shown and not tool.name.startswith(RESERVED):
                routes[tool.name] = Route(
                    connection=connection, tool=tool, shown=_shown(tool, shown[tool.name], task=task)
                )
    where = f"scenario {task.scenario_name}"
    for name in shown:
        if name.startswith(RESERVED):
            raise BrokenDataset(f"{where}: tools: {name} is the servers' own and never an agent's")
        if name not in routes:
            raise BrokenDataset(f"{where}: tools: no server of {', '.join(connections)} has a tool {name!r}")
    for builtin in task.agent.builtin_tools:
        if builtin.name in routes:
            raise BrokenDataset(f"{where}: tools: {builtin.name} is a tool of the agent file already")
    return routes


def _shown(tool: Tool, override: ToolFile, *, task: DatasetTask) -> Tool:
    schema = dict(tool.input_schema)
    properties = dict(schema.get("properties", {}))
    for name, text in (override.override_arg_description or {}).items():
        if name not in properties:
            raise BrokenDataset(
                f"scenario {task.scenario_name}: tools: {tool.name} has no parameter {name!r} to describe; there are: "
                f"{', '.join(properties) or 'none'}"
            )
        properties[name] = {**properties[name], "description": text}
    update: dict[str, Any] = {"input_schema": {**schema, "properties": properties}}
    if override.override_description is not None:
        update["description"] = override.override_description
    return tool.model_copy(update=update)


class _Toolbox:
    """The tools of the servers, and those of the agent file, which have none behind them."""

    def __init__(self, task: DatasetTask, inner: Toolbox) -> None:
        self.builtin = frozenset(tool.name for tool in task.agent.builtin_tools)
        self.ending = frozenset(tool.name for tool in task.tools if tool.is_end_turn)
        self.specs = (
            *(
                ToolSpec(name=tool.name, description=tool.description, input_schema=tool.input_schema)
                for tool in task.agent.builtin_tools
            ),
            *inner.specs,
        )
        self._direct = task.direct
        self._inner = inner
        self._closed = False

    def close(self) -> None:
        self._closed = True
        self._inner.close()

    async def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolOutput:
        if self._closed or (name not in self.ending and name not in self.builtin):
            return self._spoken(name, await self._inner.call(name, arguments))
        # Nothing is behind it, or nothing that is asked: that it was called is all there is.
        return ToolOutput("", ends=name in self.ending)

    def _spoken(self, name: str, output: ToolOutput) -> ToolOutput:
        template = self._direct.get(name)
        if template is None or output.error:
            return output
        text = formatted(template, output.text)
        return replace(output, said=text) if text is not None else ToolOutput(BROKEN, error=True)


def _filled(text: str, *, init: Mapping[str, Any], where: str) -> str:
    try:
        return text.format(init=init)
    except (LookupError, ValueError, AttributeError) as error:
        raise BrokenDataset(
            f"{where}: format_query: {text[:80]!r} cannot be filled with what the servers began with: {error!r}"
        ) from None

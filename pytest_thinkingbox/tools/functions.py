"""An MCP server made of typed Python functions."""

from __future__ import annotations

import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from mcp.server.mcpserver import Audio, Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent
from mcp_types import Tool as ListedTool
from pydantic.errors import PydanticUserError
from pydantic_core import to_json
from sqlalchemy import Connection, Row
from sqlalchemy.exc import DBAPIError

from pytest_thinkingbox.declare import ServerContext
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.threads import Steps
from pytest_thinkingbox.tools.failures import sentence


class FunctionTools:
    """The tools of one attempt, for calls without a session. What they have in common is made once per process."""

    def __init__(self, functions: tuple[Callable[..., Any], ...], context: ServerContext) -> None:
        self.context = context
        self.steps = Steps()  # synchronous functions
        self._functions = functions
        self._tools = _direct(functions)

    async def list_tools(self) -> list[ListedTool]:
        return _listing(self._functions)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """What the SDK's server would return and raise. A function in a thread is left behind when cancelled."""
        token = _here.set(self)
        try:
            return await self._tools[name].run(arguments, _no_session(), convert_result=True)
        finally:
            _here.reset(token)

    def in_thread(self, name: str) -> bool:
        """Whether this function is synchronous."""
        return name in _synchronous(self._functions)


_here: ContextVar[FunctionTools] = ContextVar("thinkingbox_functions")
"""Whose call is played: tools are shared by all attempts."""


def functions_server(
    functions: tuple[Callable[..., Any], ...], context: ServerContext
) -> MCPServer[Any] | FunctionTools:
    """The server of one attempt: a whole one only where a function asks for the SDK's context."""
    if any(wants_session(tool) for tool, _, _ in _tools_of(functions)):
        return MCPServer("functions", tools=_bound(functions, context))
    return FunctionTools(functions, context)


def wants_session(tool: Tool) -> bool:
    """Whether the tool could tell that it is called without a session."""
    return tool.context_kwarg is not None or bool(tool.resolved_params)


def _bound(functions: tuple[Callable[..., Any], ...], context: ServerContext) -> list[Tool]:
    return [
        tool.model_copy(
            update={"fn": functools.partial(_RUNNERS[tool.is_async], function, injected, context)}
        )
        for tool, function, injected in _tools_of(functions)
    ]


@functools.lru_cache(maxsize=64)
def _direct(functions: tuple[Callable[..., Any], ...]) -> dict[str, Tool]:
    return {
        tool.name: tool.model_copy(
            update={
                "fn": functools.partial(
                    _run_in_loop if tool.is_async else _run_in_thread, function, injected
                ),
                "is_async": True,
            }
        )
        for tool, function, injected in _tools_of(functions)
    }


@functools.lru_cache(maxsize=64)
def _synchronous(functions: tuple[Callable[..., Any], ...]) -> frozenset[str]:
    return frozenset(tool.name for tool, _, _ in _tools_of(functions) if not tool.is_async)


@functools.lru_cache(maxsize=64)
def _listing(functions: tuple[Callable[..., Any], ...]) -> list[ListedTool]:
    return [
        ListedTool(name=tool.name, description=tool.description, input_schema=tool.parameters)
        for tool, _, _ in _tools_of(functions)
    ]


@functools.cache
def _no_session() -> Context[Any, Any]:
    return Context()


@functools.lru_cache(maxsize=64)
def _tools_of(
    functions: tuple[Callable[..., Any], ...],
) -> list[tuple[Tool, Callable[..., Any], dict[str, type]]]:
    made = [_tool_of(function) for function in functions]
    names = [tool.name for tool, _, _ in made]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(f"Server.functions: two functions are named {name}; rename one of them")
    return made


def _tool_of(function: Callable[..., Any]) -> tuple[Tool, Callable[..., Any], dict[str, type]]:
    name = getattr(function, "__name__", type(function).__name__)
    where = f"Server.functions: {name}"
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigurationError(
            f"{where}: {error} when its annotations are read; import it where the function is defined, "
            "not only under TYPE_CHECKING"
        ) from error
    injected: dict[str, type] = {}
    visible = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigurationError(
                f"{where}: {parameter} cannot be called by name; use ordinary parameters"
            )
        annotation = hints.get(parameter.name, parameter.annotation)
        if annotation is Connection or annotation is ServerContext:
            injected[parameter.name] = annotation
        else:
            visible.append(parameter.replace(annotation=annotation, kind=parameter.KEYWORD_ONLY))

    def shown(**arguments: Any) -> Any:
        """What the agent sees of the function: its own parameters only."""

    async def shown_async(**arguments: Any) -> Any:
        """The same for a coroutine function."""

    stand_in = shown_async if inspect.iscoroutinefunction(function) else shown
    stand_in.__name__ = name
    vars(stand_in)["__signature__"] = inspect.Signature(visible)
    stand_in.__annotations__ = {parameter.name: parameter.annotation for parameter in visible}
    try:
        tool = Tool.from_function(
            stand_in, description=inspect.getdoc(function) or "", structured_output=False
        )
    except (InvalidSignature, PydanticUserError, ValueError, TypeError) as error:
        raise ConfigurationError(f"{where}: {error}") from error
    # A misspelled optional argument must come back as an error, not be dropped.
    tool.parameters["additionalProperties"] = False
    return tool, function, injected


def _run(
    function: Callable[..., Any], injected: dict[str, type], context: ServerContext, /, **arguments: Any
) -> Any:
    """Call the function; a connection that it takes is committed, or rolled back when it raises.

    The SDK shows a ToolError's text to the agent and hides that of all other exceptions.
    """
    try:
        connecting = [name for name, kind in injected.items() if kind is Connection]
        arguments |= {name: context for name, kind in injected.items() if kind is ServerContext}
        if not connecting:
            return _result(function(**arguments))
        with context.engine.begin() as connection:
            return _result(function(**arguments, **dict.fromkeys(connecting, connection)))
    except DBAPIError as error:
        raise ToolError(sentence(error)) from error
    except ValueError as error:
        raise ToolError(str(error)) from error


async def _run_async(
    function: Callable[..., Any], injected: dict[str, type], context: ServerContext, /, **arguments: Any
) -> Any:
    try:
        connecting = [name for name, kind in injected.items() if kind is Connection]
        arguments |= {name: context for name, kind in injected.items() if kind is ServerContext}
        if not connecting:
            return _result(await function(**arguments))
        with context.engine.begin() as connection:
            return _result(await function(**arguments, **dict.fromkeys(connecting, connection)))
    except DBAPIError as error:
        raise ToolError(sentence(error)) from error
    except ValueError as error:
        raise ToolError(str(error)) from error


async def _run_in_loop(function: Callable[..., Any], injected: dict[str, type], /, **arguments: Any) -> Any:
    return await _run_async(function, injected, _here.get().context, **arguments)


async def _run_in_thread(function: Callable[..., Any], injected: dict[str, type], /, **arguments: Any) -> Any:
    tools = _here.get()
    return await tools.steps.run_in_turn(
        functools.partial(_run, function, injected, tools.context, **arguments)
    )


class PlainResult(CallToolResult):
    """A result of nothing but JSON, which is the same on both sides of a wire."""


_RUNNERS: dict[bool, Callable[..., Any]] = {False: _run, True: _run_async}


def _result(value: Any) -> Any:
    """Text as it is, anything else as one JSON text; objects are structured content too."""
    if isinstance(value, str | CallToolResult | Image | Audio):
        return value
    text = to_json(value, fallback=_plain, bytes_mode="base64").decode()
    structured = json.loads(text) if text.startswith("{") else None
    return PlainResult(content=[TextContent(type="text", text=text)], structured_content=structured)


def _plain(value: Any) -> Any:
    """Rows of a result as objects; anything else that JSON does not know as text."""
    if isinstance(value, Row):
        return dict(value._mapping)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)

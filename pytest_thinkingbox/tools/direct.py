"""Tools of a server object in this process, called without a session between."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool as ServerTool
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, InputRequiredResult, TextContent, Tool

from pytest_thinkingbox.threads import Steps
from pytest_thinkingbox.tools.functions import FunctionTools, PlainResult, wants_session
from pytest_thinkingbox.tools.quiet import no_logging_setup

_log = logging.getLogger(__name__)


class DirectConnection:
    """Looks like a session from outside. A call costs a third of one through the SDK's client and dispatcher."""

    in_process = True
    http = False
    lost = False
    closed = True  # there is nothing to close

    def __init__(self, label: str, server: MCPServer[Any] | FunctionTools) -> None:
        self.label = label
        self.tools: list[Tool] = []
        self._server = server
        if isinstance(server, FunctionTools):
            self._steps = server.steps
        else:
            self._steps = Steps()
            _play_in_turn(server, self._steps)

    async def opened(self) -> None:
        self.tools = await self._server.list_tools()

    async def close(self) -> None:
        """Nothing is open."""

    def last_words(self) -> str:
        return ""

    @property
    def busy(self) -> bool:
        """Whether a function that was left behind still runs."""
        return self._steps.running

    def can_be_left(self, tool: Tool) -> bool:
        """Whether a call ends as soon as it is cancelled, whatever the tool does."""
        if isinstance(self._server, FunctionTools):
            return self._server.in_thread(tool.name)
        return not _tool_of(self._server, tool.name).is_async

    async def call(
        self, tool: Tool, arguments: dict[str, Any], *, seconds: float
    ) -> CallToolResult | InputRequiredResult:
        """What the SDK's client would get. Raises TimeoutError and, as the client does, MCPError."""
        async with asyncio.timeout(seconds):
            result = await self._result(tool, arguments)
        if isinstance(result, InputRequiredResult | PlainResult):
            return result
        # On its way to a client it becomes JSON: a date in structured content becomes text, for example.
        return CallToolResult.model_validate(result.model_dump(by_alias=True, mode="json", exclude_none=True))

    async def _result(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        try:
            return await self._server.call_tool(tool.name, arguments)
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - as the SDK's own handler has it
            if not isinstance(error, ToolError) or isinstance(error, UnexpectedToolError):
                _log.exception("tool %r raised an unexpected exception", tool.name)
            return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)


def _tool_of(server: MCPServer[Any], name: str) -> ServerTool:
    tool = server._tool_manager.get_tool(name)
    assert tool is not None, name
    return tool


def _play_in_turn(server: MCPServer[Any], steps: Steps) -> None:
    """Let synchronous tools take turns, where the SDK gives each call a thread and the threads throw each other off."""
    manager = server._tool_manager
    call_tool = manager.call_tool
    asynchronous: dict[str, ServerTool] = {}

    async def played(
        name: str, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        tool = manager.get_tool(name)
        if tool is None or tool.is_async:
            return await call_tool(name, arguments, context, convert_result=convert_result)
        if name not in asynchronous:
            asynchronous[name] = tool.model_copy(
                update={"fn": partial(_in_turn, steps, tool.fn), "is_async": True}
            )
        return await asynchronous[name].run(arguments, context, convert_result=convert_result)

    manager.call_tool = played  # type: ignore[method-assign]


async def _in_turn(steps: Steps, function: Callable[..., Any], /, **arguments: Any) -> Any:
    return await steps.run_in_turn(partial(function, **arguments))


def needs_no_session(server: Any) -> bool:
    """Whether no tool could tell: nothing of the author's runs around a call, and no tool wants to know its session."""
    if isinstance(server, FunctionTools):
        return True
    if not is_plain(server) or server.settings.lifespan is not None:
        return False
    handler = server._lowlevel_server.get_request_handler("tools/call")
    return (
        type(server)._handle_call_tool is MCPServer._handle_call_tool
        and handler is not None
        and handler.handler == server._handle_call_tool  # else an extension intercepts calls
        and not any(wants_session(tool) for tool in server._tool_manager.list_tools())
    )


def is_plain(server: Any) -> bool:
    """Whether its list of tools is what it tells a client: no middleware of the author's may change it."""
    return isinstance(server, MCPServer) and len(server.middleware) == _own_middleware()


@cache
def _own_middleware() -> int:
    with no_logging_setup():
        return len(MCPServer("plain").middleware)

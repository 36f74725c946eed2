"""One tool call on one MCP session, and what its failures mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    Tool,
)
from pydantic import TypeAdapter, ValidationError

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.tools.direct import DirectConnection
from pytest_thinkingbox.tools.results import render

if TYPE_CHECKING:
    from mcp import Client

    from pytest_thinkingbox.tools.connection import Connection

# The SDK's own errors look like answers of the server; only their texts tell them apart, as a server may use
# any code. These are what its HTTP client makes of an answer that is no MCP.
_CLOSED = ("Connection closed", "SSE stream ended", "SSE stream failed")
_HTTP_DOWN = ("Server returned an error response", "Session terminated", "Not Found", "Failed to parse")
_HTTP_CODES = (INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR)


_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)


async def play(
    connection: Connection | DirectConnection, tool: Tool, arguments: dict[str, Any], *, seconds: float
) -> ToolOutput:
    """The result as text. Raises InfrastructureDown when the server or the way to it is dead."""
    try:
        if isinstance(connection, DirectConnection):
            result = await connection.call(tool, arguments, seconds=seconds)
        elif connection.client is None or connection.lost:
            raise InfrastructureDown(
                f"{connection.label} is gone; {tool.name} was not called{connection.last_words()}"
            )
        elif not connection.checked:
            result = await _call_unchecked(connection.client, tool, arguments, seconds)
        else:
            result = await connection.client.call_tool(tool.name, arguments, read_timeout_seconds=seconds)
    except TimeoutError:
        return too_late(tool, seconds)
    except MCPError as error:
        if error.code == REQUEST_TIMEOUT:
            return too_late(tool, seconds)
        if _is_down(error, http=connection.http):
            raise InfrastructureDown(
                f"{connection.label} died while {tool.name} ran: {error.message}{connection.last_words()}"
            ) from error
        return _failed(tool, error.message)
    except (RuntimeError, ValidationError):
        # The SDK checks the result against the schema that the server gave for it.
        return _failed(tool, "its result was malformed")
    if isinstance(result, InputRequiredResult):
        return _failed(tool, "it asks for further input, which nobody here can give")
    return render(result, tool.output_schema)


async def _call_unchecked(
    client: Client, tool: Tool, arguments: dict[str, Any], seconds: float
) -> CallToolResult | InputRequiredResult:
    """Without the client's check of the result, which compiles its schema anew for every session: 4 ms a tool.

    A server object in this process is the author's own and has checked the result already.
    """
    request = CallToolRequest(params=CallToolRequestParams(name=tool.name, arguments=arguments))
    return await client.session.send_request(request, _RESULT, request_read_timeout_seconds=seconds)


def _is_down(error: MCPError, *, http: bool) -> bool:
    if error.code == CONNECTION_CLOSED and error.message.startswith(_CLOSED):
        return True
    return http and error.code in _HTTP_CODES and error.message.startswith(_HTTP_DOWN)


def too_late(tool: Tool, seconds: float) -> ToolOutput:
    return ToolOutput(
        f"{tool.name} did not answer within {seconds:g} s. It may have taken effect or not.",
        error=True,
        late=True,
    )


def _failed(tool: Tool, why: str) -> ToolOutput:
    return ToolOutput(f"Error executing tool {tool.name}: {why}", error=True)

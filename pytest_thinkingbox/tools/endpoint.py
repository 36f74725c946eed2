"""A loopback MCP endpoint through which a program of its own plays one attempt's tools."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.agents.base import ToolOutput, ToolSpec

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult
    from starlette.types import ASGIApp, Receive, Scope, Send

CallTool = Callable[..., Awaitable[ToolOutput]]


class Endpoint:
    """`url` speaks MCP over streamable HTTP to who sends `Authorization: Bearer <token>`.

    `failure` is what ended the attempt inside a call; the program only saw an error. Once it is closed nothing is
    called any more.
    """

    def __init__(self, specs: Sequence[ToolSpec], call_tool: CallTool) -> None:
        self.token = secrets.token_urlsafe(32)
        self.failure: Exception | None = None
        self._specs = specs
        self._call_tool = call_tool
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/mcp"

    async def list_tools(self, context: Any, parameters: Any) -> ListToolsResult:
        from mcp_types import ListToolsResult, Tool

        return ListToolsResult(
            tools=[
                Tool(name=one.name, description=one.description, input_schema=dict(one.input_schema))
                for one in self._specs
            ]
        )

    async def call_tool(self, context: Any, parameters: CallToolRequestParams) -> CallToolResult:
        from mcp_types import CallToolResult, TextContent

        if not self._open:
            output = ToolOutput("The attempt is over.", error=True)
        else:
            try:
                output = await self._call_tool(parameters.name, parameters.arguments or {})
            except Exception as error:  # noqa: BLE001  (raised again by whoever waits for the program)
                self.failure = self.failure or error
                output = ToolOutput("The tool is not available.", error=True)
        return CallToolResult(content=[TextContent(text=output.text)], is_error=output.error)

    async def serve(self) -> None:
        """Listen from now on; the server itself is built when the first connection comes."""
        if sys.platform != "win32":  # whose event loop cannot wait for a listener
            await _readable(self._listener)
        import uvicorn
        from mcp.server import Server

        server: Server[Any] = Server(
            "thinkingbox", on_list_tools=self.list_tools, on_call_tool=self.call_tool
        )
        # Without sessions: whatever era of MCP the program speaks, each request stands for itself.
        app = _Guard(server.streamable_http_app(stateless_http=True, json_response=True), self.token)
        config = uvicorn.Config(
            app, lifespan="on", ws="none", log_config=None, access_log=False, timeout_graceful_shutdown=1
        )
        running = uvicorn.Server(config)
        # Not `serve`, which would take over the signals of the process.
        serving = asyncio.create_task(running._serve(sockets=[self._listener]))
        try:
            await asyncio.wait({serving})
        finally:
            running.should_exit = running.force_exit = True
            await asyncio.wait({serving}, timeout=2.0)

    def close(self) -> None:
        self._open = False
        self._listener.close()


class _Guard:
    """Lets only the bearer of the token through."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


async def _readable(listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    loop.add_reader(listener, came.set)
    try:
        await came.wait()
    finally:
        loop.remove_reader(listener)


@asynccontextmanager
async def open_endpoint(specs: Sequence[ToolSpec], call_tool: CallTool) -> AsyncIterator[Endpoint]:
    """An endpoint on a free loopback port that serves exactly these tools until the block is left."""
    endpoint = Endpoint(specs, call_tool)
    serving = asyncio.create_task(endpoint.serve())
    try:
        yield endpoint
    finally:
        serving.cancel()
        await asyncio.wait({serving}, timeout=5.0)
        endpoint.close()

"""How each kind of server is reached: in this process, as a program, over HTTP, in a container."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from typing import Any
from weakref import WeakSet

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server as LowLevelServer
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import UnexpectedToolError
from mcp_types.version import LATEST_MODERN_VERSION

from pytest_thinkingbox.agents.base import is_exit
from pytest_thinkingbox.declare import Server, ServerContext
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.tools.connection import Connection
from pytest_thinkingbox.tools.containers import Containers, require_docker
from pytest_thinkingbox.tools.direct import DirectConnection, is_plain, needs_no_session
from pytest_thinkingbox.tools.failures import DatabaseWatch
from pytest_thinkingbox.tools.functions import FunctionTools, functions_server
from pytest_thinkingbox.tools.placeholders import fill
from pytest_thinkingbox.tools.processes import LastWords
from pytest_thinkingbox.tools.quiet import no_logging_setup
from pytest_thinkingbox.tools.scrub import Scrubber
from pytest_thinkingbox.tools.stdio import start_slot, stdio_transport


def connect(
    server: Server,
    context: ServerContext,
    *,
    label: str,
    values: Mapping[str, str | None],
    watch: DatabaseWatch,
    scrubber: Scrubber,
    containers: Containers,
) -> Connection | DirectConnection:
    """Begin to open one attempt's session with this server.

    Raises ConfigurationError for wrong placeholders and for a build function that fails.
    """
    match server.kind:
        case "in_process" | "functions":
            build = _built(server, context, label, watch)
            if needs_no_session(build):
                return DirectConnection(label, build)
            return Connection(
                label,
                lambda: Client(build, mode=LATEST_MODERN_VERSION, cache=None),
                in_process=True,
                scrubber=scrubber,
                # Through the session each tool would be serialized and validated three times over.
                listing=build.list_tools if is_plain(build) else None,
            )
        case "stdio":
            command = [fill(part, values, where=label) for part in server.command]
            environ = {name: fill(value, values, where=label) for name, value in server.environ.items()}
            errors = LastWords()
            return Connection(
                label, lambda: _stdio(command, environ, label, errors), scrubber=scrubber, errors=errors
            )
        case "http":
            url = fill(server.url, values, where=label)
            headers = {name: fill(value, values, where=label) for name, value in server.headers.items()}
            return Connection(label, lambda: http_client(url, headers), scrubber=scrubber, http=True)
        case "container":
            return Connection(
                label,
                lambda: _container(server, values, label, containers, scrubber),
                scrubber=scrubber,
                http=True,
            )
    raise AssertionError(server.kind)


def _built(server: Server, context: ServerContext, label: str, watch: DatabaseWatch) -> Any:
    with no_logging_setup():
        if server.build is None:
            made: Any = functions_server(server.functions_, context)
        else:
            try:
                made = server.build(context)
            except Exception as error:
                watch.saw(error)
                if watch.dead is not None:
                    raise InfrastructureDown(f"{label}: the database died: {watch.dead}") from error
                raise ConfigurationError(f"{label}: its build function raised {error!r}") from error
    if isinstance(made, MCPServer):
        if made in _taken:
            raise ConfigurationError(
                f"{label}: its build function returned a server that another attempt had; "
                "it must make a new one each time"
            )
        _taken.add(made)
    if isinstance(made, MCPServer | FunctionTools):
        _observe(made, watch)
    elif not isinstance(made, LowLevelServer):
        raise ConfigurationError(
            f"{label}: its build function returned {made!r}; it must return an mcp.server.MCPServer or Server"
        )
    return made


_taken: WeakSet[MCPServer[Any]] = WeakSet()
"""What attempts have put wrappers around: layers of hundreds of attempts would exceed the depth of Python's stack."""


def _observe(server: MCPServer[Any] | FunctionTools, watch: DatabaseWatch) -> None:
    """See what tools raise before the SDK replaces it by a text without detail."""
    call_tool = server.call_tool

    async def observed(*args: Any, **kwargs: Any) -> Any:
        try:
            return await call_tool(*args, **kwargs)
        except BaseException as error:
            watch.saw(error)
            if isinstance(error, Exception) or not is_exit(error):
                raise
            raise UnexpectedToolError(
                f"Error executing tool {args[0] if args else kwargs['name']}"
            ) from error

    server.call_tool = observed  # type: ignore[method-assign]


@asynccontextmanager
async def _stdio(
    command: list[str], environ: Mapping[str, str], label: str, errors: LastWords
) -> AsyncIterator[Client]:
    transport = stdio_transport(command, environ=environ, errors=errors)
    try:
        async with AsyncExitStack() as stack:
            async with start_slot():
                client = await stack.enter_async_context(Client(transport, cache=None))
            yield client
    except FileNotFoundError as error:
        raise ConfigurationError(f"{label}: there is no program {command[0]!r}") from error
    except PermissionError as error:
        raise ConfigurationError(f"{label}: {command[0]!r} may not be executed") from error


@asynccontextmanager
async def _container(
    server: Server,
    values: Mapping[str, str | None],
    label: str,
    containers: Containers,
    scrubber: Scrubber,
) -> AsyncIterator[Client]:
    require_docker()
    from pytest_thinkingbox.tools.serving import serve

    try:
        async with (
            serve(server, values, containers, label=label) as reached,
            http_client(reached.url, reached.headers) as client,
        ):
            yield client
    except (ConfigurationError, InfrastructureDown) as error:
        raise type(error)(scrubber.result(str(error))) from error  # it may say what the container said


@cache
def _tls() -> ssl.SSLContext:
    """Reading the certificates is most of the cost of an HTTP client; each attempt has a client of its own."""
    return httpx2.create_ssl_context()


@asynccontextmanager
async def http_client(url: str, headers: Mapping[str, str]) -> AsyncIterator[Client]:
    """A session over streamable HTTP, with a connection of its own."""
    timeout = httpx2.Timeout(30.0, read=None)  # how long a call may take is the toolbox's to say
    async with httpx2.AsyncClient(headers=dict(headers), timeout=timeout, verify=_tls()) as http:
        transport = streamable_http_client(url, http_client=http, max_sse_event_size=None)
        async with Client(transport, cache=None) as client:
            yield client

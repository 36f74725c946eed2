"""One MCP session with one server of an environment, opened and closed by a task of its own."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from typing import IO, Any, Literal
from weakref import WeakKeyDictionary

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server as LowLevelServer
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import Tool

from pytest_thinkingbox.declare import Server, ServerContext
from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.tools.failures import DatabaseWatch
from pytest_thinkingbox.tools.functions import functions_server
from pytest_thinkingbox.tools.placeholders import fill
from pytest_thinkingbox.tools.scrub import Scrubber

START_SECONDS = 60.0
"""How long a server may take from its start to its list of tools."""
_CLOSE_SECONDS = 15.0  # stdio takes up to 6: end of input, SIGTERM, SIGKILL
_LONGEST_LISTING = 100  # pages
_STDERR_TAIL = 2000


class Connection:
    """The session with one server. `open` and `close` may be called from any task."""

    def __init__(
        self,
        label: str,
        connect: Callable[[], AbstractAsyncContextManager[Client]],
        *,
        kind: Literal["in_process", "functions", "stdio", "http"],
    ) -> None:
        self.label = label
        self.in_process = kind in ("in_process", "functions")
        self.http = kind == "http"
        self.tools: list[Tool] = []
        self.client: Client | None = None
        self._connect = connect
        self._closing = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Cancel scopes belong to the task that made them: this one opens the client and closes it.
        self._task = asyncio.create_task(self._run(), name=f"mcp {label}")

    async def opened(self) -> None:
        """Return once the tools are listed."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await asyncio.shield(self._ready)
        except TimeoutError:
            raise InfrastructureDown(
                f"{self.label} did not list its tools within {START_SECONDS:g} s"
            ) from None

    async def close(self) -> None:
        """Close the session and, where there is one, the process. Returns when both are gone."""
        self._closing.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
        if not self._task.done():
            raise InfrastructureDown(f"{self.label} did not close within {_CLOSE_SECONDS:g} s")
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()  # seen, also when nobody waited for it any more
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            raise InfrastructureDown(f"{self.label} failed while it was closed: {_named(error)}") from error

    @property
    def lost(self) -> bool:
        """Whether the session ended by itself."""
        return self._task.done()

    async def _run(self) -> None:
        try:
            async with self._connect() as client:
                self.tools = await _listed(client)
                self.client = client
                if not self._ready.done():
                    self._ready.set_result(None)
                await self._closing.wait()
        except asyncio.CancelledError:
            self._ready.cancel()
            raise
        except Exception as error:
            if self._ready.done():
                if not self._closing.is_set():
                    return  # whoever calls next is told that the connection is lost
                raise
            self._ready.set_exception(_start_failed(self.label, error))


async def _listed(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_LONGEST_LISTING):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tools
    raise ConfigurationError(f"its list of tools has more than {_LONGEST_LISTING} pages")


def _start_failed(label: str, error: Exception) -> Exception:
    inner = _innermost(error)
    if isinstance(inner, ConfigurationError | InfrastructureDown):
        return inner
    failure = InfrastructureDown(f"{label} did not start: {_named(inner)}")
    failure.__cause__ = inner
    return failure


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _named(error: BaseException) -> str:
    inner = _innermost(error)
    return f"{type(inner).__name__}: {inner}"


def connect(
    server: Server,
    context: ServerContext,
    *,
    label: str,
    values: Mapping[str, str | None],
    watch: DatabaseWatch,
    scrubber: Scrubber,
) -> Connection:
    """Begin to open one attempt's session with this server.

    Raises ConfigurationError for wrong placeholders and for a build function that fails.
    """
    match server.kind:
        case "in_process" | "functions":
            build = _built(server, context, label, watch)
            return Connection(label, lambda: Client(build, cache=None), kind=server.kind)
        case "stdio":
            command = [fill(part, values, where=label) for part in server.command]
            environ = {name: fill(value, values, where=label) for name, value in server.environ.items()}
            return Connection(label, lambda: _stdio(command, environ, label, scrubber), kind="stdio")
        case "http":
            url = fill(server.url, values, where=label)
            headers = {name: fill(value, values, where=label) for name, value in server.headers.items()}
            return Connection(label, lambda: _http(url, headers), kind="http")
    raise AssertionError(server.kind)


def _built(server: Server, context: ServerContext, label: str, watch: DatabaseWatch) -> Any:
    if server.kind == "functions":
        with _no_logging_setup():
            made: Any = functions_server(server.functions_, context)
    else:
        assert server.build is not None
        with _no_logging_setup():
            made = server.build(context)
    if isinstance(made, MCPServer):
        _observe(made, watch)
    elif not isinstance(made, LowLevelServer):
        raise ConfigurationError(
            f"{label}: its build function returned {made!r}; it must return an mcp.server.MCPServer or Server"
        )
    return made


def _observe(server: MCPServer[Any], watch: DatabaseWatch) -> None:
    """See what tools raise before the SDK replaces it by a text without detail."""
    call_tool = server.call_tool

    async def observed(*args: Any, **kwargs: Any) -> Any:
        try:
            return await call_tool(*args, **kwargs)
        except Exception as error:
            watch.saw(error)
            raise

    server.call_tool = observed  # type: ignore[method-assign]


class _no_logging_setup:
    """An MCPServer calls `logging.basicConfig`, which does nothing while the root logger has a handler."""

    def __enter__(self) -> None:
        self._handler = logging.NullHandler()
        logging.getLogger().addHandler(self._handler)

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self._handler)


_starts: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def _start_slot() -> asyncio.Semaphore:
    """Starting a server is work for a CPU: more at once than there are CPUs makes all of them late."""
    return _starts.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(max(2, os.cpu_count() or 2)))


@asynccontextmanager
async def _stdio(
    command: list[str], environ: Mapping[str, str], label: str, scrubber: Scrubber
) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(environ))
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        slot = _start_slot()
        await slot.acquire()
        waiting = True
        try:
            async with Client(stdio_client(parameters, errlog=log), cache=None) as client:
                slot.release()
                waiting = False
                yield client
        except FileNotFoundError as error:
            raise ConfigurationError(f"{label}: there is no program {command[0]!r}") from error
        except PermissionError as error:
            raise ConfigurationError(f"{label}: {command[0]!r} may not be executed") from error
        except MCPError as error:
            said = scrubber.result(_tail(log))
            raise InfrastructureDown(f"{label}: {error}" + (f"; it said: {said}" if said else "")) from error
        finally:
            if waiting:
                slot.release()


def _tail(log: IO[str]) -> str:
    log.seek(0, os.SEEK_END)
    log.seek(max(0, log.tell() - _STDERR_TAIL))
    return log.read().strip()


@cache
def _tls() -> ssl.SSLContext:
    """Reading the certificates is most of the cost of an HTTP client; the clients are the attempts' own."""
    return httpx2.create_ssl_context()


@asynccontextmanager
async def _http(url: str, headers: Mapping[str, str]) -> AsyncIterator[Client]:
    timeout = httpx2.Timeout(30.0, read=None)  # how long a call may take is the toolbox's to say
    async with httpx2.AsyncClient(headers=dict(headers), timeout=timeout, verify=_tls()) as http:
        transport = streamable_http_client(url, http_client=http, max_sse_event_size=None)
        async with Client(transport, cache=None) as client:
            yield client

"""One MCP session, opened and closed by a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from mcp import Client
from mcp_types import Tool

from pytest_thinkingbox.errors import ConfigurationError, InfrastructureDown
from pytest_thinkingbox.tools.processes import LastWords
from pytest_thinkingbox.tools.scrub import Scrubber

START_SECONDS = 60.0
"""How long a server may take from its start to its list of tools."""
_CLOSE_SECONDS = 15.0
_LONGEST_LISTING = 100  # pages


class Connection:
    """The session with one server. `opened` and `close` may be called from any task.

    `in_process` says that tools run in this process, `http` that they are reached over HTTP. `errors` holds what
    the server's program writes to standard error; it is closed with the session. `listing` is a shorter way to its
    tools than through the session. `checked` results are compared with the schemas of the server's own listing.
    """

    busy = False
    closed = False

    def __init__(
        self,
        label: str,
        connect: Callable[[], AbstractAsyncContextManager[Client]],
        *,
        scrubber: Scrubber,
        in_process: bool = False,
        http: bool = False,
        checked: bool = True,
        errors: LastWords | None = None,
        listing: Callable[[], Awaitable[list[Tool]]] | None = None,
    ) -> None:
        self.label = label
        self.in_process = in_process
        self.http = http
        self.checked = checked and not in_process
        self.tools: list[Tool] = []
        self.client: Client | None = None
        self._connect = connect
        self._scrubber = scrubber
        self._errors = errors
        self._listing = listing
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
                f"{self.label} did not list its tools within {START_SECONDS:g} s{self.last_words()}"
            ) from None

    async def close(self) -> None:
        """Close the session and, where there is one, the process. Returns when both are gone."""
        self._closing.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
        if not self._task.done():
            raise InfrastructureDown(f"{self.label} did not close within {_CLOSE_SECONDS:g} s")
        if self._errors is not None:
            self._errors.close()
        if not self._ready.cancelled():
            self._ready.exception()  # seen, also when nobody waited for it any more
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            raise InfrastructureDown(f"{self.label} failed while it was closed: {_named(error)}") from error

    def can_be_left(self, tool: Tool) -> bool:
        """Whether a call ends as soon as it is cancelled, whatever the tool does."""
        return not self.in_process

    @property
    def lost(self) -> bool:
        """Whether the session ended by itself."""
        return self._task.done()

    def last_words(self) -> str:
        """What the server's program wrote last to standard error, as the end of a message; "" without any."""
        words = "" if self._errors is None else self._scrubber.result(self._errors.tail())
        return f"; it said: {words}" if words else ""

    async def _run(self) -> None:
        try:
            async with self._connect() as client:
                self.tools = await (self._listing() if self._listing else _listed(client, self.label))
                self.client = client
                self._ready.set_result(None)
                await self._closing.wait()
        except asyncio.CancelledError:
            self._ready.cancel()
            raise
        except Exception as error:
            if not self._ready.done():
                self._ready.set_exception(self._start_failed(error))
            elif self._closing.is_set():
                raise
            # Otherwise the session is lost; whoever calls next is told.

    def _start_failed(self, error: Exception) -> Exception:
        inner = _innermost(error)
        if isinstance(inner, ConfigurationError | InfrastructureDown):
            return inner
        failure = InfrastructureDown(f"{self.label} did not start: {_named(inner)}{self.last_words()}")
        failure.__cause__ = inner
        return failure


async def _listed(client: Client, label: str) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(_LONGEST_LISTING):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tools
    raise ConfigurationError(f"{label}: its list of tools has more than {_LONGEST_LISTING} pages")


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _named(error: BaseException) -> str:
    inner = _innermost(error)
    return f"{type(inner).__name__}: {inner}"

"""The servers of a dataset: programs in an interpreter of their own, one for each attempt, warm before it begins."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp import Client
from mcp_types import Tool
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pytest_thinkingbox.compat.files import BrokenDataset, ServerFile, ServersFile, read
from pytest_thinkingbox.compat.prefork import NotForked, Prefork
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.tools.connect import http_client
from pytest_thinkingbox.tools.connection import Connection
from pytest_thinkingbox.tools.processes import LastWords
from pytest_thinkingbox.tools.scrub import Scrubber
from pytest_thinkingbox.tools.stdio import stdio_transport

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_SECRETS = re.compile(r"(OPENAI|ANTHROPIC|THINKINGBOX_\w+)_API_KEY")
"""Variables that are this package's own and no server's."""


class Servers:
    """Those that one `servers.yaml` names, for all attempts of one process. `python` stands for `{python}` there.

    A module that can be imported ahead is: attempts then get copies of the process that did. Of other programs the
    next one starts while an attempt plays. Close it in the event loop that it was used in.
    """

    def __init__(self, path: Path, *, python: str, data: Path) -> None:
        self.path = path
        self.begun: set[str] = set()  # the names of those that have begun an attempt
        self._python = python
        self._data = data
        self._files: Mapping[str, ServerFile] | None = None
        self._programs: dict[str, _Program] = {}

    def __repr__(self) -> str:
        return f"Servers({str(self.path)!r})"

    def file(self, name: str) -> ServerFile:
        """Raises BrokenDataset when there is no such server, or one that cannot be reached from here."""
        if self._files is None:
            self._files = read(ServersFile, self.path).servers
        found = self._files.get(name)
        if found is None:
            known = ", ".join(self._files) or "none"
            raise BrokenDataset(f"{self.path}: no server {name!r}; there are: {known}")
        if found.type == "mcp-process" and not found.command:
            raise BrokenDataset(f"{self.path}: servers.{name}.command is missing")
        if found.type == "mcp-remote" and not found.endpoint:
            raise BrokenDataset(f"{self.path}: servers.{name}.endpoint is missing")
        if found.transport == "sse" or found.credential is not None:
            what = "transport" if found.transport == "sse" else "credential"
            raise BrokenDataset(
                f"{self.path}: servers.{name}.{what}: only streamable HTTP without one is supported"
            )
        return found

    async def connect(self, name: str, *, scrubber: Scrubber) -> Connection:
        """Begin to open a session with a server of this attempt's own."""
        if name not in self._programs:
            file = self.file(name)
            self._programs[name] = _Program(
                name,
                file,
                command=[self._filled(name, part) for part in file.command],
                environ=self._environ(file),
            )
        return await self._programs[name].connect(scrubber=scrubber)

    def opened(self, name: str, connection: Connection) -> None:
        """Every copy of a program has the same tools: they are asked for once."""
        if self.file(name).type == "mcp-process":
            self._programs[name].tools = connection.tools

    async def aclose(self) -> None:
        await asyncio.gather(*(one.close() for one in self._programs.values()))
        self._programs.clear()

    def _filled(self, name: str, part: str) -> str:
        try:
            return part.format(python=self._python, env=os.environ)
        except (LookupError, ValueError, AttributeError) as error:
            raise BrokenDataset(
                f"{self.path}: servers.{name}.command: {part!r}: {error!r}; there are {{python}} and {{env[NAME]}}"
            ) from None

    def _environ(self, file: ServerFile) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not _SECRETS.fullmatch(name)}
        return {"THINKINGBOX_DATA": str(self._data), "FASTMCP_LOG_LEVEL": "WARNING", **own, **file.env}


class _Program:
    """One server's way from its command to the sessions of attempts."""

    def __init__(
        self, name: str, file: ServerFile, *, command: list[str], environ: Mapping[str, str]
    ) -> None:
        self._name = name
        self._file = file
        self._command = command
        self._environ = environ
        self.tools: list[Tool] | None = None
        self._mode: Any = "auto"
        self._prefork: Prefork | None = None
        self._spare: Connection | None = None
        self._decided = False
        self._deciding = asyncio.Lock()

    async def connect(self, *, scrubber: Scrubber) -> Connection:
        if self._file.type == "mcp-remote":
            return self._remote(scrubber)
        async with self._deciding:
            if self._prefork is not None and self._prefork.lost:
                await self._prefork.close()
                self._decided = False
            if not self._decided:
                await self._decide()
        if self._prefork is not None:
            return self._connection(scrubber)
        ready, self._spare = self._spare or self._connection(scrubber), self._connection(scrubber)
        return ready

    async def close(self) -> None:
        if self._spare is not None:
            await self._spare.close()
        if self._prefork is not None:
            await self._prefork.close()

    async def _decide(self) -> None:
        try:
            self._prefork = await Prefork.start(self._command, environ=self._environ, cwd=self._file.cwd)
        except NotForked:
            self._prefork = None  # what is wrong with it, its own start will say
        self._decided = True

    def _remote(self, scrubber: Scrubber) -> Connection:
        file = self._file
        return Connection(
            f"server {self._name} ({_shown(file.endpoint)})",
            lambda: http_client(file.endpoint, file.headers),
            scrubber=scrubber,
            http=True,
        )

    def _connection(self, scrubber: Scrubber) -> Connection:
        errors = LastWords()
        listed = self.tools
        return Connection(
            f"server {self._name}",
            lambda: self._session(errors),
            scrubber=scrubber,
            checked=False,
            errors=errors,
            listing=None if listed is None else lambda: _known(listed),
        )

    @asynccontextmanager
    async def _session(self, errors: LastWords) -> AsyncIterator[Client]:
        try:
            async with Client(self._transport(errors), mode=self._mode, cache=None) as client:
                modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
                self._mode = client.protocol_version if modern else "legacy"  # known from now on
                yield client
        except FileNotFoundError as error:
            raise ConfigurationError(
                f"server {self._name}: there is no program {self._command[0]!r}; --tb-servers-python names the Python "
                "that the servers are installed in"
            ) from error
        except PermissionError as error:
            raise ConfigurationError(
                f"server {self._name}: {self._command[0]!r} may not be executed"
            ) from error

    def _transport(self, errors: LastWords) -> AbstractAsyncContextManager[TransportStreams]:
        if self._prefork is not None:
            return self._prefork.copy(errors)
        folder = None if self._file.cwd is None else Path(self._file.cwd)
        return stdio_transport(self._command, environ=self._environ, errors=errors, folder=folder)


def _shown(endpoint: str) -> str:
    """Without what may be a secret in it."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


async def _known(tools: list[Tool]) -> list[Tool]:
    return tools

"""MCP over the standard input and output of a program that leaves no process behind.

The SDK's own transport leaves children of a server that ended by itself, and does not tell what the server wrote
to standard error.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from pytest_thinkingbox.tools.processes import LastWords, end_program, start_program

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams

_CHUNK = 256 * 1024
_PATIENCE = 2.0  # seconds for a server to end after its input has

_starts: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


def start_slot() -> asyncio.Semaphore:
    """Starting a server is work for a CPU: more at once than there are CPUs makes all of them late."""
    return _starts.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(max(2, os.cpu_count() or 2)))


@asynccontextmanager
async def stdio_transport(
    command: Sequence[str], *, environ: Mapping[str, str], errors: LastWords, folder: Path | None = None
) -> AsyncIterator[TransportStreams]:
    """Start the program with the few variables that the SDK passes on, and `environ`; end it and its group."""
    process = await start_program(
        command, environ={**get_default_environment(), **environ}, errors=errors, folder=folder
    )
    assert process.stdout is not None
    assert process.stdin is not None
    async with lines_transport(
        process.stdout, process.stdin, end=lambda: end_program(process, patience=_PATIENCE)
    ) as streams:
        yield streams


@asynccontextmanager
async def lines_transport(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, end: Callable[[], Awaitable[None]]
) -> AsyncIterator[TransportStreams]:
    """One message a line, both ways. `end` ends whoever is on the other side, and is waited for."""
    to_session, from_program = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_program, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, reader, to_session)
        tasks.start_soon(_write, writer, from_session, to_session)
        try:
            yield from_program, to_program
        finally:
            with anyio.CancelScope(shield=True):
                await end()
            tasks.cancel_scope.cancel()
            for stream in (to_session, from_program, to_program, from_session):
                stream.close()


async def _read(
    reader: asyncio.StreamReader, to_session: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    """One message a line. The end of the program's output ends the session."""
    line: list[bytes] = []
    async with to_session:
        while chunk := await reader.read(_CHUNK):
            head, *rest = chunk.split(b"\n")
            line.append(head)
            for one in rest:
                await _deliver(b"".join(line), to_session)
                line = [one]


async def _deliver(line: bytes, to_session: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    if not line.strip():
        return
    try:
        message: SessionMessage | Exception = SessionMessage(
            jsonrpc_message_adapter.validate_json(line, by_name=False)
        )
    except ValueError as error:  # a server that prints: the session goes on
        message = error
    try:
        await to_session.send(message)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return  # the session is over; the program may talk on until it ends


async def _write(
    writer: asyncio.StreamWriter,
    from_session: MemoryObjectReceiveStream[SessionMessage],
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    try:
        async for message in from_session:
            writer.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await writer.drain()
    except (ConnectionError, OSError):
        to_session.close()  # a server that reads no more cannot answer: whoever waits is told

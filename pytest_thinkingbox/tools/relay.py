"""From containers to the loopback interface of this machine, where databases, sinks and endpoints listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_CHUNK = 1 << 16


@asynccontextmanager
async def open_relay(listen: str, *, host: str, port: int) -> AsyncIterator[int]:
    """A port of the address `listen` whose connections lead to `host` and `port`; when it closes, they are cut.

    Raises OSError when this machine has no such address.
    """
    writers: set[asyncio.StreamWriter] = set()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        try:
            back, forth = await asyncio.open_connection(host, port)
            writers.add(forth)
            try:
                await asyncio.gather(_pass(reader, forth), _pass(back, writer))
            finally:
                writers.discard(forth)
                forth.transport.abort()
        except OSError:
            return  # nobody listens there: the one who asked sees its connection end
        finally:
            writers.discard(writer)
            writer.transport.abort()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, listen, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        if tasks:
            await asyncio.wait(tasks)


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Everything that comes, then its end: either side may go on alone."""
    with suppress(ConnectionError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
    if not target.transport.is_closing():
        with suppress(OSError):
            target.write_eof()

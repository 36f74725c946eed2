"""Copies of a server program that has imported everything already: each attempt gets a process of its own for the price
of a fork."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.errors import InfrastructureDown
from pytest_thinkingbox.tools.processes import LastWords, end_program
from pytest_thinkingbox.tools.stdio import lines_transport, start_slot

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_SCRIPT = Path(__file__).with_name("zygote.py")
_START_SECONDS = 60.0
_FORK_SECONDS = 60.0


class NotForked(Exception):
    """This program cannot be copied once it has imported its modules; it says why."""


class Prefork:
    """One program, `PYTHON -m MODULE ...`, that waits to be copied. Open it, or get NotForked."""

    def __init__(
        self, process: asyncio.subprocess.Process, control: socket.socket, errors: LastWords
    ) -> None:
        self._process = process
        self._control = control
        self._errors = errors
        self._one = asyncio.Lock()
        self._exchanges: set[asyncio.Task[dict[str, Any]]] = set()
        self.lost = False  # it does not answer any more; whoever needs a copy starts another

    @classmethod
    async def start(cls, command: Sequence[str], *, environ: Mapping[str, str], cwd: str | None) -> Prefork:
        """Import the program's modules. Raises NotForked for one that is no such command, or that starts threads."""
        if len(command) < 3 or command[1] != "-m" or not hasattr(os, "fork"):
            raise NotForked("only `PYTHON -m MODULE` can be copied")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        errors = LastWords()
        made: Prefork | None = None
        try:
            async with start_slot():
                process = await asyncio.create_subprocess_exec(
                    command[0],
                    str(_SCRIPT),
                    str(theirs.fileno()),
                    *command[2:],
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=errors.fileno(),
                    stderr=errors.fileno(),
                    env=dict(environ),
                    cwd=cwd,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
                made = cls(process, ours, errors)
                theirs.close()
                async with asyncio.timeout(_START_SECONDS):
                    said = await made._receive()
        except BaseException as error:
            theirs.close()
            words = errors.tail()
            if made is not None:
                await made.close()
            else:
                ours.close()
                errors.close()
            if isinstance(error, OSError | TimeoutError | InfrastructureDown):
                raise NotForked(f"{type(error).__name__}: {error}; it said: {words}") from error
            raise
        if not said["ready"]:
            await made.close()
            raise NotForked(said["why"])
        return made

    @asynccontextmanager
    async def copy(self, errors: LastWords) -> AsyncIterator[TransportStreams]:
        """A copy for one attempt, as the transport of a session. It is killed at the end, with all that it started."""
        ours, theirs = socket.socketpair()
        started = self._ask({"start": True}, files=[theirs.fileno(), errors.fileno()])
        theirs.close()
        try:
            pid = (await asyncio.shield(started))["pid"]
        except BaseException:
            ours.close()
            started.add_done_callback(self._abandon)
            raise
        ours.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=ours, limit=2**20)

        async def end() -> None:
            writer.close()
            with suppress(InfrastructureDown):  # it is gone, and its copies with it
                await asyncio.shield(self._ask({"end": pid}))

        async with lines_transport(reader, writer, end=end) as streams:
            yield streams

    async def close(self) -> None:
        """End it, and every copy that is left."""
        if self._exchanges:
            await asyncio.wait(self._exchanges, timeout=1.0)
        self._control.close()
        await end_program(self._process, patience=1.0)
        self._errors.close()

    def _ask(self, request: Mapping[str, Any], *, files: Sequence[int] = ()) -> asyncio.Task[dict[str, Any]]:
        """One request and its answer, to the end whatever becomes of who asked: answers must not be mixed up."""
        task = asyncio.create_task(self._exchange(request, [os.dup(one) for one in files]))
        self._exchanges.add(task)
        task.add_done_callback(self._exchanges.discard)
        return task

    async def _exchange(self, request: Mapping[str, Any], files: list[int]) -> dict[str, Any]:
        try:
            async with self._one:
                async with asyncio.timeout(_FORK_SECONDS):
                    socket.send_fds(self._control, [json.dumps(request).encode()], files)
                    return await self._receive()
        except (OSError, TimeoutError, InfrastructureDown) as error:
            self.lost = True
            self._control.close()  # a late answer would be taken for the next one
            raise InfrastructureDown(
                f"the server program that is copied for attempts does not answer: {error!r}; it said: "
                f"{self._errors.tail()}"
            ) from error
        finally:
            for one in files:
                os.close(one)

    def _abandon(self, started: asyncio.Task[dict[str, Any]]) -> None:
        """End a copy that nobody waited for."""
        if not started.cancelled() and started.exception() is None:
            self._ask({"end": started.result()["pid"]}).add_done_callback(_seen)

    async def _receive(self) -> dict[str, Any]:
        data = await asyncio.get_running_loop().sock_recv(self._control, 65536)
        if not data:
            raise InfrastructureDown("the server program ended")
        message: dict[str, Any] = json.loads(data)
        return message


def _seen(task: asyncio.Task[dict[str, Any]]) -> None:
    if not task.cancelled():
        task.exception()  # the program is gone, and its copies with it

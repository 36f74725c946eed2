"""Programs that an attempt starts, each in a process group of its own, and their certain end."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_POLL = 0.005  # seconds
_DYING = 0.2  # seconds for what it started to be gone as well
_KILLED = 2.0  # seconds until a killed process must be gone, unless it hangs in the kernel


async def start_program(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    errors: LastWords,
    folder: Path | None = None,
) -> asyncio.subprocess.Process:
    """Start it with pipes for input and output; what it writes to standard error goes to `errors`.

    Raises OSError when there is no such program or it may not be executed.
    """
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=errors.fileno(),
        env=dict(environ),
        cwd=folder,
        start_new_session=True,
    )


async def end_program(process: asyncio.subprocess.Process, *, patience: float, grace: float = 1.0) -> None:
    """Close its input, give it `patience` seconds to end by itself and `grace` after SIGTERM, then kill.

    Whatever it started and left behind in its group is killed in any case.
    """
    if process.stdin is not None:
        process.stdin.close()
    if not await _exited(process, patience) and sys.platform != "win32":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        await _exited(process, grace)
    kill_group(process)
    await _exited(process, _KILLED)
    await _group_gone(process)
    # Closes the pipes: a process that left the group may still hold their other ends.
    process._transport.close()  # type: ignore[attr-defined]
    await asyncio.sleep(0)


def kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill the program and all that it started and that stayed in its group, at once."""
    # Also when the leader has ended: members that it left keep its number from being given to others.
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


async def _group_gone(process: asyncio.subprocess.Process) -> None:
    """Wait a moment for the killed to die. Where nobody takes away dead orphans, they still count: do not wait long."""
    if sys.platform == "win32":
        return
    deadline = time.monotonic() + _DYING
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            await asyncio.sleep(_POLL)


async def exit_status(process: asyncio.subprocess.Process) -> int:
    """Wait for its end; negative is the number of the signal that ended it."""
    await _exited(process, math.inf)
    assert process.returncode is not None
    return process.returncode


async def _exited(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether it ended in time. `process.wait()` would wait for whoever inherited its pipes as well."""
    deadline = time.monotonic() + seconds
    while process.returncode is None:
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(_POLL)
    return True


class LastWords:
    """What a program writes to standard error, in a file: no pipe that could fill up and block it."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `close`)

    def fileno(self) -> int:
        return self._file.fileno()

    def tail(self, size: int = 2000) -> str:
        """The last bytes of it as text. The program may be writing on: the file's position is not touched."""
        end = self.size()
        return os.pread(self.fileno(), size, max(0, end - size)).decode("utf-8", "replace").strip()

    def size(self) -> int:
        """Bytes written so far."""
        return os.fstat(self.fileno()).st_size

    def close(self) -> None:
        self._file.close()

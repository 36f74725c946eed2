"""The agent that is a program: `command:PROGRAM ARGS...`."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from pytest_thinkingbox.agents.base import AgentTask, Stop
from pytest_thinkingbox.agents.watched import Watch
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown
from pytest_thinkingbox.tools.endpoint import Endpoint, open_endpoint
from pytest_thinkingbox.tools.processes import LastWords, end_program, exit_status, kill_group, start_program

PROVIDER_DOWN = 75
"""Exit status (EX_TEMPFAIL) by which a program says that what it depends on is down: the attempt is invalid."""

MOST_OUTPUT = 16 * 1024 * 1024
"""Bytes that a program may write to its standard output in one attempt."""
_MOST_ERRORS = 256 * 1024 * 1024  # bytes on disk
_LONGEST_VARIABLE = 100_000  # bytes; the kernel takes no more than 128 kB in one
_PATIENCE = 2.0  # seconds to end by itself after its input has
_LOOK = 0.25  # seconds between two looks at what it writes to standard error

PASSED_ON = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM"),
    *("SYSTEMROOT", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "TEMP", "TMP"),
    *("VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
"""Variables that a program gets from this process, beside `LC_*` and those of model providers."""
PROVIDERS = (
    *("OPENAI_", "ANTHROPIC_", "AZURE_OPENAI_", "CO_API_", "COHERE_", "DEEPSEEK_", "FIREWORKS_", "GEMINI_"),
    *("GOOGLE_", "GROQ_", "HF_TOKEN", "MISTRAL_", "OLLAMA_", "OPENROUTER_", "TOGETHER_", "VERTEX_", "XAI_"),
)
"""Prefixes of variables that belong to model providers; whatever else is set here stays here."""


class CommandAgent:
    """Runs the program once for each attempt, in a process group of its own.

    It runs in the attempt's working directory, without one in a temporary folder.

    Without a simulated user it reads the prompt from standard input and writes its answer to standard output. With
    one it reads and writes lines of JSON, `{"role": "user" | "assistant", "content": "..."}`, until end of input.
    It finds the attempt's tools at `THINKINGBOX_MCP_URL` (MCP over streamable HTTP) with the bearer token
    `THINKINGBOX_MCP_TOKEN`, the policy in `THINKINGBOX_INSTRUCTIONS` (and in the file named by
    `THINKINGBOX_INSTRUCTIONS_FILE`, which also holds what is too long for a variable), the model that was asked for
    in `THINKINGBOX_MODEL` and, if the environment says `agent_database=True`, its database at
    `THINKINGBOX_DATABASE_URL`.

    Exit status 75 makes the attempt invalid (provider), any other but 0 is a crash of the agent.
    """

    def __init__(self, command: str, *, model: str | None = None) -> None:
        self.name = f"command:{command}"
        self.model = model
        self._command = _words(command)

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[CommandSession]:
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="thinkingbox-agent-", ignore_cleanup_errors=True)
            )
            errors = LastWords()
            stack.callback(errors.close)
            watch = Watch(task)
            endpoint = await stack.enter_async_context(open_endpoint(task.tools, watch.call_tool))
            session = CommandSession(
                self._command,
                environ=_environ(task, endpoint, Path(folder), self.model),
                folder=task.workdir or Path(folder),
                errors=errors,
                watch=watch,
                lines=request.user is not None,
            )
            try:
                yield session
            finally:
                await session.close()

    async def aclose(self) -> None:
        """Nothing is held between episodes."""


class CommandSession:
    def __init__(
        self,
        command: list[str],
        *,
        environ: Mapping[str, str],
        folder: Path,
        errors: LastWords,
        watch: Watch,
        lines: bool,
    ) -> None:
        self._command = command
        self._environ = environ
        self._folder = folder
        self._errors = errors
        self._watch = watch
        self._lines = lines
        self._process: asyncio.subprocess.Process | None = None
        self._output = bytearray()
        self._written = 0
        self._asked = False

    async def reply(self, message: str) -> str:
        """The program's answer to one message of the user."""
        self._watch.hear(message)
        if self._process is None or not self._lines:
            await self._start()
        self._asked = True
        answering = asyncio.create_task(self._exchange(message))
        try:
            while not answering.done():
                await asyncio.wait({answering}, timeout=_LOOK)
                if self._watch.failure is not None or self._errors.size() > _MOST_ERRORS:
                    break
                if self._process is not None and self._process.returncode is not None:
                    kill_group(self._process)  # what it left behind may hold its output open
        finally:
            answering.cancel()
            await asyncio.wait({answering})
        if self._watch.failure is not None:
            raise self._watch.failure
        if answering.cancelled():
            raise self._crashed(f"it wrote more than {_MOST_ERRORS // 2**20} MiB to standard error")
        try:
            answer = answering.result()
        except Stop:
            self._watch.write_down()
            raise
        self._watch.write_down(answer)
        self._asked = False
        return answer

    async def close(self) -> None:
        """End the program and all of its group, also while this task is being cancelled."""
        process = self._process
        if process is None:
            return
        if self._asked:  # cut off, or it broke off: it gets no time to end well
            kill_group(process)
        ending = asyncio.create_task(end_program(process, patience=_PATIENCE))
        cancelled: asyncio.CancelledError | None = None
        with anyio.CancelScope(shield=True):
            while not ending.done():
                try:
                    await asyncio.wait({ending})
                except asyncio.CancelledError as error:
                    kill_group(process)
                    cancelled = error
        if cancelled is not None:
            raise cancelled
        ending.result()

    async def _start(self) -> None:
        await self.close()
        self._output.clear()
        self._process = await start_program(
            self._command, environ=self._environ, errors=self._errors, folder=self._folder
        )

    async def _exchange(self, message: str) -> str:
        assert self._process is not None
        assert self._process.stdin is not None
        said = message if not self._lines else json.dumps({"role": "user", "content": message}) + "\n"
        # At the same time: a program may write before it has read everything.
        writing = asyncio.create_task(
            _write(self._process.stdin, said.encode("utf-8", "replace"), close=not self._lines)
        )
        try:
            return await (self._line() if self._lines else self._everything())
        finally:
            writing.cancel()
            await asyncio.wait({writing})

    async def _everything(self) -> str:
        while await self._more():
            pass
        await self._check_status()
        return self._output.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")

    async def _line(self) -> str:
        while True:
            line, newline, rest = bytes(self._output).partition(b"\n")
            if newline:
                self._output[:] = rest
                if line.strip():
                    return self._content(line)
            elif not await self._more():
                await self._check_status()
                raise self._crashed("it ended without an answer")

    def _content(self, line: bytes) -> str:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict) or message.get("role") != "assistant":
            raise self._crashed(f"it wrote a line that is no message of the assistant: {line[:200]!r}")
        content = message.get("content")
        if not isinstance(content, str):
            raise self._crashed(f"the content of its message is no string: {line[:200]!r}")
        return content

    async def _more(self) -> bool:
        """Read on; False at the end of the output."""
        assert self._process is not None
        assert self._process.stdout is not None
        chunk = await self._process.stdout.read(256 * 1024)
        self._output += chunk
        self._written += len(chunk)
        if self._written > MOST_OUTPUT:
            raise self._crashed(f"it wrote more than {MOST_OUTPUT // 2**20} MiB to standard output")
        return bool(chunk)

    async def _check_status(self) -> None:
        assert self._process is not None
        status = await exit_status(self._process)
        if status == PROVIDER_DOWN:
            raise ProviderDown(f"the program ended with status {PROVIDER_DOWN}{self._said()}")
        if status != 0:
            raise self._crashed(
                f"it ended with status {status}" if status > 0 else f"signal {-status} ended it"
            )

    def _crashed(self, what: str) -> Stop:
        return Stop("crashed", what + self._said())

    def _said(self) -> str:
        words = self._errors.tail()
        return f"; it said: {words}" if words else ""


async def _write(pipe: asyncio.StreamWriter, data: bytes, *, close: bool) -> None:
    try:
        pipe.write(data)
        await pipe.drain()
        if close:
            pipe.close()
            await pipe.wait_closed()
    except ConnectionError:
        return  # it does not read its input; it may answer all the same


def _words(command: str) -> list[str]:
    """The command as a list. Names of existing files become absolute: the program runs in another folder."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"--tb-agent=command:{command}: {error}") from error
    if not words:
        raise ConfigurationError("--tb-agent=command: names no program, for example command:python agent.py")
    program = shutil.which(words[0])
    if program is None:
        raise ConfigurationError(f"--tb-agent=command:{command}: there is no program {words[0]!r}")
    return [
        os.path.abspath(program),
        *(os.path.abspath(one) if os.path.isfile(one) else one for one in words[1:]),
    ]


def _environ(task: AgentTask, endpoint: Endpoint, folder: Path, model: str | None) -> dict[str, str]:
    given = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(("LC_", *PROVIDERS))
    }
    instructions = folder / "instructions.md"
    instructions.write_text(task.instructions, encoding="utf-8", errors="replace")
    given |= {
        "THINKINGBOX_MCP_URL": endpoint.url,
        "THINKINGBOX_MCP_TOKEN": endpoint.token,
        "THINKINGBOX_INSTRUCTIONS_FILE": str(instructions),
    }
    if (
        len(task.instructions.encode("utf-8", "replace")) < _LONGEST_VARIABLE
        and "\0" not in task.instructions
    ):
        given["THINKINGBOX_INSTRUCTIONS"] = task.instructions
    if model is not None:
        given["THINKINGBOX_MODEL"] = model
    if task.database_url is not None:
        given["THINKINGBOX_DATABASE_URL"] = task.database_url
    return given

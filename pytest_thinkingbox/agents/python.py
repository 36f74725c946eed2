"""The agent that is a Python function: `python:MODULE:FUNCTION`."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread

from pytest_thinkingbox.agents.base import AgentTask, Stop, ToolOutput, is_exit
from pytest_thinkingbox.agents.watched import Watch
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.errors import ConfigurationError, Invalid


class PythonAgent:
    """Calls `async def function(task: AgentTask) -> str` once for each message of the user.

    The message is the last one of `task.conversation.messages`. A synchronous function runs in a thread; its
    `task.call_tool` blocks and returns the output itself. What the function raises is the agent's failure
    ("crashed"), but for `Invalid`, which says that something else was down, and `Stop`.
    """

    model: str | None = None

    def __init__(self, target: str) -> None:
        self.name = f"python:{target}"
        self._function = _load(target)

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[PythonSession]:
        yield PythonSession(self._function, task)

    async def aclose(self) -> None:
        """Nothing is held between episodes."""


class PythonSession:
    def __init__(self, function: Callable[..., Any], task: AgentTask) -> None:
        self._function = function
        self._watch = Watch(task)
        self._task = task

    async def reply(self, message: str) -> str:
        """What the function returns. Messages that it appended itself stay; otherwise its calls are appended."""
        self._watch.hear(message)
        written = len(self._task.conversation.messages)
        try:
            answer = await self._called()
        except (Invalid, Stop, ConfigurationError):
            raise
        except BaseException as error:
            if not is_exit(error):
                raise
            if self._watch.failure is not None:
                raise self._watch.failure from error
            self._watch.write_down()
            raise Stop("crashed", _described(error)) from error
        if self._watch.failure is not None:
            raise self._watch.failure
        if not isinstance(answer, str):
            raise Stop("crashed", f"the agent returned {answer!r}, not a string")
        if len(self._task.conversation.messages) == written:
            self._watch.write_down(answer)
        return answer

    async def _called(self) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(replace(self._task, call_tool=self._watch.call_tool))

        def call_tool(
            name: str, arguments: Mapping[str, Any] | str, call_id: str | None = None
        ) -> ToolOutput:
            return anyio.from_thread.run(self._watch.call_tool, name, arguments, call_id)

        task = replace(self._task, call_tool=call_tool)  # type: ignore[arg-type]
        # Nobody waits for a thread whose time is up; the end of the attempt disarms what it may still do.
        return await anyio.to_thread.run_sync(self._function, task, abandon_on_cancel=True)


def _load(target: str) -> Callable[..., Any]:
    module_name, _, function_name = target.partition(":")
    if not module_name or not function_name:
        raise ConfigurationError(
            f"--tb-agent=python:{target} must be python:MODULE:FUNCTION, for example python:my_agent:run"
        )
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise ConfigurationError(
            f"--tb-agent=python:{target}: module {module_name} cannot be imported: {_described(error)}"
        ) from error
    function = vars(module).get(function_name)
    if not callable(function):
        raise ConfigurationError(
            f"--tb-agent=python:{target}: module {module_name} has no function {function_name}"
        )
    loaded: Callable[..., Any] = function
    return loaded


def _described(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"

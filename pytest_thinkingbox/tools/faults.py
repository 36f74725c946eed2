"""Calls that go wrong on purpose: the call fails before it is made, or it commits and its answer is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.declare.faults import Failure, Fault
from pytest_thinkingbox.errors import ConfigurationError

Call = Callable[[str, Mapping[str, Any] | str], Awaitable[ToolOutput]]


class FaultyTools:
    """The tools of one attempt with faults between them and the agent; called like a toolbox's `call`.

    The same seed hits the same calls. `tools` are those that there are: a call of another one goes wrong by itself.
    `seconds` is the time that a tool may take.
    """

    def __init__(
        self, call: Call, faults: Sequence[Fault], *, tools: Collection[str], seed: int, seconds: float
    ) -> None:
        self._call = call
        self._tools = frozenset(tools)
        self._faults = faults
        self._hits = [0] * len(faults)
        self._calls: dict[str, int] = {}
        self._seed = seed
        self._seconds = seconds

    def draw(self, name: str) -> Fault | None:
        """What will hit the call of this tool that is made now."""
        if name not in self._tools:
            return None
        number = self._calls[name] = self._calls.get(name, 0) + 1
        at = self._next(name, number)
        if at is None:
            return None
        self._hits[at] += 1
        return self._faults[at]

    async def play(self, name: str, arguments: Mapping[str, Any] | str, fault: Fault | None) -> ToolOutput:
        """Play a tool, or what the fault that was drawn for this call makes of it."""
        if fault is None:
            return await self._call(name, arguments)
        if fault.before is not None:
            await self._late(fault)
            return _failed(name, fault.before, fault, self._seconds)
        output = await self._call(name, arguments)
        if fault.after_commit is not None and output.error:
            self._hits[self._at(fault)] -= 1
            return output
        in_time = await self._late(fault)
        if fault.after_commit is not None:
            return _failed(name, fault.after_commit, fault, self._seconds)
        return (
            replace(output, fault=fault.words) if in_time else _failed(name, "timeout", fault, self._seconds)
        )

    def _at(self, fault: Fault) -> int:
        return next(at for at, one in enumerate(self._faults) if one is fault)

    def _next(self, name: str, number: int) -> int | None:
        """The first fault that hits this call."""
        for at, fault in enumerate(self._faults):
            if not fnmatchcase(name, fault.tool) or (
                fault.times is not None and self._hits[at] >= fault.times
            ):
                continue
            # What other tools were called has no part in it.
            if fault.rate is None or Random(f"{self._seed} {at} {name} {number}").random() < fault.rate:
                return at
        return None

    async def _late(self, fault: Fault) -> bool:
        """Whether the answer still comes in time."""
        if fault.delay:
            await asyncio.sleep(min(fault.delay, self._seconds))
        return fault.delay < self._seconds


def check_faults(faults: Iterable[Fault], tools: Iterable[str], *, where: str) -> None:
    """Raises ConfigurationError for a fault of a task that can hit no tool."""
    names = list(tools)
    for fault in faults:
        if not any(fnmatchcase(name, fault.tool) for name in names):
            raise ConfigurationError(
                f"{where}: Fault({fault.tool!r}) hits no tool; the tools are: {', '.join(names) or 'none'}"
            )


def _failed(name: str, failure: Failure, fault: Fault, seconds: float) -> ToolOutput:
    match failure:
        case "error":
            text = f"Error executing tool {name}: the service is temporarily unavailable."
        case "timeout":
            text = f"{name} did not answer within {seconds:g} s. It may have taken effect or not."
        case "disconnect":
            text = f"The connection was lost while {name} ran. It may have taken effect or not."
    return ToolOutput(text, error=True, fault=fault.words)

"""A fallible agent without a model: the reference solution with seeded slips."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from random import Random
from typing import Any

from pytest_thinkingbox.agents.base import AgentTask
from pytest_thinkingbox.agents.solution import advance, check, play, result_of, steps_of
from pytest_thinkingbox.agents.transcript import hear, say
from pytest_thinkingbox.declare.solution import Call, Say, Step
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.errors import ConfigurationError, SolutionBroke

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")


class MutantAgent:
    """Plays the solution, but each call is, with probability `rate`, dropped, played twice or played altered.

    Which call slips and how depends on the attempt's seed and the call's place only, so that an attempt
    repeats exactly. After a slip nothing is the solution's fault any more: tool errors go back into the
    solution as text, and a solution that cannot go on ends the attempt.
    """

    model: str | None = None

    def __init__(self, rate: float = 0.2) -> None:
        if not 0 <= rate <= 1:
            raise ConfigurationError(
                f"mutant:{rate} must be a probability from 0 to 1, for example mutant:0.2"
            )
        self.rate = rate
        self.name = "mutant" if rate == 0.2 else f"mutant:{rate:g}"

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[MutantSession]:
        yield MutantSession(task, steps_of(request), rate=self.rate, seed=task.seed)

    async def aclose(self) -> None:
        """Nothing is held between episodes."""


class MutantSession:
    def __init__(self, task: AgentTask, steps: Generator[Step, Any, None], *, rate: float, seed: int) -> None:
        self._task = task
        self._steps = steps
        self._rate = rate
        self._seed = seed
        self._slipped = False
        self._played: list[Call] = []
        self._final: str | None = None

    async def reply(self, message: str) -> str:
        """Play everything; later messages only get the final text again."""
        hear(self._task.conversation, message)
        if self._final is None:
            self._final = await self._play()
        say(self._task.conversation, self._final)
        return self._final

    async def _play(self) -> str:
        number, result = 0, None
        while True:
            try:
                step = advance(self._steps, result, number)
            except SolutionBroke:
                if self._slipped:
                    return ""
                raise
            if step is None:
                return ""
            number += 1
            if isinstance(step, Say):
                return step.text
            result = await self._make(step, number)

    async def _make(self, step: Call, number: int) -> Any:
        """Play one call, perhaps with a slip; what the solution is to take for its result."""
        random = Random(f"{self._seed}:{number}")
        calls = [step]
        if random.random() < self._rate:
            self._slipped = True
            calls = self._slip(step, random)
        self._played.append(step)
        result: Any = None
        for one in calls:
            output = await play(self._task, one, number)
            if output.fault and not one.fails:  # of the campaign, which the solution knows nothing of
                self._slipped = True
            if not self._slipped:
                check(one, output, number)
            result = result_of(output)
        return result

    def _slip(self, step: Call, random: Random) -> list[Call]:
        match random.choice(("drop", "repeat", "alter") if step.arguments else ("drop", "repeat")):
            case "drop":
                return []
            case "repeat":
                return [step, step]
        return [alter(step, random, played=self._played, schema=self._schema(step.tool))]

    def _schema(self, tool: str) -> Mapping[str, Any]:
        return next((one.input_schema for one in self._task.tools if one.name == tool), {})


def alter(step: Call, random: Random, *, played: list[Call], schema: Mapping[str, Any]) -> Call:
    """The call with one argument changed to another plausible value; it must have arguments."""
    name = random.choice(list(step.arguments))
    properties = schema.get("properties", {}).get(name, {})
    neighbours = [
        *properties.get("enum", ()),
        *(one.arguments[name] for one in played if name in one.arguments),
        *(value for other, value in step.arguments.items() if other != name),
    ]
    value = _other(step.arguments[name], random, neighbours)
    return Call(step.tool, {**step.arguments, name: value})


def alternatives(value: Any, neighbours: Sequence[Any]) -> list[Any]:
    """Other values of the same type, none for an empty list or object. `neighbours` may stand for a string.

    An object gets another value under one of its names, a list loses its last item.
    """
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1, value * 10 if value else value + 10]
    if isinstance(value, str):
        if _DATE.fullmatch(value):
            return _shifted(value)
        strings = [one for one in neighbours if isinstance(one, str) and one != value]
        return strings or [value[: len(value) // 2] or "?"]
    if isinstance(value, Mapping) and value:
        return [
            {**value, name: other}
            for name, item in value.items()
            for other in alternatives(item, [one for one in value.values() if one != item])
        ]
    if isinstance(value, list | tuple) and value:
        return [list(value[:-1])]
    return []


def _other(value: Any, random: Random, neighbours: list[Any]) -> Any:
    """Another value of the same type."""
    if isinstance(value, Mapping) and value:
        name = random.choice(list(value))
        return {
            **value,
            name: _other(value[name], random, [one for one in value.values() if one != value[name]]),
        }
    others = alternatives(value, neighbours)
    return random.choice(others) if others else "?"


def _shifted(value: str) -> list[str]:
    """A date or time in ISO form, some days earlier or later, in the same form."""
    try:
        first = datetime.fromisoformat(value[:10])
        return [(first + timedelta(days=days)).date().isoformat() + value[10:] for days in (-7, -1, 1, 7)]
    except (ValueError, OverflowError):
        return [value[:-1]]

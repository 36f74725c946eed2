"""The agent of a proof: plays the solution with the one difference that the plan gives its attempt."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from typing import Any

from pytest_thinkingbox.agents.base import AgentTask
from pytest_thinkingbox.agents.none import NoneSession
from pytest_thinkingbox.agents.solution import SolutionSession, advance, play, result_of, steps_of
from pytest_thinkingbox.agents.transcript import hear, say
from pytest_thinkingbox.declare.solution import Call, Say, Step
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.errors import SolutionBroke
from pytest_thinkingbox.proof.model import Mutation, Plan, TaskPlan
from pytest_thinkingbox.proof.notes import write_tools


class ProofAgent:
    """Attempt N of a task plays the Nth mutation of its plan."""

    name = "proof"
    model: str | None = None

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @asynccontextmanager
    async def open(
        self, task: AgentTask, request: EpisodeRequest
    ) -> AsyncIterator[SolutionSession | NoneSession | MutantSession]:
        plan = self._plan.of(request.task_id)
        mutation = plan.attempts[request.attempt - 1]
        if self._plan.tasks is None and request.attempt == 1:
            write_tools(self._plan.notes, request.task_id, request.environment.name, task.tools)
        if request.solution is None:  # one task that cannot be proved is no reason to prove none
            raise SolutionBroke("the task has no solution: give @task(...) solution=[call(...)]")
        match mutation.kind:
            case "solution":
                yield SolutionSession(task, steps_of(request))
            case "none":
                yield NoneSession(task)
            case _:
                yield MutantSession(task, steps_of(request), plan, mutation)

    async def aclose(self) -> None:
        """Nothing is held between episodes."""


class MutantSession:
    """Nothing that goes wrong after the difference is the solution's fault: tool errors are what an agent meets.

    A solution that uses results gets, for a call that was not made in its place or came back as an error, what
    that call returned when the solution was played: it goes on like an agent that noticed nothing.
    """

    def __init__(
        self, task: AgentTask, steps: Generator[Step, Any, None], plan: TaskPlan, mutation: Mutation
    ) -> None:
        self._task = task
        self._steps = steps
        self._plan = plan
        self._mutation = mutation
        self._final: str | None = None

    async def reply(self, message: str) -> str:
        """Play everything; later messages only get the final text again."""
        hear(self._task.conversation, message)
        if self._final is None:
            if self._mutation.kind != "claim":
                await self._play()
            self._final = self._plan.final
        say(self._task.conversation, self._final)
        return self._final

    async def _play(self) -> None:
        mutation = self._mutation
        held: Call | None = None
        if mutation.kind == "move" and mutation.at == len(self._plan.calls):
            await self._make(self._recorded(mutation.at), mutation.at)
        number, result = 0, None
        while True:
            try:
                step = advance(self._steps, result, number)
            except SolutionBroke:  # it cannot go on with what it was given
                break
            if step is None or isinstance(step, Say):
                break
            number += 1
            calls = [step]
            if number == mutation.at:
                calls = self._changed(step)
                held = step if mutation.kind in ("swap", "move") else None
            elif mutation.kind == "swap" and number == mutation.other:
                calls = [held] if held is not None else []
            result = self._known_result(number)
            for one in calls:
                made, failed = await self._make(one, number)
                if one is step and not failed:
                    result = made
        if mutation.kind == "move" and held is not None and mutation.at != len(self._plan.calls):
            await self._make(held, number + 1)
        if mutation.kind == "extra":
            await self._make(Call(mutation.tool, mutation.arguments), number + 1)

    def _changed(self, step: Call) -> list[Call]:
        """What is made in the place of the call that the mutation is about."""
        mutation = self._mutation
        match mutation.kind:
            case "drop" | "move":
                return []
            case "repeat":
                return [step, step]
            case "alter":
                return [Call(step.tool, {**step.arguments, mutation.argument: mutation.value})]
            case "omit":
                kept = {name: value for name, value in step.arguments.items() if name != mutation.argument}
                return [Call(step.tool, kept)]
            case "swap":
                return [self._recorded(mutation.other)]
        return [step]

    def _recorded(self, number: int) -> Call:
        call = self._plan.calls[number - 1]
        return Call(call.tool, call.arguments)

    def _known_result(self, number: int) -> Any:
        if number > len(self._plan.calls):  # the solution took another way after the difference
            return None
        text = self._plan.calls[number - 1].result
        try:
            return json.loads(text)
        except ValueError:
            return text

    async def _make(self, step: Call, number: int) -> tuple[Any, bool]:
        output = await play(self._task, step, number)
        return result_of(output), output.error

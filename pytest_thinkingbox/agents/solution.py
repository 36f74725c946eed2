"""The agent that plays a task's reference solution; it proves that a task can be passed."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pytest_thinkingbox.agents.base import AgentTask, ToolOutput
from pytest_thinkingbox.agents.transcript import hear, say, transcribe
from pytest_thinkingbox.declare.solution import Call, Say, Step
from pytest_thinkingbox.episodes.model import EpisodeRequest
from pytest_thinkingbox.errors import ConfigurationError, SolutionBroke


class SolutionAgent:
    """Plays `request.solution` to its end on the first message and says its final text.

    Whatever goes wrong is the task's fault and raises `SolutionBroke`: a solution that raises, has no step,
    or gets an error from a tool.
    """

    name = "solution"
    model: str | None = None

    @asynccontextmanager
    async def open(self, task: AgentTask, request: EpisodeRequest) -> AsyncIterator[SolutionSession]:
        yield SolutionSession(task, steps_of(request))

    async def aclose(self) -> None:
        """Nothing is held between episodes."""


class SolutionSession:
    def __init__(self, task: AgentTask, steps: Generator[Step, Any, None]) -> None:
        self._task = task
        self._steps = steps
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
        while (step := advance(self._steps, result, number)) is not None:
            number += 1
            if isinstance(step, Say):
                if advance(self._steps, None, number) is not None:
                    raise SolutionBroke(f"solution step {number}: call.say() must be the last step")
                return step.text
            output = await play(self._task, step, number)
            check(step, output, number)
            result = result_of(output)
        if number == 0:
            raise SolutionBroke("the solution has no step: it neither calls a tool nor says anything")
        return ""


def steps_of(request: EpisodeRequest) -> Generator[Step, Any, None]:
    """The solution as a generator, whatever its form, called with the test's parameters that it names.

    Raises ConfigurationError when the task has none, SolutionBroke when it cannot be called.
    """
    solution = request.solution
    if solution is None:
        raise ConfigurationError(
            f"{request.task_id} has no solution: give @task(...) solution=[call(...)] or use another agent"
        )
    if not callable(solution):
        return _listed(solution)
    made = _called(solution, request.parameters)
    if isinstance(made, Generator):
        return made
    if isinstance(made, list | tuple):
        return _listed(made)
    raise SolutionBroke(f"the solution returned {made!r}; it must yield steps or return a list of them")


def _listed(steps: Any) -> Generator[Step, Any, None]:
    for step in steps:  # noqa: UP028 - `yield from` would send results into the list
        yield step


def _called(solution: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    accepted = inspect.signature(solution).parameters.values()
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in accepted):
        arguments = dict(parameters)
    else:
        arguments = {one.name: parameters[one.name] for one in accepted if one.name in parameters}
    try:
        return solution(**arguments)
    except Exception as error:
        given = ", ".join(parameters) or "none"
        raise SolutionBroke(f"the solution raised {error!r} (the test's parameters: {given})") from error


def advance(steps: Generator[Step, Any, None], result: Any, number: int) -> Step | None:
    """The next step, given the result of step `number` (0: none yet); None at the end."""
    try:
        step = next(steps) if number == 0 else steps.send(result)
    except StopIteration:
        return None
    except Exception as error:
        raise SolutionBroke(f"the solution raised {error!r} after step {number}") from error
    if not isinstance(step, Call | Say):
        raise SolutionBroke(f"solution step {number + 1} is {step!r}; it must be call(...) or call.say(...)")
    return step


async def play(task: AgentTask, step: Call, number: int) -> ToolOutput:
    """Make the call and write it into the transcript."""
    try:
        arguments = json.loads(json.dumps(dict(step.arguments), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise SolutionBroke(
            f"solution step {number}, {describe(step)}: {error}; give arguments as JSON values"
        ) from error
    call_id = f"call_{len(task.conversation.tool_calls) + 1}"
    output = await task.call_tool(step.tool, arguments, call_id)
    transcribe(task.conversation, call_id, step.tool, arguments, output.text)
    return output


def check(step: Call, output: ToolOutput, number: int) -> None:
    """Raises SolutionBroke when the answer is an error and must be none, or the other way round."""
    if output.error and not step.fails:
        raise SolutionBroke(f"solution step {number}, {describe(step)}, came back as an error: {output.text}")
    if step.fails and not output.error:
        raise SolutionBroke(
            f"solution step {number}, {describe(step)}, must fail (call.failing) and did not: {output.text}"
        )


def result_of(output: ToolOutput) -> Any:
    """What a solution gets for its call: the structured value, else the text read as JSON, else the text."""
    if output.value is not None:
        return output.value
    try:
        return json.loads(output.text)
    except ValueError:
        return output.text


def describe(step: Call) -> str:
    return f"{step.tool}({', '.join(f'{name}={value!r}' for name, value in step.arguments.items())})"

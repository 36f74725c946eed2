"""A scripted model that solves the hotel suite through any API, and plays its users."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.agents.solution import result_of
from pytest_thinkingbox.declare.solution import Say
from pytest_thinkingbox.declare.task import Task
from tests.example_suites.suites import tasks_of
from tests.support.model_apis import Asked, Dialect
from tests.support.stub_endpoint import Received, Reply, Script

QUESTION = "Shall I see to it now?"
YES = "Yes, please."


def solutions() -> dict[str, tuple[Task, Mapping[str, Any]]]:
    """Task and parameters by what the agent hears first."""
    return {one.prompt: (one.task, one.parameters) for one in tasks_of("hotel")}


def model(dialect: Dialect) -> Script:
    """Asks back where there is somebody to answer, then does what the solution does, with the results so far."""
    known = solutions()

    def script(received: Received) -> Reply:
        assert received.path == dialect.path
        asked = dialect.read(received)
        if "You play a person" in asked.system:
            return dialect.says(YES if QUESTION in asked.said[-1][1] else "[[END]]")
        task, parameters = known[asked.said[0][1]]
        if task.user is not None and len(asked.said) == 1:
            return dialect.says(QUESTION)
        return _next(dialect, task, parameters, asked)

    return script


def _next(dialect: Dialect, task: Task, parameters: Mapping[str, Any], asked: Asked) -> Reply:
    solution: Any = task.solution
    made = solution(**parameters) if callable(solution) else solution
    steps = iter(made)
    send: Callable[[Any], Any] = made.send if isinstance(made, Generator) else lambda _: next(steps)
    step = next(steps)
    for result in asked.results:
        step = send(result_of(ToolOutput(result)))
    if isinstance(step, Say):
        return dialect.says(step.text)
    return dialect.calls(f"call_{len(asked.results)}", step.tool, step.arguments)

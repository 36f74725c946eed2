"""A scripted model that solves the hotel suite through any API, and plays its users."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import product
from typing import Any

from example_suites.hotel import test_approvals, test_changes, test_deadlines, test_faults, test_refunds
from pytest_thinkingbox.agents.base import ToolOutput
from pytest_thinkingbox.agents.solution import result_of
from pytest_thinkingbox.declare.solution import Say
from pytest_thinkingbox.declare.task import Task, task_of
from tests.support.model_apis import Asked, Dialect
from tests.support.stub_endpoint import Received, Reply, Script

MODULES = (test_approvals, test_changes, test_deadlines, test_faults, test_refunds)
QUESTION = "Shall I see to it now?"
YES = "Yes, please."


def solutions() -> dict[str, tuple[Task, Mapping[str, Any]]]:
    """Task and parameters by what the agent hears first."""
    found = {}
    for module in MODULES:
        for name, function in vars(module).items():
            if not name.startswith("test_"):
                continue
            task = task_of(function)
            assert task is not None, name
            for parameters in _parameters(function):
                prompt = task.prompt(**parameters) if callable(task.prompt) else task.prompt
                assert prompt not in found, prompt
                found[prompt] = task, parameters
    return found


def _parameters(function: Any) -> Iterator[dict[str, Any]]:
    marks = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
    for chosen in product(*(mark.args[1] for mark in marks)):
        yield {mark.args[0]: _value(one) for mark, one in zip(marks, chosen, strict=True)}


def _value(case: Any) -> Any:
    return case.values[0] if hasattr(case, "values") and hasattr(case, "marks") else case


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

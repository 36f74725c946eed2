"""What is played to prove a checker, and the plan that says it for every task, as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from pytest_thinkingbox.state.code import printable, shown
from pytest_thinkingbox.whole import whole

Kind = Literal[
    "solution",  # the reference solution as written
    "none",  # no call, no word
    "claim",  # the solution's final text, no call
    "drop",  # one call left out
    "repeat",  # one call made twice
    "alter",  # one argument changed
    "omit",  # one optional argument left out
    "move",  # one call made last, or the last one first
    "swap",  # two calls made in each other's place
    "extra",  # a call that another task's solution makes
    "mail",  # a mail that nobody asked for
    "request",  # a request to the HTTP sink that nobody asked for
    "file",  # a file in the working directory that nobody asked for
    "neighbour",  # a row changed that the solution does not touch
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One attempt of a proof. Calls are counted from 1; `at` is the call it is about and `other` a second one.

    `value` is the new value of `argument`. `tool` and `arguments` are the call of `extra`; `table` is that of
    `neighbour`.
    """

    kind: Kind
    at: int = 0
    other: int = 0
    argument: str = ""
    value: Any = None
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    table: str = ""

    def words(self, calls: Sequence[PlayedCall]) -> str:
        """What was done differently, for people. `calls` are those of the solution."""

        def named(number: int) -> str:
            return f"call {number}, {calls[number - 1].words()}"

        match self.kind:
            case "solution":
                return "the reference solution"
            case "none":
                return "an agent that does nothing"
            case "claim":
                return "an agent that says the solution's final text and calls nothing"
            case "drop":
                return f"left out: {named(self.at)}"
            case "repeat":
                return f"made twice: {named(self.at)}"
            case "alter":
                return f"{self.argument}={shown(self.value)} instead of the value in {named(self.at)}"
            case "omit":
                return f"without {self.argument}: {named(self.at)}"
            case "move":
                return f"made {'first' if self.at == len(calls) else 'last'}: {named(self.at)}"
            case "swap":
                return f"in each other's place: {named(self.at)} and {named(self.other)}"
            case "extra":
                return f"one call more: {PlayedCall(tool=self.tool, arguments=self.arguments).words()}"
            case "mail":
                return "one mail that nobody asked for"
            case "request":
                return "one request that nobody asked for"
            case "file":
                return "one file that nobody asked for"
            case "neighbour":
                return f"one row of {printable(self.table)} changed that the solution does not touch"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedCall:
    """A call as the solution made it; `result` is the text that came back.

    `fault` is what a fault of the task did to it.
    """

    tool: str
    arguments: Mapping[str, Any]
    result: str = ""
    fault: str = ""

    def words(self) -> str:
        return f"{self.tool}({', '.join(f'{name}={shown(value)}' for name, value in self.arguments.items())})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """The attempts of one task, in order, and what its solution did when it was played."""

    attempts: Sequence[Mutation]
    calls: Sequence[PlayedCall] = ()
    final: str = ""
    touched: Mapping[str, Sequence[Sequence[Any]]] = field(default_factory=dict)
    """Table to the keys, as JSON values, of the rows that the solution changed."""


SURVEY: tuple[Mutation, ...] = (Mutation(kind="solution"), Mutation(kind="solution"), Mutation(kind="none"))
"""What every task is played with first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one run of pytest plays. `tasks` is None in the survey, which plays SURVEY for every task there is.

    `notes` is where a survey leaves what it learned of each task's tools and tables.
    """

    notes: Path
    tasks: Mapping[str, TaskPlan] | None = None

    def of(self, task: str) -> TaskPlan:
        """The plan of a task; one that is not in it has no attempt."""
        if self.tasks is None:
            return TaskPlan(attempts=SURVEY)
        return self.tasks.get(task, TaskPlan(attempts=()))

    def most_attempts(self, function: str) -> int:
        """Over all cases of the test function with this node id; at least 1."""
        if self.tasks is None:
            return len(SURVEY)
        counts = [
            len(plan.attempts)
            for task, plan in self.tasks.items()
            if task == function or task.startswith(f"{function}[")
        ]
        return max([1, *counts])

    def write(self, path: Path) -> None:
        tasks = None if self.tasks is None else {name: _task_data(one) for name, one in self.tasks.items()}
        text = json.dumps({"notes": str(self.notes), "tasks": tasks}, ensure_ascii=True)
        with whole(path) as part:
            part.write_text(text, encoding="ascii")

    @classmethod
    def read(cls, path: Path) -> Plan:
        data = json.loads(path.read_text(encoding="ascii"))
        tasks = data["tasks"]
        return cls(
            notes=Path(data["notes"]),
            tasks=None if tasks is None else {name: _task_of(one) for name, one in tasks.items()},
        )


def _task_data(plan: TaskPlan) -> dict[str, Any]:
    return {
        "attempts": [_sparse(one) for one in plan.attempts],
        "calls": [_sparse(one) for one in plan.calls],
        "final": plan.final,
        "touched": {table: [list(key) for key in keys] for table, keys in plan.touched.items()},
    }


def _task_of(data: Mapping[str, Any]) -> TaskPlan:
    return TaskPlan(
        attempts=[Mutation(**one) for one in data["attempts"]],
        calls=[PlayedCall(**one) for one in data["calls"]],
        final=data["final"],
        touched=data["touched"],
    )


def _sparse(value: Mutation | PlayedCall) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}

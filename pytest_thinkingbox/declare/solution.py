"""A task's reference solution: a list of calls, or a generator that uses what earlier calls returned."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_thinkingbox.declare.checks import text


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a solution; with `fails` its answer must be an error."""

    tool: str
    arguments: Mapping[str, Any]
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Say:
    """The final text of a solution."""

    text: str


class _CallFactory:
    """`call("tool", argument=value)` is a tool call; `call.say("...")` is the final text.

    `call.failing("tool", argument=value)` is one whose answer must be an error, because of a fault of the task.
    """

    def __call__(self, tool: str, /, **arguments: Any) -> Call:
        return Call(text("call", "tool", tool), arguments)

    @staticmethod
    def failing(tool: str, /, **arguments: Any) -> Call:
        return Call(text("call.failing", "tool", tool), arguments, fails=True)

    @staticmethod
    def say(words: str) -> Say:
        return Say(text("call.say", "text", words))


call = _CallFactory()

Step = Call | Say
Solution = Sequence[Step] | Callable[..., Generator[Step, Any, None]] | Callable[..., Sequence[Step]]

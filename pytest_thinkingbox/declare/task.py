from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.declare.effects import Routes
from pytest_thinkingbox.declare.faults import Fault
from pytest_thinkingbox.declare.limits import Limits
from pytest_thinkingbox.declare.solution import Solution
from pytest_thinkingbox.declare.tools import Tools
from pytest_thinkingbox.declare.user import Player

if TYPE_CHECKING:
    from pytest_thinkingbox.declare.environment import Environment

_ATTRIBUTE = "__thinkingbox_task__"

Host = Callable[..., AbstractAsyncContextManager[Any]]
"""Opens the servers of one attempt of one task, instead of those of its environment: a `tools.host.Stage`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A test function's prompt, user, start state, tags and reference solution, as declared.

    `prompt`, `user`, `start` and `solution` may be callables that take the test's parameters by name; a `user` that
    takes `conversation` too plays the user itself. `routes` are the replies of the HTTP sink, None without one.
    """

    environment: Environment
    prompt: str | Callable[..., str]
    user: str | Player | Callable[..., str | Player] | None
    start: Path | Callable[..., None] | None
    solution: Solution | None
    tags: tuple[str, ...]
    strict: bool
    no_change: bool
    allow_truncated: bool
    ahead: bool
    min_pass_rate: float | None
    limits: Limits
    routes: Routes | None = None
    faults: tuple[Fault, ...] = ()
    tools: Tools | None = None
    host: Host | None = None
    id: str = ""
    """Where it is not the node id of its function."""


def attach(function: Callable[..., Any], task: Task) -> None:
    if _ATTRIBUTE in vars(function):
        raise TypeError(f"{function.__qualname__} is a task already: one function, one task")
    setattr(function, _ATTRIBUTE, task)


def task_of(function: object) -> Task | None:
    """The task that was declared on this function, None for an ordinary function."""
    return getattr(function, _ATTRIBUTE, None)


def tags_of(value: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value))

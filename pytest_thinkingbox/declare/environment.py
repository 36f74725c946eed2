from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pytest_thinkingbox.declare.checks import reject, strings, text
from pytest_thinkingbox.declare.database import Database
from pytest_thinkingbox.declare.effects import Reply, Routes, routes_of, workdir_of
from pytest_thinkingbox.declare.faults import Fault, faults_of
from pytest_thinkingbox.declare.limits import Limits
from pytest_thinkingbox.declare.server import Server
from pytest_thinkingbox.declare.solution import Call, Say, Solution
from pytest_thinkingbox.declare.task import Task, attach, tags_of
from pytest_thinkingbox.declare.tools import Tools, tools_of
from pytest_thinkingbox.declare.user import Player, Script, User

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Environment:
    """What every task of a suite shares.

    `instructions` is the agent's system prompt, as text or as the path of a file. `now` is the fixed clock that
    servers are told. `mail=True` gives each attempt a mail sink of its own; what arrives there is part of the
    verdict. `http=True` gives it an HTTP sink, `http={"POST /payments": Reply(201, {"id": 7})}` one that answers so;
    other requests get `200 {}`. `workdir=True` gives it an empty folder to work in, the path of a folder a copy of
    that one; files that are added, changed or removed there are part of the verdict too. `tools` chooses among the
    tools of all servers, renames them and so on. `agent_database=True` tells black-box agents the database's URL.
    """

    name: str
    database: Database
    servers: Sequence[Server]
    instructions: str | Path = ""
    now: datetime | None = None
    mail: bool = True
    http: bool | Mapping[str, Reply | Sequence[Reply]] = False
    workdir: bool | str | Path = False
    tools: Tools | None = None
    agent_database: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        where = "Environment"
        set_ = object.__setattr__
        if not isinstance(self.name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", self.name):
            raise reject(
                where, "name", self.name, "lower-case letters, digits and _, at most 40 (it names databases)"
            )
        if not isinstance(self.database, Database):
            raise reject(where, "database", self.database, "a Database(...)")
        if isinstance(self.servers, Server):
            raise reject(where, "servers", self.servers, "a list: [Server...(...)]")
        set_(self, "servers", tuple(self.servers))
        for server in self.servers:
            if not isinstance(server, Server):
                raise reject(
                    where, "servers item", server, "a Server.in_process/functions/stdio/http/container(...)"
                )
        if isinstance(self.instructions, Path):
            if not self.instructions.is_file():
                raise FileNotFoundError(f"Environment: instructions={str(self.instructions)!r} is no file")
            set_(self, "instructions", self.instructions.read_text(encoding="utf-8"))
        elif not isinstance(self.instructions, str):
            raise reject(where, "instructions", self.instructions, "a string or a Path")
        if self.now is not None and not isinstance(self.now, datetime):
            raise reject(where, "now", self.now, "a datetime")
        if not isinstance(self.limits, Limits):
            raise reject(where, "limits", self.limits, "Limits(...)")
        routes_of(where, self.http)
        tools_of(where, self.tools)
        set_(self, "workdir", workdir_of(where, self.workdir))

    def task(
        self,
        prompt: str | Callable[..., str],
        *,
        user: str | Player | Callable[..., str | Player] | None = None,
        start: str | Path | Callable[..., None] | None = None,
        solution: Solution | None = None,
        tags: Sequence[str] = (),
        strict: bool = True,
        no_change: bool = False,
        allow_truncated: bool = False,
        ahead: bool = True,
        min_pass_rate: float | None = None,
        limits: Limits | None = None,
        http: Mapping[str, Reply | Sequence[Reply]] | None = None,
        faults: Sequence[Fault] = (),
        tools: Tools | None = None,
    ) -> Callable[[F], F]:
        """Declare the decorated test function to be a task of this environment.

        `prompt` is what the user says first; `user` is who they are and what they hold back (text, or a `User`), a
        `Script`, or a function that takes `conversation` and plays them itself; `start` runs on the seed before the
        agent does (a callable that takes a connection and parameters, or the path of a `.sql` file); `solution` are
        the calls that do it right. With `strict=False` changes that the checker did not
        account for are allowed. `no_change=True` says that nothing observable can show success.
        `allow_truncated=True` lets a `no_change` task pass although a limit cut the agent off. `ahead=False` starts
        the episode after the test's fixtures, alone. `min_pass_rate` is this task's gate, 0 to 1. `http` are replies
        of the HTTP sink for this task; they win over those of the environment. `faults` are calls that go wrong on
        purpose; the solution makes such a call with `call.failing(...)`. `tools` changes the tools for this task.
        """
        where = f"{self.name}.task"
        if not callable(prompt):
            text(where, "prompt", prompt)
        if user is not None and not callable(user) and not isinstance(user, User | Script):
            user = User(text(where, "user", user))
        if isinstance(start, str):
            start = Path(start)
        if isinstance(start, Path) and not start.is_file():
            raise FileNotFoundError(f"{where}: start={str(start)!r} is no file (looked in {Path.cwd()})")
        if start is not None and not isinstance(start, Path) and not callable(start):
            raise reject(
                where, "start", start, "a callable that takes a connection, or the path of a .sql file"
            )
        if solution is not None and not callable(solution):
            solution = _steps(where, solution)
        if min_pass_rate is not None and not (
            isinstance(min_pass_rate, int | float) and 0 <= min_pass_rate <= 1
        ):
            raise reject(where, "min_pass_rate", min_pass_rate, "a number from 0 to 1")
        if limits is not None and not isinstance(limits, Limits):
            raise reject(where, "limits", limits, "Limits(...)")
        for argument, value in (
            ("strict", strict),
            ("no_change", no_change),
            ("allow_truncated", allow_truncated),
            ("ahead", ahead),
        ):
            if not isinstance(value, bool):
                raise reject(where, argument, value, "True or False")
        if http is not None and self.http is False:
            raise TypeError(f"{where}: http={http!r} needs an HTTP sink: give the Environment http=True")
        declared = Task(
            environment=self,
            prompt=prompt,
            user=user,
            start=start,
            solution=solution,
            tags=tags_of(strings(where, "tags", tags)),
            strict=strict,
            no_change=no_change,
            allow_truncated=allow_truncated,
            ahead=ahead,
            min_pass_rate=min_pass_rate,
            limits=limits or self.limits,
            faults=faults_of(where, faults),
            tools=tools_of(where, tools),
            routes=_together(routes_of(where, self.http), routes_of(where, http)),
        )

        def decorate(function: F) -> F:
            if not callable(function) or isinstance(function, type):
                raise reject(
                    where,
                    "function",
                    function,
                    "a test function (to make tasks of a class, decorate its methods)",
                )
            attach(function, declared)
            return function

        return decorate


def _together(environment: Routes | None, task: Routes | None) -> Routes | None:
    return (
        environment
        if task is None
        else {**task, **{k: v for k, v in (environment or {}).items() if k not in task}}
    )


def _steps(where: str, solution: Any) -> tuple[Call | Say, ...]:
    try:
        steps = tuple(solution)
    except TypeError:
        raise reject(where, "solution", solution, "a list of call(...), or a generator function") from None
    for index, step in enumerate(steps):
        if not isinstance(step, Call | Say):
            raise reject(where, f"solution[{index}]", step, "call(...) or call.say(...)")
        if isinstance(step, Say) and index != len(steps) - 1:
            raise reject(where, f"solution[{index}]", step, "the last step: call.say() is the final text")
    return steps

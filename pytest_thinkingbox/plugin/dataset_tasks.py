"""From the functions of a dataset to tasks, and to the items that pytest runs."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, update_wrapper
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_thinkingbox.compat.checker import Checker, stub
from pytest_thinkingbox.compat.dataset import TASKS, Dataset, DatasetTask
from pytest_thinkingbox.compat.files import BrokenDataset
from pytest_thinkingbox.compat.golden import solution_of
from pytest_thinkingbox.compat.host import DatasetHost
from pytest_thinkingbox.compat.servers import Servers
from pytest_thinkingbox.compat.world import environment
from pytest_thinkingbox.declare import Environment, Limits, User
from pytest_thinkingbox.declare.task import Task, attach
from pytest_thinkingbox.plugin import private
from pytest_thinkingbox.plugin.stash import servers_key

_TURNS, _TOKENS, _SECONDS, _TOOL_SECONDS = 1000, 2_000_000, 3600.0, 108.0
"""The format knows a limit of turns only; these end what would never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a dataset is and what it runs on. `listed` is None for all of it, `python` for this one."""

    dataset: Path
    listed: Path | None
    agent: str
    servers: Path
    python: str | None
    without_sources: bool

    @property
    def tasks(self) -> Path:
        return self.dataset / TASKS


class DatasetCollection:
    """Collects the dataset where pytest comes upon its folder of tasks."""

    def __init__(self, where: Where) -> None:
        self.where = where
        self.servers = Servers(
            where.servers, python=where.python or sys.executable, data=where.dataset.parent
        )
        self._environments: dict[str, Environment] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[servers_key] = self.servers

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if path != self.where.tasks:
            return None
        folder = DatasetFolder.from_parent(parent, path=path)
        folder.collection = self
        return folder

    def task(self, task: DatasetTask) -> Task:
        """As a task of this package, without its function."""
        return Task(
            id=task.uid,
            environment=self._environment(task),
            prompt=task.query,
            user=None if task.user_context is None or not task.user_turns else User(task.user_context),
            start=None,
            solution=solution_of(task),
            tags=task.tags,
            strict=False,  # the function compares whatever it wants to be compared
            no_change=False,
            allow_truncated=True,
            ahead=True,
            min_pass_rate=None,
            limits=Limits(
                turns=task.agent_turns or _TURNS,
                tokens=_TOKENS,
                seconds=_SECONDS,
                tool_seconds=_TOOL_SECONDS,
                user_turns=task.user_turns or 1,
            ),
            host=DatasetHost(task, self.servers, self.where.without_sources),
        )

    def _environment(self, task: DatasetTask) -> Environment:
        name = task.scenario_name
        if name not in self._environments:
            slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
            words = "\n\n".join(
                text for text in (task.agent.system_instructions, task.scenario.bot_instructions) if text
            )
            self._environments[name] = environment(f"t_{slug}"[:40], words)
        return self._environments[name]


class DatasetFolder(pytest.Directory):
    """The folder of all tasks: its files, those of the list in the list's order."""

    collection: DatasetCollection

    def collect(self) -> Iterable[pytest.Collector]:
        where = self.collection.where
        try:
            dataset = Dataset(where.dataset, agent=where.agent)
            files = dataset.all() if where.listed is None else dataset.listed(where.listed)
        except BrokenDataset as error:
            raise self.CollectError(str(error)) from None
        for path, functions in files:
            file: DatasetFile = DatasetFile.from_parent(self, path=path, nodeid=path.name)
            file.make = partial(file.functions_of, dataset, self.collection, functions)
            yield file


class DatasetFile(private.MadeModule):
    """One file. Nothing of it runs when it is collected."""

    def functions_of(
        self, dataset: Dataset, collection: DatasetCollection, names: Iterable[str]
    ) -> ModuleType:
        """A module of test functions that pytest collects like any other."""
        module = ModuleType(self.path.stem)
        rewrite = partial(private.explain_assertions, path=self.path, config=self.config)
        try:
            for name in names:
                task = dataset.task(self.path, name)
                function = _function(task, rewrite)
                attach(function, collection.task(task))
                vars(module)[name] = function
        except BrokenDataset as error:
            raise self.CollectError(str(error)) from None
        return module


def _function(task: DatasetTask, rewrite: Callable[[ast.Module], None]) -> Callable[..., None]:
    """The test function as pytest is to call it: with the attempt, and with the judge where it asks one."""
    checker = Checker(task, rewrite=rewrite)
    run: Any
    if task.function.asks_judge:

        def run(attempt: Any, judge: Any) -> None:
            checker(attempt)
    else:

        def run(attempt: Any) -> None:
            checker(attempt)

    function: Any = update_wrapper(
        run, stub(task, ["attempt", "judge"] if task.function.asks_judge else ["attempt"])
    )
    function.__test__ = True  # whatever its name is
    if task.skipped:
        function = pytest.mark.skip(reason="its tags say: skip")(function)
    made: Callable[..., None] = function
    return made

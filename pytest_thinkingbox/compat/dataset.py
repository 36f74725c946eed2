"""A dataset on disk: which tasks it has, and all that each of them needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_thinkingbox.compat.files import (
    AgentFile,
    AnyToolFile,
    BrokenDataset,
    ConftestFile,
    FixtureFile,
    ScenarioFile,
    TaskFile,
    check,
    read,
    read_yaml,
)
from pytest_thinkingbox.compat.history import History, read_history
from pytest_thinkingbox.compat.merge import merge_servers
from pytest_thinkingbox.compat.reading import SourceFile, SourceFunction, read_source

TASKS = "test_case"
SCENARIOS = "scenario"
AGENTS = "agent"
_SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DatasetTask:
    """One test function with what its files say of it. `servers` is each server's configuration, by name, in order."""

    uid: str
    source: SourceFile
    function: SourceFunction
    scenario_name: str
    scenario: ScenarioFile
    agent: AgentFile
    servers: Mapping[str, Mapping[str, Any]]
    query: str
    user_context: str | None
    instructions: str
    user_turns: int
    agent_turns: int | None
    format_query: bool
    history: History
    tags: tuple[str, ...]
    fixtures: Mapping[str, FixtureFile]

    @property
    def tools(self) -> tuple[AnyToolFile, ...]:
        """All that the agent is shown, as files have them."""
        return (*self.agent.builtin_tools, *self.scenario.tools)

    @property
    def direct(self) -> dict[str, str]:
        """What tools say to the user themselves, by tool."""
        return {tool.name: tool.direct_response for tool in self.tools if tool.direct_response is not None}

    @property
    def skipped(self) -> bool:
        return any(tag.lower() == _SKIP for tag in self.tags)


class Dataset:
    """The folder that holds `test_case/`, `scenario/` and `agent/`. Raises BrokenDataset wherever a file is wrong."""

    def __init__(self, folder: Path, *, agent: str) -> None:
        self.folder = folder
        if not (folder / TASKS).is_dir():
            raise BrokenDataset(f"{folder}: no dataset: it has no folder {TASKS}")
        self._agent = self._named(AGENTS, agent, AgentFile)
        self._scenarios: dict[str, ScenarioFile] = {}
        self._sources = lru_cache(maxsize=None)(read_source)

    def listed(self, path: Path) -> list[tuple[Path, list[str]]]:
        """The files and functions that a list of `file.py:function` names, in its order. Each may stand once."""
        names = read_yaml(path)
        if not isinstance(names, list) or not names:
            raise BrokenDataset(f"{path}: must be a YAML list of names such as 'file.py:function'")
        seen: dict[str, None] = {}
        for name in names:
            if not isinstance(name, str) or not re.fullmatch(r"[^:/]+\.py:[^:]+", name):
                raise BrokenDataset(f"{path}: {name!r} must be a name such as 'file.py:function'")
            if name in seen:
                raise BrokenDataset(f"{path}: {name} stands there twice; --tb-attempts repeats tasks")
            seen[name] = None
        return self._grouped(seen, where=str(path))

    def all(self) -> list[tuple[Path, list[str]]]:
        """Every file with test functions, with all of them."""
        found = [(path, list(self._sources(path).functions)) for path in self._files()]
        names: dict[str, Path] = {}
        for path, functions in found:
            if functions and names.setdefault(path.name, path) != path:
                raise BrokenDataset(
                    f"{path} and {names[path.name]}: two files of one name make tasks of one name: rename one"
                )
        return [(path, functions) for path, functions in found if functions]

    def task(self, path: Path, function: str) -> DatasetTask:
        """All there is of one function."""
        source = self._sources(path)
        found = source.functions.get(function)
        if found is None:
            raise BrokenDataset(
                f"{path} has no test function {function!r} (one with a text of YAML that begins with '!')"
            )
        where = f"{path}, {function} (line {found.node.lineno})"
        config = check(TaskFile, dict(found.config), where=where)
        scenario = self._scenario(config.scenario, where=where)
        history = History() if config.history is None else read_history(path, config.history, where=where)
        servers = merge_servers(scenario.world_state, config.init)
        return DatasetTask(
            uid=f"{path.name}:{function}",
            source=source,
            function=found,
            scenario_name=config.scenario,
            scenario=scenario,
            agent=self._agent,
            servers=servers,
            query=config.query,
            user_context=config.user_context or None,
            instructions="\n\n".join(
                text
                for text in (
                    self._agent.system_instructions,
                    "\n".join(part for part in (scenario.bot_instructions, config.bot_instructions) if part),
                )
                if text
            ),
            user_turns=config.max_user_sim_turns,
            agent_turns=config.max_agent_sim_turns,
            format_query=config.format_query,
            history=history,
            tags=tuple(dict.fromkeys((*scenario.tags, *config.tags))),
            fixtures={**self._fixtures_above(path), **scenario.fixtures},
        )

    def _scenario(self, name: str, *, where: str) -> ScenarioFile:
        if name not in self._scenarios:
            try:
                self._scenarios[name] = self._named(SCENARIOS, name, ScenarioFile)
            except BrokenDataset as error:
                raise BrokenDataset(f"{where}: scenario={name!r}: {error}") from None
        return self._scenarios[name]

    def _named(self, folder: str, name: str, model: Any) -> Any:
        path = self.folder / folder / f"{name}.yaml"
        if not path.is_file():
            known = ", ".join(sorted(one.stem for one in (self.folder / folder).glob("*.yaml"))) or "none"
            raise BrokenDataset(f"{path} is not there; {self.folder / folder} has: {known}")
        return read(model, path)

    def _fixtures_above(self, path: Path) -> dict[str, FixtureFile]:
        """Those of every `conftest.yaml` from the folder of all tasks down to the file's; deeper ones win."""
        root = self.folder / TASKS
        found: dict[str, FixtureFile] = {}
        for folder in reversed([one for one in path.parents if one == root or root in one.parents]):
            conftest = folder / "conftest.yaml"
            if conftest.is_file() and (data := read_yaml(conftest)) is not None:
                found.update(check(ConftestFile, data, where=str(conftest)).fixtures)
        return found

    def _files(self) -> Iterator[Path]:
        yield from sorted((self.folder / TASKS).rglob("*.py"))

    def _grouped(self, names: Iterable[str], *, where: str) -> list[tuple[Path, list[str]]]:
        groups: dict[str, list[str]] = {}
        for name in names:
            file, _, function = name.partition(":")
            groups.setdefault(file, []).append(function)
        return [(self._find(file, where=where), functions) for file, functions in groups.items()]

    def _find(self, name: str, *, where: str) -> Path:
        """`a_b_c.py` stands in the folder of all tasks, or in `a_b`, or in `a`: the first that there is."""
        root = self.folder / TASKS
        parts = name.split("_")
        folders = [root, *(root / "_".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))]
        for folder in folders:
            if (folder / name).is_file():
                return folder / name
        looked = ", ".join(str(one) for one in folders)
        raise BrokenDataset(f"{where}: there is no {name} (looked in {looked})")

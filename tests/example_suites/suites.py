"""The example suites, and what can be known of their tasks without playing them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from pytest_thinkingbox.declare.task import Task, task_of

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "example_suites"
SUITES: tuple[str, ...] = (
    "auto_insurance",
    "consulting",
    "hotel",
    "neobank",
    "retail",
)
"""A suite's name is added here when it is whole; the tests of all suites then hold for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class One:
    """A task with one set of its parameters."""

    suite: str
    name: str
    doc: str
    task: Task
    parameters: Mapping[str, Any]

    @property
    def prompt(self) -> Any:
        prompt = self.task.prompt
        return prompt(**self.parameters) if callable(prompt) else prompt


@cache
def tasks_of(suite: str) -> tuple[One, ...]:
    """All tasks of a suite's modules, in the order of their files."""
    found = []
    for path in sorted((FOLDER / suite).glob("test_*.py")):
        module = import_module(f"example_suites.{suite}.{path.stem}")
        for name, function in vars(module).items():
            task = task_of(function) if name.startswith("test_") else None
            if task is not None:
                found += [
                    One(
                        suite=suite,
                        name=name,
                        doc=function.__doc__ or "",
                        task=task,
                        parameters=parameters,
                    )
                    for parameters in _parameters(function)
                ]
    return tuple(found)


def _parameters(function: Any) -> Iterator[dict[str, Any]]:
    marks = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
    for chosen in product(*(_cases(*mark.args[:2]) for mark in marks)):
        yield {name: value for case in chosen for name, value in case.items()}


def _cases(names: str | Sequence[str], values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """What one `parametrize` gives, `pytest.param` included."""
    listed = names.replace(" ", "").split(",") if isinstance(names, str) else names
    for value in values:
        given = value.values if hasattr(value, "marks") else value if len(listed) > 1 else (value,)
        yield dict(zip(listed, given, strict=True))

"""A test function of a dataset as the checker of a task."""

from __future__ import annotations

import ast
import json
import zlib
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from pytest_thinkingbox.compat.context import TestContext, context_of
from pytest_thinkingbox.compat.dataset import DatasetTask
from pytest_thinkingbox.compat.fixtures import made
from pytest_thinkingbox.compat.judging import Judge
from pytest_thinkingbox.compat.standin import standing_in
from pytest_thinkingbox.compat.world import EFFECTS, TABLE

if TYPE_CHECKING:
    from pytest_thinkingbox.episodes.attempt import Attempt

GIVEN = ("x", "judge")
"""Parameters of test functions that are no fixtures."""

Rewrite = Callable[[ast.Module], None]
"""Makes assertions of a syntax tree explain themselves, in place."""


class Checker:
    """Runs one function in a module of its own: what all functions of its file share, and this one.

    The file is compiled once and run for each check, so that no attempt sees what another left in a global.
    """

    def __init__(self, task: DatasetTask, *, rewrite: Rewrite) -> None:
        self._task = task
        self._rewrite = rewrite
        self._code: Any = None

    def __call__(self, attempt: Attempt) -> None:
        """Judge the attempt. What the function raises is its verdict."""
        task = self._task
        context = self.context(attempt)
        given = {"x": context, "judge": Judge(attempt.judge)}
        wanted = [name for name in task.function.parameters if name not in GIVEN]
        with standing_in():
            names: dict[str, Any] = {"__name__": task.source.path.stem, "__file__": str(task.source.path)}
            exec(self._compiled(), names)
            with made(wanted, task.fixtures, given, task=task.uid) as fixtures:
                values = {**given, **fixtures}
                reward = names[task.function.name](
                    **{name: values[name] for name in task.function.parameters}
                )
        if reward is not None and not 0 <= reward <= 1:
            raise ValueError(
                f"{task.uid} returned {reward!r}; it must return nothing, or a reward from 0 to 1"
            )

    def context(self, attempt: Attempt) -> TestContext:
        """What the function is given of the attempt."""
        task = self._task
        found = {row["name"]: row for row in attempt.rows(TABLE)}
        rows = {name: found[name] for name in task.servers}
        return context_of(
            messages=attempt.messages,
            calls=[(one.id, one.name, one.arguments, one.result) for one in attempt.tool_calls],
            direct=task.direct,
            before=len(task.history.messages),
            effects={name: json.loads(zlib.decompress(row[EFFECTS])) for name, row in rows.items()},
            init={name: json.loads(row["init"]) for name, row in rows.items()},
            session=f"{task.uid}[try{attempt.number}]",
        )

    def _compiled(self) -> Any:
        if self._code is None:
            source = self._task.source
            body = sorted((*source.shared, self._task.function.node), key=lambda one: one.lineno)
            module = ast.Module(body=deepcopy(body), type_ignores=[])  # other functions share most of it
            self._rewrite(module)
            self._code = compile(module, str(source.path), "exec")
        return self._code


def stub(task: DatasetTask, parameters: Sequence[str]) -> Callable[..., Any]:
    """A function that does nothing, in the place of the test function: whoever asks where it stands, and for its
    text, is answered as for the function itself."""
    node = task.function.node
    written = ast.parse(f"def {node.name}({', '.join(parameters)}): pass")
    for part in ast.walk(written):
        if isinstance(part, ast.stmt | ast.arg):
            part.lineno, part.col_offset = node.lineno, node.col_offset
            part.end_lineno, part.end_col_offset = node.end_lineno, node.end_col_offset
    names: dict[str, Any] = {"__name__": task.source.path.stem}
    exec(compile(written, str(task.source.path), "exec"), names)
    function: Callable[..., Any] = names[node.name]
    return function

"""Every name of pytest and pytest-xdist that is not public; each has a canary test."""

from __future__ import annotations

import ast
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.assertion import util
from _pytest.assertion.rewrite import rewrite_asserts
from _pytest.skipping import evaluate_skip_marks, evaluate_xfail_marks


class _Loggers(dict[str, Any]):
    """A copy is walked: a thread that imports a library may add a logger meanwhile."""

    def values(self) -> Any:
        return list(super().values())


def let_threads_add_loggers() -> None:
    """From now on, in this process. pytest walks through all loggers before every phase of every test, which breaks the
    test when another thread makes one at that moment - and tools, agents and drivers do in threads of attempts."""
    manager = logging.root.manager
    if not isinstance(manager.loggerDict, _Loggers):
        manager.loggerDict = _Loggers(manager.loggerDict)


def is_skipped_by_mark(item: pytest.Item) -> bool:
    """Whether `skip` or a true `skipif` keeps this item from running."""
    return evaluate_skip_marks(item) is not None


def xfail_of(item: pytest.Item) -> tuple[bool, bool, bool]:
    """Whether a true `xfail` mark applies, whether it lets the test run, and whether it is strict."""
    if item.config.getoption("runxfail"):
        return False, True, False
    mark = evaluate_xfail_marks(item)
    return (False, True, False) if mark is None else (True, mark.run, mark.strict)


def hide_failure_text(report: pytest.TestReport) -> None:
    """Keep this report out of the FAILURES and ERRORS sections; counts and the short summary still have it."""
    report._pdbshown = True  # type: ignore[attr-defined]


def add_junit_properties(config: pytest.Config, properties: Mapping[str, str]) -> None:
    """Properties of the suite in the file that --junitxml asks for; until pytest writes it, in pytest_sessionfinish."""
    from _pytest.junitxml import xml_key  # it brings an XML library along

    xml = config.stash.get(xml_key, None)
    if xml is not None:
        for name, value in properties.items():
            xml.add_global_property(name, value)


def is_on_terminal(config: pytest.Config) -> bool:
    """Whether a person watches; stdout itself cannot tell, it is captured."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    return reporter is not None and bool(reporter.isatty())


def shows_colors(config: pytest.Config) -> bool:
    """Whether pytest writes in colors, and puts them into its explanations; never in an xdist worker."""
    return config.pluginmanager.has_plugin("terminalreporter") and bool(
        config.get_terminal_writer().hasmarkup
    )


def uncaptured(config: pytest.Config) -> AbstractContextManager[None]:
    """While this is open, what is written reaches the terminal and not the captured output of the running test."""
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    context: AbstractContextManager[None] = (
        nullcontext() if manager is None else manager.global_and_fixture_disabled()
    )
    return context


def column_of_progress(config: pytest.Config) -> int:
    """In which column, from 0, pytest's progress line ends."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    column: int = 0 if reporter is None else reporter._width_of_current_line
    return column


def capture_handlers(config: pytest.Config) -> list[logging.Handler]:
    """The handlers through which pytest captures the logs of the running test."""
    plugin: Any = config.pluginmanager.get_plugin("logging-plugin")
    return [] if plugin is None else [plugin.caplog_handler, plugin.report_handler]


def worker_queue(config: pytest.Config) -> Callable[[], list[int]] | None:
    """In an xdist worker: a function that gives the indices of the items that are queued here, in order."""
    # Its module runs under another name in a worker, so that the class cannot be imported.
    workers: list[Any] = [
        plugin for plugin in config.pluginmanager.get_plugins() if type(plugin).__name__ == "WorkerInteractor"
    ]
    if not workers:
        return None
    worker = workers[0]

    def queued() -> list[int]:
        with worker.torun.lock() as waiting:
            indices = [worker.nextitem_index, *waiting]
        return [index for index in indices if isinstance(index, int)]  # the others are a mark for the end

    return queued


def tear_down(session: pytest.Session, before: pytest.Item | None) -> None:
    """Tear down every collector and fixture that `before` does not share; all of them for None."""
    session._setupstate.teardown_exact(before)


def renew(item: pytest.Item) -> None:
    """Make an item that has run look as if it had not: pytest itself runs none twice."""
    item._report_sections.clear()
    item.user_properties.clear()
    if isinstance(item, pytest.Function) and isinstance(item.parent, pytest.Class):
        vars(item).pop("_instance", None)  # each run gets an object of its own
        vars(item).pop("_obj", None)


def keep_hook_proxies(session: pytest.Session) -> None:
    """From now on, when nothing is collected any more, the conftest files of a path are asked for once. pytest asks a
    dozen times for each test."""
    asked: Any = cache(session.gethookproxy)
    session.gethookproxy = asked  # type: ignore[method-assign]


class MadeModule(pytest.Module):
    """A module whose functions `make` makes, instead of an import of its file."""

    make: Callable[[], ModuleType]

    def _getobj(self) -> ModuleType:
        if "made" not in vars(self):
            self.made = self.make()
        return self.made


@contextmanager
def explained_by(explain: Callable[[str, object, object], list[str] | None]) -> Iterator[None]:
    """While a test runs inside: a comparison that `explain` has lines for is explained by it alone. pytest asks all its
    hooks and takes the first answer; its own, which is thrown away then, is the dearest part of a check that fails."""
    asks_all = util._reprcompare
    assert asks_all is not None, "no test runs"

    def compare(op: str, left: object, right: object) -> str | None:
        lines = explain(op, left, right)
        if lines is None:
            return asks_all(op, left, right)
        return "\n~".join(line.replace("\n", "\\n") for line in lines).replace("%", "%%")

    util._reprcompare = compare
    try:
        yield
    finally:
        util._reprcompare = asks_all


def explain_assertions(module: ast.Module, *, path: Path, config: pytest.Config) -> None:
    """Rewrite the assertions of a syntax tree, in place, as pytest does with those of the modules that it imports."""
    rewrite_asserts(module, path.read_bytes(), str(path), config)

"""Fixtures of `conftest.yaml`: objects that a dotted path names, made for each check and given to who asks for them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from pytest_thinkingbox.compat.files import FixtureFile
from pytest_thinkingbox.compat.standin import ROOT


class BrokenFixture(Exception):
    """A fixture that cannot be made: the checker's own mistake, whatever the agent did."""


@contextmanager
def made(
    names: Iterable[str], declared: Mapping[str, FixtureFile], given: Mapping[str, Any], *, task: str
) -> Iterator[dict[str, Any]]:
    """The fixtures of these names. Each may ask for others, and for what is `given`, by parameters without default.

    Those that are context managers are left in the reverse order. Raises BrokenFixture.
    """
    with ExitStack() as stack:
        ready: dict[str, Any] = dict(given)
        for name in names:
            _make(name, declared, ready, stack, task=task, chain=())
        yield {name: ready[name] for name in names}


def _make(
    name: str,
    declared: Mapping[str, FixtureFile],
    ready: dict[str, Any],
    stack: ExitStack,
    *,
    task: str,
    chain: tuple[str, ...],
) -> None:
    if name in ready:
        return
    if name in chain:
        raise BrokenFixture(f"{task}: fixtures need each other: {' -> '.join((*chain, name))}")
    if name not in declared:
        asks = f"the fixture {chain[-1]} asks" if chain else "the test function asks"
        known = ", ".join(sorted({*declared, *ready})) or "none"
        raise BrokenFixture(f"{task}: {asks} for {name}, which no conftest.yaml has; there are: {known}")
    path, arguments = declared[name].type, dict(declared[name].model_extra or {})
    factory = _factory(name, path, task=task)
    for needed in _needs(factory, arguments):
        _make(needed, declared, ready, stack, task=task, chain=(*chain, name))
        arguments[needed] = ready[needed]
    try:
        value = factory(**arguments)
    except Exception as error:
        raise BrokenFixture(f"{task}: the fixture {name} ({path}) raised {error!r}") from error
    ready[name] = stack.enter_context(value) if isinstance(value, AbstractContextManager) else value


def _factory(name: str, path: str, *, task: str) -> Callable[..., Any]:
    module, _, attribute = path.rpartition(".")
    if path.startswith(f"{ROOT}."):
        raise BrokenFixture(
            f"{task}: the fixture {name} is {path}, which has no counterpart in pytest-thinkingbox: servers are gone "
            "when an attempt is judged, and a judge answers yes/no questions only"
        )
    if not module:
        raise BrokenFixture(f"{task}: the fixture {name} has type={path!r}; it must be MODULE.NAME")
    try:
        factory: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise BrokenFixture(
            f"{task}: the fixture {name} ({path}): {error}; is its folder in PYTHONPATH?"
        ) from error
    return factory


def _needs(factory: Callable[..., Any], arguments: Mapping[str, Any]) -> list[str]:
    """What it must be given and is not told by its declaration."""
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):  # some built-in types do not say
        return []
    return [
        name
        for name, one in parameters.items()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.POSITIONAL_ONLY)
        and one.default is one.empty
        and name not in arguments
    ]

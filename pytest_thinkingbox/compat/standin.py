"""What `import thinkingbox...` gives in the test functions and fixtures of a dataset: the few names that they use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NoReturn

from pytest_thinkingbox.compat import context
from pytest_thinkingbox.compat.judging import Judge

ROOT = "thinkingbox"
_lock = threading.RLock()


def _module(name: str, **names: Any) -> ModuleType:
    module = ModuleType(name)
    module.__path__ = []
    vars(module).update(names)

    def missing(asked: str) -> NoReturn:
        if asked.startswith("__"):
            raise AttributeError(asked)
        known = ", ".join(sorted(names)) or "none"
        raise ImportError(
            f"{name}.{asked} has no counterpart in pytest-thinkingbox; of {name} there are: {known}"
        )

    vars(module)["__getattr__"] = missing
    return module


def _modules() -> dict[str, ModuleType]:
    types = {
        one.__name__: one
        for one in (
            context.ParallelToolCall,
            context.TestContext,
            context.Text,
            context.ToolCall,
            context.ToolCallResponse,
            context.ToolResponse,
        )
    }
    common = {"Judge": Judge, "TestContext": context.TestContext}
    modules = {
        ROOT: _module(ROOT),
        f"{ROOT}.common": _module(f"{ROOT}.common", **common),
        f"{ROOT}.common.chat_types": _module(f"{ROOT}.common.chat_types", **types),
        f"{ROOT}.common.judge": _module(f"{ROOT}.common.judge", Judge=Judge),
    }
    for name, module in modules.items():
        parent, _, child = name.rpartition(".")
        if parent:
            vars(modules[parent])[child] = module
    return modules


_OURS = _modules()


@contextmanager
def standing_in() -> Iterator[None]:
    """While this is open, the names above stand for the package, whether or not that is installed."""
    with _lock:
        before = {
            name: module
            for name, module in sys.modules.items()
            if name == ROOT or name.startswith(f"{ROOT}.")
        }
        for name in before:
            del sys.modules[name]
        sys.modules.update(_OURS)
        try:
            yield
        finally:
            for name in _OURS:
                sys.modules.pop(name, None)
            sys.modules.update(before)

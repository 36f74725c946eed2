"""Fewer passes of the garbage collector while attempts are played.

An attempt makes some ten thousand objects, nearly all of which end without the collector. With Python's own
threshold of 700 new objects it took 6 to 9 % of the time of a run.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

NEW_OBJECTS = 50_000
"""Beyond which the youngest objects are looked through; a few megabytes at most."""


class FewerCollections:
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        youngest, *older = gc.get_threshold()
        if youngest:  # 0 is a project that collects by itself
            gc.set_threshold(max(youngest, NEW_OBJECTS), *older)
        try:
            return (yield)
        finally:
            gc.set_threshold(youngest, *older)

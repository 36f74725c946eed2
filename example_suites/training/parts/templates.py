"""From a template to its tasks: one test function, and a case for each task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, dataclass_transform

import pytest


@dataclass_transform(frozen_default=True, kw_only_default=True)
def template(cls: type) -> type:
    """The class of a template's cases: what is different in each of them, and their `id`."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


def each(cases: Iterable[Any]) -> pytest.MarkDecorator:
    """One task for each case, which is the test's parameter `case`."""
    return pytest.mark.parametrize("case", [pytest.param(one, id=one.id) for one in cases])


def tags(kind: str, difficulty: Literal["easy", "medium", "hard"], company: str, name: str) -> list[str]:
    """The tags of a task: as in `example_suites.common.kinds`, or `routine` where nothing is in the way, and the
    template's name. Tasks of one template ask in the same words, whatever has to be done in each of them."""
    return [kind, difficulty, company, f"template:{company}-{name}"]

"""Fixtures of the depot's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from thinkingbox.common import Judge, TestContext


class Shelf:
    def __init__(self, plural: bool = False) -> None:
        self.plural = plural

    def holds(self, x: TestContext, item: str) -> int:
        return x.effects["depot"]["state"]["items"][item]


@contextmanager
def cards(x: TestContext, order: str) -> Iterator[list[str]]:
    names = [one["to"] for one in x.effects["depot"]["state"]["loans"]]
    x.metadata["cards"] = "open"
    yield sorted(names) if order == "by_name" else names
    x.metadata["cards"] = "closed"


class Reader:
    """Needs the judge, and another fixture."""

    def __init__(self, judge: Judge, shelf: Shelf, strict: bool = True) -> None:
        self.judge, self.shelf, self.strict = judge, shelf, strict

    def agrees(self, text: str) -> bool:
        return self.judge.text_yesno(text, "Does the message say that it was lent?")

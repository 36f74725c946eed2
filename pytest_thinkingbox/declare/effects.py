"""What the world answers: canned replies of an attempt's HTTP sink."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_thinkingbox.declare.checks import reject

_ROUTE = re.compile(r"([A-Z]+|\*) (/\S*)")


@dataclass(frozen=True, slots=True)
class Reply:
    """What the HTTP sink answers.

    The body is `json` or `text`. `delay` are seconds before the answer. `disconnect=True` cuts the connection
    instead of answering. In either case the request has arrived and counts.
    """

    status: int = 200
    json: Any = None
    text: str | None = field(default=None, kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    delay: float = field(default=0.0, kw_only=True)
    disconnect: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.status, bool) or not isinstance(self.status, int) or not 200 <= self.status <= 599:
            raise reject("Reply", "status", self.status, "a status from 200 to 599")
        if self.json is not None and self.text is not None:
            raise TypeError("Reply: give json or text, not both")
        if isinstance(self.delay, bool) or not isinstance(self.delay, int | float) or self.delay < 0:
            raise reject("Reply", "delay", self.delay, "a number of seconds from 0")


Routes = Mapping[str, tuple[Reply, ...]]
"""Route, such as "POST /payments/*", to its replies: the first call gets the first, the last one repeats."""


def routes_of(where: str, value: Any) -> Routes | None:
    """`http=` as routes: None without a sink, none at all for `True`."""
    if value is False or value is None:
        return None
    if value is True:
        return {}
    if not isinstance(value, Mapping):
        raise reject(
            where, "http", value, 'True, or replies by route: {"POST /payments": Reply(201, {"id": 7})}'
        )
    routes: dict[str, tuple[Reply, ...]] = {}
    for route, replies in value.items():
        if not isinstance(route, str) or not _ROUTE.fullmatch(route):
            raise reject(
                where, "http route", route, 'a method and a path, such as "POST /payments/*" or "* /*"'
            )
        several = tuple(replies) if isinstance(replies, Sequence) else (replies,)
        for one in several:
            if not isinstance(one, Reply):
                raise reject(where, f"http[{route!r}]", one, "Reply(...), or a list of them")
        if not several:
            raise reject(where, f"http[{route!r}]", replies, "at least one Reply(...)")
        routes[route] = several
    return routes


def workdir_of(where: str, value: Any) -> bool | Path:
    """`workdir=` as given, a path resolved."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str | Path):
        raise reject(
            where, "workdir", value, "True for an empty folder, or the path of a folder to start from"
        )
    folder = Path(value)
    if not folder.is_dir():
        raise FileNotFoundError(f"{where}: workdir={str(value)!r} is no folder (looked in {Path.cwd()})")
    return folder.resolve()

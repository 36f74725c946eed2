"""Which of a server's tools an agent sees, and how."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_thinkingbox.declare.checks import reject, strings, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """A choice of tools and how they look; the servers stay as they are.

    `only` are the tools that there are, `without` those that there are not. `rename` gives a tool another name,
    `describe` another description, that of a parameter under "tool.parameter". `hide` takes parameters away: a
    mapping says what they always are, a list leaves them to the server's defaults. All names are those that tools
    had before: on a server its own, in an environment those after its servers' `tools`, in a task those after the
    environment's.
    """

    only: Sequence[str] | None = None
    without: Sequence[str] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    describe: Mapping[str, str] = field(default_factory=dict)
    hide: Mapping[str, Mapping[str, Any] | Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        where = "Tools"
        if self.only is not None:
            set_(self, "only", strings(where, "only", self.only))
        set_(self, "without", strings(where, "without", self.without))
        for argument in ("rename", "describe"):
            value = getattr(self, argument)
            if not isinstance(value, Mapping):
                raise reject(where, argument, value, "a dictionary by tool")
            for name, one in value.items():
                text(where, f"{argument}[{name!r}]", one)
        if not isinstance(self.hide, Mapping):
            raise reject(where, "hide", self.hide, 'a dictionary by tool: {"pay": {"currency": "EUR"}}')
        for name, parameters in self.hide.items():
            if isinstance(parameters, Mapping):
                _json(f"{where}: hide[{name!r}]", parameters)
            else:
                strings(where, f"hide[{name!r}]", parameters)


def tools_of(where: str, value: Any) -> Tools | None:
    """`tools=` as given, checked."""
    if value is not None and not isinstance(value, Tools):
        raise reject(where, "tools", value, "Tools(only=..., rename=..., describe=..., hide=...)")
    return value


def _json(where: str, value: Mapping[str, Any]) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where}={value!r}: {error}; give values that JSON has") from None

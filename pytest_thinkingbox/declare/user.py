"""Who talks to the agent: a person that a model plays, a script, or a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_thinkingbox.declare.checks import reject, strings, text

END = "[[END]]"
"""What a simulated user writes once it is served, unless its `end_markers` say otherwise."""

_SHORTEST = 3
"""Letters and digits of a private value: anything shorter stands in texts that tell nothing."""

UserFunction = Callable[..., Any]
"""`function(conversation)`, also `async def`: the next message, None when the user is done."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a user must not contradict. `never` are statements that would: whole phrases, as the user would say them."""

    value: str
    never: Sequence[str] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        text("Fact", "value", self.value)
        object.__setattr__(self, "never", strings("Fact", "never", self.never))
        if not self.never and not any(char.isdigit() for char in self.value):
            raise reject(
                "Fact", "value", self.value, "a value with digits in it, or come with never=[...], the statements that "
                "contradict it: in free text no contradiction can be told"
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class User:
    """A person that a model plays. The agent is never shown any of this.

    `context` says who they are and what they want. `private` are values, by name, that they know and must never say;
    `facts` are values, by name, that they must not contradict: a string with digits in it, or a `Fact`. Both are part
    of the notes, so that `context` need not repeat them. A reply with one of `end_markers` ends the conversation; the
    model is told of the first.
    """

    context: str
    private: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    facts: Mapping[str, str | Fact] = field(default_factory=dict, kw_only=True)
    end_markers: Sequence[str] = field(default=(END,), kw_only=True)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        text("User", "context", self.context)
        set_(self, "private", {name: _private(name, one) for name, one in _named("private", self.private)})
        set_(self, "facts", {name: _fact(name, one) for name, one in _named("facts", self.facts)})
        for name in self.private.keys() & self.facts.keys():
            raise reject(
                "User", f"facts[{name!r}]", self.facts[name], "under another name: it is private already"
            )
        set_(self, "end_markers", strings("User", "end_markers", self.end_markers))
        if not self.end_markers:
            raise reject(
                "User", "end_markers", self.end_markers, "at least one marker, or nothing ends the user"
            )

    def __repr__(self) -> str:
        return (
            f"User({self.context!r}, private={dict(self.private)!r}, facts={dict(self.facts)!r}, "
            f"end_markers={list(self.end_markers)!r})"
        )

    @property
    def checked(self) -> dict[str, Fact]:
        """`facts` with every value as a Fact."""
        return {name: one if isinstance(one, Fact) else Fact(one) for name, one in self.facts.items()}


@dataclass(frozen=True, slots=True)
class Script:
    """A user that says these lines, one after each answer of the agent, whatever it was, and is done after the last."""

    lines: Sequence[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", strings("Script", "lines", self.lines))
        if not self.lines:
            raise reject("Script", "lines", self.lines, "at least one line; a task without user= has no user")


Player = User | Script | UserFunction
"""Who plays the user of one task, its parameters filled in."""


def _named(argument: str, value: Any) -> Sequence[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        raise reject("User", argument, value, "a dictionary of values by name, for example {'pin': '4711'}")
    for name in value:
        text("User", f"{argument} name", name)
    return list(value.items())


def _private(name: str, value: Any) -> str:
    value = text("User", f"private[{name!r}]", value)
    if sum(char.isalnum() for char in value) < _SHORTEST:
        raise reject(
            "User", f"private[{name!r}]", value, f"at least {_SHORTEST} letters or digits: a shorter value stands in "
            "texts that do not tell it"
        )  # fmt: skip
    return str(value)


def _fact(name: str, value: Any) -> str | Fact:
    if isinstance(value, Fact):
        return value
    return Fact(text("User", f"facts[{name!r}]", value)).value


def plays_itself(value: Callable[..., Any]) -> bool:
    """Whether a `user=` that can be called is the user, and not what makes one of the test's parameters."""
    return "conversation" in inspect.signature(value).parameters

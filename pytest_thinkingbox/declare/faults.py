"""What goes wrong with tools on purpose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pytest_thinkingbox.declare.checks import reject, text

Failure = Literal["error", "timeout", "disconnect"]
_FAILURES = " or ".join(f'"{one}"' for one in get_args(Failure))


@dataclass(frozen=True, slots=True)
class Fault:
    """Calls of a tool that go wrong, whatever the agent does right.

    `before`: the call fails without being made. `after_commit`: it is made and succeeds, and its answer is lost; a
    call that the tool refuses committed nothing and is not hit. `delay` are seconds that the answer takes longer,
    by itself or before the failure. `times` calls of an attempt are hit, the first ones unless `rate` is the
    probability of each; None is all of them. `tool` may hold `*`.
    """

    tool: str
    before: Failure | None = None
    after_commit: Failure | None = None
    times: int | None = 1
    rate: float | None = None
    delay: float = 0.0

    def __post_init__(self) -> None:
        text("Fault", "tool", self.tool)
        for argument, value in (("before", self.before), ("after_commit", self.after_commit)):
            if value is not None and value not in get_args(Failure):
                raise reject("Fault", argument, value, _FAILURES)
        if self.before is not None and self.after_commit is not None:
            raise TypeError(f"Fault({self.tool!r}): give before or after_commit, not both: write two faults")
        if self.times is not None and (
            isinstance(self.times, bool) or not isinstance(self.times, int) or self.times < 1
        ):
            raise reject("Fault", "times", self.times, "a whole number from 1, or None for every call")
        if self.rate is not None and not (_is_number(self.rate) and 0 < self.rate <= 1):
            raise reject("Fault", "rate", self.rate, "a probability above 0, at most 1")
        if not (_is_number(self.delay) and 0 <= self.delay < math.inf):
            raise reject("Fault", "delay", self.delay, "a number of seconds from 0")
        if self.before is None and self.after_commit is None and not self.delay:
            raise TypeError(f"Fault({self.tool!r}): say what goes wrong: before=, after_commit= or delay=")

    @property
    def words(self) -> str:
        """What it does to a call, as it is recorded."""
        failure = "before" if self.before else "after_commit" if self.after_commit else ""
        return f"{failure}={self.before or self.after_commit}" if failure else f"delay={self.delay:g}"


def faults_of(where: str, value: Any) -> tuple[Fault, ...]:
    """`faults=` as given, checked."""
    if isinstance(value, Fault) or not isinstance(value, Sequence) or isinstance(value, str):
        raise reject(
            where, "faults", value, 'a list, such as [Fault("confirm_refund", after_commit="timeout")]'
        )
    for one in value:
        if not isinstance(one, Fault):
            raise reject(where, "faults item", one, "a Fault(...)")
    return tuple(value)


def parse_faults(line: str) -> tuple[Fault, ...]:
    """`confirm_*:after_commit=timeout,rate=0.2;send_mail:before=error`. Raises ValueError that says what is wrong.

    With a rate every call may be hit, unless `times` says how many.
    """
    return tuple(_parsed(part.strip()) for part in line.split(";") if part.strip())


def _parsed(part: str) -> Fault:
    tool, colon, rest = part.rpartition(":")
    if not colon:
        raise ValueError(f"{part!r} names no fault: write TOOL:after_commit=timeout")
    given: dict[str, Any] = {}
    for setting in rest.split(","):
        name, _, value = (one.strip() for one in setting.partition("="))
        try:
            match name:
                case "before" | "after_commit":
                    given[name] = value
                case "times":
                    given[name] = None if value == "all" else int(value)
                case "rate" | "delay":
                    given[name] = float(value)
                case _:
                    raise ValueError
        except ValueError:
            raise ValueError(
                f"{setting.strip()!r} in {part!r} must be before=..., after_commit=..., times=N (or all), "
                "rate=0.2 or delay=SECONDS"
            ) from None
    if "rate" in given:
        given.setdefault("times", None)
    try:
        return Fault(tool.strip(), **given)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

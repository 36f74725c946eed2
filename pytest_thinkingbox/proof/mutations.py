"""Every way in which a solution is played differently, from what it did when it was played as written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any, Literal

from pytest_thinkingbox.agents.mutant import alternatives
from pytest_thinkingbox.proof.model import Mutation, PlayedCall
from pytest_thinkingbox.proof.notes import Notes

VALUES = 3
"""Other values that an argument is given, at most."""
CALLS = 3
"""Known calls of a tool that a `no_change` task is tried with, at most."""
UNTOUCHED = 1
"""Tables that the solution does not touch in which a row is changed."""


def mutations_of(
    calls: Sequence[PlayedCall],
    notes: Notes,
    *,
    known: Iterable[PlayedCall],
    touched: Iterable[str],
    sinks: Sequence[Literal["mail", "request", "file"]],
    no_change: bool,
) -> list[Mutation]:
    """All attempts of the second run. `known` are calls of all solutions that share the environment.

    Calls of tools that say they only read are left alone. A `no_change` task is tried with single calls of every
    tool that a solution of the suite knows how to use.
    """
    known = list(known)
    writes = [at for at, one in enumerate(calls, start=1) if one.tool not in notes.reading]
    found: list[Mutation] = [] if no_change else [Mutation(kind="claim")]
    found += [Mutation(kind="drop", at=at) for at in writes]
    found += [Mutation(kind="repeat", at=at) for at in writes]
    for at in writes:
        if not calls[at - 1].fault.startswith("before="):  # its arguments reached nobody
            found += _altered(at, calls, notes, known)
    if len(calls) > 1:
        found += [Mutation(kind="move", at=at) for at in writes]
    found += [
        Mutation(kind="swap", at=one, other=two)
        for one, two in combinations(writes, 2)
        if (calls[one - 1].tool, calls[one - 1].arguments) != (calls[two - 1].tool, calls[two - 1].arguments)
    ]
    if no_change:
        found += _single_writes(notes, known)
    found += [Mutation(kind=sink) for sink in sinks]
    found += [Mutation(kind="neighbour", table=table) for table in _tables(notes, touched)]
    return found


def untried_tools(notes: Notes, known: Iterable[PlayedCall]) -> list[str]:
    """Tools that may write and that no solution of the suite calls: nobody knows arguments for them."""
    tried = {one.tool for one in known}
    return [name for name in notes.tools if name not in notes.reading and name not in tried]


def _altered(
    at: int, calls: Sequence[PlayedCall], notes: Notes, known: Sequence[PlayedCall]
) -> Iterator[Mutation]:
    call = calls[at - 1]
    schema = notes.tools.get(call.tool, {})
    for name, value in call.arguments.items():
        kinds = _declared(schema, name)
        for other in _other_values(call, name, value, kinds, calls, known):
            yield Mutation(kind="alter", at=at, argument=name, value=other)
        if name not in schema.get("required", ()):
            yield Mutation(kind="omit", at=at, argument=name)


def _other_values(
    call: PlayedCall,
    name: str,
    value: Any,
    kinds: Mapping[str, Any],
    calls: Sequence[PlayedCall],
    known: Sequence[PlayedCall],
) -> list[Any]:
    """Plausible first: what the schema lists, what this solution and then others give an argument of that name."""
    others: list[Any] = [*kinds.get("enum", ())]
    if not others:
        near = [one.arguments[name] for one in (*calls, *known) if name in one.arguments]
        same = [one for one in near if type(one) is type(value)]
        if isinstance(value, str):
            beside = [one for key, one in call.arguments.items() if key != name and isinstance(one, str)]
            # Free text cut in the middle loses what it is about; a whole other text may still hold it.
            cut = [value[: len(value) // 2]] if " " in value else []
            others = [*alternatives(value, []), *cut, *same[:2], *beside]
        elif isinstance(value, bool) or not isinstance(value, int | float):
            others = alternatives(value, [])
        else:
            # A neighbour that there is, else a number next to it, else one of another size.
            others = [*(one for one in same if one != value)][:1] + alternatives(value, [])
    distinct: list[Any] = []
    for one in others:
        if one != value and one not in distinct:
            distinct.append(one)
    return list(islice(distinct, VALUES))


def _declared(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The schema of an argument: of one that may be null, what it is otherwise."""
    declared: Mapping[str, Any] = schema.get("properties", {}).get(name, {})
    options = [one for one in declared.get("anyOf", ()) if one.get("type") != "null"]
    if len(options) == 1:
        declared = options[0]
    reference = declared.get("$ref", "")
    return schema.get("$defs", {}).get(reference.removeprefix("#/$defs/"), {}) if reference else declared


def _single_writes(notes: Notes, known: Sequence[PlayedCall]) -> Iterator[Mutation]:
    for name in notes.tools:
        if name in notes.reading:
            continue
        distinct: list[Mapping[str, Any]] = []
        for one in known:
            if one.tool == name and one.arguments not in distinct:
                distinct.append(one.arguments)
        for arguments in distinct[:CALLS]:
            yield Mutation(kind="extra", tool=name, arguments=arguments)


def _tables(notes: Notes, touched: Iterable[str]) -> list[str]:
    """Those that the solution touches, and some that it does not: a checker may look at the former only."""
    mine = list(dict.fromkeys(touched))
    others = [name for name in notes.rules.tables if name not in mine and name not in notes.rules.bookkeeping]
    return [one for one in mine if one in notes.rules.tables] + others[:UNTOUCHED]

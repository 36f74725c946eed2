"""Which expectation is met by which item: order free, one to one, `Same` names linked over all of them.

Without `Same` this is maximum bipartite matching. With it, values are tried for one name at a time; after
each choice all pairs that contradict it go, and so do those that no link can reach any more, until either no
matching is left or every name has one value. Expectations that can be swapped for each other are tried once,
not n! times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_thinkingbox.errors import TooAmbiguous

Bindings = Mapping[str, Hashable]
"""What names of `Same` stand for if an expectation is met by an item."""
Options = Mapping[int, Bindings]
"""The items that could meet an expectation."""
Pairs = dict[int, int]
"""Expectation to item, both by position."""

WORK = 5_000_000
"""Pairs looked at before a comparison counts as too ambiguous: some seconds."""


def match_all(options: Sequence[Options], *, work: int = WORK) -> Pairs | None:
    """Meets every expectation, or None if that is impossible; items may be left over.

    Raises TooAmbiguous when `work` does not suffice to tell.
    """
    return _Search(options, work).run()


def match_best(options: Sequence[Options], *, work: int = WORK) -> Pairs:
    """Meets as many expectations as possible, earlier ones first, for an explanation of what is missing.

    With `Same` no single expectation could be added, but another choice might meet more.
    """
    kept: list[int] = []
    blocks = [list(range(len(options)))]
    while blocks:
        block = blocks.pop()
        if not block or _can_match([options[i] for i in (*kept, *block)], work):
            kept += block
        elif len(block) > 1:
            middle = len(block) // 2
            blocks += [block[middle:], block[:middle]]
    found = match_all([options[i] for i in kept], work=work) if kept else {}
    assert found is not None
    return {kept[at]: item for at, item in found.items()}


def _can_match(options: Sequence[Options], work: int) -> bool:
    try:
        return match_all(options, work=work) is not None
    except TooAmbiguous:
        return False


@dataclass(slots=True)
class _State:
    """Options that are left, the values that are left for each name, and a matching that ignores links."""

    options: list[Options]
    domains: dict[str, set[Hashable]]
    pairs: Pairs


class _Search:
    def __init__(self, options: Sequence[Options], work: int) -> None:
        self.start = list(options)
        self.work = work
        self.names: list[tuple[str, ...]] = [
            tuple(next(iter(choices.values()))) if choices else () for choices in options
        ]
        self.mentions: dict[str, list[int]] = {}
        for expectation, names in enumerate(self.names):
            for name in names:
                self.mentions.setdefault(name, []).append(expectation)

    def run(self) -> Pairs | None:
        state = self._settle(_State(self.start, {}, {}), self.mentions)
        choices: list[tuple[_State, str, Hashable]] = []
        while True:
            if state is None:
                if not choices:
                    return None
                state = self._without(*choices.pop())
                continue
            name = min(
                (name for name, values in state.domains.items() if len(values) > 1),
                key=lambda name, domains=state.domains: len(domains[name]),  # type: ignore[misc]
                default=None,
            )
            if name is None:
                return state.pairs
            first = self.mentions[name][0]
            value = state.options[first][state.pairs[first]][name]
            choices.append((state, name, value))
            state = self._narrow(state, {name: {value}})

    def _narrow(self, state: _State, allowed: Mapping[str, set[Hashable]]) -> _State | None:
        domains = {**state.domains, **allowed}
        options = list(state.options)
        for name, values in allowed.items():
            for at in self.mentions[name]:
                options[at] = self._keep(options[at], name, values)
        touched = {name for changed in allowed for at in self.mentions[changed] for name in self.names[at]}
        return self._settle(_State(options, domains, dict(state.pairs)), touched)

    def _without(self, state: _State, name: str, value: Hashable) -> _State | None:
        """The state in which neither this name nor one that could be swapped for it has this value."""
        twins = self._interchangeable(state, name)
        return self._narrow(state, {twin: state.domains[twin] - {value} for twin in twins})

    def _settle(self, state: _State, names: Iterable[str]) -> _State | None:
        """Remove what no link can reach, then mend the matching; None when an expectation cannot be met."""
        queue = dict.fromkeys(names)
        while queue:
            name = next(iter(queue))
            del queue[name]
            mentions = self.mentions[name]
            values = set.intersection(*({o[name] for o in state.options[at].values()} for at in mentions))
            state.domains[name] = values
            for at in mentions:
                kept = self._keep(state.options[at], name, values)
                if len(kept) < len(state.options[at]):
                    state.options[at] = kept
                    queue.update(dict.fromkeys(other for other in self.names[at] if other != name))
        return state if self._mend(state) else None

    def _keep(self, options: Options, name: str, values: set[Hashable]) -> Options:
        self._spend(len(options))
        return {item: bindings for item, bindings in options.items() if bindings[name] in values}

    def _mend(self, state: _State) -> bool:
        pairs = state.pairs
        for expectation in [e for e, item in pairs.items() if item not in state.options[e]]:
            del pairs[expectation]
        owners = {item: expectation for expectation, item in pairs.items()}
        return all(
            expectation in pairs or self._augment(state.options, pairs, owners, expectation)
            for expectation in range(len(state.options))
        )

    def _augment(self, options: Sequence[Options], pairs: Pairs, owners: dict[int, int], root: int) -> bool:
        reached: dict[int, int] = {}
        queue = deque([root])
        while queue:
            expectation = queue.popleft()
            self._spend(len(options[expectation]))
            for item in options[expectation]:
                if item in reached:
                    continue
                reached[item] = expectation
                if item in owners:
                    queue.append(owners[item])
                    continue
                while True:
                    owner = reached[item]
                    previous = pairs.get(owner)
                    pairs[owner], owners[item] = item, owner
                    if owner == root or previous is None:
                        return True
                    item = previous
        return False

    def _interchangeable(self, state: _State, name: str) -> list[str]:
        """The names that play this name's part in groups of expectations with exactly the same options."""
        mine = self._group(state, name)
        signature = self._signature(state, mine)
        part = list(self._open_names(state, mine)).index(name)
        seen = set(mine)
        twins = [name]
        for other, values in state.domains.items():
            start = self.mentions[other][0]
            if len(values) < 2 or start in seen:
                continue
            group = self._group(state, other)
            seen.update(group)
            if len(group) == len(mine) and self._signature(state, group) == signature:
                twins.append(list(self._open_names(state, group))[part])
        return twins

    def _group(self, state: _State, name: str) -> list[int]:
        """The expectations that open names link, directly or over others, to this name."""
        group: set[int] = set()
        names, queue = {name}, [name]
        while queue:
            for at in self.mentions[queue.pop()]:
                if at not in group:
                    group.add(at)
                    linked = self._open_names(state, [at]).keys() - names
                    names |= linked
                    queue += linked
        return sorted(group)

    def _open_names(self, state: _State, group: Iterable[int]) -> dict[str, None]:
        return dict.fromkeys(name for at in group for name in self.names[at] if len(state.domains[name]) > 1)

    def _signature(self, state: _State, group: Sequence[int]) -> Hashable:
        places = {name: place for place, name in enumerate(self._open_names(state, group))}
        parts = []
        for at in group:
            self._spend(len(state.options[at]))
            open_names = [name for name in self.names[at] if name in places]
            parts.append(
                (
                    tuple(places[name] for name in open_names),
                    frozenset(
                        (item, tuple(bindings[name] for name in open_names))
                        for item, bindings in state.options[at].items()
                    ),
                )
            )
        return tuple(parts)

    def _spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise TooAmbiguous(
                "this comparison can be linked in too many ways: name more columns next to Same"
            )

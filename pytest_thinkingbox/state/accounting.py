"""A sequence of what happened, that remembers what a checker accounted for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, overload

from pytest_thinkingbox.state.fits import Difference
from pytest_thinkingbox.state.matching import Bindings, Pairs, match_all, match_best

ItemT = TypeVar("ItemT")
ExpectationT = TypeVar("ExpectationT")


@dataclass(frozen=True, slots=True)
class Comparison(Generic[ItemT, ExpectationT]):
    """How a list of expectations compares: `pairs` maps positions of expectations to those of items."""

    expected: Sequence[ExpectationT]
    actual: Sequence[ItemT]
    pairs: Pairs
    bindings: Bindings

    @property
    def holds(self) -> bool:
        return len(self.pairs) == len(self.expected) == len(self.actual)


class Accounted(Sequence[ItemT], ABC, Generic[ItemT, ExpectationT]):
    """What a checker has not taken yet, compared with expectations in any order.

    `==` accounts for everything in it if it returns True, and for nothing if it returns False; `!=` and `in`
    account for nothing. What nobody accounted for fails the attempt.
    """

    noun: ClassVar[str]
    """One item in words, to be followed by "s" for several."""
    accepts: ClassVar[tuple[type, ...]]
    """The classes of expectations."""

    __slots__ = ("_accounted", "_items", "_left")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, items: Sequence[ItemT]) -> None:
        self._items = tuple(items)
        self._left = list(range(len(self._items)))  # what no take and no ignore took out of comparisons
        self._accounted: set[int] = set()

    @abstractmethod
    def check(self, expectation: ExpectationT) -> None:
        """Raises UnknownName when the expectation names what is not there."""

    @abstractmethod
    def fits(self, expectation: ExpectationT, item: ItemT) -> Bindings | None:
        """What `Same` stands for if the item is the one expected, None if it is not."""

    @abstractmethod
    def differences(self, expectation: ExpectationT, item: ItemT, bound: Bindings) -> list[Difference] | None:
        """What keeps the item from being the one expected; None when they have nothing to do with each other."""

    @abstractmethod
    def interchangeable(self, one: ItemT, other: ItemT) -> bool:
        """Whether it does not matter which of the two a checker takes."""

    @abstractmethod
    def describe(self, item: ItemT) -> str:
        """The item for people, in one line."""

    def compare(self, other: object) -> Comparison[ItemT, ExpectationT]:
        """How `other` compares with what is left, without accounting for anything.

        Raises TypeError unless it is a list of expectations, UnknownName when one names what is not there.
        """
        expected = self._expectations(other)
        actual = list(self)
        options = self._options(expected, actual)
        pairs = match_all(options) if len(expected) == len(actual) else None
        if pairs is None:
            pairs = match_best(options)
        bindings: dict[str, Any] = {}
        for at, item in pairs.items():
            bindings.update(options[at][item])
        return Comparison(expected, actual, pairs, bindings)

    def __eq__(self, other: object) -> bool:
        equal = self._equals(other)
        if equal:
            self._accounted.update(self._left)
        return equal

    def __ne__(self, other: object) -> bool:
        return not self._equals(other)

    def take(self, expectation: ExpectationT) -> ItemT:
        """Accounts for the one item that is expected and returns it; comparisons no longer see it.

        AssertionError when there is none, or when several fit that differ in more than generated keys and
        volatile columns.
        """
        self._check(expectation)
        found = self._fitting(expectation)
        if not found:
            raise AssertionError("\n".join([f"no {self.noun} is {expectation!r}", *self._there_is()]))
        first = self._items[found[0]]
        for at in found[1:]:
            if not self.interchangeable(first, self._items[at]):
                lines = [f"{len(found)} {self.noun}s are {expectation!r}: name what tells them apart"]
                lines += [f"    {self.describe(self._items[at])}" for at in found[:_LISTED]]
                raise AssertionError("\n".join(lines))
        self._take(found[:1])
        return first

    def unaccounted(self) -> list[ItemT]:
        """What nobody accounted for, in order."""
        return [item for at, item in enumerate(self._items) if at not in self._accounted]

    def everything(self) -> list[ItemT]:
        """All items, those that were taken too."""
        return list(self._items)

    def __len__(self) -> int:
        return len(self._left)

    def __iter__(self) -> Iterator[ItemT]:
        return iter([self._items[at] for at in self._left])

    @overload
    def __getitem__(self, index: int) -> ItemT: ...
    @overload
    def __getitem__(self, index: slice) -> list[ItemT]: ...
    def __getitem__(self, index: int | slice) -> ItemT | list[ItemT]:
        if isinstance(index, slice):
            return [self._items[at] for at in self._left[index]]
        return self._items[self._left[index]]

    def __contains__(self, expectation: object) -> bool:
        return self.count(expectation) > 0

    def count(self, expectation: Any) -> int:
        """How many items are what is expected; this accounts for nothing."""
        self._check(expectation)
        return len(self._fitting(expectation))

    def index(self, expectation: Any, start: int = 0, stop: int | None = None) -> int:
        """The position of the first item that is what is expected; ValueError when there is none."""
        self._check(expectation)
        for at, item in list(enumerate(self))[start:stop]:
            if self.fits(expectation, item) is not None:
                return at
        raise ValueError(f"no {self.noun} is {expectation!r}")

    def __repr__(self) -> str:
        return f"[{', '.join(self.describe(item) for item in self)}]"

    def _take(self, places: Iterable[int]) -> None:
        taken = set(places)
        self._accounted |= taken
        self._left = [at for at in self._left if at not in taken]

    def _fitting(self, expectation: ExpectationT) -> list[int]:
        return [at for at in self._left if self.fits(expectation, self._items[at]) is not None]

    def _equals(self, other: object) -> bool:
        expected = self._expectations(other)
        actual = list(self)
        return len(expected) == len(actual) and match_all(self._options(expected, actual)) is not None

    def _options(
        self, expected: Sequence[ExpectationT], actual: Sequence[ItemT]
    ) -> list[dict[int, Bindings]]:
        options = []
        for expectation in expected:
            choices: dict[int, Bindings] = {}
            for at, item in enumerate(actual):
                bindings = self.fits(expectation, item)
                if bindings is not None:
                    choices[at] = bindings
            options.append(choices)
        return options

    def _expectations(self, other: object) -> list[ExpectationT]:
        if not isinstance(other, list | tuple):
            raise TypeError(
                f"{self.noun}s are compared with a list of {self._accepted()}, not with {type(other).__name__}"
            )
        for expectation in other:
            self._check(expectation)
        return list(other)

    def _check(self, expectation: ExpectationT) -> None:
        known: bool = isinstance(expectation, self.accepts)
        if not known:
            raise TypeError(f"{expectation!r} is no {self._accepted()}, so it can be no {self.noun}")
        self.check(expectation)

    def _accepted(self) -> str:
        *others, last = [kind.__name__ for kind in self.accepts]
        return f"{', '.join(others)} or {last}" if others else last

    def _there_is(self) -> list[str]:
        items = list(self)
        if not items:
            return [f"there is no {self.noun} left" if self._items else f"there is no {self.noun}"]
        lines = ["there is:", *(f"    {self.describe(item)}" for item in items[:_LISTED])]
        if len(items) > _LISTED:
            lines.append(f"    ... and {len(items) - _LISTED:,} more")
        return lines


_LISTED = 20
"""Items that a message lists."""

from __future__ import annotations

import time
from collections.abc import Hashable
from itertools import permutations
from random import Random
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_thinkingbox.errors import TooAmbiguous
from pytest_thinkingbox.state.matching import Bindings, match_all, match_best
from tests.state.strategies import PROPERTY

Options = list[dict[int, dict[str, Hashable]]]


@st.composite
def puzzles(draw: st.DrawFn) -> Options:
    """Up to five expectations, with up to two names each, and up to five items."""
    items = draw(st.integers(0, 5))
    options: Options = []
    for _ in range(draw(st.integers(0, 5))):
        names = draw(st.lists(st.sampled_from("pqr"), unique=True, max_size=2))
        fitting = draw(st.sets(st.integers(0, items - 1))) if items else set()
        options.append({item: {name: draw(st.integers(0, 2)) for name in names} for item in fitting})
    return options


def consistent(options: Options, chosen: dict[int, int]) -> bool:
    bound: dict[str, Hashable] = {}
    return len(set(chosen.values())) == len(chosen) and all(
        item in options[expectation]
        and all(bound.setdefault(name, value) == value for name, value in options[expectation][item].items())
        for expectation, item in chosen.items()
    )


def can_be_met(options: Options) -> bool:
    return any(consistent(options, dict(enumerate(order))) for order in permutations(range(5), len(options)))


@PROPERTY
@given(puzzles())
def test_it_finds_a_matching_exactly_when_there_is_one(options: Options) -> None:
    found = match_all(options)
    assert (found is not None) == can_be_met(options)
    if found is not None:
        assert found.keys() == set(range(len(options)))
        assert consistent(options, found)


@PROPERTY
@given(puzzles())
def test_the_best_matching_is_consistent_and_cannot_be_extended(options: Options) -> None:
    found = match_best(options)
    assert consistent(options, found)
    for other in set(range(len(options))) - found.keys():
        assert not can_be_met([options[i] for i in sorted({*found, other})])


@PROPERTY
@given(puzzles().map(lambda options: [{item: {} for item in one} for one in options]))
def test_without_names_the_best_matching_is_a_maximum(options: Options) -> None:
    sizes = [
        sum(item in one for one, item in zip(options, order, strict=True))
        for order in permutations(range(5), len(options))
    ]
    assert len(match_best(options)) == max(sizes)


def test_a_greedy_choice_is_undone() -> None:
    assert match_all([{0: {}, 1: {}}, {0: {}}]) == {0: 1, 1: 0}


def test_a_value_is_chosen_that_all_uses_of_a_name_allow() -> None:
    refund = {0: {"r": 5}, 1: {"r": 7}}
    line = {2: {"r": 7}}
    assert match_all([refund, line]) == {0: 1, 1: 2}


def test_200_identical_expectations_are_fast() -> None:
    started = time.perf_counter()
    assert len(match_all([{item: {} for item in range(200)}] * 200) or {}) == 200
    assert match_all([{item: {} for item in range(199)}] * 200) is None
    assert time.perf_counter() - started < 2


def linked_pairs(count: int, lines: list[int]) -> Options:
    """`count` refunds and as many lines that refer to them, each pair with a name of its own, all alike."""
    return [
        one
        for at in range(count)
        for one in (
            {item: {f"r{at}": item} for item in range(count)},
            {count + item: {f"r{at}": refund} for item, refund in enumerate(lines)},
        )
    ]


def test_100_linked_pairs_that_are_all_alike_are_fast() -> None:
    started = time.perf_counter()
    found = match_all(linked_pairs(100, list(range(100))[::-1]))
    assert found is not None
    assert all(found[2 * at] == 299 - 100 - found[2 * at + 1] for at in range(100))
    assert time.perf_counter() - started < 4


def test_100_linked_pairs_of_which_one_is_wrong_are_fast() -> None:
    started = time.perf_counter()
    assert match_all(linked_pairs(100, [*range(99), 0])) is None
    assert time.perf_counter() - started < 4


def test_ten_lines_of_one_refund_are_fast() -> None:
    options: Options = [{0: {"r": 7}}, *({item: {"r": 7} for item in range(1, 11)} for _ in range(10))]
    assert len(match_all(options) or {}) == 11
    details: Options = [
        one
        for at in range(9)
        for one in (
            {item: {"r": 7, f"l{at}": item} for item in range(1, 10)},
            {item + 9: {f"l{at}": item} for item in range(1, 10)},
        )
    ]
    started = time.perf_counter()
    assert len(match_all([{0: {"r": 7}}, *details]) or {}) == 19
    assert time.perf_counter() - started < 2


def test_groups_that_can_be_swapped_are_not_tried_in_every_order() -> None:
    # Nine circles a -> b -> a, all alike. The last two items lead from one to the other, which only a choice shows.
    count = 9
    back_to = [*range(7), 8, 7]
    circles: Options = []
    for at in range(count):
        circles.append({item: {f"a{at}": item, f"b{at}": item} for item in range(count)})
        circles.append({count + item: {f"a{at}": item, f"b{at}": back_to[item]} for item in range(count)})
    assert match_all(circles, work=50_000) is None


def random_groups(random: Random) -> Options:
    """Two or three groups of two or three expectations, each group with two names; most groups are alike."""
    groups, size, values = random.choice([2, 3]), random.choice([2, 3]), random.choice([2, 3])
    items = range(groups * size)

    def some_items() -> list[tuple[int, int, int]]:
        return [
            (one, random.randrange(values), random.randrange(values))
            for one in items
            if random.random() < 0.6
        ]

    usual = [some_items() for _ in range(size)]
    return [
        {item: {f"a{group}": a, f"b{group}": b} for item, a, b in chosen}
        for group in range(groups)
        for chosen in ((some_items() if random.random() < 0.25 else usual[at]) for at in range(size))
    ]


def can_be_met_by_trying(
    options: Options, used: tuple[int, ...] = (), bound: Bindings = MappingProxyType({})
) -> bool:
    if len(used) == len(options):
        return True
    return any(
        can_be_met_by_trying(options, (*used, item), {**bound, **names})
        for item, names in options[len(used)].items()
        if item not in used and all(bound.get(name, value) == value for name, value in names.items())
    )


def test_leaving_out_what_could_be_swapped_never_misses_a_matching() -> None:
    found = 0
    for seed in range(2000):
        options = random_groups(Random(seed))
        pairs = match_all(options)
        assert (pairs is not None) == can_be_met_by_trying(options), options
        found += pairs is not None
    assert 100 < found < 1900  # neither side is rare


def test_too_much_to_try_is_an_error_not_a_verdict() -> None:
    with pytest.raises(TooAmbiguous, match="name more columns"):
        match_all(linked_pairs(30, list(range(30))), work=1000)
    assert len(match_best(linked_pairs(3, [0, 1, 1]), work=1)) < 6

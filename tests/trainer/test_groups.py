from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from itertools import islice

import pytest

from thinkingbox_trainer.groups import Cursor, Filled, Member, Rules, fill

MIXED = [0.0, 1.0]


class Table:
    """Episodes whose rewards are written down: by task, a list for each try; the last list holds for all later ones."""

    def __init__(self, rewards: Mapping[str, Sequence[Sequence[float | None]]]) -> None:
        self.rewards = rewards
        self.begun: list[tuple[str, int, int]] = []

    def __call__(self, task: str, member: int, attempt: int) -> Future[Member]:
        self.begun.append((task, member, attempt))
        tries = self.rewards[task]
        future: Future[Member] = Future()
        future.set_result(
            Member(tries[min(attempt, len(tries)) - 1][member - 1], f"{task}{member}.{attempt}")
        )
        return future


def rules(**changed) -> Rules:
    given = {"groups": 2, "size": 2, "most_episodes": 100, "refill": "group", "replace_uniform": True}
    return Rules(**{**given, **changed})


def rows(filled: Filled) -> list[str]:
    return [member.row for group in filled.accepted for member in group.members]


def test_groups_are_accepted_in_the_order_in_which_they_were_begun():
    table = Table({task: [MIXED] for task in "abc"})
    filled = fill(iter("abc"), table, rules())
    assert rows(filled) == ["a1.1", "a2.1", "b1.1", "b2.1"]
    assert (filled.episodes, filled.missing, filled.invalid) == (4, 0, 0)


def test_a_task_that_comes_twice_has_other_members_the_second_time():
    table = Table({"a": [[0.0, 1.0, None, 1.0], [0.0, 1.0, 0.0, 1.0]]})
    filled = fill(iter("aa"), table, rules())
    assert table.begun == [("a", 1, 1), ("a", 2, 1), ("a", 3, 1), ("a", 4, 1), ("a", 3, 2), ("a", 4, 2)]
    assert rows(filled) == ["a1.1", "a2.1", "a3.2", "a4.2"]


@pytest.mark.parametrize("same", [0.0, 1.0])
def test_t40_a_group_in_which_all_are_worth_the_same_is_replaced(same):
    filled = fill(iter("abc"), Table({"a": [[same, same]], "b": [MIXED], "c": [MIXED]}), rules())
    assert [group.task for group in filled.accepted] == ["b", "c"]
    assert filled.uniform == ["a"]


def test_a_group_of_equals_is_kept_where_the_recipe_says_so():
    filled = fill(iter("ab"), Table({"a": [[1.0, 1.0]], "b": [MIXED]}), rules(replace_uniform=False))
    assert [group.task for group in filled.accepted] == ["a", "b"]


def test_a_group_with_an_invalid_member_is_played_again_whole():
    table = Table({"a": [[None, 1.0], MIXED], "b": [MIXED]})
    filled = fill(iter("ab"), table, rules())
    assert rows(filled)[:2] == ["a1.2", "a2.2"]
    assert (filled.episodes, filled.invalid) == (6, 1)


def test_only_the_invalid_member_is_played_again_where_the_recipe_says_so():
    table = Table({"a": [[None, 1.0], MIXED], "b": [MIXED]})
    filled = fill(iter("ab"), table, rules(refill="member"))
    assert rows(filled)[:2] == ["a1.2", "a2.1"]
    assert filled.episodes == 5


def test_what_stays_invalid_is_given_up_after_two_refills():
    table = Table({"a": [[None, 1.0]], "b": [MIXED], "c": [MIXED]})
    filled = fill(iter("abc"), table, rules(refill="member"))
    assert filled.given_up == ["a"]
    assert [one for one in table.begun if one[0] == "a"] == [
        ("a", 1, 1),
        ("a", 2, 1),
        ("a", 1, 2),
        ("a", 1, 3),
    ]
    assert [group.task for group in filled.accepted] == ["b", "c"]
    assert filled.invalid == 3


def test_the_budget_ends_a_step():
    table = Table({task: [[1.0, 1.0]] for task in "abcdef"})
    filled = fill(iter("abcdef"), table, rules(most_episodes=7))
    assert (filled.episodes, filled.missing, filled.accepted) == (6, 2, [])


def test_a_step_ends_when_no_task_is_left():
    filled = fill(iter("a"), Table({"a": [MIXED]}), rules())
    assert filled.missing == 1


def test_fast_failures_do_not_push_out_slow_successes():
    """`a` is slow, and begun first: it is accepted first, with the same others as if it were fast."""
    table = Table({"a": [MIXED], "b": [[0.0, 0.0]], "c": [MIXED], "d": [MIXED]})
    fast = fill(iter("abcd"), table, rules())

    def slow_a(task: str, member: int, attempt: int) -> Future[Member]:
        played = table(task, member, attempt)
        if task != "a":
            return played
        later: Future[Member] = Future()
        threading.Timer(0.2, lambda: later.set_result(played.result())).start()
        return later

    assert rows(fill(iter("abcd"), slow_a, rules())) == rows(fast)


def test_an_error_of_an_episode_ends_the_step():
    def broken(task: str, member: int, attempt: int) -> Future[Member]:
        future: Future[Member] = Future()
        future.set_exception(RuntimeError("the campaign cannot start"))
        return future

    with pytest.raises(RuntimeError, match="cannot start"):
        fill(iter("ab"), broken, rules())


def test_each_task_comes_once_in_a_pass():
    cursor = Cursor(list("abcde"), seed=3)
    first = list(islice(cursor.step(), 3))
    second = list(islice(cursor.step(), 2))
    assert sorted(first + second) == list("abcde")


def test_no_task_comes_twice_in_a_step():
    assert sorted(Cursor(list("abc"), seed=3).step()) == list("abc")


def test_a_step_over_the_end_of_a_pass_waits_only_for_what_it_has_used():
    cursor = Cursor(list("abcde"), seed=3)
    first = list(islice(cursor.step(), 3))
    second = list(islice(cursor.step(), 5))
    assert sorted(second) == list("abcde")  # two of the old pass and three of the new one
    third = list(islice(cursor.step(), 2))
    assert sorted(second[2:] + third) == list("abcde")
    assert sorted(first + second[:2]) == list("abcde")


def test_a_cursor_goes_on_where_it_stood():
    cursor = Cursor(list("abcde"), seed=3)
    list(islice(cursor.step(), 7))
    other = Cursor(list("abcde"), seed=3, passes=cursor.passes, left=cursor.left)
    assert list(islice(other.step(), 4)) == list(islice(cursor.step(), 4))

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_thinkingbox.selection.pool import Chosen, Shares, select, split
from tests.selection.builders import candidate

ALL = Shares(validation=0, held_out=0, unseen=0)


def chosen(*candidates: Any, **named: Any) -> list[Chosen]:
    defaults: dict[str, Any] = {"rule": "full", "min_valid": 10, "shares": ALL, "seed": 0}
    return select(candidates, **defaults | named)


@pytest.mark.parametrize(
    ("passed", "full", "lora"),
    [(0, "band", "band"), (1, "band", "band"), (2, None, None), (9, None, None), (12, None, "band"),
     (18, None, "band"), (19, "band", "band"), (20, "band", "band")],
)  # fmt: skip
def test_full_training_keeps_hard_middle_and_often_and_lora_hard_and_middle(
    passed: int, full: str | None, lora: str | None
) -> None:
    task = candidate("t", passed, 20)
    assert [chosen(task, rule=rule)[0].reason for rule in ("full", "lora")] == [full, lora]


def test_the_masses_are_those_of_the_jeffreys_posterior() -> None:
    """Beta(3/2, 1/2) has the distribution 2/pi (asin sqrt x - sqrt(x (1 - x)))."""
    [one] = chosen(candidate("t", 1, 1))
    assert one.masses == pytest.approx(
        {
            "rarely": 0.009845,
            "hard": 0.114182,
            "middle": 0.128189,
            "often": 0.351965,
            "nearly always": 0.395819,
        },
        abs=1e-6,
    )
    assert one.band == "nearly always"


def test_few_valid_probes_say_too_little() -> None:
    assert [one.reason for one in chosen(candidate("t", 4, 9), candidate("u", 4, 10))] == ["too few", None]


def test_a_task_without_a_valid_probe_has_no_band() -> None:
    [one] = chosen(candidate("t", 0, 0, requested=20, invalid=20))
    assert (one.split, one.reason, one.band, dict(one.masses)) == (None, "too few", None, {})


def test_an_excluded_task_is_in_no_split() -> None:
    one, other = chosen(candidate("t"), candidate("u"), excluded={"t"})
    assert (one.split, one.place, one.reason) == (None, None, "excluded")
    assert other.split == "train"


def test_a_task_that_no_reference_solved_is_in_no_split() -> None:
    assert [one.reason for one in chosen(candidate("t"), candidate("u"), solvable={"u"})] == [
        "unsolved",
        None,
    ]


def cases(templates: int, each: int) -> list[Any]:
    return [
        candidate(f"t{template}[{number}]", tags=(f"template:t{template}", "hard" if number % 2 else "easy"))
        for template in range(templates)
        for number in range(each)
    ]


SHARES = Shares(validation=0.1, held_out=0.2, unseen=0.1)


def test_each_split_gets_its_share() -> None:
    """2 of 20 templates unseen; of the other 180 tasks 18, 36 and the rest."""
    places = split(cases(20, 10), shares=SHARES, seed=1)
    assert Counter(places.values()) == {"train": 126, "validation": 18, "held-out": 36, "unseen": 20}


def test_an_unseen_template_is_unseen_as_a_whole() -> None:
    places = split(cases(20, 10), shares=SHARES, seed=1)
    unseen = {task.partition("[")[0] for task, place in places.items() if place == "unseen"}
    assert len(unseen) == 2
    assert all(place == "unseen" for task, place in places.items() if task.partition("[")[0] in unseen)


def test_every_template_and_every_tag_in_it_is_held_out_in_part() -> None:
    places = split(cases(20, 10), shares=Shares(validation=0, held_out=0.3, unseen=0), seed=1)
    of_template = Counter(task.partition("[")[0] for task, place in places.items() if place == "held-out")
    assert len(of_template) == 20
    assert set(of_template.values()) == {3}
    of_tag = Counter(
        (task.partition("[")[0], int(task[-2]) % 2) for task, place in places.items() if place == "held-out"
    )
    assert len(of_tag) == 40
    assert set(of_tag.values()) == {1, 2}
    assert 25 <= sum(number for (_, hard), number in of_tag.items() if hard) <= 35


def test_whoever_asks_for_unseen_templates_gets_one() -> None:
    places = split(cases(4, 5), shares=SHARES, seed=1)
    assert Counter(places.values())["unseen"] == 5


def test_the_same_seed_draws_the_same_and_another_one_not() -> None:
    first, again, other = (split(cases(5, 9), shares=SHARES, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_the_draw_looks_at_no_probe() -> None:
    before = [one for task in cases(5, 9) for one in (task,)]
    after = [candidate(one.task, 10, 10, tags=one.tags) for one in before]
    assert split(before, shares=SHARES, seed=1) == split(after, shares=SHARES, seed=1)


def test_what_is_held_out_keeps_every_band() -> None:
    tasks = [candidate(f"t{n}", 20, 20, tags=("template:t",)) for n in range(10)]
    found = chosen(*tasks, shares=Shares(validation=0, held_out=0.5, unseen=0))
    assert Counter(one.split for one in found) == {"held-out": 5, None: 5}


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=8),
    validation=st.floats(0, 0.45),
    held_out=st.floats(0, 0.45),
)
def test_no_template_is_off_by_more_than_two(sizes: list[int], validation: float, held_out: float) -> None:
    tasks = [
        candidate(f"t{at}[{n}]", tags=(f"template:{at}",))
        for at, size in enumerate(sizes)
        for n in range(size)
    ]
    places = split(tasks, shares=Shares(validation=validation, held_out=held_out, unseen=0), seed=3)
    for at, size in enumerate(sizes):
        mine = [places[one.task] for one in tasks if one.template == f"template:{at}"]
        assert abs(mine.count("held-out") - held_out * size) < 2
        assert abs(mine.count("validation") - validation * size) < 2


@pytest.mark.parametrize(
    ("named", "said"),
    [({"validation": 1.0}, "validation=1.0: must be from 0 to below 1"),
     ({"validation": 0.5, "held_out": 0.5}, "leave nothing to train on")],
)  # fmt: skip
def test_shares_that_leave_nothing_are_refused(named: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Shares(**{"validation": 0.0, "held_out": 0.0, "unseen": 0.0} | named)

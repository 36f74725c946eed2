from __future__ import annotations

from typing import Any

import pytest

from pytest_thinkingbox.records.model import AttemptRow, UsageRecord
from pytest_thinkingbox.stats.campaign import Side, make_side
from pytest_thinkingbox.stats.compare import compare, leaderboard
from pytest_thinkingbox.stats.prices import Price
from tests.records.builders import info, rows
from tests.stats.builders import published

PRICES = {"m": Price(input=1.0, output=1.0)}


def side(*groups: list[AttemptRow], **named: Any) -> Side:
    found = [row for group in groups for row in group]
    asked = {row.task: row.requested for row in found}
    return make_side(info=info(tasks=asked, model="m", agent="openai", **named), rows=found, seeds={})


def task(name: str, pattern: str, **named: Any) -> list[AttemptRow]:
    return rows(pattern, task=name, **named)


def campaign(dollars: float, *, passes: int, reliable: int, once: int) -> Side:
    """A published campaign with its cost in the first attempt."""
    patterns = [
        "p" * one.passed + "f" * one.failed for one in published(passes=passes, reliable=reliable, once=once)
    ]
    usage = {"agent": UsageRecord(requests=1, input_tokens=round(dollars * 1e6), output_tokens=0)}
    groups = [task(f"t{number}", pattern) for number, pattern in enumerate(patterns)]
    groups[0] = [*task("t0", patterns[0][:1], usage=usage, requested=20), *groups[0][1:]]
    return side(*groups)


def test_the_published_training_by_every_figure() -> None:
    found = compare(
        base=campaign(925.80, passes=5242, reliable=38, once=453),
        new=campaign(855.58, passes=6163, reliable=107, once=446),
        prices=PRICES,
    )
    assert round(100 * (found.figures.first.difference or 0), 2) == 9.08
    assert found.figures.k == 20
    assert found.observed
    assert (len(found.gained), len(found.lost)) == (69, 0)
    base, new = found.base_cost, found.new_cost
    changes = [
        round(100 * ((after or 0) / (before or 1) - 1), 1)
        for before, after in (
            (base.total, new.total),
            (base.per_pass, new.per_pass),
            (base.per_reliable, new.per_reliable),
        )
    ]
    assert changes == [-7.6, -21.4, -67.2]
    assert [round(one or 0, 2) for one in (base.per_reliable, new.per_reliable)] == [24.36, 8.00]


def test_gained_and_lost_are_settled_in_both() -> None:
    base = side(task("a", "pf"), task("b", "pp"), task("c", "pi"), task("d", "pp"), task("e", "ff"))
    new = side(task("a", "pp"), task("b", "pf"), task("c", "pp"), task("d", "pi"), task("e", "fp"))
    found = compare(base=base, new=new, prices={})
    assert (found.gained, found.lost) == (("a",), ("b",))
    assert (found.figures.every.tasks, found.figures.every.of) == (3, 5)
    assert (found.figures.first.tasks, found.figures.first.of) == (5, 5)


def test_figures_without_judged_tasks_are_there_when_any_are_judged() -> None:
    judge = {"judge": UsageRecord(requests=1)}
    base = side(task("a", "pp", usage=judge), task("b", "pf"))
    new = side(task("a", "pp"), task("b", "pp"))
    found = compare(base=base, new=new, prices={})
    assert found.judged == {"a"}
    assert found.unjudged is not None
    assert (found.unjudged.first.difference, found.unjudged.first.of) == (0.5, 1)
    assert compare(base=new, new=new, prices={}).unjudged is None


def test_tags_are_compared_apart() -> None:
    base = side(task("a", "pf", tags=("x",)), task("b", "ff", tags=("x", "y")))
    found = compare(base=base, new=base, prices={})
    assert {tag: one.first.of for tag, one in found.by_tag.items()} == {"x": 2, "y": 1}


def test_campaigns_of_unequal_attempts_have_no_n_of_n_but_pass_hat_k() -> None:
    found = compare(base=side(task("a", "pp")), new=side(task("a", "pppf")), prices={})
    assert (found.figures.k, found.observed) == (2, False)
    assert found.figures.every.new == pytest.approx(0.5)


# Published pass@1 in per cent and tasks that passed 20 of 20, of 507.
PUBLISHED = [
    (67.16, 241),
    (66.50, 241),
    (65.36, 128),
    (61.91, 82),
    (60.78, 107),
    (59.19, 102),
    (58.31, 231),
    (57.37, 68),
    (51.70, 38),
]


def test_the_published_table_as_a_leaderboard() -> None:
    """Every second row first; the order is that of pass@1."""
    shuffled = PUBLISHED[1::2] + PUBLISHED[::2]
    sides = []
    for rate, reliable in shuffled:
        passes = round(rate / 100 * 10_140)
        tasks = published(passes=passes, reliable=reliable, once=max(reliable + 1, 453))
        sides.append(Side(info=info(agent=f"{rate}"), rows=(), tasks=tuple(tasks), seeds={}))
    found = leaderboard(sides=sides, prices={})
    assert [one.side.info.agent for one in found] == [f"{rate}" for rate, _ in PUBLISHED]
    for standing, (rate, reliable) in zip(found, PUBLISHED, strict=True):
        passed = sum(one.passed for one in standing.tasks)
        assert round(100 * passed / 10_140, 2) == rate
        assert sum(one.reliable for one in standing.tasks) == reliable


def test_a_leaderboard_is_over_the_tasks_of_all() -> None:
    one = side(task("a", "pp"), task("b", "ff"))
    other = side(task("a", "pf"))
    assert [len(found.tasks) for found in leaderboard(sides=[one, other], prices={})] == [1, 1]

"""What every task of the example suites must have, whatever its company does."""

from __future__ import annotations

import re

import pytest

from example_suites.common.kinds import DIFFICULTIES, KINDS
from tests.example_suites.suites import FOLDER, SUITES, One, tasks_of

ALL = [one for suite in SUITES for one in tasks_of(suite)]
FUNCTIONS = {f"{one.suite}-{one.name}": one for one in ALL}


def _sentences(text: str) -> list[str]:
    """A sentence ends where a stop is followed by a capital or by nothing; 1,000.00 and 4.2 are no ends."""
    return [one for one in re.split(r"(?<=[.!?:])\s+(?=[A-Z\"'`])", " ".join(text.split())) if one]


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_has_at_least_fourteen_tasks(suite: str) -> None:
    assert len(tasks_of(suite)) >= 14


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_has_a_task_of_every_kind(suite: str) -> None:
    assert set(KINDS) - {tag for one in tasks_of(suite) for tag in one.task.tags} == set()


@pytest.mark.parametrize("one", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_task_is_tagged_by_kind_difficulty_and_domain(one: One) -> None:
    tags = set(one.task.tags)
    assert tags & set(KINDS)
    assert len(tags & set(DIFFICULTIES)) == 1
    assert tags - set(KINDS) - set(DIFFICULTIES)


@pytest.mark.parametrize("one", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_task_says_what_must_be_true_and_why(one: One) -> None:
    """The first sentence says what, the second names the section of the policy, or what it says."""
    assert len(_sentences(one.doc)) >= 2
    assert re.search(r"\b\d+\.\d+\b", one.doc), "no section of the policy is named"


@pytest.mark.parametrize("one", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_task_has_a_solution_and_somebody_who_asks(one: One) -> None:
    assert one.task.solution is not None
    assert one.task.user is not None
    assert one.prompt


def test_no_prompt_occurs_twice() -> None:
    prompts = [str(one.prompt) for one in ALL]
    assert sorted(prompts) == sorted(set(prompts))


def test_at_most_five_tasks_have_nothing_but_no_change_to_show() -> None:
    silent = [one for one in ALL if one.task.no_change]
    assert len(silent) <= 5
    for suite in SUITES:
        assert sum(one.suite == suite for one in silent) <= 1


def test_a_sentence_ends_with_a_stop_before_a_capital() -> None:
    assert _sentences("Above 1,000.00 it waits. Section 4.2 says so: Nothing moves.") == [
        "Above 1,000.00 it waits.",
        "Section 4.2 says so:",
        "Nothing moves.",
    ]


def test_all_suites_are_on_the_list() -> None:
    whole = {path.parent.name for path in FOLDER.glob("*/test_*.py")}
    assert set(SUITES) <= whole

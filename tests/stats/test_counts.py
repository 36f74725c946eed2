from __future__ import annotations

from pytest_thinkingbox.stats.counts import count_tasks
from tests.records.builders import row, rows


def test_outcomes_are_counted_apart() -> None:
    (task,) = count_tasks(rows=rows("ppfip"), requested={})
    assert (task.passed, task.failed, task.invalid, task.valid, task.missing) == (3, 1, 1, 4, 1)


def test_t2_a_task_without_a_row_or_a_valid_attempt_is_invalid_and_present() -> None:
    counts = count_tasks(rows=rows("ii", task="b"), requested={"a": 5, "b": 2})
    assert [(task.task, task.requested, task.valid, task.is_invalid) for task in counts] == [
        ("a", 5, 0, True),
        ("b", 2, 0, True),
    ]


def test_what_the_campaign_asked_for_wins_over_what_a_row_says() -> None:
    (task,) = count_tasks(rows=rows("pp", requested=20), requested={rows("p")[0].task: 2})
    assert (task.requested, task.settled) == (2, True)


def test_attempts_that_never_ran_leave_a_task_unsettled() -> None:
    (task,) = count_tasks(rows=rows("pp", requested=20), requested={})
    assert (task.missing, task.settled, task.reliable) == (18, False, False)


def test_t5_parametrized_cases_are_tasks_of_their_own() -> None:
    both = [*rows("pppp", task="t[easy]"), *rows("ffff", task="t[hard]")]
    counts = count_tasks(rows=both, requested={"t[easy]": 4, "t[hard]": 4})
    assert [(task.task, task.passed, task.valid) for task in counts] == [("t[easy]", 4, 4), ("t[hard]", 0, 4)]


def test_a_task_is_xfail_when_one_of_its_attempts_was() -> None:
    (task,) = count_tasks(rows=[row("failed", xfail=True), row("passed", attempt=2)], requested={})
    assert task.xfail

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_thinkingbox.records.model import Hashes, UsageRecord
from pytest_thinkingbox.stats.campaign import Side, mismatches, side_of
from tests.records.builders import TASK, info, record

HASHES = Hashes(prompt="p", environment="e", checker="c")
OPTIONS = {"backend": "sqlite", "timeout": None, "temperature": None, "concurrency": 8, "user_model": None}


def side(
    *,
    tasks: dict[str, int] | None = None,
    hashes: Hashes = HASHES,
    seed: str = "s",
    usage: dict[str, UsageRecord] | None = None,
    model: str = "m",
    **options: Any,
) -> Side:
    asked = tasks or {TASK: 4}
    about = info(
        model=model, tasks=asked, task_hashes=dict.fromkeys(asked, hashes), options=OPTIONS | options
    )
    records = [record(task=task, hashes=Hashes(seed=seed), usage=usage or {}) for task in asked]
    return side_of(info=about, records=records)


def lines(base: Side, new: Side) -> list[str]:
    return [one.line for one in mismatches(base=base, new=new)]


def test_the_same_question_asked_of_two_models_is_comparable() -> None:
    assert (
        lines(side(model="a"), side(model="b", concurrency=32, prices={"b": {}}, base_url="http://x")) == []
    )


def test_a_probe_is_no_base() -> None:
    probe = replace(side(), info=replace(side().info, purpose="probe"))
    assert lines(probe, side()) == ["purpose: the baseline is a probe, which never serves as one"]
    assert lines(side(), probe) == []


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"tasks": {TASK: 4, "t::b": 4}}, "tasks: 1 only in new: t::b"),
        ({"tasks": {TASK: 20}}, f"attempts: 1 of 1 tasks, 4 / 20 of {TASK}"),
        (
            {"hashes": Hashes(prompt="x", environment="e", checker="c")},
            "prompts: prompt, user or limits of 1 of",
        ),
        ({"hashes": Hashes(prompt="p", environment="x", checker="c")}, "environment: instructions, tools or"),
        (
            {"hashes": Hashes(prompt="p", environment="e", checker="x")},
            "checkers: test function or its rules",
        ),
        ({"seed": "x"}, "seeds: schema, seed or start state of 1 of 1 tasks: "),
        ({"timeout": 60.0}, "limits: timeout None / 60.0"),
        (
            {"temperature": 0.7, "extra_body": {"top_p": 1}},
            "sampling: extra_body None / {'top_p': 1}, temperature",
        ),
        ({"backend": "postgresql://me:secret@host/x"}, "backend: backend sqlite / postgresql"),
        ({"faults": "all", "chat": "c1"}, "chat: chat None / c1"),
        ({"faults": "all"}, "faults: faults None / all"),
    ],
)
def test_what_differs_is_named(changed: dict[str, Any], line: str) -> None:
    (first, *others) = lines(side(), side(**changed))
    assert first.startswith(line)
    assert len(others) == ("chat" in changed)


@pytest.mark.parametrize("role", ["user", "judge"])
def test_who_plays_user_and_judge_counts_where_they_were_asked(role: str) -> None:
    usage = {role: UsageRecord(requests=1)}
    played = {f"{role}_model": "other"}
    assert lines(side(), side(**played)) == []
    assert lines(side(usage=usage), side(usage=usage, **played)) == [f"{role}: played by model m / other"]


def test_a_user_played_by_the_model_that_acts_differs_with_it() -> None:
    usage = {"user": UsageRecord(requests=1)}
    assert lines(side(model="a", usage=usage), side(model="b", usage=usage)) == [
        "user: played by model a / b"
    ]


def test_many_tasks_are_counted_and_three_of_them_named() -> None:
    base = side(tasks=dict.fromkeys((f"t{n}" for n in range(9)), 4))
    assert lines(base, side(tasks={"t0": 4})) == ["tasks: 8 only in base: t1, t2, t3 and 5 more"]


def test_a_side_counts_every_try_and_leaves_expected_failures_out() -> None:
    usage = {"judge": UsageRecord(requests=1, input_tokens=5, output_tokens=1)}
    about = info(
        tasks={TASK: 2, "t::x": 1}, options={"prices": {"m": {"input": 1.0, "output": 1.0}}}, model="m"
    )
    found = side_of(
        info=about,
        records=[
            record("invalid", final=False, requested=2, usage=usage),
            record(try_number=2, requested=2, usage=usage),
            record("failed", attempt=2, requested=2),
            record("failed", task="t::x", requested=1, xfail=True),
        ],
    )
    (task,) = found.tasks
    assert (task.passed, task.valid, found.attempts, found.judged) == (1, 2, 2, {TASK})
    assert found.cost({}).total == pytest.approx(12e-6)


def test_another_server_of_the_same_kind_is_the_same_backend() -> None:
    assert lines(side(backend="postgresql+psycopg://a/x"), side(backend="postgresql://me@b/y")) == []


def test_what_users_are_told_counts_where_they_were_played() -> None:
    usage = {"user": UsageRecord(requests=1)}
    assert lines(side(user_prompt="1"), side(user_prompt="2")) == []
    (line,) = lines(side(usage=usage, user_prompt="1"), side(usage=usage, user_prompt="2"))
    assert line.startswith("user: told otherwise what to do")

from __future__ import annotations

from typing import Any

import pytest

from pytest_thinkingbox.episodes.judging import Judge, nobody, stored
from pytest_thinkingbox.errors import JudgeBroke
from pytest_thinkingbox.people.framing import content_hash
from pytest_thinkingbox.state.rulings import Ruling

GREETING = Ruling(
    question="Is it a greeting?",
    about=content_hash("Hello \ud800"),
    answer="yes",
    reason="x",
    model="j",
    cached=False,
)


def test_a_stored_answer_is_given_again_without_a_model() -> None:
    judge = Judge(stored([GREETING]))
    assert judge.yes("Is it a greeting?", about="Hello \ud800") is True
    assert [(one.answer, one.reason, one.cached) for one in judge.rulings] == [("yes", "x", True)]
    assert judge.broken is None


@pytest.mark.parametrize(
    ("question", "about"),
    [("Is it a greeting?", "Hello"), ("Is it rude?", "Hello \ud800")],
    ids=["text", "question"],
)
def test_what_was_not_asked_at_that_time_has_no_answer(question: str, about: str) -> None:
    judge = Judge(stored([GREETING]))
    with pytest.raises(JudgeBroke, match="the record has no answer to"):
        judge.yes(question, about=about)
    assert judge.broken is not None
    assert judge.rulings == []


def test_without_a_judge_nobody_says_no() -> None:
    with pytest.raises(JudgeBroke, match="name a model with --tb-judge-model"):
        Judge(nobody).yes("Is it rude?", about="Hello")


@pytest.mark.parametrize(
    ("question", "about", "why"),
    [
        (3, "x", "question=3 must be a string"),
        ("Is it?", None, "about=None must be a string"),
        (" ", "x", "question=' ' must be a question that yes or no answers"),
    ],
)
def test_what_is_no_question_is_the_checkers_mistake(question: Any, about: Any, why: str) -> None:
    judge = Judge(nobody)
    with pytest.raises(TypeError, match=why):
        judge.yes(question, about=about)
    assert judge.broken is None

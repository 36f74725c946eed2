"""Parts of a dataset that need neither pytest nor a server."""

from __future__ import annotations

import pytest

from pytest_thinkingbox.compat.context import (
    ParallelToolCall,
    TestContext,
    Text,
    ToolCall,
    ToolResponse,
    context_of,
    messages_of,
)
from pytest_thinkingbox.compat.direct import formatted
from pytest_thinkingbox.compat.files import FixtureFile
from pytest_thinkingbox.compat.fixtures import BrokenFixture, made
from pytest_thinkingbox.compat.judging import Judge
from pytest_thinkingbox.compat.merge import merge, merge_servers
from pytest_thinkingbox.compat.standin import standing_in
from pytest_thinkingbox.episodes.judging import Judge as CampaignJudge
from pytest_thinkingbox.errors import JudgeBroke
from pytest_thinkingbox.state.rulings import Ruling


@pytest.mark.parametrize(
    ("base", "added", "merged"),
    [
        ({"a": 1, "b": {"c": [1]}}, {"b": {"c": [2], "d": 3}}, {"a": 1, "b": {"c": [1, 2], "d": 3}}),
        ({"a": [1]}, {"a": None}, {"a": None}),
        ({"a": {"b": 1}}, {"a": 5}, {"a": 5}),
        ([1], [], [1]),
    ],
)
def test_dictionaries_merge_key_by_key_and_lists_are_appended(base, added, merged):
    assert merge(base, added) == merged


def test_merging_changes_neither_side_and_shares_nothing():
    base, added = {"a": [{"b": 1}]}, {"c": [{"d": 2}]}
    both = merge(base, added)
    both["a"][0]["b"] = both["c"][0]["d"] = 9
    assert (base, added) == ({"a": [{"b": 1}]}, {"c": [{"d": 2}]})


def test_servers_keep_the_order_of_the_scenario_and_new_ones_come_last():
    merged = merge_servers({"b": None, "a": {"x": [1]}}, {"c": {"y": 1}, "a": {"x": [2]}})
    assert list(merged.items()) == [("b", {}), ("a", {"x": [1, 2]}), ("c", {"y": 1})]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ('{"n": 3}', "There are 3."),
        ('{"m": 3}', None),
        ("[3]", None),
        ("3", None),
        ("three", None),
        ("[" * 9999, None),
    ],
)
def test_a_direct_answer_is_filled_from_an_object_or_not_at_all(answer, text):
    assert formatted("There are {n}.", answer) == text


def context(*messages: dict) -> TestContext:
    return context_of(
        messages=messages,
        calls=[],
        direct={"hours": "From {at}."},
        before=0,
        effects={},
        init={},
        session="s",
    )


CALL = {"id": "1", "type": "function", "function": {"name": "hours", "arguments": "{}"}}


def test_what_a_tool_said_itself_is_no_response_and_is_told_once():
    x = context(
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": '{"at": 9}'},
        {"role": "assistant", "content": "From 9.", "direct": True},
        {"role": "assistant", "content": ""},
    )
    assert x.tool_direct_responses == ["From 9."]
    assert x.response == "I look."
    assert [one.content for one in x.messages if isinstance(one, Text)] == ["When?", "I look.", "From 9.", ""]
    assert x.transcript() == "User: When?\n\nAssistant: I look.\n\nAssistant: From 9.\n\nAssistant: "
    assert x.transcript(limit=2) == "Assistant: From 9.\n\nAssistant: "


def test_rows_tell_what_a_tool_said_itself_where_nobody_knows_its_text():
    told = messages_of([{"role": "assistant", "content": "From 9.", "direct": True}])
    assert told == [Text("assistant", "From 9.", {"tag": "direct"})]


def test_a_call_in_the_older_form_is_a_call_and_its_answer_is_not_the_users():
    x = context(
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": None, "function_call": CALL["function"]},
        {"role": "function", "name": "hours", "content": '{"at": 9}'},
    )
    assert x.messages[1:3] == [
        ParallelToolCall([ToolCall("hours", {}, "function_call")]),
        ToolResponse("hours", '{"at": 9}', "function_call"),
    ]
    assert x.transcript() == "User: When?\n\nAssistant: From 9."


def test_without_a_user_there_is_no_query():
    with pytest.raises(ValueError, match="no message of a user"):
        context().query()


def fixtures(**types: dict) -> dict[str, FixtureFile]:
    return {name: FixtureFile.model_validate(one) for name, one in types.items()}


def test_fixtures_that_need_each_other_are_named(tmp_path, monkeypatch):
    (tmp_path / "circle.py").write_text("def a(b): ...\ndef b(a): ...\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    declared = fixtures(a={"type": "circle.a"}, b={"type": "circle.b"})
    with (
        pytest.raises(BrokenFixture, match="t: fixtures need each other: a -> b -> a"),
        made(["a"], declared, {}, task="t"),
    ):
        pass


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({}, "t: the test function asks for a, which no conftest.yaml has; there are: x"),
        ({"a": {"type": "nowhere.at_all"}}, "No module named 'nowhere'; is its folder in PYTHONPATH?"),
        ({"a": {"type": "json.nothing"}}, "has no attribute 'nothing'"),
        ({"a": {"type": "nodot"}}, "type='nodot'; it must be MODULE.NAME"),
        (
            {"a": {"type": "thinkingbox.common.SessionClientFixture"}},
            "has no counterpart in pytest-thinkingbox",
        ),
        ({"a": {"type": "json.loads"}}, "the fixture a asks for s, which no conftest.yaml has"),
        ({"a": {"type": "json.loads", "s": "{"}}, "the fixture a (json.loads) raised JSONDecodeError"),
    ],
)
def test_a_fixture_that_cannot_be_made_says_why(declared, words):
    with pytest.raises(BrokenFixture) as raised, made(["a"], fixtures(**declared), {"x": 1}, task="t"):
        pass
    assert words in str(raised.value)


def test_names_of_the_other_package_that_are_not_there_are_said():
    with standing_in():
        from thinkingbox.common import Judge

        with pytest.raises(ImportError, match=r"thinkingbox\.common\.Rubrics has no counterpart"):
            from thinkingbox.common import Rubrics  # noqa: F401
    assert Judge.__module__ == "pytest_thinkingbox.compat.judging"
    with pytest.raises(ModuleNotFoundError):
        import thinkingbox  # noqa: F401


def test_every_question_of_a_judge_is_one_question_about_one_text():
    asked = []

    def ask(question: str, about: str) -> Ruling:
        asked.append((question, about))
        return Ruling(
            question=question, about="0" * 64, answer="no", reason="It is not.", model="j", cached=False
        )

    judge = Judge(CampaignJudge(ask))
    assert not judge.text_yesno("A text.", "Is it long?")
    assert not judge.yesno("Is water dry?")
    assert not judge.evaluate_bool("Is it polite?", "Go away.")
    assert judge.text_yesno_with_motivation("A.", "B?") == {"answer": False, "motivation": "It is not."}
    assert judge.no_repeat("one", ["two"])
    assert asked == [
        ("Is it long?", "A text."),
        ("Is water dry?", ""),
        ("Is it polite?", "Go away."),
        ("B?", "A."),
        (
            "Does the first message repeat what the second message says?",
            "The first message:\none\n\nThe second message:\ntwo",
        ),
    ]


def test_a_judge_that_is_asked_for_a_text_of_its_own_makes_the_attempt_invalid_whatever_becomes_of_it():
    judge = CampaignJudge(lambda question, about: pytest.fail("nobody is to be asked"))
    with pytest.raises(JudgeBroke, match="answers yes/no questions only"):
        Judge(judge)._get_text_completion([Text("user", "Score it.")])
    assert isinstance(judge.broken, JudgeBroke)

"""Users without a model."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import pytest

from pytest_thinkingbox.agents.base import Stop
from pytest_thinkingbox.declare import Limits, Script
from pytest_thinkingbox.episodes.model import Conversation
from pytest_thinkingbox.errors import InfrastructureDown, UserBroke, UserRaised
from pytest_thinkingbox.people.scripted import FunctionUser, ScriptUser

TALK = Conversation(
    messages=[
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "The cheaper room."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]},
        {"role": "tool", "tool_call_id": "c", "content": "secret row"},
        {"role": "assistant", "content": "Which booking?"},
    ],
    response="Which booking?",
)


def replies(user: Any, number: int) -> list[str | None]:
    async def play() -> list[str | None]:
        return [await user.reply(TALK) for _ in range(number)]

    return asyncio.run(play())


def function(body: Any, **limits: Any) -> FunctionUser:
    return FunctionUser(body, limits=Limits(**limits))


def test_a_script_is_said_line_by_line_and_then_the_user_is_done() -> None:
    assert replies(ScriptUser(Script(["1042", "Yes."]), limits=Limits()), 3) == ["1042", "Yes.", None]


def test_a_script_that_is_longer_than_the_limit_stops_the_agent() -> None:
    user = ScriptUser(Script(["1042", "Yes."]), limits=Limits(user_turns=1))
    with pytest.raises(Stop, match="the user replied 1 times and was not done") as caught:
        replies(user, 2)
    assert caught.value.reason == "user_turn_limit"


def test_a_function_sees_what_was_said_and_no_tools() -> None:
    seen: list[Any] = []
    assert replies(function(seen.append), 1) == [None]
    assert seen == [
        [
            {"role": "user", "content": "The cheaper room."},
            {"role": "assistant", "content": "Which booking?"},
        ]
    ]


def test_a_function_that_changes_what_it_sees_changes_nothing() -> None:
    def meddle(conversation: list[dict[str, str]]) -> str:
        conversation[-1]["content"] = "All is done."
        conversation.clear()
        return "1042"

    assert replies(function(meddle), 1) == ["1042"]
    assert TALK.messages[-1]["content"] == "Which booking?"


def test_an_async_function() -> None:
    async def dana(conversation: list[dict[str, str]], number: int) -> str:
        await asyncio.sleep(0)
        return f"{number}"

    assert replies(function(partial(dana, number=1042)), 1) == ["1042"]


def test_objects_that_can_be_called() -> None:
    class Dana:
        def __call__(self, conversation: list[dict[str, str]]) -> str:
            return "1042"

    class Amir:
        async def __call__(self, conversation: list[dict[str, str]]) -> int:
            return 1043

    assert replies(function(Dana()), 1) == ["1042"]
    with pytest.raises(UserRaised, match=r"<.*Amir object at .*> returned 1043: it must return text"):
        replies(function(partial(Amir())), 1)


def test_a_function_that_blocks_stops_nobody_else() -> None:
    def slow(conversation: list[dict[str, str]]) -> str:
        time.sleep(0.4)
        return "1042"

    async def both() -> list[Any]:
        return await asyncio.gather(*(function(slow).reply(TALK) for _ in range(4)))

    started = time.monotonic()
    assert asyncio.run(both()) == ["1042"] * 4
    assert time.monotonic() - started < 1.4


def test_a_function_without_an_end_stops_the_agent() -> None:
    user = function(lambda conversation: "And then?", user_turns=2)
    with pytest.raises(Stop) as caught:
        replies(user, 3)
    assert caught.value.reason == "user_turn_limit"


@pytest.mark.parametrize("returned", ["", "  \n", 1042, True])
def test_what_is_no_text_is_an_error_of_the_function(returned: object) -> None:
    def dana(conversation: list[dict[str, str]]) -> Any:
        return returned

    with pytest.raises(UserRaised) as caught:
        replies(function(dana), 1)
    assert f"<locals>.dana returned {returned!r}: it must return text, or None" in str(caught.value)


@pytest.mark.parametrize("error", [KeyError("name"), SystemExit(0)])
def test_what_a_function_raises_is_told(error: BaseException) -> None:
    def dana(conversation: list[dict[str, str]]) -> str:
        raise error

    with pytest.raises(UserRaised, match=f"dana raised {type(error).__name__}: "):
        replies(function(partial(dana)), 1)


def test_a_function_may_say_that_something_else_was_down() -> None:
    def dana(conversation: list[dict[str, str]]) -> str:
        raise InfrastructureDown("the phone is dead")

    with pytest.raises(InfrastructureDown):
        replies(function(dana), 1)


def test_a_function_that_does_not_return_is_given_up() -> None:
    async def dana(conversation: list[dict[str, str]]) -> str:
        await asyncio.sleep(60)
        return "1042"

    with pytest.raises(UserBroke, match=r"dana did not return within 0\.05 s"):
        replies(function(dana, seconds=0.05), 1)

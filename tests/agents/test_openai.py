from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_thinkingbox.agents.base import Stop, ToolOutput
from pytest_thinkingbox.agents.openai import OpenAIAgent
from pytest_thinkingbox.declare import Limits
from pytest_thinkingbox.episodes.model import Usage
from pytest_thinkingbox.errors import InfrastructureDown
from tests.agents.shapes import reply
from tests.agents.world import Play
from tests.support.stub_endpoint import Reply, StubEndpoint, answer, by_turn, calls, says

KEY = "sk-very-secret-0123"
ANN = ("book", {"guest": "Ann"})
BEN = ("book", {"guest": "Ben"})


def agent(stub: StubEndpoint, **options: Any) -> OpenAIAgent:
    return OpenAIAgent("m", base_url=stub.url, api_key=KEY, **options)


def limited(**limits: Any) -> Play:
    play = Play()
    play.task.limits = Limits(**limits)
    return play


def stopped(stub: StubEndpoint, play: Play | None = None) -> tuple[Stop, Play]:
    play = play or Play()
    with pytest.raises(Stop) as caught:
        play.run(agent(stub))
    return caught.value, play


# --- the loop ---


def test_text_is_the_answer() -> None:
    play = Play()
    with StubEndpoint([says("Done.")]) as stub:
        assert play.run(agent(stub)) == ["Done."]
    assert play.conversation.messages == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Book a room."},
        {"role": "assistant", "content": "Done."},
    ]
    sent = stub.received[0].json
    assert sent["messages"] == play.conversation.messages[:2]
    assert sent["model"] == "m"
    assert sent["seed"] == 1
    assert sent["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "book",
                "description": "Book a room.",
                "parameters": {
                    "type": "object",
                    "properties": {"guest": {"type": "string"}},
                    "required": ["guest"],
                },
            },
        }
    ]


def test_parallel_calls_are_played_in_order_and_answered_by_their_ids() -> None:
    play = Play()
    with StubEndpoint([calls(ANN, BEN, ids=["a", "b"]), says("Both.")]) as stub:
        assert play.run(agent(stub)) == ["Both."]
    assert [(call.id, call.arguments, call.result) for call in play.conversation.tool_calls] == [
        ("a", {"guest": "Ann"}, "booked for Ann"),
        ("b", {"guest": "Ben"}, "booked for Ben"),
    ]
    assert play.conversation.messages[3:5] == [
        {"role": "tool", "tool_call_id": "a", "content": "booked for Ann"},
        {"role": "tool", "tool_call_id": "b", "content": "booked for Ben"},
    ]
    assert stub.received[1].messages == play.conversation.messages[:5]


def test_the_user_replies_and_all_of_it_is_sent_again() -> None:
    play = Play()
    with StubEndpoint([calls(ANN), says("For when?"), says("Done.")]) as stub:
        assert play.run(agent(stub), ["A room.", "Monday."]) == ["For when?", "Done."]
    assert [message["role"] for message in stub.received[2].messages] == [
        "system", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert stub.received[2].messages == play.conversation.messages[:6]


def test_without_instructions_there_is_no_system_message() -> None:
    with StubEndpoint([says("Hi")]) as stub:
        Play(instructions="").run(agent(stub))
    assert [message["role"] for message in stub.received[0].messages] == ["user"]


def test_each_attempt_sends_its_own_tools() -> None:
    other = Play()
    other.task.tools = [replace(other.task.tools[0], description="Book a suite.")]
    with StubEndpoint(by_turn([says("Done.")])) as stub:
        one = agent(stub)
        for play in (Play(), other, Play()):
            play.run(one)
    assert [received.json["tools"][0]["function"]["description"] for received in stub.received] == [
        "Book a room.", "Book a suite.", "Book a room.",
    ]  # fmt: skip


def test_without_tools_none_are_sent() -> None:
    play = Play()
    play.task.tools = []
    with StubEndpoint([says("Hi")]) as stub:
        play.run(agent(stub))
    assert "tools" not in stub.received[0].json


def test_what_was_said_before_is_sent_first() -> None:
    play = Play()
    play.conversation.messages.append({"role": "assistant", "content": "Welcome."})
    with StubEndpoint([says("Hi")]) as stub:
        play.run(agent(stub))
    assert [message["content"] for message in stub.received[0].messages] == [
        "Be kind.", "Welcome.", "Book a room.",
    ]  # fmt: skip


def test_usage_adds_up_with_cached_and_reasoning_tokens() -> None:
    play = Play()
    details = {
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    usages = [{"prompt_tokens": 100, "completion_tokens": 10, **details} for _ in range(2)]
    with StubEndpoint([calls(ANN, usage=usages[0]), says("Done.", usage=usages[1])]) as stub:
        play.run(agent(stub))
    assert play.conversation.usage["agent"] == Usage(
        requests=2, input_tokens=200, cached_tokens=128, output_tokens=20, reasoning_tokens=6
    )


def test_usage_that_the_endpoint_does_not_tell_is_unknown() -> None:
    play = Play()
    with StubEndpoint([says("Done.", usage=None)]) as stub:
        play.run(agent(stub))
    assert play.conversation.usage["agent"] == Usage(requests=1)


def test_a_dead_server_behind_a_tool_is_not_shown_to_the_model() -> None:
    def dead(name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        raise InfrastructureDown("the database died")

    with StubEndpoint([calls(ANN)]) as stub, pytest.raises(InfrastructureDown):
        Play(tool=dead).run(agent(stub))
    assert len(stub.received) == 1


def test_reasoning_is_kept_apart_and_goes_back_in_the_providers_own_field() -> None:
    play = Play()
    with StubEndpoint(
        [reply("openrouter/thinks_and_calls"), reply("vllm/thinks_and_calls"), says("x")]
    ) as stub:
        play._tool = lambda name, arguments: ToolOutput("found")
        play.run(agent(stub))
    stored = [message for message in play.conversation.messages if message["role"] == "assistant"]
    assert [message.get("reasoning") for message in stored] == [
        "I look the booking up.",
        "The booking first.",
        None,
    ]
    assert [message["content"] for message in stored] == ["", None, "x"]
    back = [message for message in stub.received[2].messages if message["role"] == "assistant"]
    assert back[0]["reasoning_details"][0]["signature"] == "EqQBCkgIARAB"
    assert "reasoning" not in back[0]
    assert back[1]["reasoning_content"] == "The booking first."


# --- odd answers ---


def raw_text(name: str, arguments: Mapping[str, Any] | str) -> ToolOutput:
    return ToolOutput(f"{name} got {arguments!r}", error=not isinstance(arguments, Mapping))


def test_t19_arguments_that_are_no_json_come_back_to_the_agent_as_text() -> None:
    play = Play(tool=raw_text)
    with StubEndpoint([calls(("book", '{"guest": ')), says("Sorry.")]) as stub:
        assert play.run(agent(stub)) == ["Sorry."]
    assert play.conversation.messages[3]["content"] == "book got '{\"guest\": '"
    assert play.conversation.messages[2]["tool_calls"][0]["function"]["arguments"] == '{"guest": '
    back = stub.received[1].messages[2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(back) == {"_unparsed": '{"guest": '}


def test_t19_a_tool_that_does_not_exist_is_left_to_the_toolbox() -> None:
    play = Play(tool=raw_text)
    with StubEndpoint([calls(("nope", {"a": 1})), says("Sorry.")]) as stub:
        play.run(agent(stub))
    assert play.conversation.messages[3]["content"] == "nope got {'a': 1}"


def test_a_function_call_from_before_there_were_tools_is_answered_in_kind() -> None:
    play = Play()
    with StubEndpoint([reply("openai/function_call"), says("Done.")]) as stub:
        assert play.run(agent(stub)) == ["Done."]
    assert play.conversation.messages[2:4] == [
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "book", "arguments": '{"guest": "Ann"}'},
        },
        {"role": "function", "name": "book", "content": "booked for Ann"},
    ]


def test_an_empty_answer_is_an_empty_final_text() -> None:
    play = Play()
    with StubEndpoint([Reply(body=answer({"content": None}, finish_reason="stop"))]) as stub:
        assert play.run(agent(stub)) == [""]
    assert play.conversation.messages[-1] == {"role": "assistant", "content": None}


def test_length_in_the_middle_of_a_call_stops_and_plays_nothing() -> None:
    with StubEndpoint([reply("openai/cut_off_in_a_call")]) as stub:
        stop, play = stopped(stub)
    assert stop.reason == "output_limit"
    assert play.conversation.tool_calls == []
    assert play.conversation.messages[-1]["tool_calls"][0]["function"]["arguments"] == '{"guest": "An'
    assert play.conversation.usage["agent"].output_tokens == 16


def test_length_in_the_middle_of_text_stops_and_keeps_the_text() -> None:
    with StubEndpoint([Reply(body=answer({"content": "The roo"}, finish_reason="length"))]) as stub:
        stop, play = stopped(stub)
    assert stop.reason == "output_limit"
    assert play.conversation.response == "The roo"


def test_a_filtered_answer_stops() -> None:
    with StubEndpoint([reply("azure/answer_filtered")]) as stub:
        stop, play = stopped(stub)
    assert stop.reason == "content_filter"
    assert play.conversation.response == "The first step is"


def test_a_refusal_stops_and_keeps_the_text() -> None:
    with StubEndpoint([reply("openai/refusal")]) as stub:
        stop, play = stopped(stub)
    assert stop.reason == "refusal"
    assert stop.detail == "I'm sorry, I cannot help with that."
    assert play.conversation.response == "I'm sorry, I cannot help with that."
    assert play.conversation.messages[-1]["refusal"] == "I'm sorry, I cannot help with that."


def test_t18_an_overflow_stops_and_what_was_said_is_kept() -> None:
    with StubEndpoint([calls(ANN), reply("openai/overflow")]) as stub:
        stop, play = stopped(stub)
    assert stop.reason == "context_overflow"
    assert len(stub.received) == 2
    assert play.conversation.messages[-1]["role"] == "tool"


# --- limits ---


def test_the_turn_limit_counts_answers_and_plays_the_calls_of_the_last_one() -> None:
    with StubEndpoint(lambda _: calls(ANN)) as stub:
        stop, play = stopped(stub, limited(turns=3))
    assert stop.reason == "turn_limit"
    assert len(stub.received) == 3
    assert len(play.conversation.tool_calls) == 3


def test_the_turn_limit_counts_over_all_replies() -> None:
    play = limited(turns=2)
    with StubEndpoint(lambda _: says("Hm?")) as stub, pytest.raises(Stop) as caught:
        play.run(agent(stub), ["1", "2", "3"])
    assert caught.value.reason == "turn_limit"
    assert len(stub.received) == 2


def test_the_token_limit_stops_before_the_calls_of_the_answer_that_passed_it() -> None:
    with StubEndpoint(lambda _: calls(ANN)) as stub:  # 10 tokens an answer
        stop, play = stopped(stub, limited(tokens=25))
    assert stop.reason == "token_limit"
    assert stop.detail == "30 tokens were generated, the limit is 25"
    assert len(play.conversation.tool_calls) == 2


def test_tokens_up_to_the_limit_are_allowed() -> None:
    play = limited(tokens=20)
    with StubEndpoint([calls(ANN), says("Done.")]) as stub:
        assert play.run(agent(stub)) == ["Done."]


# --- many at once ---


def test_two_hundred_conversations_at_once_stay_apart() -> None:
    script = by_turn([calls(ANN), calls(BEN), says("Done.")])

    async def campaign(stub: StubEndpoint) -> list[Play]:
        one = agent(stub, concurrency=32)
        plays = [Play(instructions=f"number {index}") for index in range(200)]

        async def converse(play: Play) -> None:
            async with one.open(play.task, play.request) as session:
                assert await session.reply("Go.") == "Done."

        await asyncio.gather(*(converse(play) for play in plays))
        await one.aclose()
        return plays

    with StubEndpoint(script) as stub:
        plays = asyncio.run(campaign(stub))
    assert stub.most_in_flight <= 32
    assert stub.connections <= 32
    for index, play in enumerate(plays):
        assert play.conversation.messages[0]["content"] == f"number {index}"
        assert [call.result for call in play.conversation.tool_calls] == ["booked for Ann", "booked for Ben"]


# --- secrets ---


def test_the_key_is_neither_in_the_agent_nor_in_what_it_leaves_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    play = Play()
    with StubEndpoint([calls(ANN), says("Done.")]) as stub:
        one = agent(stub)
        play.run(one)
    assert repr(one) == f"OpenAIAgent('m' at '{stub.url}/chat/completions')"
    assert KEY not in repr(play.conversation) + repr(one.chat) + caplog.text

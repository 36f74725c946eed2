from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_thinkingbox.agents.anthropic import AnthropicAgent
from pytest_thinkingbox.agents.base import Stop, ToolOutput
from pytest_thinkingbox.agents.messages import MESSAGES
from pytest_thinkingbox.agents.wire import Answer, NoReply, RequestedCall, TokenCount
from pytest_thinkingbox.declare import Limits
from pytest_thinkingbox.episodes.model import Usage
from tests.agents.asking import ask
from tests.agents.shapes import body, reply
from tests.agents.world import BOOK, Play
from tests.support.stub_endpoint import Received, Reply, StubEndpoint

MARK = {"cache_control": {"type": "ephemeral"}}


def read(case: str) -> Answer:
    return ask(MESSAGES, reply(f"anthropic/{case}"))


def found(name: str, arguments: Any) -> ToolOutput:
    return ToolOutput(f"{name}: found")


def said(*blocks: dict[str, Any], stop_reason: str = "end_turn") -> Reply:
    return Reply(body=json.dumps({"content": blocks, "stop_reason": stop_reason}).encode())


def played(
    *replies: Reply | str,
    play: Play | None = None,
    messages: tuple[str, ...] = ("Book a room.",),
    **options: Any,
) -> tuple[Play, list[Received]]:
    play = play or Play(tool=found)
    ready = [reply(f"anthropic/{one}") if isinstance(one, str) else one for one in replies]
    with StubEndpoint(ready) as stub:
        play.run(AnthropicAgent("m", base_url=stub.url, api_key="sk-ant-0123", **options), messages)
    return play, stub.received


# --- answers ---


def test_text_in_several_blocks_is_joined_and_the_cache_is_a_part_of_the_input() -> None:
    answer = read("text")
    assert answer.text == "Room 12 is booked."
    assert answer.message == {"role": "assistant", "content": "Room 12 is booked."}
    assert (answer.calls, answer.finish, answer.refusal) == ((), "stop", None)
    assert answer.tokens == TokenCount(21 + 188 + 1024, 1024, 46, None)


def test_thoughts_are_kept_apart_and_all_blocks_go_back_as_they_came() -> None:
    answer = read("thinks_and_calls")
    assert answer.calls == (
        RequestedCall("toolu_01D7FLrfh4GYq7yT1ULFeyMV", "get_booking", {"booking_id": 1042}),
        RequestedCall("toolu_01E8FLrfh4GYq7yT1ULFeyMX", "get_guest", {"guest_id": 7}),
    )
    assert answer.message["content"] == "I look both up."
    assert answer.message["reasoning"] == "The booking, then the guest."
    assert [one["type"] for one in answer.message["reasoning_details"]] == ["thinking", "redacted_thinking"]
    assert answer.message["tool_calls"][0] == {
        "id": "toolu_01D7FLrfh4GYq7yT1ULFeyMV",
        "type": "function",
        "function": {"name": "get_booking", "arguments": '{"booking_id": 1042}'},
    }
    assert answer.echo["content"] == json.loads(body("anthropic/thinks_and_calls"))["content"]


@pytest.mark.parametrize(
    ("case", "finish", "text"),
    [
        ("cut_off_in_a_call", "length", ""),
        ("cut_off_by_context", "context", "The roo"),
        ("pause", "pause", "Searching. "),
        ("stop_sequence", "stop", "Done."),
        ("empty", "stop", ""),
    ],
)
def test_the_reason_to_stop(case: str, finish: str, text: str) -> None:
    answer = read(case)
    assert (answer.finish, answer.text) == (finish, text)


def test_a_refusal_says_what_the_endpoint_says_of_it() -> None:
    answer = read("refusal")
    assert answer.refusal == answer.message["refusal"] == "This request was declined. (cyber)"


def test_a_refusal_in_the_middle_keeps_what_was_said() -> None:
    answer = read("refusal_in_the_middle")
    assert (answer.refusal, answer.text) == ("First, ", "First, ")


def test_calls_without_ids_get_some_and_input_may_be_nothing() -> None:
    answer = read("llamacpp_call_without_id")
    assert answer.calls == (
        RequestedCall("call00000", "get_booking", {"booking_id": 1042}),
        RequestedCall("call00001", "get_guest", {}),
    )
    assert [(block["id"], block["input"]) for block in answer.echo["content"]] == [
        ("call00000", {"booking_id": 1042}),
        ("call00001", {}),
    ]
    assert answer.tokens == TokenCount(240, 0, 25, None)


def test_input_that_is_text_of_json_is_read_and_goes_back_as_an_object() -> None:
    answer = read("vllm_input_as_text")
    assert answer.calls == (RequestedCall("call_1", "get_booking", {"booking_id": 1042}),)
    assert answer.echo["content"][0]["input"] == {"booking_id": 1042}
    assert answer.tokens == TokenCount(240, None, 25, None)


def test_duplicate_ids_are_told_apart() -> None:
    assert [call.id for call in read("ollama_duplicate_ids").calls] == ["call_0", "call00001"]


def test_absent_usage_is_unknown_and_not_zero() -> None:
    assert read("no_usage").tokens == TokenCount()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (b"{}", "no content"),
        (b'{"content": "x"}', "no content"),
        (b'{"content": ["x"]}', "block 0 of its content"),
        (b"", "it is empty"),
    ],
)
def test_what_is_no_reply_says_so(given: bytes, says: str) -> None:
    with pytest.raises(NoReply, match=says):
        MESSAGES.read(given, "application/json")


@pytest.mark.parametrize(
    ("case", "status", "again"), [("error_with_200", 529, True), ("request_error_with_200", 400, False)]
)
def test_an_error_with_status_200_has_the_status_of_its_type(case: str, status: int, again: bool) -> None:
    with pytest.raises(NoReply) as caught:
        MESSAGES.read(body(f"anthropic/{case}"), "application/json")
    assert caught.value.error is not None
    assert (caught.value.error.status, caught.value.error.retriable) == (status, again)


def events(*made: dict[str, Any]) -> bytes:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in made).encode()


START = {
    "type": "message_start",
    "message": {"type": "message", "role": "assistant", "content": [], "stop_reason": None,
                "usage": {"input_tokens": 25, "output_tokens": 1}},
}  # fmt: skip
END = [
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 15}},
    {"type": "message_stop"},
]


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def test_a_stream_that_nobody_asked_for_is_put_together() -> None:
    stream = events(
        START,
        {"type": "ping"},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Look "},
            {"type": "thinking_delta", "thinking": "it up."},
            {"type": "signature_delta", "signature": "EqQB"},
        ),
        *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "One moment."}),
        *block(
            2,
            {"type": "tool_use", "id": "toolu_1", "name": "get_booking", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"booking'},
            {"type": "input_json_delta", "partial_json": '_id": 1042}'},
        ),
        *END,
    )
    answer = ask(MESSAGES, Reply(body=stream, headers={"Content-Type": "text/event-stream"}))
    assert answer.text == "One moment."
    assert answer.calls == (RequestedCall("toolu_1", "get_booking", {"booking_id": 1042}),)
    assert answer.echo["content"][0] == {"type": "thinking", "thinking": "Look it up.", "signature": "EqQB"}
    assert answer.tokens == TokenCount(25, None, 15, None)


def test_a_stream_that_ends_early_or_in_an_error_is_no_reply() -> None:
    with pytest.raises(NoReply, match="ended before"):
        MESSAGES.read(events(START), "text/event-stream")
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(NoReply) as caught:
        MESSAGES.read(events(START, error), "text/event-stream")
    assert caught.value.error is not None
    assert caught.value.error.status == 529


# --- requests ---


def test_the_request() -> None:
    _, received = played("text", parameters={"temperature": 0.2})
    assert received[0].path == "/v1/messages"
    assert received[0].headers["x-api-key"] == "sk-ant-0123"
    assert received[0].headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in received[0].headers
    assert received[0].json == {
        "model": "m",
        "max_tokens": 16000,
        "temperature": 0.2,
        "tools": [{"name": "book", "description": "Book a room.", "input_schema": BOOK.input_schema}],
        "system": [{"type": "text", "text": "Be kind.", **MARK}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Book a room.", **MARK}]}],
    }


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("", "/v1/messages"),
        ("/v1", "/v1/messages"),
        ("/v1/messages", "/v1/messages"),
        ("/x", "/x/v1/messages"),
    ],
)
def test_the_address_that_a_base_url_means(base: str, path: str) -> None:
    assert MESSAGES.path(base) == path


def test_what_is_not_there_is_not_sent() -> None:
    play = Play(instructions="")
    play.task.tools = []
    _, received = played("text", play=play, parameters={"max_tokens": 500})
    assert received[0].json.keys() == {"model", "max_tokens", "messages"}
    assert received[0].json["max_tokens"] == 500


def test_all_results_go_into_one_message_and_only_the_end_is_marked() -> None:
    play, received = played("thinks_and_calls", "text")
    sent = received[1].json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[0]["content"] == [{"type": "text", "text": "Book a room."}]
    assert sent[1]["content"] == json.loads(body("anthropic/thinks_and_calls"))["content"]
    assert sent[2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "toolu_01D7FLrfh4GYq7yT1ULFeyMV",
            "content": "get_booking: found",
        },
        {
            "type": "tool_result",
            "tool_use_id": "toolu_01E8FLrfh4GYq7yT1ULFeyMX",
            "content": "get_guest: found",
            **MARK,
        },
    ]
    assert play.conversation.usage["agent"] == Usage(
        requests=2, input_tokens=2466, cached_tokens=2048, output_tokens=92
    )


def test_an_empty_answer_is_left_out_since_no_empty_text_may_be_sent() -> None:
    _, received = played(
        said({"type": "text", "text": " \n"}), "empty", "text", messages=("Hello.", "Are you there?", "Hm?")
    )
    assert received[2].json["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Hello."},
                {"type": "text", "text": "Are you there?"},
                {"type": "text", "text": "Hm?", **MARK},
            ],
        }
    ]


def test_a_paused_turn_is_sent_back_and_goes_on() -> None:
    play = Play(tool=found)
    with StubEndpoint([reply("anthropic/pause"), reply("anthropic/text")]) as stub:
        assert play.run(AnthropicAgent("m", base_url=stub.url)) == ["Searching. Room 12 is booked."]
    sent = stub.received[1].json["messages"]
    assert sent[1] == {
        "role": "assistant",
        "content": json.loads(body("anthropic/pause"))["content"],
    }
    assert [message["role"] for message in sent] == ["user", "assistant"]


def test_a_turn_that_pauses_for_ever_meets_the_turn_limit() -> None:
    play = Play(tool=found)
    play.task.limits = Limits(turns=3)
    with StubEndpoint(lambda _: reply("anthropic/pause")) as stub, pytest.raises(Stop) as caught:
        play.run(AnthropicAgent("m", base_url=stub.url))
    assert caught.value.reason == "turn_limit"
    assert len(stub.received) == 3


def test_t19_input_that_is_no_object_and_a_name_that_nobody_takes_go_back_in_a_form_that_is_taken() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "get room!", "input": "[1"}
    play = Play(tool=lambda name, arguments: ToolOutput(f"{name} got {arguments!r}", error=True))
    play, received = played(said(call, stop_reason="tool_use"), "text", play=play)
    assert play.conversation.messages[3]["content"] == "get room! got '[1'"
    back = received[1].json["messages"][1]["content"][0]
    assert (back["name"], back["input"]) == ("get_room_", {"_unparsed": "[1"})


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("cut_off_in_a_call", "output_limit"),
        ("cut_off_by_context", "context_overflow"),
        ("refusal", "refusal"),
        ("overflow", "context_overflow"),
        ("overflow_with_max_tokens", "context_overflow"),
        ("too_large", "context_overflow"),
        ("blocked", "content_filter"),
    ],
)
def test_t18_what_the_conversation_has_caused_stops_the_agent_at_once(case: str, reason: str) -> None:
    play = Play(tool=found)
    with StubEndpoint([reply(f"anthropic/{case}")]) as stub, pytest.raises(Stop) as caught:
        play.run(AnthropicAgent("m", base_url=stub.url))
    assert caught.value.reason == reason
    assert len(stub.received) == 1
    assert play.conversation.tool_calls == []


def test_the_key_is_not_in_the_agent() -> None:
    agent = AnthropicAgent("m", api_key="sk-ant-0123")
    assert repr(agent) == "AnthropicAgent('m' at 'https://api.anthropic.com/v1/messages')"

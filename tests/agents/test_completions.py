from __future__ import annotations

import json

import pytest

from pytest_thinkingbox.agents.base import ToolSpec
from pytest_thinkingbox.agents.completions import CHAT
from pytest_thinkingbox.agents.wire import (
    Answer,
    NoReply,
    RequestedCall,
    TokenCount,
    Transcript,
    encode,
)
from tests.agents.shapes import body
from tests.agents.world import BOOK

JSON = "application/json"


def read(case: str) -> Answer:
    return CHAT.read(body(case), JSON, tools={"book", "get_booking", "get_guest"})


def message_of(**message: object) -> bytes:
    return json.dumps(
        {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": "stop"}]}
    ).encode()


def call_of(**function: object) -> bytes:
    return message_of(content=None, tool_calls=[{"id": "c1", "type": "function", "function": function}])


# --- the providers' shapes ---


def test_openai_text() -> None:
    answer = read("openai/text")
    assert answer.text == "Room 12 is booked."
    assert answer.calls == ()
    assert answer.finish == "stop"
    assert answer.refusal is None
    assert answer.message == {"role": "assistant", "content": "Room 12 is booked."}
    assert answer.echo == {"role": "assistant", "content": "Room 12 is booked."}
    assert answer.tokens == TokenCount(1117, 1024, 46, 32)


def test_openai_parallel_calls_in_their_order() -> None:
    answer = read("openai/parallel_calls")
    assert answer.calls == (
        RequestedCall("call_Vq3fT7", "get_booking", {"booking_id": 1042}),
        RequestedCall("call_b81nA0", "get_guest", {"guest_id": 7}),
    )
    assert answer.echo == answer.message
    assert answer.message["content"] is None
    assert answer.message["tool_calls"][1] == {
        "id": "call_b81nA0",
        "type": "function",
        "function": {"name": "get_guest", "arguments": '{"guest_id":7}'},
    }
    assert answer.tokens == TokenCount(210, 0, 41, 0)


def test_openai_refusal_is_kept_as_text() -> None:
    answer = read("openai/refusal")
    assert answer.refusal == "I'm sorry, I cannot help with that."
    assert answer.message == {
        "role": "assistant",
        "content": None,
        "refusal": "I'm sorry, I cannot help with that.",
    }


def test_openai_length_in_the_middle_of_a_call() -> None:
    answer = read("openai/cut_off_in_a_call")
    assert answer.finish == "length"
    assert answer.calls == (RequestedCall("call_1", "book", '{"guest": "An'),)


def test_openai_function_call_from_before_there_were_tools() -> None:
    answer = read("openai/function_call")
    assert answer.legacy
    assert answer.calls == (RequestedCall("call00000", "book", {"guest": "Ann"}),)
    assert answer.message == {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "book", "arguments": '{"guest": "Ann"}'},
    }


def test_azure_text() -> None:
    answer = read("azure/text")
    assert answer.message == {"role": "assistant", "content": "Done."}
    assert answer.tokens == TokenCount(52, 0, 3, 0)


def test_azure_filtered_answer_keeps_what_was_said() -> None:
    answer = read("azure/answer_filtered")
    assert (answer.finish, answer.text) == ("content_filter", "The first step is")


def test_vllm_reasoning_is_beside_the_content() -> None:
    answer = read("vllm/thinks_and_calls")
    assert answer.message["content"] is None
    assert answer.message["reasoning"] == "The booking first."
    assert "reasoning_content" not in answer.message
    assert answer.echo["reasoning_content"] == "The booking first."
    assert "reasoning" not in answer.echo
    assert answer.calls == (RequestedCall("chatcmpl-tool-2f1c", "get_booking", {"booking_id": 1042}),)
    assert answer.tokens == TokenCount(310, None, 42, None)


def test_vllm_older_reasoning_goes_back_under_the_name_it_came_by() -> None:
    answer = read("vllm/older_reasoning")
    assert answer.message == {"role": "assistant", "content": "9.8", "reasoning": "Nine is more."}
    assert answer.echo == {"role": "assistant", "content": "9.8", "reasoning_content": "Nine is more."}
    assert answer.tokens == TokenCount(18, 16, 12, None)


def test_vllm_reasoning_that_is_null_leaves_nothing() -> None:
    answer = read("vllm/null_reasoning")
    assert answer.message == answer.echo == {"role": "assistant", "content": "Hello."}


def test_llamacpp_calls() -> None:
    answer = read("llamacpp/calls")
    assert answer.calls == (
        RequestedCall("TLPhQ0wzTgnXh4LzpHLC8pEcwbgkTFVs", "get_booking", {"booking_id": 1042}),
    )
    assert answer.message["reasoning"] == "Look it up."
    assert answer.tokens == TokenCount(240, None, 25, None)


def test_llamacpp_calls_without_ids_get_some_and_no_arguments_are_an_empty_object() -> None:
    answer = read("llamacpp/call_without_id")
    assert answer.calls == (
        RequestedCall("call00000", "get_booking", {"booking_id": 1042}),
        RequestedCall("call00001", "get_guest", {}),
    )
    assert [one["id"] for one in answer.echo["tool_calls"]] == ["call00000", "call00001"]
    assert answer.message["tool_calls"][1]["function"]["arguments"] == ""
    assert answer.echo["tool_calls"][1]["function"]["arguments"] == "{}"


def test_ollama_calls() -> None:
    answer = read("ollama/calls")
    assert answer.calls == (RequestedCall("call_9k2m1x0p", "get_booking", {"booking_id": 1042}),)
    assert answer.message["content"] == ""
    assert answer.message["reasoning"] == answer.echo["reasoning"] == "I need the booking."
    assert "index" not in answer.echo["tool_calls"][0]
    assert answer.tokens == TokenCount(170, None, 60, None)


def test_arguments_that_are_an_object_are_stored_as_the_text_that_goes_back() -> None:
    answer = read("ollama/arguments_as_object")
    assert answer.calls == (RequestedCall("call_1", "get_booking", {"booking_id": 1042}),)
    assert answer.echo["tool_calls"][0]["function"]["arguments"] == '{"booking_id": 1042}'


def test_openrouter_reasoning_details_go_back_unchanged_and_alone() -> None:
    answer = read("openrouter/thinks_and_calls")
    details = [
        {
            "type": "reasoning.text",
            "text": "I look the booking up.",
            "signature": "EqQBCkgIARAB",
            "id": None,
            "format": "anthropic-claude-v1",
            "index": 0,
        }
    ]
    assert answer.message["reasoning"] == "I look the booking up."
    assert answer.message["reasoning_details"] == details
    assert answer.echo["reasoning_details"] == details
    assert "reasoning" not in answer.echo
    assert answer.tokens == TokenCount(600, 512, 88, 21)


def test_openrouter_error_with_status_200() -> None:
    with pytest.raises(NoReply) as caught:
        read("openrouter/error_with_200")
    assert caught.value.error is not None
    assert caught.value.error.status == 502
    assert caught.value.error.message == "Provider returned error upstream connect error"
    assert caught.value.error.retriable


def test_openrouter_error_inside_the_choice() -> None:
    with pytest.raises(NoReply, match="Network connection lost") as caught:
        read("openrouter/choice_error")
    assert caught.value.error is not None
    assert caught.value.error.status == 502


def test_openrouter_overflow_with_status_200() -> None:
    with pytest.raises(NoReply) as caught:
        read("openrouter/overflow_with_200")
    assert caught.value.error is not None
    assert caught.value.error.context_overflow
    assert not caught.value.error.retriable


def test_deepseek_reasoning_goes_back_even_when_empty() -> None:
    answer = read("others/deepseek_empty_reasoning")
    assert "reasoning" not in answer.message
    assert answer.echo["reasoning_content"] == ""
    assert answer.tokens == TokenCount(300, 256, 20, 0)


def test_deepseek_giving_up_is_no_reply() -> None:
    with pytest.raises(NoReply, match="insufficient_system_resource"):
        read("others/deepseek_overloaded")


def test_mistral_parts_are_joined_and_thoughts_kept_apart() -> None:
    answer = read("others/mistral_thinks")
    assert answer.message == {"role": "assistant", "content": "There are two.", "reasoning": "Two rooms."}
    assert answer.echo == {"role": "assistant", "content": "There are two."}


def test_gemini_signature_goes_back_with_its_call() -> None:
    answer = read("others/gemini_signed_call")
    assert answer.echo["tool_calls"] == [
        {
            "id": "call00000",
            "type": "function",
            "function": {"name": "get_booking", "arguments": '{"booking_id":1042}'},
            "extra_content": {"google": {"thought_signature": "CsQB"}},
        }
    ]


# --- odd answers ---


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "it is empty"),
        (b"<html>Welcome</html>", "no JSON"),
        (b'{"choices": [{"mess', "no JSON"),
        (b"[]", "no JSON object"),
        (b"{}", "no choices"),
        (b'{"choices": []}', "no choices"),
        (b'{"choices": null}', "no choices"),
        (b'{"choices": [{"finish_reason": "stop"}]}', "no message"),
        (b'{"choices": [{"message": {"content": 7}}]}', "neither text nor parts"),
        (b'{"choices": [{"message": {"tool_calls": ["x"]}}]}', "tool call 0"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_reply_says_so(body: bytes, says: str) -> None:
    with pytest.raises(NoReply, match=says) as caught:
        CHAT.read(body, JSON)
    assert caught.value.error is None


def test_an_empty_answer_is_an_empty_text_and_goes_back_as_text() -> None:
    answer = CHAT.read(message_of(content=None), JSON)
    assert answer.text == ""
    assert answer.message == {"role": "assistant", "content": None}
    assert answer.echo == {"role": "assistant", "content": ""}


def test_absent_usage_is_unknown_and_not_zero() -> None:
    assert CHAT.read(message_of(content="x"), JSON).tokens == TokenCount(None, None, None, None)


@pytest.mark.parametrize(
    "usage", [[], "x", {"prompt_tokens": "7", "completion_tokens": -1}, {"prompt_tokens": True}]
)
def test_usage_that_makes_no_sense_is_unknown(usage: object) -> None:
    reply = {"choices": [{"message": {"content": "x"}}], "usage": usage}
    assert CHAT.read(json.dumps(reply).encode(), JSON).tokens == TokenCount()


def test_duplicate_ids_in_one_message_are_told_apart() -> None:
    calls = [{"id": "call_0", "function": {"name": "book", "arguments": "{}"}} for _ in range(3)]
    answer = CHAT.read(message_of(tool_calls=calls), JSON)
    ids = [call.id for call in answer.calls]
    assert ids[0] == "call_0"
    assert len(set(ids)) == 3
    assert [one["id"] for one in answer.echo["tool_calls"]] == ids


def test_t19_arguments_that_are_no_json_stay_as_said_and_go_back_as_json() -> None:
    answer = CHAT.read(call_of(name="book", arguments='{"guest": '), JSON, tools={"book"})
    assert answer.calls == (RequestedCall("c1", "book", '{"guest": '),)
    assert answer.message["tool_calls"][0]["function"]["arguments"] == '{"guest": '
    assert json.loads(answer.echo["tool_calls"][0]["function"]["arguments"]) == {"_unparsed": '{"guest": '}


@pytest.mark.parametrize("arguments", ["[1]", "7", '"{}"', "null"])
def test_t19_arguments_that_are_no_object_stay_text(arguments: str) -> None:
    answer = CHAT.read(call_of(name="book", arguments=arguments), JSON)
    assert answer.calls == (RequestedCall("c1", "book", arguments),)


def test_t19_a_name_that_no_endpoint_takes_goes_back_in_one_that_it_does() -> None:
    answer = CHAT.read(call_of(name="get booking!", arguments="{}"), JSON)
    assert answer.calls[0].name == "get booking!"
    assert answer.message["tool_calls"][0]["function"]["name"] == "get booking!"
    assert answer.echo["tool_calls"][0]["function"]["name"] == "get_booking_"


def test_an_offered_name_goes_back_as_it_is() -> None:
    answer = CHAT.read(call_of(name="hotel.get", arguments="{}"), JSON, tools={"hotel.get"})
    assert answer.echo["tool_calls"][0]["function"]["name"] == "hotel.get"


def test_a_call_without_function_or_name() -> None:
    answer = CHAT.read(message_of(tool_calls=[{"id": "c1", "type": "custom"}]), JSON)
    assert answer.calls == (RequestedCall("c1", "", {}),)
    assert answer.echo["tool_calls"][0]["function"] == {"name": "unnamed", "arguments": "{}"}


def test_text_beside_calls_is_kept() -> None:
    calls = [{"id": "c1", "function": {"name": "book", "arguments": "{}"}}]
    answer = CHAT.read(message_of(content="One moment.", tool_calls=calls), JSON)
    assert answer.message["content"] == "One moment."
    assert len(answer.calls) == 1


# --- streams that nobody asked for ---


def events(*data: object, done: bool = True) -> bytes:
    lines = [": OPENROUTER PROCESSING\n\n", *(f"data: {json.dumps(one)}\n\n" for one in data)]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def delta(finish: str | None = None, **fields: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def test_a_stream_is_put_together() -> None:
    stream = events(
        delta(role="assistant", content=""),
        delta(reasoning_content="Two "),
        delta(reasoning_content="rooms."),
        delta(content="There are "),
        delta(content="two.", finish="stop"),
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 8}},
    )
    answer = CHAT.read(stream, "text/event-stream; charset=utf-8")
    assert answer.message == {"role": "assistant", "content": "There are two.", "reasoning": "Two rooms."}
    assert answer.tokens == TokenCount(9, None, 8, None)


def test_a_stream_of_calls_is_put_together_also_under_a_wrong_content_type() -> None:
    stream = events(
        delta(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "book", "arguments": ""}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"guest":'}}]),
        delta(tool_calls=[{"index": 1, "id": "c2", "function": {"name": "get_guest", "arguments": "{}"}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '"Ann"}'}}]),
        delta(finish="tool_calls"),
    )
    answer = CHAT.read(stream, JSON)
    assert answer.calls == (
        RequestedCall("c1", "book", {"guest": "Ann"}),
        RequestedCall("c2", "get_guest", {}),
    )


def test_an_error_in_the_middle_of_a_stream() -> None:
    stream = events(delta(content="The"), {"error": {"code": 429, "message": "slow down"}}, done=False)
    with pytest.raises(NoReply, match="slow down") as caught:
        CHAT.read(stream, "text/event-stream")
    assert caught.value.error is not None
    assert caught.value.error.status == 429


def test_a_stream_that_ends_early_is_no_reply() -> None:
    with pytest.raises(NoReply, match="ended before the answer did"):
        CHAT.read(events(delta(content="The"), done=False), "text/event-stream")


# --- what is sent ---


def test_tools_are_sent_as_the_server_gives_them_without_keys_that_endpoints_refuse() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "$schema": {"type": "string", "$comment": "a property of that name stays"},
            "who": {"$ref": "#/$defs/Guest"},
            "default": {"type": "integer", "default": 3},
        },
        "required": ["who"],
        "$defs": {"Guest": {"$id": "guest", "type": "object", "properties": {"name": {"type": "string"}}}},
        "additionalProperties": False,
    }
    sent = json.loads(CHAT.encode_tools([ToolSpec(name="book", description="Book.", input_schema=schema)]))
    assert sent == [
        {
            "type": "function",
            "function": {
                "name": "book",
                "description": "Book.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "$schema": {"type": "string"},
                        "who": {"type": "object", "properties": {"name": {"type": "string"}}},
                        "default": {"type": "integer", "default": 3},
                    },
                    "required": ["who"],
                    "additionalProperties": False,
                },
            },
        }
    ]


def test_a_tool_without_parameters_has_an_empty_object_of_them() -> None:
    sent = json.loads(CHAT.encode_tools([ToolSpec(name="now", description="", input_schema={})]))
    assert sent[0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_no_tools_are_no_list() -> None:
    assert CHAT.encode_tools([]) == b""


def test_t26_lone_surrogates_are_replaced_and_pairs_joined() -> None:
    assert json.loads(encode({"a": "x\ud800y", "b": "\ud83d\ude00", "c": "\0"})) == {
        "a": "x\ufffdy",
        "b": "😀",
        "c": "\0",
    }


def test_reasoning_is_left_out_of_requests_without_tools() -> None:
    transcript = Transcript()
    transcript.append({"role": "user", "content": "Hello"})
    transcript.append({"role": "assistant", "content": "Hi", "reasoning_content": "A greeting."})

    def messages(tools: bytes, *, reasoning: bool = True) -> list[dict[str, object]]:
        sent = json.loads(CHAT.body({"model": "m"}, tools, transcript, reasoning=reasoning))
        assert sent["model"] == "m"
        return list(sent["messages"])

    tools = CHAT.encode_tools([BOOK])
    assert messages(tools)[1]["reasoning_content"] == "A greeting."
    plain = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    assert messages(b"") == plain
    assert messages(tools, reasoning=False) == plain

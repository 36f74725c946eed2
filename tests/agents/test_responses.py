from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_thinkingbox.agents.base import Stop, ToolOutput, ToolSpec
from pytest_thinkingbox.agents.openai import OpenAIAgent
from pytest_thinkingbox.agents.responses import RESPONSES
from pytest_thinkingbox.agents.wire import Answer, NoReply, RequestedCall, TokenCount
from pytest_thinkingbox.episodes.model import Usage
from tests.agents.asking import ask
from tests.agents.shapes import body, reply
from tests.agents.world import BOOK, Play
from tests.support.stub_endpoint import Received, Reply, StubEndpoint

THINKING = {
    "id": "rs_68af4030baa48193b0b43b4c2a176a1a",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "The booking, then the guest."}],
    "encrypted_content": "gAAAAABoISQ24OyVRYbk",
}


def read(case: str) -> Answer:
    return ask(RESPONSES, reply(f"responses/{case}"))


def found(name: str, arguments: Any) -> ToolOutput:
    return ToolOutput(f"{name}: found")


def played(*cases: str, play: Play | None = None, **options: Any) -> tuple[Play, list[Received]]:
    """A conversation in which the endpoint answers with these cases."""
    play = play or Play(tool=found)
    with StubEndpoint([reply(f"responses/{case}") for case in cases]) as stub:
        play.run(OpenAIAgent("m", api="responses", base_url=stub.url, api_key="sk-0123", **options))
    return play, stub.received


# --- answers ---


def test_text_in_several_parts_is_joined() -> None:
    answer = read("openai_text")
    assert answer.text == "Room 12 is booked."
    assert answer.message == {"role": "assistant", "content": "Room 12 is booked."}
    assert (answer.calls, answer.finish, answer.refusal) == ((), "stop", None)
    assert answer.tokens == TokenCount(328, 256, 52, 32)


def test_calls_and_a_summary_of_the_reasoning() -> None:
    answer = read("openai_thinks_and_calls")
    assert answer.calls == (
        RequestedCall("call_Vq3fT7", "get_booking", {"booking_id": 1042}),
        RequestedCall("call_b81nA0", "get_guest", {"guest_id": 7}),
    )
    assert answer.message["content"] is None
    assert answer.message["reasoning"] == "The booking, then the guest."
    assert answer.message["tool_calls"][1] == {
        "id": "call_b81nA0",
        "type": "function",
        "function": {"name": "get_guest", "arguments": '{"guest_id":7}'},
    }
    assert answer.echo["items"][0] == THINKING


def test_reasoning_that_nobody_can_read_back_is_not_sent_back() -> None:
    assert [item["type"] for item in read("openai_text").echo["items"]] == ["message"]


def test_a_refusal_is_kept_as_text() -> None:
    answer = read("openai_refusal")
    assert answer.refusal == answer.message["refusal"] == "I'm sorry, I cannot help with that."
    assert answer.text == ""


@pytest.mark.parametrize(
    ("case", "finish", "text"),
    [
        ("openai_cut_off_in_a_call", "length", ""),
        ("openai_cut_off_in_thought", "length", ""),
        ("openai_filtered", "content_filter", "The first step is"),
    ],
)
def test_an_incomplete_answer_says_why(case: str, finish: str, text: str) -> None:
    answer = read(case)
    assert (answer.finish, answer.text) == (finish, text)


def test_vllm_reasoning_as_text_goes_back_and_nulls_do_not() -> None:
    answer = read("vllm_thinks_and_calls")
    assert answer.message["reasoning"] == "The booking first."
    assert answer.echo["items"] == [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "The booking first."}],
        },
        {
            "id": "fc_0d1c",
            "type": "function_call",
            "arguments": '{"booking_id": 1042}',
            "call_id": "call_0d1c",
            "name": "get_booking",
        },
    ]


def test_llamacpp_usage_without_details() -> None:
    assert read("llamacpp_text").tokens == TokenCount(31, None, 3, None)


def test_calls_without_ids_get_some_and_arguments_may_be_an_object_or_nothing() -> None:
    answer = read("ollama_call_without_id")
    assert answer.calls == (
        RequestedCall("call00000", "get_booking", {"booking_id": 1042}),
        RequestedCall("call00001", "get_guest", {}),
    )
    assert [(item["call_id"], item["arguments"]) for item in answer.echo["items"]] == [
        ("call00000", '{"booking_id": 1042}'),
        ("call00001", "{}"),
    ]
    assert answer.tokens == TokenCount()


def test_duplicate_ids_are_told_apart() -> None:
    answer = read("openrouter_duplicate_ids")
    assert [call.id for call in answer.calls] == ["call_0", "call00001"]
    assert [item["call_id"] for item in answer.echo["items"]] == ["call_0", "call00001"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (b"{}", "no output"),
        (b'{"output": null}', "no output"),
        (b'{"output": ["x"]}', "item 0 of its output"),
        (b'{"output": [{"type": "message", "content": 7}]}', "no list of parts"),
        (b'{"output": [], "status": "queued"}', "status 'queued'"),
        (b"<html>Welcome</html>", "no JSON"),
    ],
)
def test_what_is_no_reply_says_so(given: bytes, says: str) -> None:
    with pytest.raises(NoReply, match=says):
        RESPONSES.read(given, "application/json")


@pytest.mark.parametrize(
    ("case", "status", "again"),
    [
        ("openai_failed", 500, True),
        ("openai_failed_limit", 429, True),
        ("openai_failed_prompt", 400, False),
        ("openrouter_error_with_200", 502, True),
    ],
)
def test_a_failed_response_is_an_error_with_the_status_that_it_should_have_had(
    case: str, status: int, again: bool
) -> None:
    with pytest.raises(NoReply) as caught:
        RESPONSES.read(body(f"responses/{case}"), "application/json")
    assert caught.value.error is not None
    assert (caught.value.error.status, caught.value.error.retriable) == (status, again)


def test_a_stream_that_nobody_asked_for_ends_with_the_response() -> None:
    whole = json.loads(body("responses/openai_text"))
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "output": [], "status": "in_progress"}},
        {"type": "response.output_text.delta", "delta": "Room"},
        {"type": "response.completed", "response": whole},
    ]
    stream = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    sent = Reply(body=stream.encode(), headers={"Content-Type": "text/event-stream"})
    assert ask(RESPONSES, sent).text == "Room 12 is booked."
    with pytest.raises(NoReply, match="ended before"):
        RESPONSES.read(stream.rsplit("event:", 1)[0].encode(), "text/event-stream")


# --- requests ---


def test_the_request_holds_all_and_nothing_is_stored() -> None:
    _, received = played("openai_text", parameters={"temperature": 0.2})
    assert received[0].path == "/v1/responses"
    assert received[0].headers["authorization"] == "Bearer sk-0123"
    assert received[0].json == {
        "model": "m",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.2,
        "tools": [
            {
                "type": "function",
                "name": "book",
                "description": "Book a room.",
                "parameters": BOOK.input_schema,
                "strict": False,
            }
        ],
        "input": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Book a room."},
        ],
    }


def test_what_was_thought_and_called_goes_back_in_its_place_with_the_results() -> None:
    play, received = played("openai_thinks_and_calls", "openai_text")
    sent = received[1].json["input"]
    assert sent[2] == THINKING
    assert [(item["type"], item.get("call_id")) for item in sent[3:]] == [
        ("function_call", "call_Vq3fT7"),
        ("function_call", "call_b81nA0"),
        ("function_call_output", "call_Vq3fT7"),
        ("function_call_output", "call_b81nA0"),
    ]
    assert sent[5]["output"] == "get_booking: found"
    assert [message["role"] for message in play.conversation.messages] == [
        "system", "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip
    assert play.conversation.usage["agent"] == Usage(
        requests=2, input_tokens=656, cached_tokens=512, output_tokens=104, reasoning_tokens=64
    )


def test_t19_arguments_that_are_no_json_come_back_to_the_agent_as_text() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "get room!", "arguments": '{"guest": '}
    replies = [Reply(body=json.dumps({"output": [call]}).encode()), reply("responses/openai_text")]
    play = Play(tool=lambda name, arguments: ToolOutput(f"{name} got {arguments!r}", error=True))
    with StubEndpoint(replies) as stub:
        play.run(OpenAIAgent("m", api="responses", base_url=stub.url))
    assert play.conversation.messages[3]["content"] == "get room! got '{\"guest\": '"
    back = stub.received[1].json["input"][2]
    assert (back["name"], json.loads(back["arguments"])) == ("get_room_", {"_unparsed": '{"guest": '})


def test_a_model_that_does_not_think_is_not_asked_for_its_thoughts_again() -> None:
    _, received = played("openai_no_encrypted_content", "openai_thinks_and_calls", "openai_text")
    assert ["include" in one.json for one in received] == [True, False, False]


def test_no_seed_is_sent_since_this_api_has_none() -> None:
    _, received = played("openai_text")
    assert "seed" not in received[0].json


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("openai_cut_off_in_a_call", "output_limit"),
        ("openai_filtered", "content_filter"),
        ("openai_refusal", "refusal"),
        ("openai_overflow", "context_overflow"),
        ("openai_failed_prompt", "content_filter"),
        ("azure_prompt_filtered", "content_filter"),
    ],
)
def test_t18_what_the_conversation_has_caused_stops_the_agent_at_once(case: str, reason: str) -> None:
    play = Play(tool=found)
    with StubEndpoint([reply(f"responses/{case}")]) as stub, pytest.raises(Stop) as caught:
        play.run(OpenAIAgent("m", api="responses", base_url=stub.url))
    assert caught.value.reason == reason
    assert len(stub.received) == 1
    assert play.conversation.tool_calls == []


def test_tools_without_any_are_not_sent() -> None:
    assert RESPONSES.encode_tools([]) == b""
    sent = json.loads(RESPONSES.encode_tools([ToolSpec(name="now", description="", input_schema={})]))
    assert sent[0]["parameters"] == {"type": "object", "properties": {}}

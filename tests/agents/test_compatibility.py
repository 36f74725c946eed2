"""What each provider answers, through a real server and the real client: what an attempt makes of it."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pytest_thinkingbox.agents.base import Stop, ToolOutput
from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.completions import CHAT
from pytest_thinkingbox.agents.endpoint import Endpoint
from pytest_thinkingbox.agents.messages import MESSAGES
from pytest_thinkingbox.agents.model import ModelSession
from pytest_thinkingbox.agents.responses import RESPONSES
from pytest_thinkingbox.agents.wire import Api
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown
from tests.agents.shapes import names, reply, shape
from tests.agents.world import Play
from tests.support.stub_endpoint import Reply, StubEndpoint, fails

APIS: dict[str, Api] = {"anthropic": MESSAGES, "responses": RESPONSES}
HTML = b"<!DOCTYPE html><html><head><title>502</title></head><body><h1>Bad Gateway</h1></body></html>"

TEXT = {  # a last answer for each API
    CHAT: {"choices": [{"message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}]},
    RESPONSES: {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Done."}]}]},
    MESSAGES: {"content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"},
}  # fmt: skip


def told(api: Api, first: Reply, *, again: bool, answered: bool = False) -> tuple[str, int]:
    """What becomes of an attempt whose first answer is this, and how many requests are sent.

    Later answers are the same one `again`, or text.
    """
    first = Reply(
        status=first.status,
        body=first.body,
        headers={name: value for name, value in first.headers.items() if not name.startswith("retry-after")},
    )
    play = Play(tool=lambda name, arguments: ToolOutput("found"))

    async def converse(stub: StubEndpoint) -> str:
        endpoint = Endpoint(stub.url, api=api, api_key="sk-0123456789", backoff=0.001, retries=2)
        if answered:
            endpoint.answered.add("m")
        chat = ChatModel(endpoint, "m")
        session = ModelSession(chat, play.task, tools=api.encode_tools(play.task.tools))
        try:
            text = await session.reply("Book a room.")
        except Stop as stop:
            return f"stop: {stop.reason}"
        except ProviderDown:
            return "invalid: provider"
        except ConfigurationError:
            return "configuration error"
        finally:
            await endpoint.aclose()
        made = ", ".join(
            f"{call.name}({json.dumps(call.arguments)})" for call in play.conversation.tool_calls
        )
        return f"{made} -> {text}" if made else text

    later = first if again else Reply(body=json.dumps(TEXT[api]).encode())
    with StubEndpoint(lambda received: first if received.number == 0 else later) as stub:
        return asyncio.run(converse(stub)), len(stub.received)


BOOKING = 'get_booking({"booking_id": 1042})'
BOTH = f'{BOOKING}, get_guest({{"guest_id": 7}}) -> Done.'
OVERFLOW, FILTER, LIMIT = "stop: context_overflow", "stop: content_filter", "stop: output_limit"
DOWN, WRONG = "invalid: provider", "configuration error"

READINGS = [
    # (case, before its first success, after it when that differs)
    ("openai/text", "Room 12 is booked.", None),
    ("openai/parallel_calls", BOTH, None),
    ("openai/refusal", "stop: refusal", None),
    ("openai/cut_off_in_a_call", LIMIT, None),
    ("openai/function_call", 'book({"guest": "Ann"}) -> Done.', None),
    ("openai/overflow", OVERFLOW, None),
    ("openai/message_too_long", OVERFLOW, None),
    ("openai/flagged", FILTER, None),
    ("openai/rate_limit", DOWN, None),
    ("openai/server_error", DOWN, None),
    ("openai/bad_key", WRONG, DOWN),
    ("openai/unknown_model", WRONG, DOWN),
    ("openai/no_quota", WRONG, DOWN),
    ("azure/text", "Done.", None),
    ("azure/answer_filtered", FILTER, None),
    ("azure/prompt_filtered", FILTER, None),
    ("azure/overflow", OVERFLOW, None),
    ("azure/throttled", DOWN, None),
    ("azure/error_with_200", DOWN, None),
    ("azure/empty_choices", DOWN, None),
    ("azure/bad_key", WRONG, DOWN),
    ("azure/no_deployment", WRONG, DOWN),
    ("azure/wrong_path", WRONG, DOWN),
    ("vllm/thinks_and_calls", f"{BOOKING} -> Done.", None),
    ("vllm/older_reasoning", "9.8", None),
    ("vllm/null_reasoning", "Hello.", None),
    ("vllm/overflow", OVERFLOW, None),
    ("vllm/overflow_v1", OVERFLOW, None),
    ("vllm/overflow_flat", OVERFLOW, None),
    ("vllm/overflow_by_max_tokens", WRONG, OVERFLOW),
    ("vllm/unknown_model", WRONG, DOWN),
    ("vllm/no_tool_parser", WRONG, DOWN),
    ("vllm/engine_dead", DOWN, None),
    ("llamacpp/calls", f"{BOOKING} -> Done.", None),
    ("llamacpp/call_without_id", f"{BOOKING}, get_guest({{}}) -> Done.", None),
    ("llamacpp/overflow", OVERFLOW, None),
    ("llamacpp/overflow_older", OVERFLOW, None),
    ("llamacpp/loading", DOWN, None),
    ("llamacpp/bad_key", WRONG, DOWN),
    ("ollama/calls", f"{BOOKING} -> Done.", None),
    ("ollama/arguments_as_object", f"{BOOKING} -> Done.", None),
    ("ollama/overflow", OVERFLOW, None),
    ("ollama/unknown_model", WRONG, DOWN),
    ("ollama/no_tools", WRONG, DOWN),
    ("ollama/not_enough_memory", DOWN, None),
    ("openrouter/thinks_and_calls", f"{BOOKING} -> Done.", None),
    ("openrouter/error_with_200", DOWN, None),
    ("openrouter/choice_error", DOWN, None),
    ("openrouter/overflow_with_200", OVERFLOW, None),
    ("openrouter/overflow", OVERFLOW, None),
    ("openrouter/flagged", FILTER, None),
    ("openrouter/rate_limit", DOWN, None),
    ("openrouter/no_credit", WRONG, DOWN),
    ("openrouter/bad_key", WRONG, DOWN),
    ("openrouter/no_tools", WRONG, DOWN),
    ("others/mistral_thinks", "There are two.", None),
    ("others/gemini_signed_call", f"{BOOKING} -> Done.", None),
    ("others/gemini_error", OVERFLOW, None),
    ("others/deepseek_overloaded", DOWN, None),
    ("others/deepseek_risk", FILTER, None),
    ("others/sglang_overflow", OVERFLOW, None),
    ("others/tgi_overflow", OVERFLOW, None),
    ("responses/openai_text", "Room 12 is booked.", None),
    ("responses/openai_thinks_and_calls", BOTH, None),
    ("responses/openai_refusal", "stop: refusal", None),
    ("responses/openai_cut_off_in_a_call", LIMIT, None),
    ("responses/openai_cut_off_in_thought", LIMIT, None),
    ("responses/openai_filtered", FILTER, None),
    ("responses/openai_failed", DOWN, None),
    ("responses/openai_failed_limit", DOWN, None),
    ("responses/openai_failed_prompt", FILTER, None),
    ("responses/openai_queued", DOWN, None),
    ("responses/openai_overflow", OVERFLOW, None),
    ("responses/openai_bad_key", WRONG, DOWN),
    ("responses/openai_unknown_model", WRONG, DOWN),
    ("responses/openai_no_temperature", WRONG, DOWN),
    ("responses/openai_no_reasoning_item", WRONG, DOWN),
    ("responses/azure_prompt_filtered", FILTER, None),
    ("responses/vllm_thinks_and_calls", f"{BOOKING} -> Done.", None),
    ("responses/llamacpp_text", "Hello.", None),
    ("responses/ollama_call_without_id", f"{BOOKING}, get_guest({{}}) -> Done.", None),
    ("responses/openrouter_duplicate_ids", 'book({"guest": "Ann"}), book({"guest": "Ben"}) -> Done.', None),
    ("responses/openrouter_error_with_200", DOWN, None),
    ("anthropic/text", "Room 12 is booked.", None),
    ("anthropic/thinks_and_calls", BOTH, None),
    ("anthropic/cut_off_in_a_call", LIMIT, None),
    ("anthropic/cut_off_by_context", OVERFLOW, None),
    ("anthropic/refusal", "stop: refusal", None),
    ("anthropic/refusal_in_the_middle", "stop: refusal", None),
    ("anthropic/pause", "Searching. Done.", None),
    ("anthropic/empty", "", None),
    ("anthropic/stop_sequence", "Done.", None),
    ("anthropic/overloaded", DOWN, None),
    ("anthropic/error_with_200", DOWN, None),
    ("anthropic/request_error_with_200", WRONG, DOWN),
    ("anthropic/api_error", DOWN, None),
    ("anthropic/timeout", DOWN, None),
    ("anthropic/rate_limit", DOWN, None),
    ("anthropic/overflow", OVERFLOW, None),
    ("anthropic/overflow_with_max_tokens", OVERFLOW, None),
    ("anthropic/too_large", OVERFLOW, None),
    ("anthropic/max_tokens_too_large", WRONG, DOWN),
    ("anthropic/blocked", FILTER, None),
    ("anthropic/no_credit", WRONG, DOWN),
    ("anthropic/billing", WRONG, DOWN),
    ("anthropic/bad_key", WRONG, DOWN),
    ("anthropic/forbidden", WRONG, DOWN),
    ("anthropic/unknown_model", WRONG, DOWN),
    ("anthropic/no_temperature", WRONG, DOWN),
    ("anthropic/llamacpp_call_without_id", f"{BOOKING}, get_guest({{}}) -> Done.", None),
    ("anthropic/vllm_input_as_text", f"{BOOKING} -> Done.", None),
    ("anthropic/ollama_duplicate_ids", 'book({"guest": "Ann"}), book({"guest": "Ben"}) -> Done.', None),
]  # fmt: skip


@pytest.mark.parametrize(("case", "first", "later"), READINGS, ids=[case for case, _, _ in READINGS])
def test_t18_t20_what_an_answer_means(case: str, first: str, later: str | None) -> None:
    api = APIS.get(case.split("/")[0], CHAT)
    outcome, requests = told(api, reply(case), again=first == DOWN)
    assert outcome == first
    # Only an outage is asked again: what the conversation or the configuration has caused would stay as it is.
    if outcome == DOWN:
        assert requests == 3
    elif outcome.startswith(("stop", WRONG)):
        assert requests == 1
    expected = later or first
    assert told(api, reply(case), again=expected == DOWN, answered=True)[0] == expected


@pytest.mark.parametrize("api", TEXT, ids=lambda api: api.name)
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Reply(body=HTML, headers={"Content-Type": "text/html"}), id="page with 200"),
        pytest.param(Reply(status=502, body=HTML, headers={"Content-Type": "text/html"}), id="page with 502"),
        pytest.param(Reply(body=b""), id="nothing"),
        pytest.param(Reply(body=b'{"id": "x", "cho'), id="half"),
        pytest.param(Reply(body=b"null"), id="null"),
        pytest.param(Reply(body=b'{"error": {"message": "busy", "code": "503"}}'), id="numeric code as text"),
        pytest.param(Reply(body=b'{"error": "upstream failed"}'), id="error as text"),
    ],
)
def test_what_is_no_answer_is_an_outage_for_each_api(api: Api, answer: Reply) -> None:
    assert told(api, answer, again=True) == (DOWN, 3)


def test_an_endpoint_that_asks_to_wait_until_a_date_is_waited_for() -> None:
    async def go(stub: StubEndpoint) -> str:
        endpoint = Endpoint(stub.url, api=MESSAGES, backoff=0.001, retries=1)
        session = ModelSession(ChatModel(endpoint, "m"), Play().task, tools=b"")
        try:
            return await session.reply("Hello")
        finally:
            await endpoint.aclose()

    date = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    replies = [fails(429, headers={"Retry-After": date}), Reply(body=json.dumps(TEXT[MESSAGES]).encode())]
    with StubEndpoint(replies) as stub:
        assert asyncio.run(go(stub)) == "Done."
    assert 0.9 < stub.received[1].at - stub.received[0].at < 2.2


def test_every_documented_answer_of_200_has_a_reading() -> None:
    known = {case for case, _, _ in READINGS}
    documented = {
        f"{provider}/{name}"
        for provider in (
            "azure",
            "vllm",
            "llamacpp",
            "ollama",
            "openrouter",
            "openai",
            "responses",
            "anthropic",
        )
        for name in names(provider)
        if shape(f"{provider}/{name}")["status"] == 200
    }
    assert sorted(documented - known) == ["anthropic/no_usage"]

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from pytest_thinkingbox.agents.base import Stop
from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.endpoint import Endpoint
from pytest_thinkingbox.agents.wire import Answer, Transcript
from pytest_thinkingbox.episodes.clock import AgentClock
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown
from tests.agents.shapes import reply
from tests.support.stub_endpoint import Reply, StubEndpoint, fails, says

KEY = "sk-very-secret-0123"
TOOLS = b'[{"type":"function","function":{"name":"book"}}]'


def transcript(*messages: Mapping[str, Any]) -> Transcript:
    made = Transcript()
    for message in messages or ({"role": "user", "content": "Hello"},):
        made.append(message)
    return made


async def ask(chat: ChatModel, **options: Any) -> Answer:
    return await chat.complete(options.pop("transcript", transcript()), **options)


def using(
    stub: StubEndpoint, play: Callable[[ChatModel], Awaitable[Any]], *, backoff: float = 0.001, **options: Any
) -> Any:
    async def run() -> Any:
        key = options.pop("api_key", KEY)
        endpoint = Endpoint(stub.url, api_key=key, backoff=backoff, retries=2)
        try:
            return await play(ChatModel(endpoint, "m", **options))
        finally:
            await endpoint.aclose()

    return asyncio.run(run())


def first(stub: StubEndpoint, **options: Any) -> Any:
    """What the first request of an endpoint comes to."""
    return using(stub, ask, **options)


def second(stub: StubEndpoint, **options: Any) -> Any:
    """What the request after a success comes to."""

    async def play(chat: ChatModel) -> Answer:
        await ask(chat)
        return await ask(chat)

    return using(stub, play, **options)


# --- errors before and after the first success ---


@pytest.mark.parametrize(
    ("case", "said", "way_out"),
    [
        ("openai/bad_key", "Incorrect API key provided", "OPENAI_API_KEY"),
        ("openai/unknown_model", "The model `gpt-99` does not exist", "--tb-model"),
        ("openai/no_temperature", "'temperature' does not support 0.2", "parameters"),
        ("openai/max_tokens_too_large", "at most 16384 completion tokens", "parameters"),
        ("openai/no_quota", "exceeded your current quota", "no credit or quota left"),
        ("azure/bad_key", "invalid subscription key", "OPENAI_API_KEY"),
        ("azure/no_deployment", "deployment for this resource does not exist", "--tb-model"),
        ("azure/wrong_path", "Resource not found", "--tb-base-url"),
        ("vllm/unknown_model", "`nobody/knows` does not exist", "--tb-model"),
        ("vllm/no_tool_parser", "--enable-auto-tool-choice", "accepts the request"),
        ("vllm/overflow_by_max_tokens", "'max_completion_tokens' is too large", "parameters"),
        ("vllm/bad_key", "Unauthorized", "OPENAI_API_KEY"),
        ("llamacpp/bad_key", "Invalid API Key", "OPENAI_API_KEY"),
        ("ollama/unknown_model", "model 'qwen9:8b' not found", "--tb-model"),
        ("ollama/no_tools", "does not support tools", "accepts the request"),
        ("openrouter/unknown_model", "nobody/knows is not a valid model ID", "--tb-model"),
        ("openrouter/no_credit", "Insufficient credits", "no credit or quota left"),
        ("openrouter/no_tools", "No endpoints found that support tool use", "--tb-base-url"),
    ],
)
def test_t20_before_the_first_success_it_is_a_configuration_error(case: str, said: str, way_out: str) -> None:
    with StubEndpoint(lambda _: reply(case)) as stub, pytest.raises(ConfigurationError) as caught:
        first(stub)
    text = str(caught.value)
    assert text.startswith(f"{stub.url}/chat/completions answered ")
    assert "(model 'm')" in text
    assert said in text
    assert way_out in text.split("(model 'm'). ")[1]
    assert len(stub.received) == 1


@pytest.mark.parametrize(
    "case",
    ["openai/bad_key", "openai/unknown_model", "openai/no_quota", "azure/wrong_path", "vllm/no_tool_parser"],
)
def test_t20_after_the_first_success_the_provider_is_down(case: str) -> None:
    with StubEndpoint([says("hi"), reply(case)]) as stub, pytest.raises(ProviderDown) as caught:
        second(stub)
    assert str(caught.value).startswith(f"{stub.url}/chat/completions answered ")
    assert len(stub.received) == 2


def test_t20_a_second_model_of_an_endpoint_that_answered_may_still_be_unknown() -> None:
    async def play(chat: ChatModel) -> Answer:
        await ask(chat)
        return await ask(ChatModel(chat.endpoint, "other"))

    with StubEndpoint([says("hi"), reply("openai/unknown_model")]) as stub, pytest.raises(ConfigurationError):
        using(stub, play)


def test_without_a_key_the_way_out_is_to_set_one() -> None:
    with StubEndpoint([fails(401)]) as stub, pytest.raises(ConfigurationError, match="No key was sent"):
        first(stub, api_key=None)


def test_a_redirect_names_the_place() -> None:
    moved = Reply(status=301, headers={"Location": "https://elsewhere/v1"})
    with (
        StubEndpoint([moved]) as stub,
        pytest.raises(ConfigurationError, match="asked at https://elsewhere/v1"),
    ):
        first(stub)


def test_the_key_is_in_no_configuration_error() -> None:
    with StubEndpoint([fails(400, f"what is {KEY}?")]) as stub, pytest.raises(ConfigurationError) as caught:
        first(stub)
    assert KEY not in str(caught.value)


# --- what the conversation has caused ---


@pytest.mark.parametrize(
    "case", ["openai/overflow", "vllm/overflow", "llamacpp/overflow", "openrouter/overflow_with_200"]
)
def test_t18_an_overflow_stops_the_agent_and_is_not_repeated(case: str) -> None:
    with StubEndpoint([reply(case)]) as stub, pytest.raises(Stop) as caught:
        first(stub)
    assert caught.value.reason == "context_overflow"
    assert "context" in caught.value.detail
    assert len(stub.received) == 1


def test_t18_an_answer_that_no_longer_fits_behind_the_conversation_is_an_overflow() -> None:
    replies = [says("hi"), reply("vllm/overflow_by_max_tokens")]
    with StubEndpoint(replies) as stub, pytest.raises(Stop) as caught:
        second(stub)
    assert caught.value.reason == "context_overflow"


@pytest.mark.parametrize("case", ["azure/prompt_filtered", "openai/flagged", "openrouter/flagged"])
def test_a_filtered_prompt_stops_the_agent(case: str) -> None:
    with StubEndpoint([reply(case)]) as stub, pytest.raises(Stop) as caught:
        first(stub)
    assert caught.value.reason == "content_filter"


def test_an_answer_that_is_none_is_asked_for_again_and_then_the_provider_is_down() -> None:
    with StubEndpoint(lambda _: Reply(body=b'{"choices": []}')) as stub:
        with pytest.raises(ProviderDown, match="no choices"):
            first(stub)
        assert len(stub.received) == 3


def test_an_error_with_status_200_is_tried_again() -> None:
    with StubEndpoint([reply("openrouter/error_with_200"), says("hi")]) as stub:
        assert first(stub).text == "hi"


# --- fitting the endpoint ---


def sent(stub: StubEndpoint) -> list[dict[str, Any]]:
    return [{key: value for key, value in one.json.items() if key != "messages"} for one in stub.received]


def test_model_parameters_seed_and_tools_are_in_the_request() -> None:
    async def play(chat: ChatModel) -> Answer:
        return await ask(chat, seed=7, tools=TOOLS)

    with StubEndpoint([says("hi")]) as stub:
        using(stub, play, parameters={"temperature": 0.2})
    assert stub.received[0].json == {
        "model": "m",
        "temperature": 0.2,
        "seed": 7,
        "tools": [{"type": "function", "function": {"name": "book"}}],
        "messages": [{"role": "user", "content": "Hello"}],
    }


def test_a_seed_among_the_parameters_wins_and_none_is_sent_when_nobody_wants_it() -> None:
    async def play(chat: ChatModel) -> Answer:
        return await ask(chat, seed=7)

    with StubEndpoint(lambda _: says("hi")) as stub:
        using(stub, play, parameters={"seed": 1})
        using(stub, play, send_seed=False)
    assert sent(stub) == [{"model": "m", "seed": 1}, {"model": "m"}]


def test_parameters_that_the_agent_sets_itself_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="set messages, stream"):
        ChatModel(Endpoint("http://127.0.0.1:1/v1"), "m", parameters={"stream": True, "messages": []})


@pytest.mark.parametrize("case", ["others/mistral_no_seed", "others/gemini_unknown_name"])
def test_an_endpoint_that_knows_no_seed_is_not_sent_one_again(case: str) -> None:
    async def play(chat: ChatModel) -> set[str]:
        await ask(chat, seed=7)
        await ask(chat, seed=8)
        return chat.refused

    with StubEndpoint([reply(case), says("hi"), says("hi")]) as stub:
        assert using(stub, play) == {"seed"}
    assert sent(stub) == [{"model": "m", "seed": 7}, {"model": "m"}, {"model": "m"}]


def test_parallel_tool_calls_are_dropped_where_they_are_unknown() -> None:
    with StubEndpoint([reply("openai/no_parallel_tool_calls"), says("hi")]) as stub:
        first(stub, parameters={"parallel_tool_calls": False})
    assert sent(stub) == [{"model": "m", "parallel_tool_calls": False}, {"model": "m"}]


def test_max_tokens_is_sent_under_the_name_that_the_endpoint_knows() -> None:
    async def play(chat: ChatModel) -> None:
        await ask(chat)
        await ask(chat)

    with StubEndpoint([reply("openai/no_max_tokens"), says("hi"), says("hi")]) as stub:
        using(stub, play, parameters={"max_tokens": 100})
    assert sent(stub) == [
        {"model": "m", "max_tokens": 100},
        {"model": "m", "max_completion_tokens": 100},
        {"model": "m", "max_completion_tokens": 100},
    ]


def test_an_endpoint_that_knows_neither_name_ends_it() -> None:
    unknown = [fails(400, f"Unrecognized request argument supplied: {name}") for name in
               ("max_completion_tokens", "max_tokens")]  # fmt: skip
    with StubEndpoint(unknown) as stub, pytest.raises(ConfigurationError, match="max_tokens"):
        first(stub, parameters={"max_completion_tokens": 100})


def test_a_refusal_that_names_a_parameter_twice_ends_it() -> None:
    async def play(chat: ChatModel) -> Answer:
        return await ask(chat, seed=7)

    refusal = fails(400, "Unrecognized request argument supplied: seed")
    with StubEndpoint(lambda _: refusal) as stub, pytest.raises(ConfigurationError, match="seed"):
        using(stub, play)
    assert len(stub.received) == 2


def test_many_at_once_that_meet_the_same_refusal_all_go_on() -> None:
    async def play(chat: ChatModel) -> list[str]:
        answers = await asyncio.gather(*(ask(chat, seed=seed) for seed in range(8)))
        return [answer.text for answer in answers]

    def script(received: Any) -> Reply:
        if "seed" in received.json or "max_tokens" in received.json:
            name = "seed" if "seed" in received.json else "max_tokens"
            return fails(400, f"Unsupported parameter: {name!r}")
        return says("hi", latency=0.01)

    with StubEndpoint(script) as stub:
        assert using(stub, play, parameters={"max_tokens": 9}) == ["hi"] * 8


THOUGHT = {"role": "assistant", "content": "Hi", "reasoning": "A greeting."}


def reasoning_sent(stub: StubEndpoint) -> list[bool]:
    return [any("reasoning" in message for message in one.messages) for one in stub.received]


def test_reasoning_is_not_sent_again_to_an_endpoint_that_refuses_it() -> None:
    async def play(chat: ChatModel) -> None:
        for _ in range(2):
            await ask(chat, transcript=transcript({"role": "user", "content": "?"}, THOUGHT), tools=TOOLS)

    with StubEndpoint([reply("others/groq_no_reasoning"), says("hi"), says("hi")]) as stub:
        using(stub, play)
    assert reasoning_sent(stub) == [True, False, False]


def test_reasoning_goes_back_only_with_tools() -> None:
    async def play(chat: ChatModel) -> None:
        await ask(chat, transcript=transcript(THOUGHT), tools=TOOLS)
        await ask(chat, transcript=transcript(THOUGHT))

    with StubEndpoint(lambda _: says("hi")) as stub:
        using(stub, play)
    assert reasoning_sent(stub) == [True, False]


# --- whose time it is ---


def test_only_the_answer_itself_takes_from_the_agents_time() -> None:
    async def play(chat: ChatModel) -> float:
        clock = AgentClock(seconds=100)
        with clock.running():
            await ask(chat, clock=clock)
        return 100 - clock.left

    outage = fails(503, headers={"Retry-After": "0.4"})
    with StubEndpoint([outage, outage, says("hi", latency=0.2)]) as stub:
        used = using(stub, play)
    assert 0.2 <= used < 0.7


def test_an_outage_longer_than_the_limit_is_no_time_limit() -> None:
    async def play(chat: ChatModel) -> None:
        clock = AgentClock(seconds=0.2)
        with clock.running():
            await ask(chat, clock=clock)

    with StubEndpoint(lambda _: fails(503, headers={"Retry-After": "0.3"})) as stub:
        with pytest.raises(ProviderDown):
            using(stub, play)
        assert len(stub.received) == 3


def test_queueing_is_not_the_agents_time() -> None:
    async def play(chat: ChatModel) -> list[float]:
        async def one() -> float:
            clock = AgentClock(seconds=100)
            with clock.running():
                await ask(chat, clock=clock)
            return 100 - clock.left

        return await asyncio.gather(*(one() for _ in range(24)))

    with StubEndpoint(lambda _: says("hi", latency=0.4)) as stub:  # 8 places: the last ones wait 0.8 s
        used = using(stub, play)
    assert min(used) >= 0.4
    assert sum(used) < 16  # 9.6 of their own; with the queue 19.2


def test_what_is_stored_is_json() -> None:
    with StubEndpoint([reply("openrouter/thinks_and_calls")]) as stub:
        answer = first(stub)
    assert json.loads(json.dumps(answer.message)) == answer.message

"""The agent by token ids over a real socket, with an endpoint that answers as vLLM's server does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_thinkingbox.agents.base import Stop
from pytest_thinkingbox.agents.served import ServedAgent, ServedEngine
from pytest_thinkingbox.agents.tokens import Generation, TokensAgent, Trace
from pytest_thinkingbox.declare import Limits
from pytest_thinkingbox.episodes.clock import AgentClock, TimeIsUp
from pytest_thinkingbox.episodes.model import Usage
from pytest_thinkingbox.errors import ConfigurationError, ProviderDown
from tests.agents.world import Play
from tests.support.stub_endpoint import Received, Reply, StubEndpoint, fails
from tests.tokens.tokenizer import END, ByteTokenizer

BOOK = '<tool_call>\n{"name": "book", "arguments": {"guest": "Dana"}}\n</tool_call>'
TOKENIZER = ByteTokenizer()


def written(text: str, *, finish: str | None = None, latency: float = 0.0, **changes: Any) -> Reply:
    """A completion of these ids, finished where they end with the end token."""
    ids = TOKENIZER.encode(text)
    choice = {
        "index": 0,
        "text": text.removesuffix(END),
        "logprobs": None,
        "finish_reason": finish or ("stop" if text.endswith(END) else "length"),
        "stop_reason": 256 if text.endswith(END) else None,
        "token_ids": ids,
        **changes,
    }
    usage = {"prompt_tokens": 50, "completion_tokens": len(ids), "total_tokens": 50 + len(ids)}
    body = {"object": "text_completion", "model": "m", "choices": [choice], "usage": usage}
    return Reply(body=json.dumps(body).encode(), latency=latency)


def models(*names: str, longest: int | None = 5000) -> Reply:
    cards = [{"id": name, "object": "model", "max_model_len": longest} for name in names]
    return Reply(body=json.dumps({"object": "list", "data": cards}).encode())


def serving(*replies: Reply, listed: Reply | None = None) -> Callable[[Received], Reply]:
    """The n-th completion gets the n-th reply, the last one again and again."""
    given = iter(range(10**6))

    def script(received: Received) -> Reply:
        if (received.method, received.path) == ("GET", "/v1/models"):
            return listed or models("m")
        assert (received.method, received.path) == ("POST", "/v1/completions")
        return replies[min(next(given), len(replies) - 1)]

    return script


def asked(stub: StubEndpoint) -> list[dict[str, Any]]:
    return [one.json for one in stub.received if one.method == "POST"]


def agent_at(stub: StubEndpoint, **parameters: Any) -> ServedAgent:
    return ServedAgent("m", tokenizer=TOKENIZER, base_url=stub.url, parameters=parameters)


def quick(agent: ServedAgent) -> ServedAgent:
    """With retries that do not wait."""
    for endpoint in (agent.endpoint, agent._list):
        endpoint._backoff = 0.001
    return agent


def test_calls_are_played_and_the_text_is_the_answer() -> None:
    play = Play()
    with StubEndpoint(serving(written(f"Wait.{BOOK}{END}"), written(f"Booked.{END}"))) as stub:
        assert play.run(agent_at(stub)) == ["Booked."]
    [call] = play.conversation.tool_calls
    assert (call.name, call.arguments) == ("book", {"guest": "Dana"})


def test_a_prompt_is_what_was_shown_before_and_the_observation() -> None:
    with StubEndpoint(serving(written(f"Wait.{BOOK}{END}"), written(f"Booked.{END}"))) as stub:
        Play().run(agent_at(stub))
    first, second = asked(stub)
    told = "\n<|im_start|>user\n<tool_response>\nbooked for Dana\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    assert TOKENIZER.decode(first["prompt"]).endswith("user\nBook a room.<|im_end|>\n<|im_start|>assistant\n")
    assert second["prompt"] == first["prompt"] + TOKENIZER.encode(f"Wait.{BOOK}{END}") + TOKENIZER.encode(
        told
    )


def test_a_request_says_everything_that_a_server_could_decide_itself() -> None:
    with StubEndpoint(serving(written(f"Booked.{END}"))) as stub:
        Play().run(agent_at(stub, top_p=0.9))
    [body] = asked(stub)
    prompt = body.pop("prompt")
    assert body == {
        "model": "m",
        "temperature": 1.0,
        "top_p": 0.9,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "seed": 1,
        "max_tokens": 5000 - len(prompt),
        "return_token_ids": True,
        "stop_token_ids": [256],
        "ignore_eos": True,
    }


def test_tokens_are_counted_by_their_ids() -> None:
    play = Play()
    with StubEndpoint(serving(written(f"{BOOK}{END}"), written(f"Booked.{END}"))) as stub:
        play.run(agent_at(stub))
    shown = sum(len(one["prompt"]) for one in asked(stub))
    new = len(TOKENIZER.encode(f"{BOOK}{END}Booked.{END}"))
    assert play.conversation.usage == {"agent": Usage(requests=2, input_tokens=shown, output_tokens=new)}


def test_the_hash_of_the_interpretation_is_kept_with_the_conversation() -> None:
    play = Play()
    with StubEndpoint(serving(written(f"Booked.{END}"))) as stub:
        agent = agent_at(stub)
        play.run(agent)
    assert play.conversation.chat == agent.chat_of(())


@pytest.mark.parametrize(
    ("most", "limits", "longest", "reason"),
    [
        (20, Limits(), 5000, "output_limit"),
        (None, Limits(tokens=20), 5000, "token_limit"),
        (None, Limits(), 420, "context_overflow"),
    ],
)
def test_what_was_cut_off_is_not_played_and_the_reason_says_by_what(most, limits, longest, reason) -> None:
    play = Play()
    play.task.limits = limits

    def script(received: Received) -> Reply:
        if received.method == "GET":
            return models("m", longest=longest)
        return written((BOOK * 99)[: received.json["max_tokens"]])

    with StubEndpoint(script) as stub, pytest.raises(Stop) as stopped:
        play.run(agent_at(stub, **({} if most is None else {"max_tokens": most})))
    assert stopped.value.reason == reason
    assert play.conversation.tool_calls == []
    assert len(asked(stub)) == 1


def test_an_answer_that_the_endpoint_itself_cut_is_an_overflow() -> None:
    with StubEndpoint(serving(written("I wi"))) as stub, pytest.raises(Stop) as stopped:
        Play().run(agent_at(stub))
    assert stopped.value.reason == "context_overflow"


def test_a_refusal_for_its_length_is_an_overflow() -> None:
    text = "This model's maximum context length is 300 tokens. However, you requested 200 output tokens and your ..."
    with StubEndpoint(serving(fails(400, text))) as stub, pytest.raises(Stop) as stopped:
        Play().run(agent_at(stub))
    assert stopped.value.reason == "context_overflow"


def test_an_outage_is_tried_again() -> None:
    with StubEndpoint(serving(fails(503), Reply(ending="reset"), written(f"Booked.{END}"))) as stub:
        assert Play().run(quick(agent_at(stub))) == ["Booked."]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (fails(500), "status 500"),
        (written("Book", finish="abort"), "finish_reason 'abort'"),
        (written("Booked.", finish="stop"), "without the id 256, which alone ends one"),
        (written(END, token_ids=[3.5]), "its token_ids are none"),
        (Reply(body=b'{"choices": []}'), "its answer has no choices"),
    ],
    ids=["down", "aborted", "ended otherwise", "no ids", "empty"],
)  # fmt: skip
def test_an_endpoint_that_stays_down_is_no_failure_of_the_agent(reply, why) -> None:
    with StubEndpoint(serving(reply)) as stub, pytest.raises(ProviderDown, match=why):
        Play().run(quick(agent_at(stub)))


def test_a_list_of_models_that_does_not_come_is_an_outage() -> None:
    with (
        StubEndpoint(lambda received: fails(502)) as stub,
        pytest.raises(ProviderDown, match="/v1/models failed"),
    ):
        Play().run(quick(agent_at(stub)))


def test_more_ids_than_were_asked_for_are_an_outage() -> None:
    with (
        StubEndpoint(serving(written("Booked for Dana"))) as stub,
        pytest.raises(ProviderDown, match="at most 4"),
    ):
        Play().run(agent_at(stub, max_tokens=4))


def test_a_prompt_that_was_changed_stops_the_run() -> None:
    reply = written(f"Booked.{END}", prompt_token_ids=[1, 2])
    with StubEndpoint(serving(reply)) as stub, pytest.raises(ConfigurationError, match="must not change ids"):
        Play().run(agent_at(stub))


def test_an_endpoint_without_ids_stops_the_run() -> None:
    reply = written(f"Booked.{END}", token_ids=None)
    with StubEndpoint(serving(reply)) as stub, pytest.raises(ConfigurationError, match="return_token_ids"):
        Play().run(agent_at(stub))


def test_a_model_that_is_not_served_stops_the_run() -> None:
    listed = models("other", "another")
    script = serving(written(END), listed=listed)
    with (
        StubEndpoint(script) as stub,
        pytest.raises(ConfigurationError, match="serves another, other, not 'm'"),
    ):
        Play().run(agent_at(stub))


def test_where_no_length_is_known_a_limit_must_be_given() -> None:
    for listed in (fails(404), models("m", longest=None)):
        script = serving(written(f"Booked.{END}"), listed=listed)
        with StubEndpoint(script) as stub:
            with pytest.raises(ConfigurationError, match="limit an answer by --tb-extra-body"):
                Play().run(agent_at(stub))
            assert Play().run(agent_at(stub, max_tokens=100)) == ["Booked."]
        assert asked(stub)[-1]["max_tokens"] == 100


@pytest.mark.parametrize("parameters", [{"stop_token_ids": [3]}, {"prompt": "x"}, {"max_tokens": "many"}])
def test_what_the_agent_sets_itself_cannot_be_set(parameters) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(parameters))}"):
        ServedAgent("m", tokenizer=TOKENIZER, parameters=parameters)


def scored(text: str, *, latency: float = 0.0, **logprobs: Any) -> Reply:
    """The same with the log-probability of each id, as vLLM's server says it."""
    ids = TOKENIZER.encode(text)
    said = {
        "text_offset": list(range(len(ids))),
        "tokens": [f"token_id:{one}" for one in ids],
        "token_logprobs": [-0.25 * at for at in range(len(ids))],
        "top_logprobs": [{f"token_id:{one}": -0.25 * at} for at, one in enumerate(ids)],
        **logprobs,
    }
    return written(text, latency=latency, logprobs=said)


def engine_at(stub: StubEndpoint) -> ServedEngine:
    return ServedEngine(
        "m",
        base_url=stub.url,
        end=256,
        parameters={"temperature": 0.7, "top_p": 1.0, "top_k": 0},
        concurrency=8,
        named=("generation.base_url", "model.path"),
    )


def trained_at(stub: StubEndpoint, *, version: int = 0) -> tuple[TokensAgent, list[Trace]]:
    """An agent whose episodes are trained on, with retries that do not wait, and the traces that it leaves."""
    engine = engine_at(stub)
    traces: list[Trace] = []
    engine.policy_version = version
    engine._endpoint._backoff = 0.001
    agent = TokensAgent(
        engine, TOKENIZER, longest=5000, answer=1000, keep=lambda request, trace: traces.append(trace)
    )
    return agent, traces


def test_an_engine_asks_for_the_log_probability_of_the_ids_that_are_drawn() -> None:
    with StubEndpoint(serving(scored(f"Booked.{END}"))) as stub:
        agent, _ = trained_at(stub)
        assert Play().run(agent) == ["Booked."]
    [body] = asked(stub)
    assert {name: body[name] for name in ("logprobs", "return_tokens_as_token_ids", "return_token_ids")} == {
        "logprobs": 0,
        "return_tokens_as_token_ids": True,
        "return_token_ids": True,
    }
    assert (body["model"], body["seed"], body["max_tokens"]) == ("m", 1, 1000)
    assert (body["temperature"], body["top_p"], body["top_k"], body["stop_token_ids"]) == (0.7, 1.0, 0, [256])


def test_a_trace_has_the_log_probabilities_and_the_version_of_the_weights() -> None:
    with StubEndpoint(serving(scored(f"Wait.{BOOK}{END}"), scored(f"Booked.{END}"))) as stub:
        agent, traces = trained_at(stub, version=7)
        Play().run(agent)
    [trace] = traces
    assert trace.policy_versions == {7}
    first, last = TOKENIZER.encode(f"Wait.{BOOK}{END}"), TOKENIZER.encode(f"Booked.{END}")
    assert trace.logprobs is not None
    assert trace.logprobs[: len(first)] == [-0.25 * at for at in range(len(first))]
    assert trace.logprobs[-len(last) :] == [-0.25 * at for at in range(len(last))]
    assert [trace.logprobs[at] for at, own in enumerate(trace.mask) if not own] == [0.0] * trace.mask.count(0)


def test_weights_that_change_within_an_episode_are_two_versions() -> None:
    played: list[Received] = []

    def script(received: Received) -> Reply:
        played.append(received)
        assert isinstance(agent.engine, ServedEngine)
        agent.engine.policy_version = len(played)  # as if they were sent while this is generated
        return scored(f"Wait.{BOOK}{END}" if len(played) == 1 else f"Booked.{END}")

    with StubEndpoint(script) as stub:
        agent, traces = trained_at(stub)
        Play().run(agent)
    assert traces[0].policy_versions == {0, 1}


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (fails(500), "status 500"),
        (scored(END, tokens=["token_id:3"]), "of other tokens than its token_ids"),
        (scored(END, tokens=["<|im_end|>"]), "of other tokens than its token_ids"),
        (scored(END, token_logprobs=[None]), "not one number for each id"),
        (scored(END, token_logprobs=[-1.0, -2.0]), "not one number for each id"),
        (scored(END, token_logprobs=[float("nan")]), "not one number for each id"),
    ],
    ids=["down", "others", "words", "none", "too many", "no number"],
)  # fmt: skip
def test_an_answer_without_its_log_probabilities_is_an_outage_and_no_failure(reply, why) -> None:
    with StubEndpoint(serving(reply)) as stub, pytest.raises(ProviderDown, match=why):
        Play().run(trained_at(stub)[0])


def test_a_server_that_says_no_log_probabilities_stops_the_run() -> None:
    with StubEndpoint(serving(written(END))) as stub, pytest.raises(ConfigurationError, match="`logprobs`"):
        Play().run(trained_at(stub)[0])


def test_an_engine_is_asked_by_all_episodes_at_once() -> None:
    async def ask() -> list[Generation]:
        engine = engine_at(stub)
        try:
            return await asyncio.gather(*(engine.generate([at], seed=at, most=9) for at in range(8)))
        finally:
            await engine.aclose()

    with StubEndpoint(serving(scored(f"Yes{END}", latency=0.3))) as stub:
        found = asyncio.run(ask())
    assert stub.most_in_flight == 8
    assert [one.logprobs for one in found] == [[0.0, -0.25, -0.5, -0.75]] * 8
    assert sorted(one["seed"] for one in asked(stub)) == list(range(8))


def test_a_slow_server_is_an_outage_of_an_episode_that_is_trained_on() -> None:
    with (
        StubEndpoint(lambda received: scored(f"Booked.{END}", latency=0.6)) as stub,
        pytest.raises(ProviderDown, match="is slow"),
    ):
        within(0.2).run(trained_at(stub)[0])


def within(seconds: float) -> Play:
    play = Play()
    play.task.limits = Limits(seconds=seconds)
    play.task.clock = AgentClock(seconds=seconds)
    return play


def is_control(received: Received) -> bool:
    return received.method == "POST" and received.json["prompt"] == [256]


def test_a_late_answer_of_a_quick_endpoint_is_the_agents_own_time() -> None:
    def script(received: Received) -> Reply:
        if received.method == "GET":
            return models("m")
        return written("OK") if is_control(received) else written(f"Booked.{END}", latency=0.9)

    play = within(0.6)
    with StubEndpoint(script) as stub, pytest.raises(TimeIsUp):
        play.run(agent_at(stub))
    [control] = [one.json for one in stub.received if is_control(one)]
    assert control["max_tokens"] == 16
    assert play.conversation.usage["control"] == Usage(requests=1, input_tokens=50, output_tokens=2)


def test_a_slow_endpoint_is_an_outage() -> None:
    def script(received: Received) -> Reply:
        return models("m") if received.method == "GET" else written(f"Booked.{END}", latency=0.6)

    with StubEndpoint(script) as stub, pytest.raises(ProviderDown, match="is slow"):
        within(0.2).run(agent_at(stub))

"""A slow provider is told from a slow agent by a control request."""

from __future__ import annotations

import asyncio
import time

import pytest

from pytest_thinkingbox.agents.openai import OpenAIAgent
from pytest_thinkingbox.declare import Limits
from pytest_thinkingbox.episodes.clock import AgentClock, TimeIsUp
from pytest_thinkingbox.episodes.model import Usage
from pytest_thinkingbox.errors import ProviderDown
from tests.agents.world import Play
from tests.support.stub_endpoint import Received, Reply, StubEndpoint, calls, fails, says

ANN = ("book", {"guest": "Ann"})


def within(seconds: float) -> Play:
    play = Play()
    play.task.limits = Limits(seconds=seconds)
    play.task.clock = AgentClock(seconds=seconds)
    return play


def is_control(received: Received) -> bool:
    return "the word OK" in received.messages[-1]["content"]


def slow_agent(received: Received) -> Reply:
    return says("OK") if is_control(received) else says("Done.", latency=0.9)


def test_an_answer_that_is_late_at_a_quick_provider_is_the_agents_own() -> None:
    play = within(0.6)
    with StubEndpoint(slow_agent) as stub, pytest.raises(TimeIsUp):
        play.run(OpenAIAgent("m", base_url=stub.url, parameters={"temperature": 0.5}))
    assert play.conversation.messages[-1] == {"role": "assistant", "content": "Done."}
    assert [received.json for received in stub.received if is_control(received)] == [
        {
            "model": "m",
            "temperature": 0.5,
            "max_completion_tokens": 16,
            "messages": [{"role": "user", "content": "Reply with the word OK and nothing else."}],
        }
    ]


def test_the_tokens_of_the_control_request_are_counted_apart() -> None:
    play = within(0.6)
    with StubEndpoint(slow_agent) as stub, pytest.raises(TimeIsUp):
        play.run(OpenAIAgent("m", base_url=stub.url))
    assert play.conversation.usage == {
        "agent": Usage(requests=1, input_tokens=100, output_tokens=10),
        "control": Usage(requests=1, input_tokens=100, output_tokens=10),
    }


def test_a_provider_far_slower_than_the_limit_is_no_failure_of_the_agent() -> None:
    play = within(0.2)
    started = time.monotonic()
    with (
        StubEndpoint(lambda _: says("Done.", latency=6.0)) as stub,
        pytest.raises(ProviderDown, match=r"is slow.*not answered within 0\.1 s either"),
    ):
        play.run(OpenAIAgent("m", base_url=stub.url))
    assert time.monotonic() - started < 5  # it is not waited for
    assert len(stub.received) == 2


def test_a_provider_that_uses_the_time_up_bit_by_bit_is_slow_too() -> None:
    play = within(1.5)

    def script(received: Received) -> Reply:
        return says("OK", latency=0.6) if is_control(received) else calls(ANN, latency=0.6)

    with StubEndpoint(script) as stub, pytest.raises(ProviderDown, match="is slow"):
        play.run(OpenAIAgent("m", base_url=stub.url))
    assert len(stub.received) == 4  # the third answer is late; a third of half the time is 0.25 s


def test_an_agent_that_uses_the_time_up_bit_by_bit_is_slow_itself() -> None:
    play = within(1.5)

    def script(received: Received) -> Reply:
        return says("OK") if is_control(received) else calls(ANN, latency=0.6)

    with StubEndpoint(script) as stub, pytest.raises(TimeIsUp):
        play.run(OpenAIAgent("m", base_url=stub.url))
    assert len(play.conversation.tool_calls) == 2


def test_an_answer_that_came_too_late_from_a_slow_provider_is_kept_and_its_tokens_are_counted() -> None:
    play = within(1.0)

    def script(received: Received) -> Reply:
        return says("OK", latency=3) if is_control(received) else says("Done.", latency=1.2)

    with StubEndpoint(script) as stub, pytest.raises(ProviderDown):
        play.run(OpenAIAgent("m", base_url=stub.url))
    assert play.conversation.messages[-1] == {"role": "assistant", "content": "Done."}
    assert play.conversation.usage == {"agent": Usage(requests=1, input_tokens=100, output_tokens=10)}


def test_an_attempt_that_is_cancelled_meanwhile_ends_with_its_control_request() -> None:
    play = within(1.0)

    async def go(stub: StubEndpoint) -> None:
        agent = OpenAIAgent("m", base_url=stub.url)
        async with agent.open(play.task, play.request) as session:
            playing = asyncio.create_task(session.reply("Book a room."))
            while len(stub.received) < 2:
                await asyncio.sleep(0.01)
            playing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(playing, 1)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await agent.aclose()

    def script(received: Received) -> Reply:
        return Reply(ending="hang") if is_control(received) else says("Done.", latency=30)

    with StubEndpoint(script) as stub:
        asyncio.run(go(stub))


def test_within_its_time_no_control_request_is_sent() -> None:
    with StubEndpoint([says("Done.")]) as stub:
        within(5).run(OpenAIAgent("m", base_url=stub.url))
    assert len(stub.received) == 1


def test_a_refused_control_request_is_an_answer_too() -> None:
    def script(received: Received) -> Reply:
        return fails(400, "too short") if is_control(received) else says("Done.", latency=0.9)

    with StubEndpoint(script) as stub, pytest.raises(TimeIsUp):
        within(0.6).run(OpenAIAgent("m", base_url=stub.url))


def test_a_control_request_waits_for_its_place_and_that_is_not_its_time() -> None:
    with StubEndpoint(slow_agent) as stub, pytest.raises(TimeIsUp):
        within(0.6).run(OpenAIAgent("m", base_url=stub.url, concurrency=1))
    assert stub.most_in_flight == 1

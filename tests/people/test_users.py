"""Who plays the user of an attempt, and where the model is asked."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_thinkingbox.agents.none import NoneAgent
from pytest_thinkingbox.agents.openai import OpenAIAgent
from pytest_thinkingbox.agents.wire import Transcript
from pytest_thinkingbox.declare import Script
from pytest_thinkingbox.declare.user import END
from pytest_thinkingbox.errors import ConfigurationError
from pytest_thinkingbox.people.models import PeopleModel, Settings, make_model
from pytest_thinkingbox.people.scripted import FunctionUser, ScriptUser
from pytest_thinkingbox.people.user import LlmUser
from pytest_thinkingbox.people.users import CampaignUsers
from tests.agents.world import Play
from tests.people.talk import CONTEXT
from tests.support.stub_endpoint import Reply, StubEndpoint, calls, fails, says

AGENT = OpenAIAgent("m", base_url="http://127.0.0.1:1/v1")
URL = "http://127.0.0.1:2/v1"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "THINKINGBOX_USER_API_KEY", "THINKINGBOX_JUDGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def settings(**named: Any) -> Settings:
    fields: dict[str, Any] = {"role": "user", "model": None, "base_url": None, "agent_base_url": None}
    return Settings(**fields | {"concurrency": 8} | named)


def made(agent: Any = AGENT, **named: Any) -> PeopleModel:
    model = make_model(settings(**named), agent)
    assert model is not None
    return model


def test_the_model_that_acts_plays_the_user_at_its_endpoint() -> None:
    model = made()
    assert (model.chat.endpoint, model.chat.model, model.own) == (AGENT.endpoint, "m", None)


def test_another_model_is_asked_at_the_agents_endpoint() -> None:
    model = made(model="u")
    assert (model.chat.endpoint, model.chat.model, model.own) == (AGENT.endpoint, "u", None)


def test_an_endpoint_of_its_own() -> None:
    model = made(base_url=URL)
    assert model.own is model.chat.endpoint
    assert (model.own.url, model.chat.model) == (f"{URL}/chat/completions", "m")


def test_with_an_agent_that_is_no_model_one_must_be_named() -> None:
    assert make_model(settings(base_url=URL), NoneAgent()) is None
    assert made(NoneAgent(), model="u", base_url=URL).chat.model == "u"
    assert made(NoneAgent(), model="u", agent_base_url=URL).chat.endpoint.url == f"{URL}/chat/completions"
    assert made(NoneAgent(), model="u").chat.endpoint.url == "https://api.openai.com/v1/chat/completions"


@pytest.mark.parametrize(
    ("variables", "key"),
    [
        ({}, ""),
        ({"OPENAI_API_KEY": "sk-agent"}, "Bearer sk-agent"),
        ({"OPENAI_API_KEY": "sk-agent", "THINKINGBOX_USER_API_KEY": "sk-user"}, "Bearer sk-user"),
        ({"OPENAI_API_KEY": "sk-agent", "THINKINGBOX_JUDGE_API_KEY": "sk-judge"}, "Bearer sk-agent"),
    ],
    ids=["none", "the agent's", "its own", "not the judge's"],
)
def test_the_key_is_its_own_else_the_agents(
    variables: dict[str, str], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with StubEndpoint([says("yes")]) as stub:

        async def ask() -> None:
            own = made(model="u", base_url=stub.url)
            await own.chat.endpoint.ask(b"{}", lambda body, kind: body)
            await own.aclose()

        asyncio.run(ask())
    assert stub.received[0].headers.get("authorization", "") == key


def test_a_key_of_its_own_makes_a_connection_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THINKINGBOX_USER_API_KEY", "sk-user")
    model = made(model="u", agent_base_url=URL)
    assert model.own is not None
    assert model.own.url == f"{URL}/chat/completions"


def test_each_kind_of_user_is_played_by_its_own() -> None:
    request = Play(user="You are Dana.").request
    users = CampaignUsers(made())
    assert users(replace(request, user=None), seed=1) is None
    assert isinstance(users(request, seed=1), LlmUser)
    assert isinstance(users(replace(request, user=Script(["1042"])), seed=1), ScriptUser)
    assert isinstance(users(replace(request, user=lambda conversation: None), seed=1), FunctionUser)


def test_a_person_without_a_model_stops_the_campaign() -> None:
    users = CampaignUsers(None)
    with pytest.raises(ConfigurationError, match=r"test_book has a user, .* name one with --tb-user-model"):
        users(Play(user="You are Dana.").request, seed=1)


def test_agent_and_user_talk_through_one_endpoint_and_the_agent_never_sees_the_context() -> None:
    play = Play(user=CONTEXT)
    spoken = {
        "agent": [says("For whom?"), calls(("book", {"guest": "Dana"})), says("Booked.")],
        "user": [says("For me, Dana."), says(END)],
    }

    def script(received: Any) -> Reply:
        return spoken["user" if CONTEXT in received.messages[0]["content"] else "agent"].pop(0)

    async def episode(stub: StubEndpoint) -> None:
        agent = OpenAIAgent("m", base_url=stub.url)
        users = CampaignUsers(make_model(settings(), agent))
        user = users(play.request, seed=3)
        assert user is not None
        conversation = play.conversation
        async with agent.open(play.task, play.request) as session:
            message: str | None = play.task.prompt
            while message is not None:
                conversation.response = await session.reply(message)
                message = await user.reply(conversation)
        await users.aclose()
        await agent.aclose()

    with StubEndpoint(script) as stub:
        asyncio.run(episode(stub))
    assert [(one["role"], one["content"]) for one in play.conversation.messages] == [
        ("system", "Be kind."),
        ("user", "Book a room."),
        ("assistant", "For whom?"),
        ("user", "For me, Dana."),
        ("assistant", None),
        ("tool", "booked for Dana"),
        ("assistant", "Booked."),
    ]
    agents = [one for one in stub.received if "tools" in one.json]
    assert len(agents) == 3
    assert all(CONTEXT.encode() not in one.body for one in agents)
    assert play.conversation.usage["agent"].requests == 3
    assert play.conversation.usage["user"].requests == 2


@pytest.mark.parametrize(
    ("status", "way_out"),
    [
        (400, "Name another model with --tb-judge-model, or another endpoint, that takes the request."),
        (401, "No key was sent: set THINKINGBOX_JUDGE_API_KEY, or the agent's OPENAI_API_KEY."),
        (
            404,
            "Check --tb-judge-base-url or THINKINGBOX_JUDGE_BASE_URL, or the agent's --tb-base-url, as in ",
        ),
    ],
)
def test_what_is_wrong_with_an_endpoint_is_told_by_the_names_of_its_own_settings(
    status: int, way_out: str
) -> None:
    async def asked(url: str) -> None:
        model = make_model(settings(role="judge", model="j", base_url=url), AGENT)
        assert model is not None
        try:
            await model.chat.complete(Transcript())
        finally:
            await model.aclose()

    with (
        StubEndpoint([fails(status)]) as stub,
        pytest.raises(ConfigurationError, match=re.escape(way_out)),
    ):
        asyncio.run(asked(stub.url))


def test_at_the_agents_endpoint_its_names_are_the_right_ones_but_for_the_model() -> None:
    async def asked(url: str) -> None:
        agent = OpenAIAgent("m", base_url=url)
        try:
            await made(agent, model="u").chat.complete(Transcript())
        finally:
            await agent.aclose()

    with (
        StubEndpoint([fails(404, "The model u does not exist", code="model_not_found")]) as stub,
        pytest.raises(ConfigurationError, match=r"this key may use with --tb-user-model\."),
    ):
        asyncio.run(asked(stub.url))


def test_an_address_that_is_none_is_told_by_the_option_of_the_user() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^the model that plays the user: .*give --tb-user-base-url or "
    ):
        made(base_url="models.example")

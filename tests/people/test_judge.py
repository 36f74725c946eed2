"""The judge over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

import pytest

from pytest_thinkingbox.agents.chat import ChatModel
from pytest_thinkingbox.agents.completions import CHAT
from pytest_thinkingbox.agents.endpoint import Endpoint
from pytest_thinkingbox.agents.messages import MESSAGES
from pytest_thinkingbox.agents.responses import RESPONSES
from pytest_thinkingbox.agents.wire import Api
from pytest_thinkingbox.episodes.model import Usage
from pytest_thinkingbox.errors import ConfigurationError, JudgeBroke
from pytest_thinkingbox.people.framing import SCHEMA, content_hash, framed
from pytest_thinkingbox.people.judge import JudgeModel, parameters
from pytest_thinkingbox.people.models import PeopleModel
from pytest_thinkingbox.state.rulings import Ruling
from tests.agents.shapes import reply
from tests.support.stub_endpoint import Received, Reply, StubEndpoint, answer, fails, says

QUESTION = "Does the reply name the refund date?"
TEXT = "It arrives on 3 June."
YES = says('{"reason": "It says 3 June.", "answer": "yes"}')
NO = says('{"reason": "It names none.", "answer": "no"}')

Script = Sequence[Reply] | Callable[[Received], Reply]


def ruled(script: Script, *, usage: Usage | None = None, api: Api = CHAT) -> tuple[Ruling, list[Received]]:
    async def ask(url: str) -> Ruling:
        endpoint = Endpoint(url, api=api, backoff=0.001, retries=1)
        fields = parameters(api)
        judge = JudgeModel(
            PeopleModel(ChatModel(endpoint, "j", parameters=fields, droppable=fields), endpoint)
        )
        try:
            return await judge.ask(QUESTION, TEXT, Usage() if usage is None else usage)
        finally:
            await judge.aclose()

    with StubEndpoint(script) as stub:
        ruling = asyncio.run(ask(stub.url))
    return ruling, stub.received


def broke(script: Script, *, usage: Usage | None = None) -> str:
    with pytest.raises(JudgeBroke) as caught:
        ruled(script, usage=usage)
    return str(caught.value)


def test_the_judge_says_yes_and_why() -> None:
    ruling, _ = ruled([YES])
    assert ruling == Ruling(
        question=QUESTION,
        about=content_hash(TEXT),
        answer="yes",
        reason="It says 3 June.",
        model="j",
        cached=False,
    )


def test_the_judge_says_no() -> None:
    assert ruled([NO])[0].answer == "no"


def test_it_is_asked_at_temperature_0_for_an_object_and_told_nothing_but_question_and_text() -> None:
    _, (received,) = ruled([YES])
    sent = received.json
    assert sent["temperature"] == 0
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "ruling", "strict": True, "schema": SCHEMA},
    }
    assert [one["role"] for one in sent["messages"]] == ["system", "user"]
    assert sent["messages"][1]["content"] == framed(QUESTION, TEXT)
    assert sent.keys() == {"model", "messages", "temperature", "response_format", "seed"}


@pytest.mark.parametrize(
    ("refusal", "left"),
    [
        (
            {"message": "'response_format.type' must be 'text' or 'json_object'", "param": "response_format"},
            {"temperature"},
        ),
        ({"message": "This response_format type is unavailable now"}, {"temperature"}),
        (
            {
                "message": "Unsupported value: 'temperature' does not support 0 with this model.",
                "param": "temperature",
            },
            {"response_format"},
        ),
    ],
    ids=["type", "unavailable", "temperature"],
)
def test_what_the_endpoint_does_not_take_is_left_out(refusal: dict[str, str], left: set[str]) -> None:
    ruling, received = ruled([fails(400, **refusal), YES])
    assert ruling.answer == "yes"
    assert received[1].json.keys() & {"temperature", "response_format"} == left


def test_without_structured_output_it_is_told_in_words() -> None:
    told = ruled([YES])[1][0].messages[0]["content"]
    assert '{"reason": "...", "answer": "yes"} or {"reason": "...", "answer": "no"}' in told


def test_other_apis_have_other_words_for_it() -> None:
    form = {"type": "json_schema", "name": "ruling", "strict": True, "schema": SCHEMA}
    assert parameters(RESPONSES) == {"temperature": 0, "text": {"format": form}}
    assert parameters(MESSAGES) == {"temperature": 0}


def test_the_question_is_asked_again_with_another_seed_when_an_answer_is_none() -> None:
    usage = Usage()
    ruling, received = ruled([says(""), says("I would say yes."), NO], usage=usage)
    assert ruling.answer == "no"
    assert len({one.json["seed"] for one in received}) == 3
    assert usage == Usage(requests=3, input_tokens=300, output_tokens=30)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (says(""), "its answer is empty: ''"),
        (says("Yes, it does."), "its answer is no JSON object with a reason and an answer: 'Yes, it does.'"),
        (
            Reply(body=answer({"content": '{"reason": "It says'}, finish_reason="length")),
            'its answer was cut off (length): \'{"reason": "It says\'',
        ),
        (says('{"reason": "x", "answer": "perhaps"}'), 'its answer has an answer other than "yes" and "no"'),
        (reply("openai/refusal"), "its answer is a refusal"),
    ],
    ids=["empty", "prose", "cut off", "perhaps", "refusal"],
)
def test_an_answer_that_is_none_three_times_is_no_no(bad: Reply, why: str) -> None:
    usage = Usage()
    said = broke([bad] * 3, usage=usage)
    assert said.startswith(f"the judge gave no answer to {QUESTION!r} in 3 requests; the last time {why}")
    assert usage.requests == 3


def test_a_whole_answer_that_ends_by_length_is_cut_off() -> None:
    whole = json.dumps({"reason": "x", "answer": "no"})
    assert "cut off" in broke([Reply(body=answer({"content": whole}, finish_reason="length"))] * 3)


def test_t20_a_judge_that_is_down_is_no_no() -> None:
    assert broke(lambda _: fails(503)).startswith("the judge is down: ")


@pytest.mark.parametrize("case", ["openai/overflow", "azure/prompt_filtered"])
def test_what_stops_an_agent_breaks_a_judge(case: str) -> None:
    assert broke([reply(case)]).startswith("the judge could not answer (")


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_t20_a_judge_that_was_never_there_is_a_configuration_error(status: int) -> None:
    with pytest.raises(ConfigurationError, match=r"^the judge: http.* answered \d+: "):
        ruled([fails(status)])

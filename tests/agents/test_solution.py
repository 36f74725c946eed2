"""The agents that need no model: what they call, what they say, and who is to blame."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator, Mapping
from typing import Any

import pytest

from pytest_thinkingbox.agents import make_agent
from pytest_thinkingbox.agents.base import AgentTask, ToolOutput, ToolSpec
from pytest_thinkingbox.declare import Database, Environment, Limits, call
from pytest_thinkingbox.episodes.clock import AgentClock
from pytest_thinkingbox.episodes.model import Conversation, EpisodeRequest, ToolCall
from pytest_thinkingbox.errors import ConfigurationError, SolutionBroke

environment = Environment(name="shop", database=Database(schema=lambda connection: None), servers=[])


def request_for(solution: Any, *, seed: int = 1, **parameters: Any) -> EpisodeRequest:
    return EpisodeRequest(
        task_id="test_shop.py::test_order",
        attempt=1,
        environment=environment,
        prompt="Order it.",
        user=None,
        start=None,
        solution=solution,
        parameters=parameters,
        limits=Limits(),
        campaign="c1",
        seed=seed,
    )


class Played:
    """An agent's run against tools that are plain functions of their arguments."""

    def __init__(
        self, answer: Callable[[str, Mapping[str, Any]], ToolOutput], *, tools: list[ToolSpec] | None = None
    ) -> None:
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.conversation = Conversation()
        self._answer = answer
        self._tools = tools or []

    async def call_tool(self, name: str, arguments: Mapping[str, Any], call_id: str) -> ToolOutput:
        output = self._answer(name, arguments)
        self.calls.append((name, arguments))
        self.conversation.tool_calls.append(
            ToolCall(call_id, name, arguments, output.text, output.error, 0.0)
        )
        return output

    def run(self, spec: str, request: EpisodeRequest) -> str:
        task = AgentTask(
            attempt_id=request.attempt_id,
            prompt=request.prompt,
            instructions="",
            tools=self._tools,
            limits=request.limits,
            seed=request.seed,
            conversation=self.conversation,
            call_tool=self.call_tool,
            clock=AgentClock(seconds=60),
        )

        async def play() -> str:
            async with make_agent(spec).open(task, request) as session:
                return await session.reply(request.prompt)

        return asyncio.run(play())


def fine(name: str, arguments: Mapping[str, Any]) -> ToolOutput:
    return ToolOutput("ok")


def test_a_list_of_calls_is_played_in_order_and_its_last_words_are_the_answer() -> None:
    played = Played(fine)
    answer = played.run(
        "solution", request_for([call("find", id=7), call("order", id=7), call.say("Ordered.")])
    )
    assert played.calls == [("find", {"id": 7}), ("order", {"id": 7})]
    assert answer == "Ordered."


def test_without_last_words_the_answer_is_empty() -> None:
    assert Played(fine).run("solution", request_for([call("find", id=7)])) == ""


def test_the_transcript_has_the_shape_of_chat_completions() -> None:
    played = Played(fine)
    played.run("solution", request_for([call("find", name="Zoë"), call.say("Done.")]))
    function = {"name": "find", "arguments": '{"name": "Zoë"}'}
    assert played.conversation.messages == [
        {"role": "user", "content": "Order it."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (ToolOutput("as text", value={"id": 1042}), {"id": 1042}),
        (ToolOutput('{"id": 1042}'), {"id": 1042}),
        (ToolOutput("booked"), "booked"),
    ],
    ids=["structured", "json text", "text"],
)
def test_a_generator_gets_the_structured_value_else_the_json_else_the_text(
    output: ToolOutput, expected: Any
) -> None:
    seen = []

    def solution() -> Generator[Any, Any, None]:
        seen.append((yield call("book")))

    Played(lambda name, arguments: output).run("solution", request_for(solution))
    assert seen == [expected]


def test_a_callable_solution_takes_the_parameters_that_it_names() -> None:
    played = Played(fine)
    played.run("solution", request_for(lambda room: [call("book", room=room)], room=12, nights=3))
    assert played.calls == [("book", {"room": 12})]


def test_a_later_message_plays_nothing_again() -> None:
    played = Played(fine)
    request = request_for([call("order"), call.say("Ordered.")])

    async def talk() -> list[str]:
        task = AgentTask(
            attempt_id="a", prompt="", instructions="", tools=(), limits=request.limits, seed=1,
            conversation=played.conversation, call_tool=played.call_tool, clock=AgentClock(seconds=60),
        )  # fmt: skip
        async with make_agent("solution").open(task, request) as session:
            return [await session.reply("one"), await session.reply("two")]

    assert asyncio.run(talk()) == ["Ordered.", "Ordered."]
    assert len(played.calls) == 1


def raising() -> Generator[Any, Any, None]:
    yield call("find")
    raise KeyError("id")


def chatty() -> Generator[Any, Any, None]:
    yield call.say("Done.")
    yield call("late")


@pytest.mark.parametrize(
    ("solution", "words"),
    [
        (raising, "the solution raised KeyError('id') after step 1"),
        (lambda room: [], "the solution raised TypeError"),
        (list, "the solution has no step"),
        (lambda: "book", "the solution returned 'book'"),
        (lambda: ["book"], "solution step 1 is 'book'"),
        (chatty, "solution step 1: call.say() must be the last step"),
        ([call("find", when={1, 2})], "solution step 1, find(when={1, 2}): Object of type set is not JSON"),
        ([call("find", x=float("nan"))], "not JSON compliant"),
    ],
)
def test_t12_a_broken_solution_is_named_and_is_the_checkers_fault(solution: Any, words: str) -> None:
    with pytest.raises(SolutionBroke) as caught:
        Played(fine).run("solution", request_for(solution))
    assert words in str(caught.value)
    assert caught.value.cause == "checker"


def test_t12_a_tool_error_names_the_step_of_the_solution() -> None:
    played = Played(lambda name, arguments: ToolOutput("no such booking", error=name == "cancel"))
    with pytest.raises(
        SolutionBroke, match=r"solution step 2, cancel\(id=7\), came back as an error: no such booking"
    ):
        played.run("solution", request_for([call("find"), call("cancel", id=7)]))


@pytest.mark.parametrize("spec", ["solution", "mutant"])
def test_a_task_without_a_solution_is_named(spec: str) -> None:
    with pytest.raises(ConfigurationError, match=r"test_shop\.py::test_order has no solution"):
        Played(fine).run(spec, request_for(None))


def test_none_calls_nothing_and_says_nothing() -> None:
    played = Played(fine)
    assert played.run("none", request_for([call("order")])) == ""
    assert played.calls == []
    assert played.conversation.messages == [
        {"role": "user", "content": "Order it."},
        {"role": "assistant", "content": ""},
    ]


def calls_of(spec: str, solution: Any, *, seed: int, tools: list[ToolSpec] | None = None) -> list[Any]:
    played = Played(fine, tools=tools)
    played.run(spec, request_for(solution, seed=seed))
    return [json.loads(json.dumps(one)) for one in played.calls]


STEPS = [call("find", id=7), call("book", room="king", day="2026-03-01", paid=True), call("note")]
AS_WRITTEN = [
    ["find", {"id": 7}],
    ["book", {"room": "king", "day": "2026-03-01", "paid": True}],
    ["note", {}],
]


def test_a_mutant_with_rate_0_plays_the_solution_as_written() -> None:
    assert [calls_of("mutant:0", STEPS, seed=seed) for seed in range(20)] == [AS_WRITTEN] * 20


def test_a_mutant_repeats_itself_exactly_for_a_seed() -> None:
    assert [calls_of("mutant:0.5", STEPS, seed=seed) for seed in range(30)] == [
        calls_of("mutant:0.5", STEPS, seed=seed) for seed in range(30)
    ]


def test_a_mutant_slips_about_as_often_as_its_rate_says() -> None:
    slips = sum(
        calls_of("mutant", [call("book", id=7)], seed=seed) != [["book", {"id": 7}]] for seed in range(500)
    )
    assert 70 <= slips <= 130


def test_a_mutant_drops_repeats_and_alters() -> None:
    seen = {json.dumps(calls_of("mutant:1", [call("pay", amount=50)], seed=seed)) for seed in range(60)}
    assert seen == {
        "[]",
        '[["pay", {"amount": 50}], ["pay", {"amount": 50}]]',
        '[["pay", {"amount": 51}]]',
        '[["pay", {"amount": 49}]]',
        '[["pay", {"amount": 500}]]',
    }


def altered(solution: Any, tools: list[ToolSpec] | None = None) -> set[str]:
    """Every single call with other arguments that some seed makes of a one-call solution."""
    (step,) = solution
    made = [calls_of("mutant:1", solution, seed=seed, tools=tools) for seed in range(120)]
    return {json.dumps(one[0][1]) for one in made if len(one) == 1 and one[0][1] != dict(step.arguments)}


def test_a_mutant_flips_a_bool() -> None:
    assert altered([call("pay", now=True)]) == {'{"now": false}'}


def test_a_mutant_shifts_a_date_and_keeps_its_form() -> None:
    days = {json.loads(one)["day"] for one in altered([call("book", day="2026-03-01T14:00:00Z")])}
    assert days == {f"2026-{day}T14:00:00Z" for day in ("02-22", "02-28", "03-02", "03-08")}


def test_a_mutant_takes_a_string_from_the_schema_or_a_neighbour() -> None:
    schema = {"type": "object", "properties": {"room": {"enum": ["king", "twin"]}}}
    spec = ToolSpec(name="book", description="", input_schema=schema)
    assert altered([call("book", room="king")], [spec]) == {'{"room": "twin"}'}
    assert '{"room": "king", "guest": "king"}' in altered([call("book", room="king", guest="Dana")])


def test_a_mutant_alters_a_value_inside_a_list_or_an_object() -> None:
    assert altered([call("pay", parts=[1, 2])]) == {'{"parts": [1]}'}
    assert altered([call("pay", part={"paid": False})]) == {'{"part": {"paid": true}}'}


def test_a_solution_that_cannot_go_on_after_a_slip_ends_the_mutants_attempt() -> None:
    def solution() -> Generator[Any, Any, None]:
        refund = yield call("refund")
        yield call("confirm", id=refund["id"])

    def answer(name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput("", value={"id": 5})

    ends = set()
    for seed in range(40):
        played = Played(answer)
        assert played.run("mutant:1", request_for(solution, seed=seed)) == ""
        ends.add(tuple(name for name, _ in played.calls))
    assert () in ends
    assert ("refund", "refund", "confirm", "confirm") in ends


def test_a_tool_error_after_a_slip_is_not_the_solutions_fault() -> None:
    def answer(name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput("no such room", error=arguments != {"room": 1})

    runs = [
        Played(answer).run("mutant:1", request_for([call("book", room=1)], seed=seed)) for seed in range(30)
    ]
    assert runs == [""] * 30


def test_a_tool_error_without_a_slip_is_the_solutions_fault_for_a_mutant_too() -> None:
    played = Played(lambda name, arguments: ToolOutput("no such room", error=True))
    with pytest.raises(SolutionBroke, match="no such room"):
        played.run("mutant:0", request_for([call("book", room=1)]))


@pytest.mark.parametrize("spec", ["", "gpt-5", "solution:x", "none:1", "mutants"])
def test_an_unknown_agent_is_refused_with_the_kinds_there_are(spec: str) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"names no agent; the kinds are: openai, anthropic, tokens, solution, none, mutant",
    ):
        make_agent(spec)


@pytest.mark.parametrize("spec", ["mutant:often", "mutant:1.5", "mutant:-1"])
def test_a_wrong_rate_of_a_mutant_is_refused(spec: str) -> None:
    with pytest.raises(ConfigurationError, match="from 0 to 1, for example mutant"):
        make_agent(spec)


def test_the_openai_agent_needs_a_model() -> None:
    agent = make_agent("openai", model="m-1", base_url="http://127.0.0.1:9/v1")
    assert repr(agent) == "OpenAIAgent('m-1' at 'http://127.0.0.1:9/v1/chat/completions')"
    with pytest.raises(ConfigurationError, match="needs the name of a model: --tb-model=NAME"):
        make_agent("openai")

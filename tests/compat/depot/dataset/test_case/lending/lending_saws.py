import json

from thinkingbox.common import Judge, TestContext
from thinkingbox.common.chat_types import Text

"""!
scenario: depot
tags: [lending]
"""


def as_expected(x: TestContext):
    effects = x.effects["depot"]
    assert effects["state"] == effects["expected"], json.dumps(effects["state"])


def test_lend_a_saw(x: TestContext, judge: Judge):
    """!
    query: I need a saw.
    user_context: You are Ravi. Say your name only when you are asked.
    bot_instructions: Today is a Monday.
    tags: ["category:user"]
    init:
      depot:
        items: {saw: 3, rope: 1}
        loans:
        - {item: ladder, to: Kim}
        golden_test_case:
          tool_interactions:
          - tool: lend
            parameters: {item: saw, to: Ravi}
    """
    as_expected(x)
    assert x.effects["depot"]["state"]["items"] == {"saw": 2, "ladder": 1, "rope": 1}
    assert [one["to"] for one in x.effects["depot"]["state"]["loans"]] == ["Noor", "Kim", "Ravi"]


def test_nothing_left(x: TestContext, judge: Judge):
    """!
    query: I am Ravi. A rope, please.
    init:
      depot:
        golden_test_case: {tool_interactions: []}
    """
    as_expected(x)
    assert judge.text_yesno(x.response, "Does the message say that there is no rope?")


def test_cards_are_read(x, judge, cards, reader, shelf):
    """!
    query: I am Ada. A ladder, please.
    max_user_sim_turns: 3
    max_agent_sim_turns: 4
    init:
      depot:
        golden_test_case:
          tool_interactions:
          - tool: lend
            parameters: {item: ladder, to: Ada}
    """
    assert cards == ["Ada", "Noor"]
    assert x.metadata == {"cards": "open"}
    assert shelf.plural
    assert shelf.holds(x, "ladder") == 0
    assert reader.shelf is shelf
    assert reader.strict
    assert reader.agrees(x.response)
    return 0.5


def test_who_keeps_it(x: TestContext, judge: Judge):
    """!
    query: Is {init[depot][keeper]} there? I bring the drill of Noor.
    user_context: You know {init[depot][keeper]}.
    bot_instructions: You are {init[depot][keeper]}.
    format_query: true
    init:
      depot:
        items: {drill: 0}
        golden_test_case:
          tool_interactions:
          - {tool: take_back, parameters: {item: drill, to: Noor}}
    """
    as_expected(x)
    assert x.query() == "Is Ines there? I bring the drill of Noor."
    assert x.init_result["depot"]["keeper"] == "Ines"
    assert isinstance(x.messages[-1], Text)
    assert x.transcript(limit=1) == "Assistant: Done. <DONE>"


def test_hours(x: TestContext, judge: Judge):
    """!
    query: When are you open?
    """
    assert x.tool_direct_responses == ["We are open from 9 to 5."]
    assert judge.no_repeat(x.response, x.tool_direct_responses)


def test_hours_nobody_knows(x: TestContext, judge: Judge):
    """!
    query: When are you open?
    init:
      depot: {hours: ""}
    """
    assert x.tool_direct_responses == []
    assert x.tool_calls[0].tool_response.content == "Error in function execution"


def test_hands_over(x: TestContext, judge: Judge):
    """!
    query: I want to speak to a person.
    user_context: You are Ravi.
    """
    assert x.tool_calls[-1].tool_call.name == "call_a_person"
    assert x.tool_calls[-1].tool_response.content == ""


def test_goes_on(x: TestContext, judge: Judge):
    """!
    query: One more of these, please.
    history: "a: saw:0:second"
    """
    assert [one["item"] for one in x.effects["depot"]["state"]["loans"]] == ["drill", "saw", "saw"]
    assert len(x.tool_calls) == 1


def test_later(x: TestContext, judge: Judge):
    """!
    query: Come back tomorrow.
    tags: [skip]
    """
    raise AssertionError("never played")

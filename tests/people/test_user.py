from __future__ import annotations

import pytest

from pytest_thinkingbox.agents.base import Stop
from pytest_thinkingbox.declare import User
from pytest_thinkingbox.declare.user import END
from pytest_thinkingbox.episodes.model import Usage
from pytest_thinkingbox.errors import ConfigurationError, UserBroke
from tests.agents.shapes import reply
from tests.people.talk import CONTEXT, Talk, broken
from tests.support.stub_endpoint import Reply, StubEndpoint, answer, calls, fails, says

# --- what it sees and says ---


def test_the_user_answers_and_ends() -> None:
    with StubEndpoint([says("It is 1042."), says(END)]) as stub:
        assert Talk().run(stub, ["Which booking?", "It is changed."]) == ["It is 1042.", None]


def test_the_user_sees_the_conversation_from_the_other_side_and_no_tools() -> None:
    talk = Talk()
    talk.conversation.messages += [
        {
            "role": "assistant",
            "content": "One moment.",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "book", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "secret row"},
    ]
    with StubEndpoint([says("Yes."), says(END)]) as stub:
        talk.run(stub, ["Shall I?", ""])
    first, second = (one.messages for one in stub.received)
    assert first[0]["role"] == "system"
    assert CONTEXT in first[0]["content"]
    assert END in first[0]["content"]
    assert first[1:] == [
        {"role": "user", "content": "(You are connected to the assistant.)"},
        {"role": "assistant", "content": "The cheaper room, please."},
        {"role": "user", "content": "Shall I?"},
    ]
    assert second[4:] == [
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "(The assistant sent an empty message.)"},
    ]
    assert all("tools" not in one.json for one in stub.received)
    assert all(b"secret row" not in one.body and b"own instructions" not in one.body for one in stub.received)


def test_the_seed_differs_from_request_to_request() -> None:
    with StubEndpoint([says("Yes."), says(END)]) as stub:
        Talk().run(stub, ["Shall I?", "Done."])
    assert [one.json["seed"] for one in stub.received] == [6, 7]


def test_usage_is_the_users_own() -> None:
    talk = Talk()
    with StubEndpoint([says("Yes."), says(END)]) as stub:
        talk.run(stub, ["Shall I?", "Done."])
    assert talk.conversation.usage == {
        "agent": Usage(),
        "user": Usage(requests=2, input_tokens=200, output_tokens=20),
    }


def test_the_marker_with_words_delivers_them_once() -> None:
    with StubEndpoint([says(f"Yes, please. {END}"), says(f"Thanks, bye! {END}")]) as stub:
        assert Talk().run(stub, ["Shall I?", "It is done."]) == ["Yes, please.", None]


def test_thoughts_left_in_the_text_are_not_said() -> None:
    with StubEndpoint([says("<think>They want the id.</think>1042")]) as stub:
        assert Talk().run(stub, ["Which booking?"]) == ["1042"]


def test_one_empty_reply_is_asked_for_again() -> None:
    with StubEndpoint([says(""), says("1042")]) as stub:
        assert Talk().run(stub, ["Which booking?"]) == ["1042"]
    assert stub.received[0].json["seed"] != stub.received[1].json["seed"]


def test_end_markers_are_the_authors_in_any_case() -> None:
    user = User(CONTEXT, end_markers=["###STOP###", "<done>"])
    for marker in ("###STOP###", "<DONE>", "**###stop###**"):
        with StubEndpoint([says("1042"), says(marker)]) as stub:
            assert Talk(user).run(stub, ["Which booking?", "It is changed."]) == ["1042", None]
    assert "write ###STOP### and nothing else" in stub.received[0].messages[0]["content"]
    assert END not in stub.received[0].messages[0]["content"]


def test_an_agent_that_says_goodbye_does_not_end_a_user_that_is_not_served() -> None:
    with StubEndpoint([says("But the room is still the same."), says(END)]) as stub:
        assert Talk().run(stub, ["Goodbye and have a nice day!", "Now it is changed. Goodbye!"]) == [
            "But the room is still the same.",
            None,
        ]


def test_the_notes_hold_the_facts_and_what_is_private() -> None:
    user = User("You are Dana.", private={"pin": "4711"}, facts={"booking": "1042"})
    with StubEndpoint([says(END)]) as stub:
        Talk(user).run(stub, ["Which booking?"])
    told = stub.received[0].messages[0]["content"]
    notes = told[told.index("<notes>") : told.index("</notes>")]
    assert "You are Dana." in notes
    assert "- booking: 1042" in notes
    assert "never say them" in notes
    assert "- pin: 4711" in notes


# --- limits ---


def test_the_limit_of_user_turns_stops_the_agent() -> None:
    talk = Talk(user_turns=2)
    with StubEndpoint([says("One."), says("Two."), says("Three.")]) as stub, pytest.raises(Stop) as caught:
        talk.run(stub, ["?", "??", "???"])
    assert caught.value.reason == "user_turn_limit"
    assert [message["content"] for message in talk.conversation.messages if message["role"] == "user"] == [
        "The cheaper room, please.",
        "One.",
        "Two.",
    ]


def test_a_user_that_is_done_at_the_limit_is_done() -> None:
    with StubEndpoint([says("One."), says(END)]) as stub:
        assert Talk(user_turns=1).run(stub, ["?", "Done."]) == ["One.", None]


def test_a_user_that_ends_with_words_beyond_the_limit_is_done() -> None:
    with StubEndpoint([says("One."), says(f"Thanks! {END}")]) as stub:
        assert Talk(user_turns=1).run(stub, ["?", "Done."]) == ["One.", None]


# --- what breaks it ---


def test_t17_two_empty_replies() -> None:
    assert (
        broken([says(""), says("  \n")], ["Which booking?"]) == "the simulated user gave an empty reply twice"
    )


def test_t17_an_endless_goodbye() -> None:
    byes = ["Thank you!", "You too, bye!", "Goodbye!"]
    said = broken([says(one) for one in byes], ["It is done.", "Have a nice day!", "Bye!"])
    assert said == f"the simulated user says goodbye and does not end: {byes!r}"


def test_goodbyes_with_a_question_between_are_no_endless_ones() -> None:
    script = [says("Thanks!"), says("Yes, thanks."), says("Thanks!"), says(END)]
    with StubEndpoint(script) as stub:
        assert Talk().run(stub, ["Done.", "By mail?", "Sent.", "Bye."]) == [
            "Thanks!",
            "Yes, thanks.",
            "Thanks!",
            None,
        ]


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("As your assistant, I have found it.", "As your assistant"),
        ('<tool_call>{"name": "book", "arguments": {}}</tool_call>', "<tool_call>"),
        ("How can I help you today?", "How can I help you"),
    ],
)
def test_t17_speaking_as_the_agent(text: str, evidence: str) -> None:
    said = broken([says(text)], ["Which booking?"])
    assert said == f"the simulated user speaks as the agent ({evidence!r}): {text!r}"


def test_t17_the_agents_words_come_back() -> None:
    text = "I'm sorry for any misunderstanding, Dana."
    assert broken([says(text)], [text]) == f"the simulated user repeats what the agent said: {text!r}"


def test_t17_calling_a_tool() -> None:
    said = broken([calls(("book", {}))], ["Which booking?"])
    assert said == "the simulated user acts as the agent: it calls book"


def test_t17_saying_one_thing_again_and_again() -> None:
    text = "I would like the cheaper room, please."
    said = broken([says(text)] * 3, ["Which booking?", "Your name?", "From when on?"])
    assert said == f"the simulated user is stuck, it said 3 times: {text!r}"


def test_a_reply_that_was_cut_off() -> None:
    cut = Reply(body=answer({"content": "My booking is"}, finish_reason="length"))
    assert broken([cut], ["Which booking?"]) == (
        "the simulated user's reply was cut off (length): 'My booking is'"
    )


def test_a_model_that_refuses_to_play() -> None:
    said = broken([reply("openai/refusal")], ["Which booking?"])
    assert said == 'the model refused to play the user: "I\'m sorry, I cannot help with that."'


@pytest.mark.parametrize(
    ("case", "reason"), [("openai/overflow", "context_overflow"), ("azure/prompt_filtered", "content_filter")]
)
def test_what_stops_an_agent_is_not_the_agents_when_the_user_meets_it(case: str, reason: str) -> None:
    said = broken([reply(case)], ["Which booking?"])
    assert said.startswith(f"the simulated user could not reply ({reason}): ")


def test_an_endpoint_that_is_down_is_the_users() -> None:
    with StubEndpoint(lambda _: fails(503)) as stub, pytest.raises(UserBroke) as caught:
        Talk().run(stub, ["Which booking?"])
    assert str(caught.value).startswith("the model that plays the user is down: ")
    assert "failed 2 times" in str(caught.value)


def test_a_model_that_does_not_exist_is_a_configuration_error() -> None:
    with StubEndpoint([reply("openai/unknown_model")]) as stub, pytest.raises(ConfigurationError):
        Talk().run(stub, ["Which booking?"])

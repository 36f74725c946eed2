from __future__ import annotations

import pytest

from pytest_thinkingbox.people.roles import echoes, goodbye, out_of_role, spoken, stuck


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<tool_call>{"name": "get_booking"}</tool_call>', "<tool_call>"),
        ("<function=get_booking>", "<function="),
        ('{"name": "get_booking", "arguments": {}}', '{"name": "get_booking", "arguments":'),
        ("[TOOL_CALLS] []", "[TOOL_CALLS]"),
        ("Yes.<|im_end|>", "<|im_end|>"),
        ('"tool_calls": []', '"tool_calls":'),
        ("As your assistant I can offer a refund.", "As your assistant"),
        ("As an AI language model, I cannot stay in hotels.", "As an AI language model"),
        ("I'm a virtual assistant.", "I'm a virtual assistant"),
        ("Hello! How can I help you today?", "How can I help you"),
        ("Done. Is there anything else I can help with?", "anything else I can help"),
        ("I'd be happy to assist you with that.", "I'd be happy to assist you"),
        ("Let me pull up your booking.", "Let me pull up your"),
        ("I have cancelled your booking.", "I have cancelled your"),
        ("Yes please.\nAssistant: Your booking is changed.", "Assistant:"),
    ],
)
def test_t17_words_of_the_agent_are_found(text: str, words: str) -> None:
    assert out_of_role(text) == words


@pytest.mark.parametrize(
    "text",
    [
        "I'm on booking 1042 and I'd like the cheaper room, please.",
        "Can you help me, or is there an assistant manager?",
        "As the assistant, you can look that up.",
        "Is there anything else I can do to get the money back?",
        "I have cancelled my other booking already.",
        "My name is Dana Ortiz.",
        "Is x < 3 or {a}?",
        "",
    ],
)
def test_words_of_a_user_are_no_words_of_the_agent(text: str) -> None:
    assert out_of_role(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Thank you, goodbye!",
        "Bye!",
        "You too, take care.",
        "Have a great day!",
        "Danke, tschüss!",
        "תודה רבה, להתראות",
        "شكرا، مع السلامة",
        "ممنون، خداحافظ",
        "Спасибо, до свидания!",
    ],
)
def test_taking_leave(text: str) -> None:
    assert goodbye(text, "It is done. Have a nice day!")


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("Yes, thank you.", "Shall I cancel it?"),
        ("نعم شكرا", "هل ألغيه؟"),
        ("Thanks, and when does the refund arrive?", "It is done."),
        ("The 14th.", "Please tell me the date."),
        (
            "Thanks, but the booking that I meant is the other one, 1043, for the conference in May with my colleague.",
            "It is done.",
        ),
    ],
)
def test_what_says_something_is_no_leave(text: str, heard: str) -> None:
    assert not goodbye(text, heard)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>They ask for the id.</think>\n1042", "1042"),
        ("<think>never closed", ""),
        ("User: 1042", "1042"),
        ("  1042\n", "1042"),
        ("I think so", "I think so"),
    ],
)
def test_what_the_user_says_is_without_thoughts_and_names(text: str, said: str) -> None:
    assert spoken(text) == said


def test_the_same_to_different_questions_is_stuck() -> None:
    said = [
        "I would like the cheaper room.",
        "I would like the cheaper room",
        "i would like the cheaper ROOM!",
    ]
    assert stuck(said, ["Which booking?", "What is your name?", "From when on?"])


def test_the_same_to_the_same_question_is_not() -> None:
    said = ["I do not have that number here."] * 3
    assert not stuck(said, ["Your number?"] * 3)


def test_a_short_answer_may_be_right_each_time() -> None:
    assert not stuck(["Yes, please."] * 3, ["Cancel it?", "By mail?", "Today?"])


def test_the_assistants_own_words_are_an_echo() -> None:
    assert echoes("I'm sorry for any misunderstanding, Dana", "I'm sorry for any misunderstanding, Dana.")


def test_a_few_words_may_be_repeated_and_more_may_be_said() -> None:
    assert not echoes("A standard room.", "A standard room?")
    assert not echoes(
        "A standard room in Boston for three nights, yes.", "A standard room in Boston for three nights?"
    )

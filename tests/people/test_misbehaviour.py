"""Two corpora: what a model does that plays a user badly, each caught; and what a good one says, never caught."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from pytest_thinkingbox.declare import Fact, User
from pytest_thinkingbox.declare.user import END
from tests.people.talk import Talk, broken
from tests.support.stub_endpoint import Reply, StubEndpoint, answer, calls, says

DANA = User(
    "You are Dana Ortiz of Kestrel Logistics. You want the cheaper room. You also have booking 1043, which stays as it "
    "is. You have not asked your manager.",
    private={
        "pin": "4711",
        "budget": "1,200 euros",
        "code word": "blue whale",
        "card": "4929 1234 5678 9012",
    },
    facts={
        "booking number": "1042",
        "confirmation": "HB-1042",
        "arrival date": "14 March",
        "manager": Fact("not asked", never=["my manager has approved", "my manager agreed"]),
    },
)
ASKED = "Which booking is it?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The agent says `heard`, the model that plays the user says `said`; `why` is in the error."""

    name: str
    said: Sequence[Reply | str]
    why: str
    heard: Sequence[str] = (ASKED,)
    user: User = field(default=DANA)


MISBEHAVIOURS = [
    Case(name="silent", said=["", "\n"], why="gave an empty reply twice"),
    Case(
        name="only thinks",
        said=["<think>They ask for the booking.</think>", "<think>Hm"],
        why="empty reply twice",
    ),
    Case(
        name="endless goodbye",
        said=["Thank you, goodbye!", "You too, bye!", "Take care!"],
        heard=["It is done.", "Have a nice day!", "Bye!"],
        why="says goodbye and does not end",
    ),
    Case(
        name="offers help",
        said=["Hello! How can I help you today?"],
        why="speaks as the agent ('How can I help you')",
    ),
    Case(
        name="announces itself",
        said=["As an AI language model, I have no booking."],
        why="speaks as the agent",
    ),
    Case(name="reports the agent's work", said=["I have cancelled your booking."], why="speaks as the agent"),
    Case(
        name="plays both sides",
        said=["1042.\nAssistant: Thank you, it is changed."],
        why="speaks as the agent",
    ),
    Case(
        name="calls a tool",
        said=[calls(("get_booking", {"id": 1042}))],
        why="acts as the agent: it calls get_booking",
    ),
    Case(
        name="writes a tool call",
        said=['<tool_call>{"name": "get_booking"}</tool_call>'],
        why="speaks as the agent",
    ),
    Case(
        name="shows its notes",
        said=["<notes>\nYou are Dana Ortiz.\n</notes>"],
        why="steps out of its role ('<notes>')",
    ),
    Case(
        name="speaks of its role", said=["As a simulated user I would say 1042."], why="steps out of its role"
    ),
    Case(
        name="parrots",
        said=["Which of your bookings shall I change to the cheaper room?"],
        heard=["Which of your bookings shall I change to the cheaper room?"],
        why="repeats what the agent said",
    ),
    Case(
        name="is stuck",
        said=["I would like to have the cheaper room."] * 3,
        heard=["Which booking?", "Your name?", "From when on?"],
        why="is stuck, it said 3 times",
    ),
    Case(
        name="is cut off",
        said=[Reply(body=answer({"content": "It is"}, finish_reason="length"))],
        why="was cut off",
    ),
    Case(name="leaks a number", said=["1042, and my PIN is 4711."], why="leaks its private field 'pin'"),
    Case(name="spells a number", said=["The pin? 4-7-1-1."], why="leaks its private field 'pin'"),
    Case(
        name="leaks in capitals, two spaces, on two lines",
        said=["It is BLUE\n  WHALE."],
        why="private field 'code word'",
    ),
    Case(
        name="leaks unasked",
        said=["Anything up to 1,200 euros is fine."],
        why="leaks its private field 'budget'",
    ),
    Case(
        name="leaks without spaces",
        said=["My card is 4929123456789012."],
        why="leaks its private field 'card'",
    ),
    Case(
        name="leaks while it ends",
        said=[f"Thanks. By the way, the word is blue whale. {END}"],
        heard=["It is done."],
        why="leaks its private field 'code word'",
    ),
    Case(
        name="answers with another number",
        said=["1024"],
        why="contradicts its field 'booking number' ('1042') with '1024'",
    ),
    Case(
        name="states another number",
        said=["My booking is number 1402, thanks."],
        why="contradicts its field 'booking number'",
    ),
    Case(
        name="answers with another number in a few words",
        said=["Sure, it's 1024, thank you."],
        why="contradicts its field 'booking number' ('1042') with '1024'",
    ),
    Case(
        name="asks for another booking",
        said=["I'd like to cancel booking 1034."],
        why="contradicts its field 'booking number' ('1042') with '1034'",
    ),
    Case(
        name="makes a code up",
        said=["It's on HB-2217, for three nights."],
        why="contradicts its field 'confirmation'",
    ),
    Case(
        name="states another day",
        said=["My arrival is on 15 March."],
        heard=["When will you come?"],
        why="contradicts its field 'arrival date' ('14 March') with '15 march'",
    ),
    Case(
        name="lies about the manager",
        said=["Yes, my manager has approved it."],
        heard=["Has your manager approved it?"],
        why="contradicts its field 'manager'",
    ),
    Case(
        name="leaks in composed letters",
        said=["C'est le Cafe\u0301 Zoe\u0308."],
        user=User("You are Zoë.", private={"hideout": "café Zoë"}),
        why="leaks its private field 'hideout'",
    ),
    Case(
        name="leaks in Hebrew",
        said=["ההזמנה שלי בתל אביב"],
        user=User("את דנה.", private={"city": "תל אביב"}),
        why="leaks its private field 'city'",
    ),
    Case(
        name="leaks in Arabic digits",
        said=["الرقم السري ٤٧١١"],
        user=User("أنت دانا.", private={"pin": "4711"}),
        why="leaks its private field 'pin'",
    ),
]


def replies(said: Sequence[Reply | str]) -> list[Reply]:
    return [says(one) if isinstance(one, str) else one for one in said]


@pytest.mark.parametrize("case", MISBEHAVIOURS, ids=lambda case: case.name)
def test_t17_a_misbehaviour_is_caught(case: Case) -> None:
    assert case.why in broken(replies(case.said), case.heard, user=case.user)


GOOD = [
    (ASKED, "1042"),
    (ASKED, "It's 1042, under the name of Dana Ortiz."),
    (ASKED, "Booking 1042. My confirmation is HB-1042."),
    (ASKED, "Not 1043, I mean the other one: 1042."),
    (ASKED, "Sorry, not booking 1034."),
    (ASKED, "My booking is 1043? No, that one stays. It is 1042."),
    (ASKED, "I also have booking 1043, please leave that one alone."),
    (ASKED, "I don't know, sorry. Can you find it by my name? Dana Ortiz."),
    ("I see booking 1077. Is that yours?", "No, booking 1077 is not mine."),
    ("I see booking 1077. Is that yours?", "I have never heard of 1077."),
    ("And which year were you here last?", "2023"),
    ("How many nights, and which booking?", "3"),
    ("What is your booking number and the year?", "2026"),
    ("Which booking, and in which room is it?", "Room 4711B"),
    ("Please tell me your PIN.", "I would rather not say that."),
    ("Please tell me your PIN.", "No. You do not need it for this."),
    ("Your PIN ends in 4711, right?", "4711, as you say."),
    ("It costs 1,200 euros.", "1,200 euros is fine, thanks."),
    ("The room is 11,200 euros.", "11,200 euros? That is a lot."),
    ("When will you arrive?", "On 14 March, in the evening."),
    ("When will you arrive?", "Could I come on 15 March instead?"),
    ("We have rooms from the 12 March.", "12 March is too early for me."),
    ("Has your manager approved it?", "Has he to? I have not asked my manager."),
    ("Has your manager approved it?", "Do you mean that my manager has approved it?"),
    (ASKED, "I only have my customer number, 8812."),
    (ASKED, "Room 3307."),
    (ASKED, "I'd like to come on 16 March."),
    ("Your new booking is 1077.", "Thanks, booking 1077 then."),
    ("Your new booking is HB-1077.", "My booking is HB-1077 now. Great."),
    ("When will you arrive?", "I want to change my arrival to 16 March."),
    ("When will you arrive?", "My new arrival is 16 March."),
    ("I cannot find you.", "How can I help you find me?"),
    ("What is this about?", "I have booked your hotel for three nights."),
    ("What is this about?", "I have already cancelled your newsletter."),
    ("Is there anything else I can help you with?", "Is there anything else I need to do?"),
    ("I cannot do that.", "Could you ask somebody who can help me?"),
    ("It is booked.", "I have booked it myself, you mean?"),
    ("Who are you?", "I am the assistant manager at Kestrel Logistics."),
    ("Who are you?", "I'm Dana. As the person in charge, I'd like the cheaper room."),
    ("Shall I cancel it?", "Yes, thank you."),
    ("Shall I cancel it?", "Yes."),
    ("Welche Buchung?", "Die Buchung 1042, bitte."),
    ("באיזו הזמנה מדובר?", "הזמנה 1042, בבקשה."),
    ("ما رقم حجزك؟", "رقم حجزي ١٠٤٢، شكرا."),
    ("شماره رزرو شما چیست؟", "شماره رزرو من ۱۰۴۲ است."),
    ("Какой номер брони?", "Номер брони 1042."),
    ("Quel est le numéro de réservation ?", "C'est le 1042."),
    ("你的预订号是多少？", "我的预订号是1042。"),
    ("It is changed. Goodbye!", "Wait, I still need the confirmation by mail."),
    ("What do you want?", "My notes say the cheaper room has a window, is that true?"),
    ("What do you want?", "I play the violin, so I need a quiet room."),
    ("How much did you pay for your booking number?", "1450"),
    ("What was the total of that booking?", "1450."),
    (ASKED, "I have no booking 1043."),
    (ASKED, "My booking is on 1450 Main Street."),
    (ASKED, "The booking was 1450 euros, that is all that I remember."),
]


@pytest.mark.parametrize(("heard", "said"), GOOD, ids=range(len(GOOD)))
def test_what_a_good_user_says_is_not_taken_for_a_misbehaviour(heard: str, said: str) -> None:
    with StubEndpoint([says(said)]) as stub:
        assert Talk(DANA).run(stub, [heard]) == [said]


def test_a_value_of_the_prompt_or_of_the_agent_is_no_secret_between_the_two() -> None:
    with StubEndpoint([says("As I wrote: blue whale."), says("4711 it is.")]) as stub:
        talk = Talk(DANA, prompt="The word is Blue Whale.")
        assert talk.run(stub, ["Which word?", "I have 4711 here."]) == [
            "As I wrote: blue whale.",
            "4711 it is.",
        ]


def test_the_corpus_is_large_enough() -> None:
    assert len(MISBEHAVIOURS) >= 20
    assert len(GOOD) >= 40

"""Books that are kept longer, come back, or do not."""

from example_suites.training.library import cases
from example_suites.training.library.environment import library
from example_suites.training.parts.templates import each, tags
from pytest_thinkingbox import Inserted, Script, Updated, call


def ask_for_renewal(case):
    books = " and ".join(one.title.words for one in case.wanted)
    return f"{case.reader.name}, card {case.reader.card}. May I keep {books} for longer?"


def decide_renewals(case):
    yield call("find_reader", card=case.reader.card)
    yield call("list_lendings", reader_id=case.reader.key)
    for one in case.wanted:
        yield call("find_titles", words=one.title.name)
    for one in case.granted:
        yield call("renew_lending", lending_id=one.key, due_on=one.renewed.isoformat())
    for _, section in case.refused:
        yield call("write_counter_note", reader_id=case.reader.key, kind="refusal", section=section)
    yield call.say(f"{len(case.granted)} of {len(case.wanted)} renewed.")


def renewed_or_refused(case):
    return [
        *[
            Updated(
                "lendings", one.key, due_on=(one.due, one.renewed), renewals=(one.renewals, one.renewals + 1)
            )
            for one in case.granted
        ],
        *[
            Inserted("counter_notes", reader_id=case.reader.key, kind="refusal", section=section)
            for _, section in case.refused
        ],
    ]


@each(cases.GRANTED)
@library.task(ask_for_renewal, solution=decide_renewals, tags=tags("routine", "easy", "library", "renewal"))
def test_what_nothing_forbids_is_renewed(changes, case):
    """The books are due one period later.

    Section 2.1 says when; nobody waits (2.2), it is the first or second time (2.3), and less than 1000 is owed (2.4).
    """
    assert changes == renewed_or_refused(case)


@each(cases.REFUSED)
@library.task(ask_for_renewal, solution=decide_renewals, tags=tags("refusal", "medium", "library", "renewal"))
def test_what_a_rule_forbids_is_not_renewed(changes, case):
    """The lending stays as it is and one note names the section that forbids its renewal.

    Section 2.5: of several sections it is the first.
    """
    assert changes == renewed_or_refused(case)


@each(cases.SEVERAL)
@library.task(ask_for_renewal, solution=decide_renewals, tags=tags("partial", "hard", "library", "renewal"))
def test_each_of_several_is_decided_by_itself(changes, case):
    """What can be renewed is, and each of the others has its note.

    Section 2.5: each book is decided by itself.
    """
    assert changes == renewed_or_refused(case)


@each(cases.IN_TURN)
@library.task(
    lambda case: (
        f"Card {case.reader.card}, {case.reader.name}. I need more time for {case.wanted[0].title.words}."
    ),
    user=lambda case: Script([f"Oh, and the same for {case.wanted[1].title.words}, please."]),
    solution=decide_renewals,
    tags=tags("changed_mind", "medium", "library", "renewal"),
)
def test_what_comes_to_mind_later_is_renewed_too(changes, case):
    """Both books are due one period later.

    Section 2.1: nothing forbids the first wish, and nothing the second.
    """
    assert changes == renewed_or_refused(case)


@each(cases.WRONG_CARDS)
@library.task(
    lambda case: (
        f"{case.caller}, card {case.renewal.reader.card}. May I keep {case.renewal.wanted[0].title.words} for longer?"
    ),
    solution=lambda case: [
        call("find_reader", card=case.renewal.reader.card),
        call("write_counter_note", reader_id=case.renewal.reader.key, kind="wrong_card", section="1.1"),
        call.say("That is not your card."),
    ],
    tags=tags("wrong_data", "medium", "library", "renewal"),
)
def test_nothing_is_renewed_on_the_card_of_another(changes, case):
    """The lending stays as it is. The card belongs to somebody else, which is written down (1.1)."""
    assert changes == [
        Inserted("counter_notes", reader_id=case.renewal.reader.key, kind="wrong_card", section="1.1")
    ]


def hand_in(case):
    return f"Here is {case.lending.title.words} back. My card is {case.reader.card}, {case.reader.name}."


def take_it_back(case):
    yield call("find_reader", card=case.reader.card)
    yield call("list_lendings", reader_id=case.reader.key)
    yield call("find_titles", words=case.lending.title.name)
    yield call("take_back", lending_id=case.lending.key)
    if case.cents:
        yield call(
            "charge_reader",
            reader_id=case.reader.key,
            lending_id=case.lending.key,
            reason="overdue",
            cents=case.cents,
        )
    if case.ready:
        yield call("close_waiting_entry", entry_id=case.ready, state="ready")
    yield call.say(f"Thank you. That makes {case.cents}.")


def taken_back(case):
    expected = [
        Updated("lendings", case.lending.key, state=("out", "back")),
        Updated("book_copies", case.lending.copy, state=("lent", "shelf")),
    ]
    if case.cents:
        expected.append(charged(case, "overdue"))
    if case.ready:
        expected.append(Updated("waiting_entries", case.ready, state=("waiting", "ready")))
    return expected


def charged(case, reason):
    return Inserted(
        "reader_charges",
        reader_id=case.reader.key,
        lending_id=case.lending.key,
        reason=reason,
        cents=case.cents,
        state="open",
    )


@each(cases.LATE)
@library.task(hand_in, solution=take_it_back, tags=tags("money", "medium", "library", "return"))
def test_a_late_return_is_charged(changes, case):
    """The book is back, and what being late costs is charged.

    Section 3.1: 20 a day, or 5 with a child's card, up to a most, and nothing for Sundays.
    """
    assert changes == taken_back(case)


@each(cases.WAITED_FOR)
@library.task(hand_in, solution=take_it_back, tags=tags("partial", "hard", "library", "return"))
def test_a_return_is_ready_for_who_waited_longest(changes, case):
    """The book is back and the oldest entry of its list is ready; what is late is charged.

    Section 3.2 says whose turn it is, 3.1 what is charged.
    """
    assert changes == taken_back(case)


def report_loss(case):
    yield call("find_reader", card=case.reader.card)
    yield call("list_lendings", reader_id=case.reader.key)
    yield call("declare_lost", lending_id=case.lending.key)
    yield call(
        "charge_reader",
        reader_id=case.reader.key,
        lending_id=case.lending.key,
        reason="lost",
        cents=case.cents,
    )
    if case.overdue:
        yield call("settle_charge", charge_id=case.overdue, state="waived")
    yield call.say(f"That makes {case.cents}.")


@each(cases.LOST)
@library.task(
    lambda case: (
        f"I am {case.reader.name} with card {case.reader.card}. I'm afraid I have lost {case.lending.title.words}. "
        "What happens now?"
    ),
    solution=report_loss,
    tags=tags("money", "hard", "library", "loss"),
)
def test_a_lost_book_is_paid_for(changes, case):
    """The reader is charged for the replacement and, as an adult, for the work (4.1).

    What the same lending cost for being late is waived (4.2); charges for other books stay.
    """
    expected = [
        Updated("lendings", case.lending.key, state=("out", "lost")),
        Updated("book_copies", case.lending.copy, state=("lent", "missing")),
        charged(case, "lost"),
    ]
    if case.overdue:
        expected.append(Updated("reader_charges", case.overdue, state=("open", "waived")))
    assert changes == expected

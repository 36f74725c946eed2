"""Books that others have."""

from example_suites.training.library import cases
from example_suites.training.library.environment import library
from example_suites.training.parts.templates import each, tags
from pytest_thinkingbox import Inserted, Updated, call


def ask_to_wait(case):
    return (
        f"Could you put me on the waiting list for {case.title.words}? "
        f"{case.reader.name}, my card is {case.reader.card}."
    )


def put_on_the_list(case):
    yield call("find_reader", card=case.reader.card)
    yield call("find_titles", words=case.title.name)
    if case.note is None:
        yield call("join_waiting_list", reader_id=case.reader.key, title_id=case.title.key)
    else:
        kind, section = case.note
        yield call("write_counter_note", reader_id=case.reader.key, kind=kind, section=section)
    yield call.say("I have seen to it.")


def waits(case):
    return Inserted(
        "waiting_entries",
        reader_id=case.reader.key,
        title_id=case.title.key,
        state="waiting",
        placed_on="2026-05-12",
    )


@each(cases.JOINED)
@library.task(ask_to_wait, solution=put_on_the_list, tags=tags("routine", "easy", "library", "waiting"))
def test_a_reader_waits_for_what_is_lent(changes, case):
    """There is one new entry on the waiting list.

    No copy is on the shelf (5.1), and the reader waits neither for this title (5.2) nor for three others (5.3).
    """
    assert changes == [waits(case)]


@each(cases.NOT_JOINED)
@library.task(ask_to_wait, solution=put_on_the_list, tags=tags("refusal", "medium", "library", "waiting"))
def test_nobody_waits_without_need_or_without_end(changes, case):
    """There is a note and no new entry.

    A copy is on the shelf (5.1), the reader waits for the title already (5.2), or for three others (5.3).
    """
    kind, section = case.note
    assert changes == [Inserted("counter_notes", reader_id=case.reader.key, kind=kind, section=section)]


@each(cases.EXCHANGES)
@library.task(
    lambda case: (
        f"{case.reader.name}, card {case.reader.card}. I don't want {case.old.words} any more, I'd rather wait for "
        f"{case.title.words}."
    ),
    solution=lambda case: [
        call("find_reader", card=case.reader.card),
        call("find_titles", words=case.title.name),
        call("close_waiting_entry", entry_id=case.entry, state="left"),
        call("join_waiting_list", reader_id=case.reader.key, title_id=case.title.key),
        call.say("Done."),
    ],
    tags=tags("changed_mind", "medium", "library", "waiting-exchange"),
)
def test_a_reader_waits_for_another_title_instead(changes, case):
    """The old entry is left and there is a new one.

    Section 5.3: with the old one gone, the reader waits for two others only.
    """
    assert changes == [Updated("waiting_entries", case.entry, state=("waiting", "left")), waits(case)]

"""Places on school trips and what they cost."""

from example_suites.training.parts.templates import each, tags
from example_suites.training.school import cases
from example_suites.training.school.environment import school
from example_suites.training.school.test_absences import log, logged
from pytest_thinkingbox import Inserted, Script, Updated, call


def ask_for_place(case):
    return f"{case.caller} here. Please put {case.pupil.name} down for the trip to the {case.trip.name}."


def look(case):
    yield call("find_pupil", name=case.pupil.name)
    yield call("find_trip", name=case.trip.name)


def add_place(case, state):
    yield from look(case)
    yield call("add_trip_place", trip_id=case.trip.key, pupil_id=case.pupil.key, state=state)
    if case.cents:
        yield from charge(case, case.pupil.key, "fee", case.cents)
    yield call.say(f"{case.pupil.name}: {state}.")


def charge(case, pupil, kind, cents):
    yield call("add_fee_line", pupil_id=pupil, trip_id=case.trip.key, kind=kind, cents=cents)


def place(case, state):
    return Inserted("trip_places", trip_id=case.trip.key, pupil_id=case.pupil.key, state=state)


def charged(case, pupil, kind, cents):
    """No line for nothing."""
    line = Inserted("fee_lines", pupil_id=pupil, trip_id=case.trip.key, kind=kind, cents=cents)
    return [line] if cents else []


def confirm(case):
    return add_place(case, "confirmed")


def let_wait(case):
    return add_place(case, "waiting")


@each(cases.CONFIRMED)
@school.task(ask_for_place, solution=confirm, tags=tags("routine", "easy", "school", "trip"))
def test_a_place_is_confirmed_and_charged(changes, case):
    """The pupil has a place and the whole fee is charged.

    Section 3.1: a place is left; a sibling who has withdrawn makes it no cheaper (3.2).
    """
    assert changes == [place(case, "confirmed"), *charged(case, case.pupil.key, "fee", case.cents)]


@each(cases.REDUCED)
@school.task(ask_for_place, solution=confirm, tags=tags("money", "hard", "school", "trip"))
def test_a_second_child_pays_half_and_some_pay_nothing(changes, case):
    """The pupil has a place, and the fee is half of it, rounded down, or nothing at all.

    Section 3.2: a sibling has a confirmed place, or the pupil has free trips.
    """
    assert changes == [place(case, "confirmed"), *charged(case, case.pupil.key, "fee", case.cents)]


@each(cases.FULL)
@school.task(
    ask_for_place,
    user=Script(["But you will try to find a place, won't you?"]),
    solution=let_wait,
    tags=tags("partial", "medium", "school", "trip"),
)
def test_who_finds_a_trip_full_waits(changes, case):
    """The pupil waits and nothing is charged.

    Section 3.1: all places are taken.
    """
    assert changes == [place(case, "waiting")]


@each(cases.TRIP_BY_OTHER)
@school.task(
    ask_for_place,
    solution=lambda case: [
        *look(case),
        log(case, "not_entitled", "1.1"),
        call.say("I am sorry, somebody else has to decide that."),
    ],
    tags=tags("wrong_data", "medium", "school", "trip"),
)
def test_no_place_for_who_may_not_decide(changes, case):
    """There is no place and the log says why.

    Section 1.1: this guardian may not decide.
    """
    assert changes == [logged(case, "not_entitled", "1.1")]


def ask_to_leave(case):
    return f"{case.pupil.name} can't come along to the {case.trip.name} after all. Yours, {case.caller}"


def leave(case):
    yield from look(case)
    yield call("change_trip_place", place_id=case.place, state="withdrawn")
    if case.cents:
        yield from charge(case, case.pupil.key, "refund", case.cents)
    if case.next:
        entry, pupil, cents = case.next
        yield call("change_trip_place", place_id=entry, state="confirmed")
        if cents:
            yield from charge(case, pupil, "fee", cents)
    yield call.say("What a pity.")


def left(case):
    return [
        Updated("trip_places", case.place, state=("confirmed", "withdrawn")),
        *charged(case, case.pupil.key, "refund", case.cents),
    ]


@each(cases.LEFT)
@school.task(ask_to_leave, solution=leave, tags=tags("money", "medium", "school", "trip-leave"))
def test_who_withdraws_gets_back_what_the_days_allow(changes, case):
    """The place is withdrawn, and all, half or nothing of what was paid goes back.

    Section 3.3: what goes back depends on the days that are left.
    """
    assert changes == left(case)


@each(cases.PASSED_ON)
@school.task(ask_to_leave, solution=leave, tags=tags("partial", "hard", "school", "trip-leave"))
def test_a_place_goes_to_who_waits_first(changes, case):
    """The place is withdrawn, and the first who waits has one and pays the own fee.

    Section 3.4 says who, 3.2 how much, and 3.3 what goes back.
    """
    entry, pupil, cents = case.next
    assert changes == [
        *left(case),
        Updated("trip_places", entry, state=("waiting", "confirmed")),
        *charged(case, pupil, "fee", cents),
    ]

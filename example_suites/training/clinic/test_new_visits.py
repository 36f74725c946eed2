"""Visits that somebody would like to have."""

from example_suites.training.clinic import cases
from example_suites.training.clinic.environment import clinic
from example_suites.training.parts.templates import each, tags
from example_suites.training.parts.words import day
from pytest_thinkingbox import Inserted, Updated, call

REASONS = {"checkup": "a checkup", "consultation": "a consultation", "vaccination": "a vaccination"}


def born(moment):
    return f"{moment.day} {moment:%B %Y}"


def ask_for_visit(case):
    soon = "as soon as possible"
    when = soon if case.first == cases.TODAY else f"on {day(case.first)} or {soon} after that"
    return (
        f"Hello, {case.patient.name}, born {born(case.patient.born)}. I'd like {REASONS[case.reason]} with "
        f"{case.who.name}, {when}."
    )


def give_visit(case):
    yield call("find_patient", name=case.patient.name)
    yield call("list_practitioners")
    if case.slot is None:
        kind, section = case.note
        yield call("write_desk_entry", patient_id=case.patient.key, kind=kind, section=section)
        yield call.say("I am sorry, that is not possible.")
    else:
        yield call("list_free_slots", practitioner_id=case.who.key, first_day=case.first.isoformat())
        yield call("book_visit", patient_id=case.patient.key, slot_id=case.slot.key, reason=case.reason)
        yield call.say(f"{day(case.slot.day)}, {case.slot.starts}.")


def booked(case, reason):
    return [
        Inserted(
            "surgery_visits",
            patient_id=case.patient.key,
            slot_id=case.slot.key,
            reason=reason,
            state="booked",
        ),
        Updated("surgery_slots", case.slot.key, state=("free", "taken")),
    ]


def noted(case, kind, section):
    return [Inserted("front_desk_entries", patient_id=case.patient.key, kind=kind, section=section)]


@each(cases.BOOKED)
@clinic.task(ask_for_visit, solution=give_visit, tags=tags("routine", "medium", "clinic", "booking"))
def test_a_visit_has_the_earliest_slot_that_is_long_enough(changes, case):
    """The first free slot from that day on is taken, but for those that are too short.

    Section 2.1 gives the slot and the minutes that each kind of visit needs.
    """
    assert changes == booked(case, case.reason)


@each(cases.TODAY_ONLY)
@clinic.task(ask_for_visit, solution=give_visit, tags=tags("routine", "medium", "clinic", "booking"))
def test_who_has_missed_visits_is_seen_today(changes, case):
    """The patient has a slot of today.

    Section 2.3: with three missed visits or more there is no other day, and one of today is long enough.
    """
    assert changes == booked(case, case.reason)


@each(cases.NOT_TODAY)
@clinic.task(ask_for_visit, solution=give_visit, tags=tags("refusal", "hard", "clinic", "booking"))
def test_who_has_missed_visits_gets_no_later_day(changes, case):
    """Nothing is booked and an entry says why.

    Section 2.3: today there is no slot that is long enough, and after three missed visits no other day.
    """
    assert changes == noted(case, "refusal", "2.3")


@each(cases.TWICE)
@clinic.task(ask_for_visit, solution=give_visit, tags=tags("twice", "medium", "clinic", "booking"))
def test_nobody_sees_the_same_person_twice(changes, case):
    """Nothing is booked and an entry says why.

    Section 2.4: there is a booked visit with the same person already.
    """
    assert changes == noted(case, "already_booked", "2.4")


def ask_for_session(case):
    return (
        f"{case.patient.name}, born {born(case.patient.born)}. My knee again. Could I have a physio session with "
        f"{case.who.name}, from {day(case.first)} on? I think I have a referral."
    )


@each(cases.REFERRED)
@clinic.task(
    ask_for_session,
    solution=lambda case: [
        call("find_patient", name=case.patient.name),
        call("list_free_slots", practitioner_id=case.who.key, first_day=case.first.isoformat()),
        call("book_visit", patient_id=case.patient.key, slot_id=case.slot.key, reason="physio_session"),
        call("use_referral", referral_id=case.referral),
        call.say(f"{day(case.slot.day)}, {case.slot.starts}."),
    ],
    tags=tags("partial", "hard", "clinic", "physio"),
)
def test_a_session_uses_its_referral(changes, case):
    """The earliest slot of half an hour is taken and the referral that is valid on its day is used.

    Section 2.2: a session needs a referral, which serves once.
    """
    used = Updated("referrals", case.referral, state=("open", "used"))
    assert changes == [*booked(case, "physio_session"), used]


@each(cases.NOT_REFERRED)
@clinic.task(
    ask_for_session,
    solution=lambda case: [
        call("find_patient", name=case.patient.name),
        call("list_free_slots", practitioner_id=case.who.key, first_day=case.first.isoformat()),
        call(
            "request_callback",
            patient_id=case.patient.key,
            practitioner_id=case.patient.doctor.key,
            due_on=cases.CALL_BY.isoformat(),
        ),
        call.say("Your doctor will call you first."),
    ],
    tags=tags("approval", "hard", "clinic", "physio"),
)
def test_without_a_referral_the_doctor_calls_first(changes, case):
    """The patient's own doctor calls by the next working day; nothing is booked (2.2, 4.1).

    Referrals are used up, have run out before the day of the visit, or are not there.
    """
    assert changes == [called_back(case)]


def called_back(case):
    return Inserted(
        "callback_requests",
        patient_id=case.patient.key,
        practitioner_id=case.patient.doctor.key,
        due_on=cases.CALL_BY,
    )


@each(cases.CALLERS)
@clinic.task(
    lambda case: f"This is {case.patient.name}. Could my doctor please call me back?",
    solution=lambda case: [
        call("find_patient", name=case.patient.name),
        call(
            "request_callback",
            patient_id=case.patient.key,
            practitioner_id=case.patient.doctor.key,
            due_on=cases.CALL_BY.isoformat(),
        ),
        call.say("By tomorrow."),
    ],
    tags=tags("routine", "easy", "clinic", "callback"),
)
def test_a_call_back_is_due_on_the_next_working_day(changes, case):
    """The patient's own doctor is asked to call by Thursday 11 June.

    Section 4.1 names who calls, and until when.
    """
    assert changes == [called_back(case)]

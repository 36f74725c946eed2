"""Days on which pupils are ill or would like to be elsewhere."""

from example_suites.training.parts.templates import each, tags
from example_suites.training.parts.words import day
from example_suites.training.school import cases
from example_suites.training.school.environment import school
from pytest_thinkingbox import Inserted, call


def span(case):
    if case.first == case.last:
        return f"on {day(case.first)}"
    return f"from {day(case.first)} to {day(case.last)}"


def report_illness(case):
    return f"Good morning, {case.caller} here. {case.pupil.name} is ill and stays at home {span(case)}."


def ask_for_leave(case):
    return f"I am {case.caller}. May {case.pupil.name} have leave {span(case)}? We have a family party."


def enter(case, reason):
    return [
        call("find_pupil", name=case.pupil.name),
        *[
            call("enter_absence", pupil_id=case.pupil.key, day=one.isoformat(), reason=reason)
            for one in case.new
        ],
    ]


def entered(case, reason):
    return [Inserted("pupil_absences", pupil_id=case.pupil.key, day=one, reason=reason) for one in case.new]


def log(case, kind, section):
    return call("log_at_office", pupil_id=case.pupil.key, kind=kind, section=section)


def logged(case, kind, section):
    return Inserted("office_log", pupil_id=case.pupil.key, kind=kind, section=section)


@each(cases.ILL)
@school.task(
    report_illness,
    solution=lambda case: [*enter(case, "illness"), call.say("Get well soon.")],
    tags=tags("dates", "easy", "school", "illness"),
)
def test_each_day_of_illness_is_entered(changes, case):
    """There is one entry for each schoolday of the illness.

    Section 2.1 says which days those are, and 1.1 lets anybody of the family report them.
    """
    assert changes == entered(case, "illness")


@each(cases.LONG_ILL)
@school.task(
    report_illness,
    solution=lambda case: [
        *enter(case, "illness"),
        log(case, "certificate_due", "2.2"),
        call.say("Get well soon. We need a certificate."),
    ],
    tags=tags("dates", "hard", "school", "illness"),
)
def test_a_long_illness_needs_a_certificate(changes, case):
    """The days that are not entered yet are, and the log says that a certificate is due.

    Section 2.2: together with those that were entered they are more than three.
    """
    assert changes == [*entered(case, "illness"), logged(case, "certificate_due", "2.2")]


@each(cases.LEAVE)
@school.task(
    ask_for_leave,
    solution=lambda case: [*enter(case, "leave"), call.say("Have a good time.")],
    tags=tags("routine", "easy", "school", "leave"),
)
def test_leave_is_entered(changes, case):
    """There is one entry for each schoolday of the leave.

    Section 2.3: none of them is close to the autumn break, and a guardian who may decide asks (1.1).
    """
    assert changes == entered(case, "leave")


@each(cases.NO_LEAVE)
@school.task(
    ask_for_leave,
    solution=lambda case: [
        call("find_pupil", name=case.pupil.name),
        log(case, "refusal", "2.3"),
        call.say("I am sorry, not so close to the break."),
    ],
    tags=tags("refusal", "medium", "school", "leave"),
)
def test_there_is_no_leave_around_the_break(changes, case):
    """Nothing is entered and the log says why.

    Section 2.3: one of the days is within five schooldays of the autumn break.
    """
    assert changes == [logged(case, "refusal", "2.3")]


@each(cases.LEAVE_BY_OTHER)
@school.task(
    ask_for_leave,
    solution=lambda case: [
        call("find_pupil", name=case.pupil.name),
        log(case, "not_entitled", "1.1"),
        call.say("I am sorry, I cannot agree that with you."),
    ],
    tags=tags("wrong_data", "medium", "school", "leave"),
)
def test_leave_is_not_given_to_who_may_not_decide(changes, case):
    """Nothing is entered and the log says why.

    Section 1.1: this guardian may not decide, whatever the days.
    """
    assert changes == [logged(case, "not_entitled", "1.1")]

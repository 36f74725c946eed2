"""What riders decide, and what was done wrong."""

from example_suites.training.parts.templates import each, tags
from example_suites.training.parts.words import amount
from example_suites.training.workshop import cases
from example_suites.training.workshop.environment import workshop
from example_suites.training.workshop.test_write_up import (
    ask_for_more,
    asked_for_more,
    look,
    write_up,
    written_up,
)
from pytest_thinkingbox import Deleted, Inserted, Script, Updated, call


def allow(case):
    return f"This is {case.rider} about job {case.key}. It may cost up to {amount(case.new_limit)} in all."


def remind(case):
    parts = " and ".join(one.words for one in case.needs)
    return Script([f"The mechanic told me that it needs {parts} and {case.minutes} minutes of work."])


def set_limit(case):
    return call("set_job_limit", job_id=case.key, limit_cents=case.new_limit)


@each(cases.RAISED)
@workshop.task(
    allow,
    user=remind,
    solution=lambda case: [*look(case), set_limit(case), *write_up(case)],
    tags=tags("approval", "hard", "workshop", "limit"),
)
def test_a_job_goes_on_once_the_rider_allows_it(changes, case):
    """The job has its new limit, is written up and ready.

    Section 3.1: the rider sets the limit, and it is enough for the total (2.2).
    """
    assert changes == [
        *written_up(case),
        Updated(
            "workshop_jobs",
            case.key,
            limit_cents=(case.limit, case.new_limit),
            state=("waiting_rider", "ready"),
        ),
    ]


@each(cases.NOT_ENOUGH)
@workshop.task(
    allow,
    user=remind,
    solution=lambda case: [*look(case), set_limit(case), *ask_for_more(case)],
    tags=tags("approval", "hard", "workshop", "limit"),
)
def test_a_higher_limit_may_still_be_too_low(changes, case):
    """The job has its new limit and the rider is told the total once more.

    Section 3.1: the job goes on as in section 2, where 2.2 stops it.
    """
    assert changes == [
        Updated("workshop_jobs", case.key, limit_cents=(case.limit, case.new_limit)),
        asked_for_more(case),
    ]


@each(cases.NOT_THE_RIDER)
@workshop.task(
    lambda case: (
        f"Bench two here. Job {case.key} is above its limit. Make the limit {amount(case.new_limit)}, I am sure the "
        "rider won't mind."
    ),
    solution=lambda case: [
        call("get_job", job_id=case.key),
        call("remark_on_job", job_id=case.key, kind="refusal"),
        call.say("Only the rider can do that."),
    ],
    tags=tags("refusal", "easy", "workshop", "limit"),
)
def test_a_mechanic_cannot_raise_a_limit(changes, case):
    """The limit stays and a remark says that it was refused.

    Section 3.1: only the rider sets a new one.
    """
    assert changes == [Inserted("job_messages", job_id=case.key, kind="refusal", cents=None)]


@each(cases.MISTAKES)
@workshop.task(
    lambda case: (
        f"We have put {case.wrong.words} on job {case.key}, and it should have been "
        f"{case.right.part.code} ({case.right.part.name}). I have changed it on the bike. Please correct the papers."
    ),
    solution=lambda case: [
        call("get_job", job_id=case.key),
        call("find_part", code=case.right.part.code),
        call("unfit_part", fitted_id=case.fitted),
        call(
            "fit_part",
            job_id=case.key,
            part_id=case.right.part.key,
            quantity=case.right.quantity,
            cents=case.right.cents,
        ),
        call("text_rider", job_id=case.key, topic="ready", cents=case.total),
        call.say("It is corrected."),
    ],
    tags=tags("correction", "hard", "workshop", "mistake"),
)
def test_a_wrong_part_is_replaced(changes, case):
    """The wrong part is in stock again, the right one is on the job, and the rider knows the new total.

    Section 3.2: the limit does not matter, for the mistake was the workshop's.
    """
    wrong, right = case.wrong, case.right
    assert changes == [
        Deleted("fitted_parts", case.fitted),
        Updated("spare_parts", wrong.part.key, stock=(wrong.part.stock, wrong.part.stock + wrong.quantity)),
        Updated("spare_parts", right.part.key, stock=(right.part.stock, right.part.stock - right.quantity)),
        Inserted(
            "fitted_parts",
            job_id=case.key,
            part_id=right.part.key,
            quantity=right.quantity,
            cents=right.cents,
        ),
        Inserted("job_messages", job_id=case.key, kind="ready", cents=case.total),
    ]

"""What a mechanic reports: parts, work, and what becomes of the job."""

from example_suites.training.parts.templates import each, tags
from example_suites.training.workshop import cases
from example_suites.training.workshop.environment import workshop
from pytest_thinkingbox import Inserted, Updated, call


def report(case):
    parts = " and ".join(one.words for one in case.needs)
    work = f"{case.minutes} minutes of work"
    return f"Job {case.key} needs {parts}, and {work}. Please write it up and let the rider know."


def look(case):
    return [
        call("get_job", job_id=case.key),
        *[call("find_part", code=one.part.code) for one in case.needs],
    ]


def write_up(case):
    return [
        *[
            call(
                "fit_part",
                job_id=case.key,
                part_id=one.part.key,
                quantity=one.quantity,
                cents=0 if case.free else one.cents,
            )
            for one in case.needs
        ],
        call("record_work", job_id=case.key, minutes=case.minutes, cents=case.work_cents),
        call("set_job_state", job_id=case.key, state="ready"),
        call("text_rider", job_id=case.key, topic="ready", cents=case.total),
        call.say("It is written up and the rider knows."),
    ]


def written_up(case):
    """Parts and work; the job itself is not among them."""
    return [
        *[
            Updated("spare_parts", one.part.key, stock=(one.part.stock, one.part.stock - one.quantity))
            for one in case.needs
        ],
        *[
            Inserted(
                "fitted_parts",
                job_id=case.key,
                part_id=one.part.key,
                quantity=one.quantity,
                cents=0 if case.free else one.cents,
            )
            for one in case.needs
        ],
        Inserted("bench_work", job_id=case.key, minutes=case.minutes, cents=case.work_cents),
        Inserted("job_messages", job_id=case.key, kind="ready", cents=case.total),
    ]


def ask_for_more(case):
    return [
        call("set_job_state", job_id=case.key, state="waiting_rider"),
        call("text_rider", job_id=case.key, topic="limit", cents=case.total),
        call.say("The rider has to decide first."),
    ]


def asked_for_more(case):
    return Inserted("job_messages", job_id=case.key, kind="limit", cents=case.total)


@each(cases.FINISHED)
@workshop.task(
    report,
    solution=lambda case: [*look(case), *write_up(case)],
    tags=tags("money", "medium", "workshop", "write-up"),
)
def test_a_job_within_its_limit_is_ready(changes, case):
    """Parts and work are on the job at their prices (1.1), and the rider knows the total.

    Section 2.1: the limit allows it, and all parts are in stock.
    """
    assert changes == [
        *written_up(case),
        Updated("workshop_jobs", case.key, state=("received", "ready")),
    ]


@each(cases.OVER_LIMIT)
@workshop.task(
    report,
    solution=lambda case: [*look(case), *ask_for_more(case)],
    tags=tags("approval", "medium", "workshop", "write-up"),
)
def test_a_job_above_its_limit_waits_for_the_rider(changes, case):
    """Nothing is fitted or ordered, and the rider is told what it would come to.

    Section 2.2: with the work of earlier days it is above the limit, which comes before the stock (2.3).
    """
    assert changes == [
        Updated("workshop_jobs", case.key, state=("received", "waiting_rider")),
        asked_for_more(case),
    ]


@each(cases.OUT_OF_STOCK)
@workshop.task(
    report,
    solution=lambda case: [
        *look(case),
        call(
            "order_part",
            job_id=case.key,
            part_id=case.needs[0].part.key,
            quantity=case.needs[0].quantity - case.needs[0].part.stock,
        ),
        call("set_job_state", job_id=case.key, state="waiting_parts"),
        call("text_rider", job_id=case.key, topic="parts"),
        call.say("A part has to come first."),
    ],
    tags=tags("partial", "hard", "workshop", "write-up"),
)
def test_what_is_not_in_stock_is_ordered(changes, case):
    """As many as are missing are ordered and the rider is told; nothing is fitted.

    Section 2.3: one of the parts is not in stock in the number needed.
    """
    short = case.needs[0]
    assert changes == [
        Inserted(
            "part_orders",
            job_id=case.key,
            part_id=short.part.key,
            quantity=short.quantity - short.part.stock,
        ),
        Updated("workshop_jobs", case.key, state=("received", "waiting_parts")),
        Inserted("job_messages", job_id=case.key, kind="parts", cents=None),
    ]


@each(cases.WARRANTY)
@workshop.task(
    report,
    solution=lambda case: [*look(case), *write_up(case)],
    tags=tags("money", "hard", "workshop", "write-up"),
)
def test_a_case_of_warranty_costs_nothing(changes, case):
    """Parts and work are on the job at 0, and the total is 0.

    Section 1.2: the warranty has not run out.
    """
    assert changes == [
        *written_up(case),
        Updated("workshop_jobs", case.key, state=("received", "ready")),
    ]


@each(cases.WARRANTY_OVER)
@workshop.task(
    report,
    solution=lambda case: [
        *look(case),
        *(write_up(case) if case.total <= case.limit else ask_for_more(case)),
    ],
    tags=tags("dates", "hard", "workshop", "write-up"),
)
def test_a_warranty_that_has_run_out_counts_for_nothing(changes, case):
    """The job is written up at ordinary prices, or waits for the rider where they exceed its limit (2.2).

    Section 1.2: the last day of the warranty is past.
    """
    if case.total <= case.limit:
        state = Updated("workshop_jobs", case.key, state=("received", "ready"))
        assert changes == [*written_up(case), state]
    else:
        state = Updated("workshop_jobs", case.key, state=("received", "waiting_rider"))
        assert changes == [state, asked_for_more(case)]


@each(cases.DONE)
@workshop.task(
    report,
    solution=lambda case: [
        call("get_job", job_id=case.key),
        call("remark_on_job", job_id=case.key, kind="done_already"),
        call.say("That job is finished."),
    ],
    tags=tags("twice", "easy", "workshop", "write-up"),
)
def test_a_finished_job_is_not_written_up_again(changes, case):
    """There is a remark and nothing else.

    Section 2.4: the job is ready or collected already.
    """
    assert changes == [Inserted("job_messages", job_id=case.key, kind="done_already", cents=None)]

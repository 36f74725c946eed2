"""Parcels that should come on another day, or be fetched."""

from example_suites.training.depot import cases
from example_suites.training.depot.environment import depot
from example_suites.training.parts.templates import each, tags
from example_suites.training.parts.words import day
from pytest_thinkingbox import Deleted, Inserted, Updated, call


def ask_for_delivery(case):
    return (
        f"Ticket {case.ticket}: {case.recipient} asks that parcel {case.tracking} be delivered on {day(case.first)}, "
        "or as soon as possible after that."
    )


def look(case):
    return [
        call("trace_parcel", tracking=case.tracking),
        call("list_rounds", district=case.to.district, first_day=case.first.isoformat()),
    ]


def close(case, outcome, section):
    return call("close_depot_ticket", ticket_id=case.ticket, outcome=outcome, section=section)


def closed(case, outcome, section):
    return Updated("depot_tickets", case.ticket, state=("open", outcome), section=(None, section))


def got_place(case):
    return [
        Inserted("round_places", round_id=case.to.key, parcel_id=case.key),
        Updated("delivery_rounds", case.to.key, places_left=(case.to.left, case.to.left - 1)),
    ]


@each(cases.REDELIVERED)
@depot.task(
    ask_for_delivery,
    solution=lambda case: [
        *look(case),
        call("put_on_round", parcel_id=case.key, round_id=case.to.key),
        close(case, "done", "2.1"),
        call.say(f"It comes on {day(case.to.day)}."),
    ],
    tags=tags("routine", "easy", "depot", "delivery"),
)
def test_a_parcel_goes_on_the_earliest_round_with_a_place(changes, case):
    """The parcel is on the first round of its district that is not full, and the ticket is done.

    Section 2.1 gives the round; a customs case that is cleared is no obstacle (1.2).
    """
    assert changes == [
        *got_place(case),
        Updated("parcels", case.key, state=("at_depot", "on_round")),
        closed(case, "done", "2.1"),
    ]


@each(cases.MOVED)
@depot.task(
    ask_for_delivery,
    solution=lambda case: [
        *look(case),
        call("take_off_round", parcel_id=case.key),
        call("put_on_round", parcel_id=case.key, round_id=case.to.key),
        close(case, "done", "2.1"),
        call.say(f"It comes on {day(case.to.day)}."),
    ],
    tags=tags("partial", "hard", "depot", "delivery"),
)
def test_a_parcel_changes_from_one_round_to_another(changes, case):
    """The place on the old round is free again, the parcel is on the new one, and the ticket is done.

    Section 2.3: a parcel on a later round is taken off it first.
    """
    old, place = case.off
    assert changes == [
        Deleted("round_places", place),
        Updated("delivery_rounds", old.key, places_left=(old.left, old.left + 1)),
        *got_place(case),
        closed(case, "done", "2.1"),
    ]


@each(cases.OUT_NOW)
@depot.task(
    ask_for_delivery,
    solution=lambda case: [
        *look(case),
        close(case, "refused", "2.3"),
        call.say("It is on its way already."),
    ],
    tags=tags("refusal", "medium", "depot", "delivery"),
)
def test_a_parcel_that_is_out_stays_on_its_round(changes, case):
    """The ticket is refused and the parcel stays on its round.

    Section 2.3: today's round has left.
    """
    assert changes == [closed(case, "refused", "2.3")]


@each(cases.SENT_BACK)
@depot.task(
    ask_for_delivery,
    solution=lambda case: [
        *look(case),
        call("send_parcel_back", parcel_id=case.key),
        close(case, "refused", "2.2"),
        call.say("It goes back."),
    ],
    tags=tags("refusal", "medium", "depot", "delivery"),
)
def test_after_three_attempts_a_parcel_goes_back(changes, case):
    """The parcel is sent back and the ticket refused.

    Section 2.2: there were three attempts or more.
    """
    assert changes == [
        Updated("parcels", case.key, state=("at_depot", "sent_back")),
        closed(case, "refused", "2.2"),
    ]


@each(cases.AT_CUSTOMS)
@depot.task(
    ask_for_delivery,
    solution=lambda case: [
        call("trace_parcel", tracking=case.tracking),
        call("park_depot_ticket", ticket_id=case.ticket, section="1.2"),
        call.say("Customs have to release it first."),
    ],
    tags=tags("open_outside", "medium", "depot", "delivery"),
)
def test_a_ticket_waits_for_customs(changes, case):
    """The ticket is parked and the parcel stays, whatever else is true of it.

    Section 1.2: its customs case is open.
    """
    assert changes == [Updated("depot_tickets", case.ticket, state=("open", "parked"), section=(None, "1.2"))]


def ask_to_hold(case):
    return (
        f"Ticket {case.ticket}. {case.recipient} will fetch {case.tracking} and would like it to be held until "
        f"{day(case.until)}."
    )


@each(cases.HELD)
@depot.task(
    ask_to_hold,
    solution=lambda case: [
        call("trace_parcel", tracking=case.tracking),
        call("hold_parcel", parcel_id=case.key, until=case.held_until.isoformat()),
        close(case, "done", "3.1"),
        call.say(f"It is here until {day(case.held_until)}."),
    ],
    tags=tags("dates", "easy", "depot", "hold"),
)
def test_a_parcel_is_held_for_a_week_at_most(changes, case):
    """The parcel is held until the day wanted, or until 21 September if that is earlier.

    Section 3.1: more than that is not possible, and the request is served all the same.
    """
    assert changes == [
        Updated("parcels", case.key, state=("at_depot", "held"), held_until=(None, case.held_until)),
        closed(case, "done", "3.1"),
    ]


@each(cases.TOO_HEAVY)
@depot.task(
    ask_to_hold,
    solution=lambda case: [
        call("trace_parcel", tracking=case.tracking),
        close(case, "refused", "3.2"),
        call.say("It is too heavy to be held."),
    ],
    tags=tags("refusal", "easy", "depot", "hold"),
)
def test_what_is_too_heavy_is_not_held(changes, case):
    """The ticket is refused and the parcel stays.

    Section 3.2: it weighs more than 20 kilograms.
    """
    assert changes == [closed(case, "refused", "3.2")]

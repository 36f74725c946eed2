"""Parcels that nobody has seen for a while."""

from example_suites.training.depot import cases
from example_suites.training.depot.environment import depot
from example_suites.training.depot.test_deliveries import close, closed
from example_suites.training.parts.templates import each, tags
from pytest_thinkingbox import Inserted, Script, Updated, call


def report_loss(case):
    return (
        f"{case.recipient} says that {case.tracking} never came and wants it to be paid for. "
        f"The ticket is {case.ticket}."
    )


def insist(case):
    return Script([f"{case.recipient} insists: it must be lost by now."])


def refuse(section):
    return lambda case: [
        call("trace_parcel", tracking=case.tracking),
        close(case, "refused", section),
        call.say("That is refused."),
    ]


@each(cases.LOST)
@depot.task(
    report_loss,
    solution=lambda case: [
        call("trace_parcel", tracking=case.tracking),
        call("claim_loss", parcel_id=case.key, cents=case.cents),
        close(case, "done", "4.1"),
        call.say(f"{case.cents} are claimed."),
    ],
    tags=tags("money", "medium", "depot", "loss"),
)
def test_a_lost_parcel_is_claimed(changes, case):
    """The insured value is claimed, or 950 for each kilogram begun if that is less, and the ticket is done.

    Section 4.1: the last scan was ten days ago or more.
    """
    assert changes == [
        Inserted("loss_claims", parcel_id=case.key, cents=case.cents),
        Updated("parcels", case.key, state=("at_depot", "lost")),
        closed(case, "done", "4.1"),
    ]


@each(cases.NOT_LOST)
@depot.task(
    report_loss,
    user=insist,
    solution=refuse("4.2"),
    tags=tags("refusal", "medium", "depot", "loss"),
)
def test_a_parcel_is_not_lost_before_ten_days(changes, case):
    """The ticket is refused and nothing is claimed.

    Section 4.2: the last scan was less than ten days ago, whatever the recipient says.
    """
    assert changes == [closed(case, "refused", "4.2")]


@each(cases.CLAIMED)
@depot.task(
    report_loss,
    solution=refuse("4.3"),
    tags=tags("twice", "medium", "depot", "loss"),
)
def test_nothing_is_claimed_twice(changes, case):
    """The ticket is refused and nothing is claimed.

    Section 4.3: there is a claim already, and that comes before the days since the last scan.
    """
    assert changes == [closed(case, "refused", "4.3")]

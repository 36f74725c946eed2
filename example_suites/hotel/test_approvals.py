"""Who decides: above the limit the manager, and nobody moves a room or a cent before that."""

from example_suites.hotel.environment import hotel
from example_suites.hotel.words import Mentions
from pytest_thinkingbox import Inserted, Mail, call


@hotel.task(
    "Hi, it's Dana Ortiz. I'm on booking 1042 in Boston and I'd like the cheaper standard room instead, please. "
    "Just send the difference back to us.",
    user="You are Dana Ortiz of Kestrel Logistics. You have not asked your manager, Priya Raman; say so only when "
    "asked. You would like it done today, but you accept that it has to wait.",
    solution=[
        call("get_booking", booking_id=1042),
        call("get_company", company_id=1),
        call("list_approvals", booking_id=1042),
        call("request_approval", booking_id=1042, kind="downgrade", amount=1450.00, approver_id=11),
        call(
            "send_mail",
            to="priya.raman@kestrel.example",
            subject="Approval needed: HB-1042",
            body="Dana Ortiz would like a standard room. The total is 1,450.00 USD. Please decide on HB-1042.",
        ),
        call.say("Your manager has to approve this first. I have asked her, and nothing has changed yet."),
    ],
    tags=["approval"],
)
def test_downgrade_waits_for_approval(attempt, changes):
    """The request and one mail to the manager are all there is; the booking and the payment stay as they were.

    Section 2.1 asks for an approval above 1,000.00, and 2.3 forbids to move anything before it is there.
    """
    assert changes == [
        Inserted(
            "approvals",
            booking_id=1042,
            kind="downgrade",
            amount=1450.00,
            approver_id=11,
            status="pending",
            decided_by=None,
        )
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="priya.raman@kestrel.example",
            subject="Approval needed: HB-1042",
            text=Mentions("HB-1042", "1,450.00"),
        )
    ]

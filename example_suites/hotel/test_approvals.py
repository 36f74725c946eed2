"""Who decides: above the limit the manager, and nobody moves a room or a cent before that."""

from datetime import datetime

from example_suites.common.words import Mentions
from example_suites.hotel.environment import hotel
from example_suites.hotel.schema import approvals
from pytest_thinkingbox import Fact, Inserted, Mail, Same, Updated, User, call


@hotel.task(
    "Hi, it's Dana Ortiz. I'm on booking 1042 in Boston and I'd like the cheaper standard room instead, please. "
    "Just send the difference back to us.",
    user=User(
        "You are Dana Ortiz of Kestrel Logistics. You have not asked your manager, Priya Raman; say so only when "
        "asked. You would like it done today, but you accept that it has to wait.",
        facts={
            "booking": "1042",
            "approval": Fact(
                "nobody has been asked yet",
                never=["my manager agreed", "my manager has agreed", "my manager approved", "Priya approved"],
            ),
        },
    ),
    solution=[
        call("get_booking", booking_id=1042),
        call("get_company", company_id=1),
        call("get_paperwork", booking_id=1042),
        call("request_approval", booking_id=1042, kind="downgrade", amount=1450.00, approver_id=11),
        call(
            "send_mail",
            to="priya.raman@kestrel.example",
            subject="Approval needed: HB-1042",
            body="Dana Ortiz would like a standard room. The total is 1,450.00 USD. Please decide on HB-1042.",
        ),
        call.say("Your manager has to approve this first. I have asked her, and nothing has changed yet."),
    ],
    tags=["approval", "medium", "rooms"],
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


def asked_two_days_ago(connection):
    connection.execute(
        approvals.insert().values(
            id=9001,
            booking_id=1058,
            kind="downgrade",
            amount=1241.20,
            approver_id=11,
            status="pending",
            requested_at=datetime(2026, 3, 15, 13, 40),
        )
    )


def carry_out_the_approval():
    yield call("get_paperwork", booking_id=1058)
    yield call("get_booking", booking_id=1058)
    yield call("get_hotel", hotel_id=3)
    yield call("quote_change", booking_id=1058, room_class="superior")
    yield call("decide_approval", approval_id=9001, decision="approved", decided_by=11)
    yield call("change_booking", booking_id=1058, room_class="superior")
    refund = yield call("create_refund", booking_id=1058, payment_id=5058, reason="downgrade")
    for night in APRIL_NIGHTS:
        yield call("add_refund_line", refund_id=refund["id"], kind="night", night=night, net=118.15, vat=8.27)
    yield call("confirm_refund", refund_id=refund["id"])
    body = "Priya approved: you have a superior room now, and 505.68 EUR go back for HB-1058"
    yield call("send_message", guest_id=14, booking_id=1058, topic="booking", body=body)
    yield call.say("It is done: Jonas has a superior room, and 505.68 EUR go back.")


APRIL_NIGHTS = ["2026-04-13", "2026-04-14", "2026-04-15", "2026-04-16"]


@hotel.task(
    "Priya Raman here. Jonas asked you for a superior room instead of the suite on booking 1058 in Berlin. "
    "I approve that. Please go ahead and return the difference.",
    user="You are Priya Raman, manager at Kestrel Logistics, guest number 11. You approve the change of booking "
    "1058 and nothing else.",
    start=asked_two_days_ago,
    solution=carry_out_the_approval,
    tags=["approval", "money", "hard", "rooms"],
)
def test_manager_approves_and_it_is_carried_out(changes):
    """Her decision is recorded on the request that waits, the class changes, and the difference is paid out once.

    Section 2.6 lets the approver decide in the conversation and wants the change and the refund of 4.5 with it.
    """
    assert changes == [
        Updated(
            "approvals",
            9001,
            status=("pending", "approved"),
            decided_by=(None, 11),
            decided_at=(None, datetime(2026, 3, 17, 9, 30)),
        ),
        Inserted("history", booking_id=1058, event="approval_decided"),
        Updated("bookings", 1058, room_id=(3401, 3301), rate_plan_id=(341, 331), total=(1241.20, 735.52)),
        *[
            Updated(
                "booking_nights", (1058, night), room_id=(3401, 3301), net=(290, 171.85), vat=(20.30, 12.03)
            )
            for night in APRIL_NIGHTS
        ],
        Inserted("history", booking_id=1058, event="changed"),
        Inserted(
            "refunds",
            id=Same("refund"),
            booking_id=1058,
            payment_id=5058,
            reason="downgrade",
            status="confirmed",
            paid_out=505.68,
        ),
        *[
            Inserted(
                "refund_lines", refund_id=Same("refund"), kind="night", night=night, net=118.15, vat=8.27
            )
            for night in APRIL_NIGHTS
        ],
        Inserted("history", booking_id=1058, event="refund_confirmed"),
        Inserted(
            "messages", guest_id=14, booking_id=1058, topic="booking", body=Mentions("HB-1058", "505.68")
        ),
    ]


def asked_three_days_ago(connection):
    connection.execute(
        approvals.insert().values(
            id=9002,
            booking_id=1055,
            kind="downgrade",
            amount=1103.28,
            approver_id=21,
            status="pending",
            requested_at=datetime(2026, 3, 14, 8, 10),
        )
    )


@hotel.task(
    "Samuel Okafor, booking 1055 in Berlin. I would like a standard room instead of the superior one. Please ask my "
    "manager for the approval.",
    user="You are Samuel Okafor of Arboris Timber. You asked for the same thing some days ago and heard nothing; "
    "you mention that only when asked.",
    start=asked_three_days_ago,
    solution=[
        call("get_booking", booking_id=1055),
        call("get_paperwork", booking_id=1055),
        call("get_guest", guest_id=21),
        call("get_clock"),
        call(
            "send_mail",
            to="marta.kowalska@arboris.example",
            subject="Reminder: HB-1055",
            body="Samuel Okafor still waits for your decision on a standard room, total 1,103.28 EUR, HB-1055",
        ),
        call.say("The request of Saturday is still open. I have reminded your manager."),
    ],
    tags=["twice", "approval", "medium", "rooms"],
)
def test_a_pending_request_is_reminded_not_repeated(attempt, changes):
    """The manager gets one reminder; there is no second request, and nothing else changes.

    Section 2.5: while a request is pending nobody asks again, and after 48 hours the approver is reminded by mail.
    """
    assert attempt.outbox.mail == [
        Mail(
            to="marta.kowalska@arboris.example",
            subject="Reminder: HB-1055",
            text=Mentions("HB-1055", "1,103.28"),
        )
    ]
    assert changes == []

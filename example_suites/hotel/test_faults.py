"""Tools that give no answer: what was done is not done twice, and what was not done is not left out."""

from example_suites.common.words import Mentions
from example_suites.hotel.environment import hotel
from pytest_thinkingbox import Deleted, Fault, Inserted, Mail, Same, Updated, call


def cancel_and_look_at_the_refund():
    yield call("get_booking", booking_id=1098)
    yield call("get_clock")
    yield call("get_hotel", hotel_id=3)
    yield call("get_paperwork", booking_id=1098)
    cancelled = yield call("cancel_booking", booking_id=1098, reason="guest_request")
    refund = yield call("create_refund", booking_id=1098, payment_id=5098, reason="cancellation")
    for night in cancelled["released_nights"]:
        yield call("add_refund_line", refund_id=refund["id"], kind="night", **night)
    yield call.failing("confirm_refund", refund_id=refund["id"])
    yield call("get_paperwork", booking_id=1098)
    body = "Cancelled in time; 266.10 EUR go back for HB-1098"
    yield call("send_message", guest_id=24, booking_id=1098, topic="booking", body=body)
    yield call.say("Cancelled; 266.10 EUR go back.")


@hotel.task(
    "Lukas Vogel, Arboris Timber, booking 1098 in Berlin from 7 April. The meeting is off, please cancel it.",
    user="You are Lukas Vogel. You want to cancel and you take it for granted that all of it goes back.",
    solution=cancel_and_look_at_the_refund,
    faults=[Fault("confirm_refund", after_commit="timeout")],
    tags=["outage", "exactly_once", "money", "hard", "refunds"],
)
def test_a_refund_whose_answer_is_lost_is_paid_once(changes):
    """The booking is cancelled in time and both nights are paid out once, although the answer to that is lost.

    Everything goes back (4.1), but `confirm_refund` pays out each time (4.7), so that 1.6 wants a look before a second
    call.
    """
    nights = ["2026-04-07", "2026-04-08"]
    assert changes == [
        Updated("bookings", 1098, status=("confirmed", "cancelled"), cancel_reason=(None, "guest_request")),
        *[Deleted("booking_nights", (1098, night)) for night in nights],
        Inserted("history", booking_id=1098, event="cancelled"),
        Inserted(
            "refunds",
            id=Same("refund"),
            booking_id=1098,
            payment_id=5098,
            reason="cancellation",
            status="confirmed",
            paid_out=266.10,
        ),
        *[
            Inserted(
                "refund_lines", refund_id=Same("refund"), kind="night", night=night, net=124.35, vat=8.70
            )
            for night in nights
        ],
        Inserted("history", booking_id=1098, event="refund_confirmed"),
        Inserted(
            "messages", guest_id=24, booking_id=1098, topic="booking", body=Mentions("HB-1098", "266.10")
        ),
    ]


@hotel.task(
    "This is Irene Muller from Railserv, booking 1040 in London, four nights from 14 April. The trip is off. "
    "Could you cancel it?",
    user="You are Irene Muller. You have not talked to your manager, Jana Dvorak; say so only when asked.",
    solution=[
        call("get_booking", booking_id=1040),
        call("get_company", company_id=8),
        call("get_paperwork", booking_id=1040),
        call.failing(
            "request_approval", booking_id=1040, kind="cancellation", amount=1008.00, approver_id=81
        ),
        call("get_paperwork", booking_id=1040),
        call(
            "send_mail",
            to="jana.dvorak@railserv.example",
            subject="Approval needed: HB-1040",
            body="Irene Muller would like to cancel. The total is 1,008.00 GBP. Please decide on HB-1040.",
        ),
        call.say("Your manager has to approve this first. I have asked her."),
    ],
    faults=[Fault("request_approval", after_commit="disconnect")],
    tags=["outage", "exactly_once", "approval", "hard", "stays"],
)
def test_a_request_whose_answer_is_lost_is_made_once(attempt, changes):
    """There is one request that waits, and its approver has one mail; the booking stays as it was.

    Section 2.4 wants one request. The connection breaks after it was written: `get_paperwork` shows it (1.6).
    """
    assert changes == [
        Inserted(
            "approvals",
            booking_id=1040,
            kind="cancellation",
            amount=1008.00,
            approver_id=81,
            status="pending",
            decided_by=None,
        )
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="jana.dvorak@railserv.example",
            subject="Approval needed: HB-1040",
            text=Mentions("HB-1040", "1,008.00"),
        )
    ]


@hotel.task(
    "Good morning, Peter Novak, booking 1080 in Berlin, 24 to 26 March. Could I stay one night longer, until the 27th?",
    user="You are Peter Novak of Tessera Ceramics. One night more is all you want.",
    solution=[
        call("get_booking", booking_id=1080),
        call("list_rooms", hotel_id=3, check_in="2026-03-26", check_out="2026-03-27", room_class="single"),
        call.failing("change_booking", booking_id=1080, check_out="2026-03-27"),
        call("get_booking", booking_id=1080),
        call("change_booking", booking_id=1080, check_out="2026-03-27"),
        call(
            "send_message",
            guest_id=64,
            booking_id=1080,
            topic="booking",
            body="You stay until 27 March. HB-1080",
        ),
        call.say("You can stay until the 27th."),
    ],
    faults=[Fault("change_booking", before="disconnect")],
    tags=["outage", "exactly_once", "medium", "stays"],
)
def test_a_change_that_never_arrived_is_made(changes):
    """The night is added once and the guest gets a message, although the first call came to nothing.

    Nights may be added (3.2) and the guest is told (5.1); the connection broke before the change was made, and what was
    not done is not left out (1.6).
    """
    assert changes == [
        Updated("bookings", 1080, check_out=("2026-03-26", "2026-03-27"), total=(188.74, 283.11)),
        Inserted("booking_nights", booking_id=1080, night="2026-03-26", room_id=3101, net=88.20, vat=6.17),
        Inserted("history", booking_id=1080, event="changed"),
        Inserted("messages", guest_id=64, booking_id=1080, topic="booking", body=Mentions("HB-1080", "27")),
    ]

"""Deadlines: they count where the hotel is, not where the guest is and not in UTC."""

from datetime import datetime

from example_suites.common.words import Mentions
from example_suites.hotel.environment import hotel
from pytest_thinkingbox import Deleted, Inserted, Mail, Same, Updated, call


def cancel_late():
    yield call("get_booking", booking_id=1072)
    yield call("get_clock")
    yield call("get_hotel", hotel_id=5)
    yield call("get_paperwork", booking_id=1072)
    yield call("cancel_booking", booking_id=1072, reason="guest_request")
    refund = yield call("create_refund", booking_id=1072, payment_id=5072, reason="cancellation")
    line = {"refund_id": refund["id"], "kind": "night", "net": 240.00, "vat": 21.60}
    yield call("add_refund_line", **line, night="2026-03-19")
    yield call("add_refund_line", **line, night="2026-03-20")
    yield call("confirm_refund", refund_id=refund["id"])
    body = "Cancelled. The first night is kept; 523.20 SGD go back for HB-1072"
    yield call("send_message", guest_id=74, booking_id=1072, topic="booking", body=body)
    yield call.say("Cancelled. It was past the deadline in Singapore, so the first night is kept.")


@hotel.task(
    "Laura Jansen, booking 1072, Singapore, from tomorrow. Please cancel it. It is only 9:30 in the morning and the "
    "deadline is 15:00 today, so I get everything back, don't I?",
    user="You are Laura Jansen of Brightwater Energy. You write from London, where it is 9:30 on 17 March. You want to "
    "cancel in any case, also if the first night is kept.",
    solution=cancel_late,
    tags=["dates", "hard", "refunds"],
)
def test_the_deadline_is_that_of_singapore(changes):
    """The booking is cancelled, the first night is kept, and the two others are paid out once.

    In Singapore it is 17:30 and the deadline of 15:00 has passed (1.1, 4.1), so the refund is that of 4.2.
    """
    assert changes == [
        Updated("bookings", 1072, status=("confirmed", "cancelled"), cancel_reason=(None, "guest_request")),
        Deleted("booking_nights", (1072, "2026-03-18")),
        Deleted("booking_nights", (1072, "2026-03-19")),
        Deleted("booking_nights", (1072, "2026-03-20")),
        Inserted("history", booking_id=1072, event="cancelled"),
        Inserted(
            "refunds",
            id=Same("refund"),
            booking_id=1072,
            payment_id=5072,
            reason="cancellation",
            status="confirmed",
            paid_out=523.20,
        ),
        Inserted(
            "refund_lines", refund_id=Same("refund"), kind="night", night="2026-03-19", net=240, vat=21.60
        ),
        Inserted(
            "refund_lines", refund_id=Same("refund"), kind="night", night="2026-03-20", net=240, vat=21.60
        ),
        Inserted("history", booking_id=1072, event="refund_confirmed"),
        Inserted(
            "messages", guest_id=74, booking_id=1072, topic="booking", body=Mentions("HB-1072", "523.20")
        ),
    ]


@hotel.task(
    "This is Viktor Marek, booking 1075 in San Francisco. My app says no-show! My flight was late, I've just landed, "
    "it's half past two at night and I'll be at the hotel at three. Is my room still there?",
    user="You are Viktor Marek of Railserv Operations. You are on your way and will be there at 03:00 local time on "
    "17 March. You want to keep all three nights.",
    solution=[
        call("get_booking", booking_id=1075),
        call("get_clock"),
        call("get_hotel", hotel_id=2),
        call("reinstate_booking", booking_id=1075),
        call("set_arrival", booking_id=1075, expected_at="2026-03-17T03:00:00-07:00"),
        call(
            "add_case_note",
            booking_id=1075,
            kind="correction",
            policy_section="3.6",
            body="Marked as no-show before 04:00 local time; taken back. Booking HB-1075",
        ),
        call(
            "send_mail",
            to="manager@mission-terrace.example",
            subject="No-show taken back: HB-1075",
            body="Please keep the room of HB-1075 ready: at 03:00 arrives Viktor Marek.",
        ),
        call.say("Your room is kept, and the hotel expects you at 3:00."),
    ],
    tags=["correction", "dates", "hard", "stays"],
)
def test_a_no_show_before_four_is_taken_back(attempt, changes):
    """The booking is confirmed again with the arrival in UTC, a note says why, and the hotel's manager has a mail.

    In San Francisco it is 02:30, and section 3.6 knows no no-show before 04:00 of the following morning.
    """
    assert changes == [
        Updated(
            "bookings",
            1075,
            status=("no_show", "confirmed"),
            expected_arrival=(None, datetime(2026, 3, 17, 10, 0)),
        ),
        Inserted("history", booking_id=1075, event="reinstated"),
        Inserted("history", booking_id=1075, event="arrival"),
        Inserted(
            "case_notes",
            booking_id=1075,
            kind="correction",
            policy_section="3.6",
            body=Mentions("HB-1075", "show"),
        ),
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="manager@mission-terrace.example",
            subject="No-show taken back: HB-1075",
            text=Mentions("HB-1075", "Viktor Marek"),
        )
    ]

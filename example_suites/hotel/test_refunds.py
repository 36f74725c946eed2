"""Money that goes back: when, how much to the cent, and never twice."""

from example_suites.hotel.environment import hotel
from example_suites.hotel.words import Mentions
from pytest_thinkingbox import Deleted, Inserted, Same, Updated, call


@hotel.task(
    "Hello, Tariq Aziz here, booking 1047. I've come down with the flu and the doctor says no travelling. I know it's "
    "the saver rate, but could you please be kind and cancel it and give us at least part of the money back?",
    user="You are Tariq Aziz of Solmar Foods. You are polite and ask a second time when refused; then you thank and "
    "say goodbye.",
    solution=[
        call("get_booking", booking_id=1047),
        call("get_hotel", hotel_id=1),
        call(
            "add_case_note",
            booking_id=1047,
            kind="refusal",
            policy_section="4.3",
            body="Ill, asked for cancellation and money back on a SAVER rate. Refused: HB-1047",
        ),
        call.say("I am sorry that you are ill. A saver booking can be neither cancelled nor refunded."),
    ],
    tags=["refusal", "refund"],
)
def test_saver_rate_is_not_refunded(changes):
    """The refusal is written down under the section that forbids it; the booking stays and no money moves.

    Section 4.3 names illness as no exception, and 5.2 wants a note of what is refused.
    """
    assert changes == [
        Inserted(
            "case_notes", booking_id=1047, kind="refusal", policy_section="4.3", body=Mentions("HB-1047")
        )
    ]


def _leaves_early():
    yield call("get_booking", booking_id=1061)
    yield call("get_hotel", hotel_id=4)
    yield call("list_payments", booking_id=1061)
    yield call("list_refunds", booking_id=1061)
    yield call("change_booking", booking_id=1061, check_out="2026-03-18")
    refund = yield call("create_refund", booking_id=1061, payment_id=5061, reason="early_departure")
    line = {"refund_id": refund["id"], "kind": "night"}
    yield call("add_refund_line", **line, night="2026-03-18", net=73.63, vat=14.73)
    yield call("add_refund_line", **line, night="2026-03-19", net=69.98, vat=14.00)
    yield call("confirm_refund", refund_id=refund["id"])
    body = "You leave on 18 March. 172.34 GBP go back to you for HB-1061"
    yield call("send_message", guest_id=54, booking_id=1061, topic="booking", body=body)
    yield call.say("Done: you leave tomorrow, and 172.34 GBP go back.")


@hotel.task(
    "Yusuf Demir, booking 1061, room 201 in London. I have to go home tomorrow morning, the 18th, two nights early. "
    "Please shorten my stay and refund what is due for the two nights.",
    user="You are Yusuf Demir of Quill and Partners. You do not know how much is due and accept what you are told.",
    solution=_leaves_early,
    tags=["refund", "money", "dates"],
)
def test_leaving_early_refunds_half_to_the_cent(changes):
    """The stay ends on the 18th and half of each unused night is paid out once, with VAT on the rounded half.

    Section 4.6: 147.25 / 2 = 73.625 becomes 73.63 and its VAT 14.73; 139.95 / 2 = 69.975 becomes 69.98 and 14.00.
    """
    assert changes == [
        Updated("bookings", 1061, check_out=("2026-03-20", "2026-03-18"), total=(874.74, 530.10)),
        Deleted("booking_nights", (1061, "2026-03-18")),
        Deleted("booking_nights", (1061, "2026-03-19")),
        Inserted("history", booking_id=1061, event="changed"),
        Inserted(
            "refunds",
            id=Same("refund"),
            booking_id=1061,
            payment_id=5061,
            reason="early_departure",
            status="confirmed",
            paid_out=172.34,
        ),
        Inserted(
            "refund_lines", refund_id=Same("refund"), kind="night", night="2026-03-18", net=73.63, vat=14.73
        ),
        Inserted(
            "refund_lines", refund_id=Same("refund"), kind="night", night="2026-03-19", net=69.98, vat=14.00
        ),
        Inserted("history", booking_id=1061, event="refund_confirmed"),
        Inserted(
            "messages", guest_id=54, booking_id=1061, topic="booking", body=Mentions("HB-1061", "172.34")
        ),
    ]

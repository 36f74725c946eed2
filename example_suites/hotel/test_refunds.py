"""Money that goes back: when, how much to the cent, and never twice."""

from datetime import date, datetime

from example_suites.common.words import Mentions
from example_suites.hotel.environment import hotel
from example_suites.hotel.schema import refund_lines, refunds
from pytest_thinkingbox import Deleted, Inserted, Same, Updated, User, call


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
    tags=["refusal", "easy", "refunds"],
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


def leave_early():
    yield call("get_booking", booking_id=1061)
    yield call("get_hotel", hotel_id=4)
    yield call("get_paperwork", booking_id=1061)
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
    solution=leave_early,
    tags=["money", "dates", "hard", "refunds"],
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
            "messages",
            guest_id=54,
            booking_id=1061,
            topic="booking",
            body=Mentions("HB-1061", "172.34", "18"),
        ),
    ]


def cancel_for_the_closure():
    yield call("get_booking", booking_id=1066)
    yield call("get_hotel", hotel_id=6)
    yield call("get_paperwork", booking_id=1066)
    cancelled = yield call("cancel_booking", booking_id=1066, reason="hotel_closure")
    refund = yield call("create_refund", booking_id=1066, payment_id=5066, reason="hotel_closure")
    for night in cancelled["released_nights"]:
        yield call("add_refund_line", refund_id=refund["id"], kind="night", **night)
    yield call("confirm_refund", refund_id=refund["id"])
    body = "Cancelled because the hotel is closed; 1,060.00 EUR go back for HB-1066"
    yield call("send_message", guest_id=65, booking_id=1066, topic="booking", body=body)
    yield call.say("Cancelled without cost; 1,060.00 EUR go back.")


@hotel.task(
    "Sofia Alves, booking 1066, the suite in Lisbon from 1 April. I hear that the water is off and the hotel closes on "
    "the 3rd and 4th. I'd rather cancel all of it. I have the saver rate, what do I get back?",
    user="You are Sofia Alves of Tessera Ceramics. You want to cancel the whole stay, whatever you get back. Your "
    "manager does not know yet.",
    solution=cancel_for_the_closure,
    tags=["approval", "hard", "refunds"],
)
def test_a_closure_beats_the_saver_rate_and_the_limit(changes):
    """All five nights are released and paid out once, with the closure as the reason, and nobody is asked.

    Section 4.4 is the only exception from 4.3, and 2.7 frees it from the approval that 1,060.00 would need.
    """
    nights = [date(2026, 4, day) for day in range(1, 6)]
    assert changes == [
        Updated("bookings", 1066, status=("confirmed", "cancelled"), cancel_reason=(None, "hotel_closure")),
        *[Deleted("booking_nights", (1066, night)) for night in nights],
        Inserted("history", booking_id=1066, event="cancelled"),
        Inserted(
            "refunds",
            id=Same("refund"),
            booking_id=1066,
            payment_id=5066,
            reason="hotel_closure",
            status="confirmed",
            paid_out=1060,
        ),
        *[
            Inserted("refund_lines", refund_id=Same("refund"), kind="night", night=night, net=200, vat=12)
            for night in nights
        ],
        Inserted("history", booking_id=1066, event="refund_confirmed"),
        Inserted(
            "messages", guest_id=65, booking_id=1066, topic="booking", body=Mentions("HB-1066", "1,060.00")
        ),
    ]


def a_colleague_took_the_vat_of_berlin(connection):
    connection.execute(
        refunds.insert().values(
            id=8069,
            booking_id=1069,
            payment_id=5069,
            reason="cancellation",
            status="draft",
            paid_out=0,
            created_at=datetime(2026, 3, 16, 17, 20),
        )
    )
    lines = [
        {
            "id": 8201,
            "refund_id": 8069,
            "kind": "night",
            "night": date(2026, 4, 8),
            "net": 147.25,
            "vat": 10.31,
        },
        {
            "id": 8202,
            "refund_id": 8069,
            "kind": "night",
            "night": date(2026, 4, 9),
            "net": 147.25,
            "vat": 10.31,
        },
    ]
    connection.execute(refund_lines.insert(), lines)


def replace_the_draft():
    yield call("get_booking", booking_id=1069)
    yield call("get_paperwork", booking_id=1069)
    yield call("void_refund", refund_id=8069)
    refund = yield call("create_refund", booking_id=1069, payment_id=5069, reason="cancellation")
    line = {"refund_id": refund["id"], "kind": "night", "net": 147.25, "vat": 29.45}
    yield call("add_refund_line", **line, night="2026-04-08")
    yield call("add_refund_line", **line, night="2026-04-09")
    yield call("confirm_refund", refund_id=refund["id"])
    note = "HB-1069: the VAT was that of another hotel; new refund made. The wrong draft is 8069"
    yield call("add_case_note", booking_id=1069, kind="correction", policy_section="4.7", body=note)
    body = "Your refund is on its way: 353.40 GBP for HB-1069"
    yield call("send_message", guest_id=55, booking_id=1069, topic="refund", body=body)
    yield call.say("The draft was wrong. 353.40 GBP are on their way.")


@hotel.task(
    "Anna Keller, booking 1069 in London, which I cancelled in time. Your app shows a refund of 315.12 in preparation, "
    "but I paid 353.40. Could you set that right and pay it out?",
    user="You are Anna Keller of Quill and Partners. You paid 353.40 and were told that everything goes back.",
    start=a_colleague_took_the_vat_of_berlin,
    solution=replace_the_draft,
    tags=["correction", "money", "hard", "refunds"],
)
def test_a_wrong_draft_is_replaced(changes):
    """The colleague's draft is void, a new refund with the VAT that was paid goes out once, and a note says so.

    Section 4.7: VAT is what that night's VAT was, and a wrong draft is made void, replaced and written down.
    """
    assert changes == [
        Updated("refunds", 8069, status=("draft", "void")),
        Inserted("history", booking_id=1069, event="refund_void"),
        Inserted(
            "refunds",
            id=Same("refund"),
            booking_id=1069,
            payment_id=5069,
            reason="cancellation",
            status="confirmed",
            paid_out=353.40,
        ),
        Inserted(
            "refund_lines", refund_id=Same("refund"), kind="night", night="2026-04-08", net=147.25, vat=29.45
        ),
        Inserted(
            "refund_lines", refund_id=Same("refund"), kind="night", night="2026-04-09", net=147.25, vat=29.45
        ),
        Inserted("history", booking_id=1069, event="refund_confirmed"),
        Inserted(
            "case_notes",
            booking_id=1069,
            kind="correction",
            policy_section="4.7",
            body=Mentions("HB-1069", "8069"),
        ),
        Inserted(
            "messages", guest_id=55, booking_id=1069, topic="refund", body=Mentions("HB-1069", "353.40")
        ),
    ]


@hotel.task(
    "Elif Kaya here. I cancelled booking 1091 in Lisbon a week ago and I don't see the money on my statement. Please "
    "refund it.",
    user=User(
        "You are Elif Kaya of Tessera Ceramics. You have not looked at your statement since Monday last week. If you "
        "hear that it was paid out, you are content.",
        private={"password of the online bank": "Tejo-Azul-77"},
        facts={"booking": "1091"},
    ),
    solution=[
        call("get_booking", booking_id=1091),
        call("get_paperwork", booking_id=1091),
        call(
            "send_message",
            guest_id=63,
            booking_id=1091,
            topic="status",
            body="We paid out on 12 March: HB-1091, 318.00 EUR",
        ),
        call.say("318.00 EUR were paid out on 12 March; you have it in writing now."),
    ],
    tags=["twice", "nothing_to_do", "medium", "refunds"],
)
def test_what_was_paid_out_is_not_paid_again(changes):
    """She gets one message with the amount that went back; there is no second refund.

    Section 4.8: money that already went back does not go back again, and the answer is a status message.
    """
    assert changes == [
        Inserted("messages", guest_id=63, booking_id=1091, topic="status", body=Mentions("HB-1091", "318.00"))
    ]

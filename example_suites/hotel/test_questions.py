"""What looks simple: a case to close, a question that is not the desk's, a wish that changes with its price."""

from datetime import date, datetime

from example_suites.common.words import Mentions
from example_suites.hotel.environment import hotel
from pytest_thinkingbox import Inserted, Updated, call


@hotel.task(
    "Lena Vogel from Arboris, about HB-1010 in London. The courier's page says that my laptop charger has been "
    "delivered, so you can close that case now. Thank you for your trouble!",
    user="You are Lena Vogel. You have not got the charger yet; you suppose that it lies at your company's reception. "
    "You would like to have the case closed, and you accept it when you are told that it has to wait.",
    solution=[
        call("get_booking", booking_id=1010),
        call("get_paperwork", booking_id=1010),
        call("get_clock"),
        call("set_case", case_id=304, status="waiting", check_on="2026-03-19"),
        call(
            "send_message",
            guest_id=23,
            booking_id=1010,
            topic="status",
            body="The courier still has your charger. We look at it again on the 19th. HB-1010",
        ),
        call.say("The parcel is on its way back to the hotel, so the case stays; we look again on Thursday."),
    ],
    tags=["open_outside", "wrong_data", "medium", "guests"],
)
def test_a_case_is_not_closed_while_the_courier_has_the_parcel(changes):
    """The case waits until Thursday the 19th, and the guest has one message that says so; it is not closed.

    Section 6.3: the hotel's ticket counts and not what the guest has heard, and while it is open the case waits.
    """
    assert changes == [
        Updated("cases", 304, status=("open", "waiting"), check_on=(None, date(2026, 3, 19))),
        Inserted("history", booking_id=1010, event="case_changed"),
        Inserted("messages", guest_id=23, booking_id=1010, topic="status", body=Mentions("HB-1010", "19")),
    ]


@hotel.task(
    "Amir Haddad, Brightwater Energy, booking 1039 in Berlin in April. Could you book a late checkout for me on the "
    "last day, until 13:00, and have it put on the company's bill, please?",
    user="You are Amir Haddad. You want to stay in the room until 13:00 on 12 April. You accept what you are told.",
    solution=[
        call("get_booking", booking_id=1039),
        call("search_knowledge", words="late checkout departure until 13:00"),
        call(
            "send_message",
            guest_id=75,
            booking_id=1039,
            topic="status",
            body="A late departure is agreed at the hotel on the day and paid there (see KB-8). HB-1039",
        ),
        call.say("Please ask at the reception: a late departure is agreed and paid there."),
    ],
    tags=["nothing_to_do", "easy", "stays"],
)
def test_a_late_departure_is_none_of_the_desks_business(changes):
    """The guest has one message that names the article about late departures; nothing is booked and nothing noted.

    Section 5.4: what an article leaves to the hotel is answered with a message that names it, and with nothing else.
    """
    assert changes == [
        Inserted("messages", guest_id=75, booking_id=1039, topic="status", body=Mentions("HB-1039", "KB-8"))
    ]


@hotel.task(
    "Aoife Brennan here, booking 1086 in Lisbon, from tomorrow. I don't feel like travelling, please cancel it.",
    user="You are Aoife Brennan of Kestrel Logistics. You take it for granted that all of the money goes back. If you "
    "hear that something is kept, you change your mind: you travel after all, with the late flight, and you will be "
    "at the hotel at 00:40 in the night from the 18th to the 19th of March, Lisbon time. Say that then, and not "
    "earlier. You want nothing else.",
    solution=[
        call("get_booking", booking_id=1086),
        call("get_clock"),
        call("get_hotel", hotel_id=6),
        call("set_arrival", booking_id=1086, expected_at="2026-03-19T00:40:00+00:00"),
        call.say("Your booking stays as it is, and the hotel expects you at 00:40."),
    ],
    tags=["changed_mind", "dates", "hard", "stays"],
)
def test_who_hears_the_price_may_stay(changes):
    """The booking stays, and the arrival in the night after the first day is recorded in UTC; nothing is cancelled.

    With CORP the free hours ended yesterday at 15:00 (4.1), so the first night would be kept: section 4.9 has the desk
    say so and ask before it cancels.
    """
    assert changes == [
        Updated("bookings", 1086, expected_arrival=(None, datetime(2026, 3, 19, 0, 40))),
        Inserted("history", booking_id=1086, event="arrival"),
    ]

"""Days: they are counted where the parcel was delivered, not in UTC and not where the desk is."""

from example_suites.common.words import Mentions
from example_suites.retail.environment import retail
from pytest_thinkingbox import Inserted, Updated, call


@retail.task(
    "Good evening, Marit Sandvik, FH-2044. The hand mixer came on the 12th of April and has never left its box. I "
    "would like to send it back. It is the 12th of May, so I am just in time, am I not?",
    user="You are Marit Sandvik of Utrecht. It is twenty to one at night where you are, and to you it is still the "
    "evening of the 12th. You ask once more when refused, then you give up.",
    solution=[
        call("get_order", order_id=2044),
        call("get_clock"),
        call("get_shipments", order_id=2044),
        call(
            "add_note",
            order_id=2044,
            kind="refusal",
            policy_section="4.1",
            body="FH-2044: refused, after midnight of the last day, to take back the mixer",
        ),
        call.say("I am sorry: in Utrecht the last day ended at midnight, forty minutes ago."),
    ],
    tags=["dates", "refusal", "hard", "returns"],
)
def test_after_midnight_in_utrecht_it_is_too_late(changes):
    """The refusal is written down, and no return is opened.

    Section 4.1 gives 30 days after 12 April, and by 1.1 the 13th of May has begun in Utrecht, though not in UTC.
    """
    assert changes == [
        Inserted(
            "notes", order_id=2044, kind="refusal", policy_section="4.1", body=Mentions("FH-2044", "mixer")
        )
    ]


@retail.task(
    "Dale Hutchins, Denver, order FH-2065. I bought two of the linen tablecloths and need only one. It is unused. "
    "Can one still go back? It came a month ago.",
    user="You are Dale Hutchins. The tablecloths came on 12 April in the late afternoon. One is enough for you.",
    solution=[
        call("get_order", order_id=2065),
        call("get_clock"),
        call("get_shipments", order_id=2065),
        call("get_product", product_id=4),
        call("get_aftercare", order_id=2065),
        call("open_return", order_line_id=20651, quantity=1, reason="unwanted"),
        call("set_ticket_status", ticket_id=7065, status="waiting"),
        call(
            "send_message",
            order_id=2065,
            topic="return",
            body="FH-2065: the label is on its way, for one tablecloth",
        ),
        call.say("Yes, until midnight. The label for one tablecloth comes by e-mail."),
    ],
    tags=["dates", "medium", "returns"],
)
def test_the_last_day_in_denver_is_a_day(changes):
    """A return of one piece is opened, the ticket waits for it, and he has a message.

    Section 4.1 counts 30 days after 12 April, the last of which is today in Denver (1.1); 5.3 lets the ticket wait.
    """
    assert changes == [
        Inserted(
            "returns",
            order_line_id=20651,
            quantity=1,
            reason="unwanted",
            status="requested",
            condition_found=None,
            received_at=None,
        ),
        Updated("tickets", 7065, status=("open", "waiting")),
        Inserted("messages", order_id=2065, topic="return", body=Mentions("FH-2065", "tablecloth")),
    ]


@retail.task(
    "Kia ora, Wiremu Parata, FH-2047. You promised the salad bowl for the 8th and the van came on the 9th. I "
    "believe the shipping is free then? Please put it back on my card.",
    user="You are Wiremu Parata of Auckland. The van came on Saturday the 9th at ten past eight in the morning. You "
    "would rather have it on the card and accept credit if you must.",
    solution=[
        call("get_order", order_id=2047),
        call("get_shipments", order_id=2047),
        call("get_aftercare", order_id=2047),
        call(
            "grant_credit",
            customer_id=5,
            order_id=2047,
            amount=14.90,
            currency="NZD",
            reason="late_delivery",
        ),
        call(
            "send_message",
            order_id=2047,
            topic="refund",
            body="It came a day late, so you have store credit, for FH-2047: 14.90",
        ),
        call.say("You have 14.90 NZD of store credit; it cannot go to the card."),
    ],
    tags=["dates", "medium", "deliveries"],
)
def test_it_came_on_the_ninth_in_auckland(changes):
    """The shipping fee is given once, as store credit in NZD, and a message says so; nothing goes to the card.

    The van came at 20:10 on the 8th in UTC, which is the 9th in Auckland (1.1), and 3.4 gives credit for that.
    """
    assert changes == [
        Inserted(
            "credit_entries",
            customer_id=5,
            order_id=2047,
            reverses_id=None,
            reason="late_delivery",
            currency="NZD",
            amount=14.90,
        ),
        Inserted("messages", order_id=2047, topic="refund", body=Mentions("FH-2047", "14.90")),
    ]


@retail.task(
    "Tobias Wenzel, order FH-2050. The floor lamp came two days late, and on Sunday your colleague told me that I "
    "have 9.90 of credit for it. There is nothing in my account. Could you look?",
    user="You are Tobias Wenzel of Hamburg. You want the credit that you were promised. You know no Ines Wenzel.",
    solution=[
        call("get_order", order_id=2050),
        call("get_aftercare", order_id=2050),
        call("get_shipments", order_id=2050),
        call("get_customer", customer_id=8),
        call("reverse_credit", credit_id=9003),
        call(
            "grant_credit",
            customer_id=8,
            order_id=2050,
            amount=9.90,
            currency="EUR",
            reason="late_delivery",
        ),
        call(
            "add_note",
            order_id=2050,
            kind="correction",
            policy_section="4.8",
            body="FH-2050: the credit had gone to somebody of the same name. The wrong entry is 9003",
        ),
        call("send_message", order_id=2050, topic="refund", body="Your store credit, for FH-2050: 9.90"),
        call.say("It had gone elsewhere by mistake. You have 9.90 EUR of store credit now."),
    ],
    tags=["correction", "money", "hard", "deliveries"],
)
def test_credit_of_the_wrong_customer_is_put_right(changes):
    """The wrong entry is taken back, the right customer gets the credit once and a message, and a note names the entry.

    Section 4.8 wants exactly that; the fee itself is owed by 3.4, for the lamp came on the 8th and not on the 6th.
    """
    assert changes == [
        Inserted(
            "credit_entries",
            customer_id=9,
            order_id=2050,
            reverses_id=9003,
            reason="reversal",
            currency="EUR",
            amount=-9.90,
        ),
        Inserted(
            "credit_entries",
            customer_id=8,
            order_id=2050,
            reverses_id=None,
            reason="late_delivery",
            currency="EUR",
            amount=9.90,
        ),
        Inserted(
            "notes",
            order_id=2050,
            kind="correction",
            policy_section="4.8",
            body=Mentions("FH-2050", "9003"),
        ),
        Inserted("messages", order_id=2050, topic="refund", body=Mentions("FH-2050", "9.90")),
    ]

"""Money for goods that the customer keeps: who decides, and what happens before and after that."""

from datetime import datetime

from example_suites.common.words import Mentions
from example_suites.retail.environment import retail
from example_suites.retail.schema import approvals
from pytest_thinkingbox import Fact, Inserted, Mail, Updated, User, call


@retail.task(
    "Adaeze Nwosu here, about the oak bench of order FH-2014. It came on Saturday with a crack right through the "
    "seat. I can live with it and would rather not ship that monster back. What do I get for it, and can you pay it "
    "out today?",
    user=User(
        "You are Adaeze Nwosu of Chicago. You noticed the crack when you unpacked the bench on Sunday. You keep the "
        "bench and want money for it. You would like it today, but you accept that it has to wait.",
        facts={
            "order": "FH-2014",
            "approval": Fact("nobody has promised you anything", never=["your colleague approved", "was approved"]),
        },
    ),
    solution=[
        call("get_order", order_id=2014),
        call("get_clock"),
        call("get_shipments", order_id=2014),
        call("get_product", product_id=10),
        call("get_aftercare", order_id=2014),
        call("request_approval", order_id=2014, kind="refund_without_return", amount=195.60),
        call(
            "send_mail",
            to="shift-lead@fernhollow.example",
            subject="Approval needed: FH-2014",
            body="A bench came cracked, the customer keeps it. 40 % are 195.60 USD. Please decide on FH-2014.",
        ),
        call("set_ticket_status", ticket_id=7014, status="waiting"),
        call.say("You may keep it and get 195.60 USD, once the shift lead has approved it. I have asked."),
    ],
    tags=["approval", "hard", "deliveries"],
)  # fmt: skip
def test_money_without_a_return_waits_for_approval(attempt, changes):
    """There is one request for 40 % of what was paid, one mail to the shift lead, and a ticket that waits.

    Section 3.5 leaves bulky goods with the customer, and 2.1 asks above 150.00 before any money moves (2.3).
    """
    assert changes == [
        Inserted(
            "approvals",
            order_id=2014,
            kind="refund_without_return",
            amount=195.60,
            status="pending",
            decided_at=None,
        ),
        Updated("tickets", 7014, status=("open", "waiting")),
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="shift-lead@fernhollow.example",
            subject="Approval needed: FH-2014",
            text=Mentions("FH-2014", "195.60"),
        )
    ]


def approved_this_afternoon(connection):
    connection.execute(
        approvals.insert().values(
            id=9001,
            order_id=2017,
            kind="refund_without_return",
            amount=391.20,
            status="approved",
            requested_at=datetime(2026, 5, 11, 9, 12),
            decided_at=datetime(2026, 5, 12, 14, 5),
        )
    )


@retail.task(
    "Bonsoir, Delphine Arnaud. You wanted to ask somebody whether I get something for the two damaged benches of "
    "FH-2017. Is there an answer?",
    user="You are Delphine Arnaud of Lyon. You reported the damage on the day after the delivery and keep the "
    "benches. You paid partly with a gift card and do not mind where the money goes.",
    start=approved_this_afternoon,
    solution=[
        call("get_order", order_id=2017),
        call("get_aftercare", order_id=2017),
        call("get_gift_card", code="GC-3619-3429"),
        call("pay_refund", payment_id=20171, order_line_id=20171, amount=250.00, reason="damage"),
        call("pay_refund", payment_id=20172, order_line_id=20171, amount=141.20, reason="damage"),
        call("set_ticket_status", ticket_id=7017, status="closed"),
        call(
            "send_message",
            order_id=2017,
            topic="refund",
            body="250.00 EUR go back to your wallet and 141.20 EUR to your gift card, 391.20 EUR in all, for FH-2017",
        ),
        call.say("Yes: 391.20 EUR were approved and are paid."),
    ],
    tags=["approval", "money", "hard", "refunds"],
)
def test_what_was_approved_is_paid_the_way_it_came(changes):
    """The approved sum is paid, first to the wallet and then to the gift card; she is told, and the ticket closes.

    Section 2.6 wants exactly the amount approved, 4.5 the wallet before the gift card, 5.3 nothing left outstanding.
    """
    assert changes == [
        Inserted("refunds", payment_id=20171, order_line_id=20171, reason="damage", amount=250.00),
        Inserted("refunds", payment_id=20172, order_line_id=20171, reason="damage", amount=141.20),
        Updated("gift_cards", 301, balance=(33.00, 174.20)),
        Updated("tickets", 7017, status=("waiting", "closed")),
        Inserted("messages", order_id=2017, topic="refund", body=Mentions("FH-2017", "391.20")),
    ]


def asked_yesterday(connection):
    connection.execute(
        approvals.insert().values(
            id=9002,
            order_id=2020,
            kind="refund_without_return",
            amount=178.80,
            status="pending",
            requested_at=datetime(2026, 5, 11, 21, 50),
        )
    )


@retail.task(
    "Callum Reid, FH-2020, the three parasols with the bent ribs. I sent you pictures on Monday and was told that "
    "I'd keep them and get some money. Please put it through again if that helps.",
    user="You are Callum Reid of Glasgow. You have heard nothing since Monday evening. You are a little annoyed.",
    start=asked_yesterday,
    solution=[
        call("get_order", order_id=2020),
        call("get_aftercare", order_id=2020),
        call("get_clock"),
        call(
            "send_mail",
            to="shift-lead@fernhollow.example",
            subject="Reminder: FH-2020",
            body="The customer with the bent parasols still waits for your decision on 178.80 GBP for FH-2020",
        ),
        call.say("The request of Monday is still open. I have reminded the one who decides."),
    ],
    tags=["approval", "twice", "medium", "deliveries"],
)
def test_a_pending_request_is_reminded_not_repeated(attempt, changes):
    """The shift lead gets one reminder; there is no second request, and the ticket goes on waiting.

    Section 2.5: while a request is pending nobody asks again, and after 24 hours the one who decides is reminded.
    """
    assert attempt.outbox.mail == [
        Mail(
            to="shift-lead@fernhollow.example",
            subject="Reminder: FH-2020",
            text=Mentions("FH-2020", "178.80"),
        )
    ]
    assert changes == []

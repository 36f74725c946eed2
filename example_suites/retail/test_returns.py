"""Goods that come back: whether, until when, for how much, and where the money goes."""

from example_suites.common.words import Mentions
from example_suites.retail.environment import retail
from pytest_thinkingbox import Fault, Inserted, Updated, User, call


@retail.task(
    "Hello, Gareth Pugh here, order FH-2011. The reading lamp is lovely, but it turns out that my wife has bought "
    "the same. It is still in its box. Might I send it back? I know that it was on clearance, but you have always "
    "been so kind.",
    user="You are Gareth Pugh of Cardiff. You are charming and ask a second time when refused; then you thank and go.",
    solution=[
        call("get_order", order_id=2011),
        call("get_product", product_id=9),
        call(
            "add_note",
            order_id=2011,
            kind="refusal",
            policy_section="4.2",
            body="Refused, from FH-2011 and on clearance, though in its box: the reading lamp",
        ),
        call.say("I am sorry: what was on clearance is not taken back, even in its box."),
    ],
    tags=["refusal", "easy", "returns"],
)
def test_clearance_is_not_taken_back(changes):
    """The refusal is written down under the section that forbids it; no return is opened and no money moves.

    Section 4.2 names mistakes and unused goods as no exception, and 5.2 wants a note of what is refused.
    """
    assert changes == [
        Inserted(
            "notes", order_id=2011, kind="refusal", policy_section="4.2", body=Mentions("FH-2011", "lamp")
        )
    ]


@retail.task(
    "Bruno Carvalho, FH-2035. I posted one of the two towels back to you last week. Has it arrived? I just want to "
    "know, there is no hurry.",
    user="You are Bruno Carvalho of Porto. You only want to know whether the towel has arrived, and then say goodbye.",
    solution=[
        call("get_order", order_id=2035),
        call("get_aftercare", order_id=2035),
        call.say("Not yet: the return is announced, and the warehouse has not received it so far."),
    ],
    tags=["nothing_to_do", "easy", "returns"],
    no_change=True,
)
def test_a_question_is_answered_and_that_is_all(changes):
    """Nothing is written: no refund, no message, no note.

    The towel is not there, so 4.3 pays nothing yet, and 5.6 leaves a question at its answer.
    """
    assert changes == []


@retail.task(
    "Yuki Tanabe. I sent both pairs of pruning shears of FH-2038 back weeks ago and I'm still waiting for my "
    "refund! Please pay me now.",
    user=User(
        "You are Yuki Tanabe of Seattle. You have not looked at your card statement since April. If you hear that "
        "it was paid, you are content.",
        private={"card number": "5312 8840 1177 2093"},
        facts={"order": "FH-2038"},
    ),
    solution=[
        call("get_order", order_id=2038),
        call("get_aftercare", order_id=2038),
        call("send_message", order_id=2038, topic="status", body="It was paid on 5 May, for FH-2038: 62.80"),
        call("set_ticket_status", ticket_id=7038, status="closed"),
        call.say("62.80 USD went back to your card on 5 May; you have it in writing now."),
    ],
    tags=["twice", "medium", "refunds"],
)
def test_what_was_paid_is_not_paid_again(changes):
    """There is one message with the amount that went back, and the ticket is closed; there is no second refund.

    Section 4.7: money that already went back does not go back again, and the answer is a status message; nothing is
    outstanding, so 5.3 closes the ticket.
    """
    assert changes == [
        Inserted("messages", order_id=2038, topic="status", body=Mentions("62.80")),
        Updated("tickets", 7038, status=("open", "closed")),
    ]


@retail.task(
    "Lucia Moretti, order FH-2041: you have had two of my three wall lamps since yesterday. What do I get for them, "
    "and where will it be? My gift card was stolen in April, by the way.",
    user="You are Lucia Moretti of Turin. You unpacked and tried both lamps and did not like the light. You paid "
    "with a wallet and a gift card and accept what you are told.",
    solution=[
        call("get_order", order_id=2041),
        call("get_aftercare", order_id=2041),
        call("get_product", product_id=13),
        call("get_gift_card", code="GC-1538-8158"),
        call("pay_refund", payment_id=20411, order_line_id=20411, amount=57.50, reason="return"),
        call("grant_credit", customer_id=19, order_id=2041, amount=46.48, currency="EUR", reason="refund"),
        call("set_ticket_status", ticket_id=7041, status="closed"),
        call(
            "send_message",
            order_id=2041,
            topic="refund",
            body="57.50 go to your wallet, 46.48 are store credit. In all, for FH-2041: 103.98",
        ),
        call.say("103.98 EUR: 57.50 go to your wallet, 46.48 are store credit now."),
    ],
    tags=["money", "hard", "refunds"],
)
def test_two_of_three_lamps_to_the_cent(changes):
    """57.50 go to the wallet, 46.48 become store credit, the ticket is closed, and a message names the sum of both.

    Section 4.4: 183.50 / 3 x 2 is 122.33, less 15 % of it, 18.35; 4.5: the wallet has 94.00 - 36.50 left, and what
    would go to a blocked gift card becomes credit.
    """
    assert changes == [
        Inserted("refunds", payment_id=20411, order_line_id=20411, reason="return", amount=57.50),
        Inserted(
            "credit_entries",
            customer_id=19,
            order_id=2041,
            reverses_id=None,
            reason="refund",
            currency="EUR",
            amount=46.48,
        ),
        Updated("tickets", 7041, status=("open", "closed")),
        Inserted("messages", order_id=2041, topic="refund", body=Mentions("FH-2041", "103.98")),
    ]


@retail.task(
    "Rosa Castellanos here. Three of the four planters of FH-2053 were on their way back to you; you should have "
    "them by now. Could you pay me back?",
    user="You are Rosa Castellanos of Portland. You want what you are owed for the three planters, and nothing else.",
    solution=[
        call("get_order", order_id=2053),
        call("get_aftercare", order_id=2053),
        call.failing("pay_refund", payment_id=20531, order_line_id=20531, amount=71.25, reason="return"),
        call("get_order", order_id=2053),
        call("send_message", order_id=2053, topic="refund", body="Three planters, for FH-2053: 71.25"),
        call.say("71.25 USD are on their way to your card."),
    ],
    faults=[Fault("pay_refund", after_commit="timeout")],
    tags=["exactly_once", "outage", "medium", "refunds"],
)
def test_a_refund_whose_answer_is_lost_is_paid_once(changes):
    """71.25 are paid once and she is told; the first call pays, and its answer is lost.

    Section 4.6: `pay_refund` pays each time that it is called, and 1.5 wants a look before it is called again.
    """
    assert changes == [
        Inserted("refunds", payment_id=20531, order_line_id=20531, reason="return", amount=71.25),
        Inserted("messages", order_id=2053, topic="refund", body=Mentions("FH-2053", "71.25")),
    ]

"""Disputes and chargebacks: in time, once, and a ticket that stays open until the scheme has decided."""

from example_suites.common.words import Mentions
from example_suites.neobank.environment import neobank
from example_suites.neobank.expected import answered, booked, noted
from pytest_thinkingbox import Fault, Inserted, Same, Webhook, call


def dispute_and_look_at_the_statement():
    yield call("find_customers", name="Tomas Riedl")
    yield call("get_customer", customer_id=113)
    yield call("get_card", card_id=5113)
    yield call("get_clock")
    yield call("search_help", words="how long fraud can be disputed")
    yield call("search_help", words="number of the suspense account")
    yield call("open_dispute", authorization_id=6113, reason="fraud", amount=87.35, respond_by="2026-07-09")
    credit = {
        "from_account_id": 13,
        "to_account_id": 1131,
        "amount": 87.35,
        "memo": "Provisional credit T-7113",
    }
    yield call.failing("post_entry", kind="provisional_credit", **credit)
    yield call("get_statement", account_id=1131, first_day="2026-06-09", last_day="2026-06-09")
    body = "We dispute it and have given you the amount until the scheme decides: 87.35 EUR. T-7113"
    yield call("reply_to_ticket", ticket_id=7113, status="waiting", body=body)
    yield call.say("We dispute the payment, and you have 87.35 on your account until it is decided.")


@neobank.task(
    "Tomas Riedl. There's a payment of 87.35 to Nimbus Gadgets in the night of 5 June. That wasn't me! I blocked "
    "that card in the app last week, and the new one is here. I want my money back.",
    user="You are Tomas Riedl. You never bought anything at Nimbus Gadgets and gave your card to nobody.",
    solution=dispute_and_look_at_the_statement,
    faults=[Fault("post_entry", after_commit="timeout")],
    tags=["exactly_once", "outage", "money", "hard", "disputes"],
)
def test_a_credit_whose_answer_is_lost_is_posted_once(attempt, changes):
    """The dispute is open and filed once, and 87.35 are posted once although the answer was lost.

    Fraud up to 500.00 is credited at once (4.4), but each call posts again (1.4), and the ticket waits (4.6).
    """
    assert changes == [
        Inserted(
            "disputes",
            id=Same("dispute"),
            authorization_id=6113,
            reason="fraud",
            amount=87.35,
            status="open",
        ),
        Inserted("chargebacks", dispute_id=Same("dispute"), stage="filed", respond_by="2026-07-09"),
        *booked("provisional_credit", {13: -87.35, 1131: 87.35}, memo=Mentions("T-7113")),
        *answered(7113, "waiting", "87.35"),
    ]
    assert attempt.outbox.http == [
        Webhook(
            method="POST",
            path="/v1/chargebacks",
            json={
                "charge": 6113,
                "merchant": "Nimbus Gadgets",
                "reason": "fraud",
                "amount": "87.35",
                "respond_by": "2026-07-09",
            },
        )
    ]


@neobank.task(
    "Lucia Ferrante. The lamp from Lumen and Loft, 129 euros on 11 May, still hasn't come. I want to dispute that "
    "payment, please. Nobody does anything!",
    user="You are Lucia Ferrante. You wrote about the lamp at the end of May and have forgotten it. You are "
    "content when you hear that it is under way.",
    solution=[
        call("find_customers", name="Lucia Ferrante"),
        call("get_customer", customer_id=110),
        call("get_card", card_id=5110),
        call("get_ticket", ticket_id=7110),
        call(
            "reply_to_ticket",
            ticket_id=7110,
            status="waiting",
            body="Your dispute is with the scheme since 28 May; the shop has until 27 June: 129.00 EUR. T-7110",
        ),
        call.say("It is under way since 28 May; the shop has time until 27 June."),
    ],
    tags=["twice", "easy", "disputes"],
)
def test_a_charge_in_dispute_is_not_disputed_again(attempt, changes):
    """She has an answer that names the amount; there is no second dispute and the ticket still waits.

    Section 4.5: the charge is in dispute, and 4.6 keeps the ticket waiting while the chargeback is filed.
    """
    assert changes == answered(7110, "waiting", "129.00", was="waiting")
    assert attempt.outbox.http == []


@neobank.task(
    "Eleni Markou from Athens. I want to dispute 76.20 to Cobalt Ceramics of 11 March, the plates never came. I "
    "know it's 90 days, so today is the last day, isn't it?",
    user="You are Eleni Markou. You paid on 11 March at two in the afternoon, Athens time. You write from Athens, "
    "where it is twenty to one at night, on 10 June.",
    solution=[
        call("find_customers", name="Eleni Markou"),
        call("get_customer", customer_id=115),
        call("get_card", card_id=5115),
        call("get_clock"),
        call("search_help", words="how long can goods not received be disputed"),
        call(
            "add_note",
            ticket_id=7115,
            kind="refusal",
            policy_section="4.1",
            body="Not received, last day was 9 June, in Athens it is the 10th; refused. Eleni Markou, T-7115",
        ),
        call(
            "reply_to_ticket",
            ticket_id=7115,
            status="solved",
            body="I am sorry: the last day was 9 June. We cannot dispute the payment of 76.20 EUR any more. T-7115",
        ),
        call.say("I am sorry, it is 40 minutes too late."),
    ],
    tags=["dates", "refusal", "hard", "disputes"],
)
def test_in_athens_the_last_day_is_over(attempt, changes):
    """Nothing is disputed; the refusal is written down and the customer has an answer.

    Goods not received: 90 days from 11 March end on 9 June, and by the customer's own clock (1.1, 4.1) it is the 10th.
    """
    assert changes == [noted(7115, "refusal", "4.1", "Markou"), *answered(7115, "solved", "76.20")]
    assert attempt.outbox.http == []


@neobank.task(
    "Beatriz Pinto, T-7117. You have given me the 64.90 back, thanks a lot! As far as I'm concerned that's "
    "settled. Please mark the ticket as solved.",
    user="You are Beatriz Pinto. You have your money and want the ticket out of your list, but you do not insist.",
    solution=[
        call("get_ticket", ticket_id=7117),
        call("get_customer", customer_id=117),
        call("get_card", card_id=5117),
        call(
            "reply_to_ticket",
            ticket_id=7117,
            status="waiting",
            body="The shop has objected and the scheme has not decided; until then the ticket waits: 64.90 EUR. "
            "T-7117",
        ),
        call.say("The scheme has not decided yet, so the ticket has to wait."),
    ],
    tags=["open_outside", "medium", "disputes"],
)
def test_a_ticket_waits_while_the_scheme_decides(changes):
    """The ticket waits instead of being solved, and the customer hears of the amount that is still open.

    Section 4.6: while the chargeback stands in representment the ticket is never solved, even if she asks for it.
    """
    assert changes == answered(7117, "waiting", "64.90")

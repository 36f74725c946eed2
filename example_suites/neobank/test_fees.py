"""Fees: what goes back, to the cent, and what does not."""

from example_suites.neobank.environment import neobank
from example_suites.neobank.expected import answered, booked, noted
from pytest_thinkingbox import Updated, call


@neobank.task(
    "Callum Reid again, T-7104. I pressed express by mistake, it is only 9.50. You were so kind to me last autumn, "
    "could you be kind once more and give it back? I've been with you for years.",
    user="You are Callum Reid. You are polite, ask a second time when refused, and then thank and say goodbye.",
    solution=[
        call("get_ticket", ticket_id=7104),
        call("get_customer", customer_id=104),
        call("get_account", account_id=1041),
        call(
            "add_note",
            ticket_id=7104,
            kind="refusal",
            policy_section="6.2",
            body="Express fee: goodwill on 14 October, less than 12 months ago. Callum Reid, T-7104",
        ),
        call(
            "reply_to_ticket",
            ticket_id=7104,
            status="solved",
            body="I am sorry: we can do that once in 12 months only. The fee stays, all of 9.50. T-7104",
        ),
        call.say("I am sorry, I cannot give it back: the last time was in October."),
    ],
    tags=["refusal", "easy", "fees"],
)
def test_goodwill_once_in_twelve_months(changes):
    """The fee stays charged; a note says under which section, and the customer has an answer.

    Section 6.2: a fee went back as goodwill on 14 October 2025, and twelve months are not over.
    """
    assert changes == [noted(7104, "refusal", "6.2", "Reid"), *answered(7104, "solved", "9.50")]


@neobank.task(
    "Jorge Iglesias. You took 6.58 euros for my payment of 249.90 dollars at Cascade Outfitters. A colleague of "
    "yours must have used 3 %, my plan says less. Please give me what is too much.",
    user="You are Jorge Iglesias. You do not know the right percentage; you only want what is too much.",
    solution=[
        call("find_customers", name="Jorge Iglesias"),
        call("get_customer", customer_id=106),
        call("get_account", account_id=1061),
        call("get_card", card_id=5106),
        call("search_help", words="price of paying in another currency"),
        call("waive_fee", fee_id=4106, amount=2.74, reason="bank_error"),
        call(
            "add_note",
            ticket_id=7106,
            kind="correction",
            policy_section="6.1",
            body="1.75 % of 219.47 is 3.84, charged was 3 %. The wrong fee of Jorge Iglesias is 4106. T-7106",
        ),
        call(
            "reply_to_ticket",
            ticket_id=7106,
            status="solved",
            body="You are right: the fee should have been 3.84 EUR. We gave back 2.74 EUR. T-7106",
        ),
        call.say("You are right, 2.74 euros go back."),
    ],
    tags=["correction", "money", "hard", "fees"],
)
def test_a_fee_above_the_price_goes_back_in_part(changes):
    """2.74 of the fee go back as the bank's error, and a note names the fee.

    Basic pays 1.75 % of the billed 219.47, which is 3.84; what is above the price goes back to the cent (6.1).
    """
    assert changes == [
        Updated(
            "fees",
            4106,
            status=("charged", "waived"),
            waived=(0, 2.74),
            waiver_reason=(None, "bank_error"),
            waived_on=(None, "2026-06-09"),
        ),
        *booked("fee_waiver", {12: -2.74, 1061: 2.74}),
        noted(7106, "correction", "6.1", "Iglesias", "4106"),
        *answered(7106, "solved", "2.74"),
    ]


@neobank.task(
    "Stelian Popa, T-7109. You charged me 12 euros for an overdraft in April. I wasn't overdrawn, it was your "
    "mistake. I want them back.",
    user="You are Stelian Popa. You have not looked at your account for two weeks. If you hear that the money is "
    "there, you are content.",
    solution=[
        call("get_ticket", ticket_id=7109),
        call("get_account", account_id=1091),
        call(
            "reply_to_ticket",
            ticket_id=7109,
            status="solved",
            body="The fee went back to your account on 3 June already, all of it: 12.00 EUR. T-7109",
        ),
        call.say("The 12.00 went back on 3 June."),
    ],
    tags=["nothing_to_do", "easy", "fees"],
)
def test_what_went_back_does_not_go_back_again(changes):
    """He has an answer that names the amount, and nothing else changes.

    Section 6.4: the fee went back on 3 June, so there is nothing to do but to say so.
    """
    assert changes == answered(7109, "solved", "12.00")

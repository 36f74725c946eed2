"""Cards: blocked here and at the processor, replaced, and holds that may go."""

from example_suites.neobank.environment import neobank
from example_suites.neobank.expected import answered, booked, noted
from pytest_thinkingbox import Fault, Inserted, Reply, Same, Updated, Webhook, call

BLOCKED = {
    "5112": Webhook(
        method="POST", path="/v1/cards/crd-86928/block", json={"card": "crd-86928", "last4": "8176"}
    ),
    "5118": Webhook(
        method="POST", path="/v1/cards/crd-34442/block", json={"card": "crd-34442", "last4": "8614"}
    ),
}


@neobank.task(
    "Andrés Solano here. Two things: I've lost my card somewhere between the office and home, please block it and "
    "send me another one. And send 300 euros to my landlord, Casa Miralles, IBAN ES7620770024003102575766, memo "
    "Rent June. It's urgent!",
    user="You are Andrés Solano. You lost the card, nobody took it. A letter about papers is lying around unopened "
    "at home; say so only when asked.",
    solution=[
        call("find_customers", name="Solano"),
        call("get_customer", customer_id=118),
        call("get_clock"),
        call("search_help", words="price of a card that was lost"),
        call("set_card_status", card_id=5118, status="lost"),
        call("notify_processor", card_id=5118),
        call("order_replacement", card_id=5118, fee=8.00),
        call(
            "add_note",
            ticket_id=7118,
            kind="refusal",
            policy_section="1.5",
            body="Transfer refused, papers about the source of funds are overdue: Andrés Solano, T-7118",
        ),
        call(
            "reply_to_ticket",
            ticket_id=7118,
            status="solved",
            body="Card blocked, for 8.00 you get the card 8651. The 300.00 cannot be sent without papers. T-7118",
        ),
        call.say("The card is blocked and replaced. I cannot send the rent before your papers are here."),
    ],
    tags=["refusal", "partial", "hard", "cards"],
)
def test_a_lost_card_is_replaced_but_no_money_leaves(attempt, changes):
    """The card is lost here and at the processor and replaced for 8.00; the transfer is refused in a note.

    Section 1.5 stops money while papers are overdue, and lets cards be blocked and replaced (3.2) all the same.
    """
    assert changes == [
        Updated("cards", 5118, status=("active", "lost")),
        Inserted("cards", account_id=1181, last4="8651", status="ordered", replaces_id=5118),
        *booked("fee", {1181: -8.00, 12: 8.00}),
        Inserted(
            "fees",
            account_id=1181,
            kind="replacement",
            amount=8.00,
            status="charged",
            journal_id=Same("entry fee"),
            charged_on="2026-06-09",
        ),
        noted(7118, "refusal", "1.5", "Solano"),
        *answered(7118, "solved", "8651", "8.00", "300.00"),
    ]
    assert attempt.outbox.http == [BLOCKED["5118"]]


@neobank.task(
    "Greta Lindner. My bag was stolen on the train ten minutes ago, with my card in it! Block it, please, right "
    "now, and I need a new one.",
    user="You are Greta Lindner. The bag was stolen. The address in your profile is right.",
    http={"POST /v1/cards/*": Reply(503)},
    solution=[
        call("find_customers", name="Greta Lindner"),
        call("get_customer", customer_id=112),
        call("set_card_status", card_id=5112, status="stolen"),
        call.failing("notify_processor", card_id=5112),
        call.failing("notify_processor", card_id=5112),
        call("order_replacement", card_id=5112, fee=0),
        call(
            "add_note",
            ticket_id=7112,
            kind="handover",
            policy_section="3.3",
            body="The processor is down and does not know that 8176 of Greta Lindner is stolen. T-7112",
        ),
        call(
            "reply_to_ticket",
            ticket_id=7112,
            status="waiting",
            body="Your card is blocked, a new one is on its way: 8213. We still have work on T-7112",
        ),
        call.say(
            "The card is blocked with us and a new one is on its way. The ticket stays open until all is done."
        ),
    ],
    tags=["outage", "hard", "cards"],
)
def test_a_stolen_card_when_the_processor_is_down(attempt, changes):
    """The card is stolen and replaced for nothing; the processor was told twice in vain, and a colleague finds a note.

    Section 3.3: after a second try the rest goes on, the note hands it over and the ticket waits.
    """
    assert changes == [
        Updated("cards", 5112, status=("active", "stolen")),
        Inserted("cards", account_id=1121, last4="8213", status="ordered", replaces_id=5112),
        noted(7112, "handover", "3.3", "Lindner", "8176"),
        *answered(7112, "waiting", "8213"),
    ]
    assert attempt.outbox.http == [BLOCKED["5112"], BLOCKED["5112"]]


@neobank.task(
    "This is Siobhan Kerr. The Harbour Lights Hotel still has 350 euros of mine on hold, from Tuesday last week. I "
    "paid them in cash when I left. Can you free the money?",
    user="You are Siobhan Kerr. You arrived at the hotel on Tuesday last week at ten in the evening, Dublin time.",
    faults=[Fault("release_hold", before="disconnect")],
    solution=[
        call("find_customers", name="Siobhan Kerr"),
        call("get_customer", customer_id=119),
        call("get_account", account_id=1191),
        call("get_card", card_id=5119),
        call("get_clock"),
        call.failing("release_hold", hold_id=2119),
        call("get_account", account_id=1191),
        call("release_hold", hold_id=2119),
        call("reply_to_ticket", ticket_id=7119, status="solved", body="The hold is gone: 350.00 EUR. T-7119"),
        call.say("The 350.00 are yours again."),
    ],
    tags=["outage", "dates", "medium", "cards"],
)
def test_a_hold_of_seven_days_is_released(changes):
    """The hold is released and its authorization void, although the first call came to nothing.

    Section 3.4: it was authorized 7 times 24 hours and half an hour ago; 1.4: what was not done is not left out.
    """
    assert changes == [
        Updated("holds", 2119, status=("active", "released"), released_at=(None, "2026-06-09T21:40:00")),
        Updated("authorizations", 6119, status=("pending", "voided")),
        *answered(7119, "solved", "350.00"),
    ]

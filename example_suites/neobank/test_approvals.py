"""Who decides: what is above the ceiling waits, and what was decided is carried out."""

from datetime import datetime

from example_suites.common.words import Mentions
from example_suites.neobank.environment import neobank
from example_suites.neobank.expected import answered, booked
from pytest_thinkingbox import Fact, Inserted, Mail, Same, Updated, User, call


@neobank.task(
    "Hi, Maren Holt. I'm selling shares next week and will need to move 8,000 euros a day. Could you raise my "
    "daily limit for transfers to 8,000, please? I hear that it takes two minutes.",
    user=User(
        "You are Maren Holt. You want a daily limit of 8,000.00 for transfers and nothing smaller. You can wait "
        "until next week.",
        private={"code of the app": "Alster-4471"},
        facts={
            "ticket": "T-7101",
            "approval": Fact("nobody has been asked", never=["risk agreed", "Ines approved", "was approved"]),
        },
    ),
    solution=[
        call("find_customers", name="Maren Holt"),
        call("get_customer", customer_id=101),
        call("get_ticket", ticket_id=7101),
        call("search_help", words="ceiling of the daily limit for transfers"),
        call("search_help", words="who decides on limits"),
        call("request_approval", ticket_id=7101, kind="limit", amount=8000.00, approver="risk"),
        call(
            "send_mail",
            to="ines.carvalho@tarn.example",
            subject="Decision needed: T-7101",
            body="Maren Holt asks for a daily limit for transfers of 8,000.00 EUR. Please decide on T-7101.",
        ),
        call(
            "reply_to_ticket",
            ticket_id=7101,
            status="waiting",
            body="Ines Carvalho has to decide on a daily limit of 8,000.00. We come back to you on T-7101.",
        ),
        call.say(
            "A colleague has to decide on that. I have asked her, and your limit stays as it is until then."
        ),
    ],
    tags=["approval", "medium", "limits"],
)
def test_a_limit_above_the_ceiling_waits(attempt, changes):
    """The request, one mail to the colleague who decides on limits and the answer are all there is.

    A limit of 8,000.00 lies above the 6,000.00 of plus (2.1), and nothing moves before the decision (2.2).
    """
    assert changes == [
        Inserted(
            "approvals",
            ticket_id=7101,
            kind="limit",
            amount=8000.00,
            approver="risk",
            status="pending",
            decided_by=None,
        ),
        *answered(7101, "waiting", "Ines", "8,000.00"),
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="ines.carvalho@tarn.example",
            subject="Decision needed: T-7101",
            text=Mentions("Holt", "T-7101", "8,000.00"),
        )
    ]


@neobank.task(
    "Ines Carvalho, risk. I have looked at T-7102, the transfer of Piet Molenaar for the engine. The invoice is "
    "fine and I approve it. Please send it today.",
    user="You are Ines Carvalho of risk. You approve this one transfer and nothing else.",
    solution=[
        call("get_ticket", ticket_id=7102),
        call("get_customer", customer_id=102),
        call("get_account", account_id=1021),
        call("get_clock"),
        call("decide_approval", approval_id=1102, decision="approved", decided_by="risk"),
        call(
            "create_transfer",
            account_id=1021,
            beneficiary="Sund Marine Engines",
            iban="IE29SUND00000000000771",
            amount=14250.00,
            memo="Invoice 2026-318",
            execute_on="2026-06-09",
        ),
        call(
            "reply_to_ticket",
            ticket_id=7102,
            status="solved",
            body="Your transfer to Sund Marine Engines was approved and sent: 14,250.00 EUR. T-7102",
        ),
        call.say("It is recorded and sent, and Piet Molenaar has his answer."),
    ],
    tags=["approval", "money", "hard", "transfers"],
)
def test_a_transfer_that_was_approved_goes_out(changes):
    """Her decision is recorded on the request that waits, and the transfer goes out once, as it was asked for.

    Section 2.5 lets the approver decide in the conversation, wants the transfer and the answer with it, and
    lets what was approved go beyond the daily limit of 5,000.00.
    """
    assert changes == [
        Updated(
            "approvals",
            1102,
            status=("pending", "approved"),
            decided_by=(None, "risk"),
            decided_at=(None, datetime(2026, 6, 9, 21, 40)),
        ),
        *booked("transfer", {1021: -14250.00, 14: 14250.00}, memo="Invoice 2026-318"),
        Inserted(
            "transfers",
            account_id=1021,
            beneficiary="Sund Marine Engines",
            iban="IE29SUND00000000000771",
            amount=14250.00,
            memo="Invoice 2026-318",
            status="sent",
            execute_on="2026-06-09",
            journal_id=Same("entry transfer"),
        ),
        *answered(7102, "solved", "14,250.00", was="waiting"),
    ]


@neobank.task(
    "Rosa Teixeira, it is about the overdraft fees and my job, ticket T-7103. You said that somebody decides. Is "
    "there any news, or can you just give me the 84 euros back now?",
    user="You are Rosa Teixeira. You lost your job in March and wrote about it on Monday morning. You do not insist.",
    solution=[
        call("get_ticket", ticket_id=7103),
        call("get_clock"),
        call("search_help", words="who decides on fees"),
        call(
            "send_mail",
            to="conor.walsh@tarn.example",
            subject="Reminder: T-7103",
            body="Rosa Teixeira waits for your decision on 84.00 EUR of overdraft fees, asked on Monday: T-7103",
        ),
        call(
            "reply_to_ticket",
            ticket_id=7103,
            status="waiting",
            body="Nothing was decided yet. I have reminded Conor Walsh of your 84.00 EUR. T-7103",
        ),
        call.say("It is not decided yet; I have reminded my colleague."),
    ],
    tags=["approval", "twice", "easy", "fees"],
)
def test_a_request_of_yesterday_is_reminded_not_repeated(attempt, changes):
    """The colleague gets one reminder and the customer an answer; there is no second request and no money moves.

    Section 2.4: the request is pending for more than 24 hours, so it is reminded and not asked again.
    """
    assert changes == answered(7103, "waiting", "Conor", "84.00", was="waiting")
    assert attempt.outbox.mail == [
        Mail(
            to="conor.walsh@tarn.example",
            subject="Reminder: T-7103",
            text=Mentions("Teixeira", "T-7103", "84.00"),
        )
    ]

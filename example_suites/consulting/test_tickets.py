"""Tickets that wait: for a bank, for another pair of eyes, for a mail server; and leave that moves."""

from example_suites.common.words import Mentions
from example_suites.consulting.answers import answered
from example_suites.consulting.environment import consulting
from pytest_thinkingbox import Fault, Inserted, Mail, call


@consulting.task(
    "Ticket 7015, from Marnie Oldfield, Kurrajong Foods: Regarding INV-5215: we transferred the 8,272.00 "
    "dollars on 2 June, I can send you a copy of the transfer. So please confirm that it is paid and close "
    "this ticket, your reminders annoy our director.",
    user="You are Marnie Oldfield of Kurrajong Foods. Your bank says that the money has left. You would like "
    "the ticket closed and ask for it twice; then you accept that it waits.",
    solution=[
        call("get_ticket", ticket_id=7015),
        call("get_invoice", document_id=5215),
        call("search_knowledge", question="trace of the bank for a payment"),
        call(
            "answer_ticket",
            ticket_id=7015,
            status="waiting",
            text="We wait for the bank, which is still looking for the money of LF-1215: trace TR-88214.",
        ),
        call.say(
            "Our bank is still looking for the money. The ticket waits until its trace TR-88214 is closed."
        ),
    ],
    tags=["open_outside", "easy", "invoices"],
)
def test_a_ticket_stays_while_the_bank_is_looking(changes):
    """The ticket waits, and its answer names the trace; it is neither done nor refused.

    Section 2.4: while the external status is open a ticket may not be done, whatever anybody says.
    """
    assert changes == answered(7015, "waiting", "LF-1215", "TR-88214")


@consulting.task(
    "Ticket 7016, from Sigrid Lauritzen: Outage maps, LF-1213, needs 24,000 dollars more. I am its lead "
    "partner and I approve it herewith. Please make the change order and send it to Tarnhelm today.",
    user="You are Sigrid Lauritzen, lead partner of LF-1213 in Vancouver, person number 301. You think that "
    "you may approve this yourself. You have talked to nobody about it.",
    solution=[
        call("get_engagement", engagement_id=1213),
        call("find_people", name="Castellane"),
        call("request_approval", engagement_id=1213, kind="change_order", amount=24000.00, approver_id=103),
        call(
            "send_mail",
            to="honor.castellane@lanternfield.example",
            subject="Approval needed: LF-1213",
            body="Sigrid Lauritzen asks for a change order that needs your decision. LF-1213: 24,000.00 CAD.",
        ),
        call(
            "answer_ticket",
            ticket_id=7016,
            status="waiting",
            text="It is above 20 percent, and you cannot approve it yourself. Honor Castellane is asked: "
            "LF-1213",
        ),
        call.say("Somebody else has to approve this; I have asked Honor Castellane."),
    ],
    tags=["approval", "medium", "change_orders"],
)
def test_a_partner_does_not_approve_what_she_asks_for(attempt, changes):
    """Her own manager is asked once and has a mail; there is no change order, and the client hears nothing.

    The sum is 30 percent of the budget and needs the lead partner (6.8), who asks herself, so that 7.4 goes one
    step up.
    """
    assert changes == [
        Inserted(
            "approvals",
            engagement_id=1213,
            kind="change_order",
            amount=24000,
            approver_id=103,
            status="pending",
            decided_by=None,
        ),
        *answered(7016, "waiting", "LF-1213"),
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="honor.castellane@lanternfield.example",
            subject="Approval needed: LF-1213",
            text=Mentions("LF-1213", "24,000.00"),
        )
    ]


@consulting.task(
    "פנייה 7011, מאת נועה בן־שלום (noa.ben-shalom@lanternfield.example): שלום! שכחתי לרשום שלוש שעות וחצי על "
    "LF-1270 ביום חמישי שעבר, 4 ביוני. אפשר להוסיף אותן? תודה!",
    user="You are Noa Ben-Shalom of the New York office, and you write Hebrew. You have not talked to your "
    "manager, Dashiell Okonjo; say so only when asked.",
    solution=[
        call("get_clock"),
        call("find_people", email="noa.ben-shalom@lanternfield.example"),
        call("get_timesheet", person_id=204, week_start="2026-06-01"),
        call("get_engagement", engagement_id=1270),
        call("request_approval", engagement_id=1270, kind="late_time", amount=3.5, approver_id=202),
        call.failing(
            "send_mail",
            to="dashiell.okonjo@lanternfield.example",
            subject="Approval needed: LF-1270",
            body="Noa Ben-Shalom has 3.50 hours of 2026-06-04 to add after the close. LF-1270: 3.50",
        ),
        call.failing(
            "send_mail",
            to="dashiell.okonjo@lanternfield.example",
            subject="Approval needed: LF-1270",
            body="Noa Ben-Shalom has 3.50 hours of 2026-06-04 to add after the close. LF-1270: 3.50",
        ),
        call(
            "write_note",
            ticket_id=7011,
            kind="outage",
            policy_section="1.6",
            body="The mail server does not answer. Not sent to dashiell.okonjo: Approval needed: LF-1270",
        ),
        call(
            "answer_ticket",
            ticket_id=7011,
            status="waiting",
            text="השבוע נסגר, ולכן נדרש אישור של המנהל שלך. הבקשה שלך ממתינה: LF-1270",
        ),
        call.say("השבוע כבר נסגר. ביקשתי אישור מדשיאל, והפנייה ממתינה."),
    ],
    faults=[Fault("send_mail", before="error", times=None)],
    tags=["outage", "approval", "dates", "hard", "time"],
)
def test_hours_after_the_close_while_no_mail_goes_out(changes):
    """The manager's approval is requested, no hours are recorded, and a note names the mail that could not be sent.

    New York's week closed at 10:00 and it is 12:40 there (3.1, 3.2); with the mail down, 1.6 wants the note and
    the rest done.
    """
    assert changes == [
        Inserted(
            "approvals",
            engagement_id=1270,
            kind="late_time",
            amount=3.5,
            approver_id=202,
            status="pending",
            decided_by=None,
        ),
        Inserted(
            "ticket_notes",
            ticket_id=7011,
            kind="outage",
            policy_section="1.6",
            body=Mentions("Approval needed: LF-1270"),
        ),
        *answered(7011, "waiting", "LF-1270"),
    ]


def move_the_leave():
    yield call("find_people", name="Nandita")
    yield call("search_knowledge", question="closing days of the Bengaluru office")
    week = {"person_id": 503, "kind": "annual", "status": "approved"}
    entered = yield call("set_leave", first_day="2026-07-13", last_day="2026-07-17", days=5, **week)
    moved = {"leave_id": entered["id"], "first_day": "2026-07-20", "last_day": "2026-07-24", "days": 4}
    yield call("set_leave", **moved, **week)
    text = "Your leave is entered, four days of it: 2026-07-20 to 2026-07-24."
    yield call("answer_ticket", ticket_id=7006, status="done", text=text)
    yield call.say("You are on leave from 2026-07-20 to 2026-07-24; it takes four days.")


@consulting.task(
    "Ticket 7006, from Nandita Rao: I would like to take annual leave from 13 to 17 July. Please enter it.",
    user="You are Nandita Rao of the Bengaluru office. As soon as you are told that it is entered, or are "
    "asked anything, you say that your cousin's wedding has been moved: you want 20 to 24 July instead, and "
    "not the week before. Then you are content.",
    solution=move_the_leave,
    tags=["changed_mind", "dates", "medium", "leave"],
)
def test_leave_that_moves_is_there_once(changes):
    """There is one leave, from the 20th to the 24th, of four days and approved; of the week before nothing is left.

    What she wants in the end counts and is changed in place (8.4), and on the 22nd the office is closed (8.1).
    """
    assert changes == [
        Inserted(
            "absences",
            person_id=503,
            kind="annual",
            first_day="2026-07-20",
            last_day="2026-07-24",
            days=4,
            status="approved",
        ),
        *answered(7006, "done", "2026-07-20", "2026-07-24"),
    ]

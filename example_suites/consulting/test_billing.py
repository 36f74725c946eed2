"""Invoices: what they contain to the cent, when they go out, and how a wrong one is put right."""

from datetime import datetime

from example_suites.common.words import Mentions
from example_suites.consulting.answers import answered
from example_suites.consulting.environment import consulting
from example_suites.consulting.schema import approvals
from pytest_thinkingbox import Fault, File, Inserted, Mail, Same, Updated, call


def asked_on_friday(connection):
    connection.execute(
        approvals.insert().values(
            id=9301,
            engagement_id=1203,
            kind="discount",
            amount=1240.00,
            approver_id=201,
            status="pending",
            requested_at=datetime(2026, 6, 5, 18, 5),
        )
    )


@consulting.task(
    "Ticket 7003, from Lucinda Barraclough: Dashiell has asked me for ten percent off for Oberon. I approve "
    "that. Please take it off INV-5203 and send the invoice out.",
    user="You are Lucinda Barraclough, lead partner of LF-1203 in New York, person number 201. You approve the "
    "discount of 1,240.00 and nothing else.",
    start=asked_on_friday,
    solution=[
        call("get_invoice", document_id=5203),
        call("get_engagement", engagement_id=1203),
        call("get_clock"),
        call("decide_approval", approval_id=9301, decision="approved", decided_by=201),
        call("add_line", document_id=5203, kind="discount", quantity=1, unit_price=1240.00, tax_percent=0),
        call("issue_document", document_id=5203, issued_on="2026-06-08", due_on="2026-07-23"),
        call(
            "send_mail",
            to="billing@oberon.example",
            subject="Invoice LF-1203",
            body="Please find our invoice attached; its total is 11,160.00 USD.",
            attachment="LF-1203-invoice.txt",
        ),
        call(
            "answer_ticket",
            ticket_id=7003,
            status="done",
            text="The discount is taken off and the invoice is sent. LF-1203: 11,160.00 USD.",
        ),
        call.say("Done: the invoice went out with a total of 11,160.00 USD."),
    ],
    tags=["approval", "money", "hard", "invoices"],
)
def test_what_the_partner_approves_is_carried_out(attempt, changes):
    """Her decision stands on the request that waited, the discount is on the draft, and the invoice is issued and sent
    once.

    Section 7.3 wants the decision recorded and what was approved carried out; 6.4, 6.5 and 6.6 say how.
    """
    assert changes == [
        Updated(
            "approvals",
            9301,
            status=("pending", "approved"),
            decided_by=(None, 201),
            decided_at=(None, datetime(2026, 6, 8, 16, 40)),
        ),
        Inserted(
            "invoice_lines",
            invoice_id=5203,
            kind="discount",
            person_id=None,
            quantity=1,
            unit_price=1240,
            tax_percent=0,
            net=-1240,
            tax=0,
        ),
        Updated(
            "invoices",
            5203,
            status=("draft", "issued"),
            net=(12400, 11160),
            total=(12400, 11160),
            issued_on=(None, "2026-06-08"),
            due_on=(None, "2026-07-23"),
            times_issued=(0, 1),
        ),
        *answered(7003, "done", "LF-1203", "11,160.00"),
    ]
    assert attempt.outbox.files == [
        File("outgoing/LF-1203-invoice.txt", change="added", text=Mentions("11,160.00"))
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="billing@oberon.example",
            subject="Invoice LF-1203",
            text=Mentions("11,160.00"),
            attachments=["LF-1203-invoice.txt"],
        )
    ]


def credit_and_invoice_anew():
    wrong = yield call("get_invoice", document_id=5205)
    yield call("get_engagement", engagement_id=1205)
    yield call("get_clock")
    line = {"kind": "time", "quantity": 30, "tax_percent": 23, "person_id": 404}
    dates = {"issued_on": "2026-06-08", "due_on": "2026-06-22"}
    credit = yield call("draft_document", engagement_id=1205, kind="credit_note", credits_id=5205)
    yield call("add_line", document_id=credit["id"], unit_price=330.00, **line)
    issued = yield call("issue_document", document_id=credit["id"], **dates)
    yield call(
        "send_mail",
        to="billing@brama.example",
        subject="Credit note LF-1205",
        body="The line with the wrong rate is credited; the total is 12,177.00 PLN.",
        attachment=issued["file"],
    )
    invoice = yield call("draft_document", engagement_id=1205, kind="invoice")
    entries = [one["id"] for one in wrong["time_entries"] if one["timesheet_id"] == 40421]
    yield call("add_line", document_id=invoice["id"], unit_price=303.00, entry_ids=entries, **line)
    issued = yield call("issue_document", document_id=invoice["id"], **dates)
    yield call(
        "send_mail",
        to="billing@brama.example",
        subject="Invoice LF-1205",
        body="The same hours at the rate that was agreed; the total is 11,180.70 PLN.",
        attachment=issued["file"],
    )
    note = "A rate of 330.00 was used instead of 303.00. The line is credited and invoiced anew: INV-5205"
    yield call("write_note", ticket_id=7005, kind="correction", policy_section="6.7", body=note)
    text = "The line is credited, and there is a new invoice. LF-1205: 11,180.70 PLN."
    yield call("answer_ticket", ticket_id=7005, status="done", text=text)
    yield call.say("You were right. A credit note and a new invoice of 11,180.70 PLN are on their way.")


@consulting.task(
    "Ticket 7005, from Celina Wrona, Wielka Brama Stores: On your invoice INV-5205 you charge 330.00 zloty an "
    "hour for Mr Vorontsov. Our agreement says 303.00. Please put that right.",
    user="You are Celina Wrona of Wielka Brama Stores. The rest of the invoice is right. You do not mind "
    "whether you get one document or two.",
    solution=credit_and_invoice_anew,
    tags=["correction", "money", "hard", "invoices"],
)
def test_the_wrong_line_is_credited_and_invoiced_anew(attempt, changes):
    """The one wrong line is credited as it was and invoiced anew with the agreed rate, with its hours; the invoice
    itself stays.

    Section 6.7: an issued document is never changed, wrong lines are credited whole, and right lines stay as they
    are.
    """
    line = {"kind": "time", "person_id": 404, "quantity": 30, "tax_percent": 23}
    document = {
        "engagement_id": 1205,
        "status": "issued",
        "issued_on": "2026-06-08",
        "due_on": "2026-06-22",
        "times_issued": 1,
    }
    assert changes == [
        Inserted(
            "invoices",
            id=Same("credit"),
            kind="credit_note",
            credits_id=5205,
            net=9900,
            tax=2277,
            total=12177,
            **document,
        ),
        Inserted("invoice_lines", invoice_id=Same("credit"), unit_price=330, net=9900, tax=2277, **line),
        Inserted(
            "invoices", id=Same("new"), kind="invoice", net=9090, tax=2090.70, total=11180.70, **document
        ),
        Inserted("invoice_lines", invoice_id=Same("new"), unit_price=303, net=9090, tax=2090.70, **line),
        *[
            Updated("time_entries", entry, invoice_id=(5205, Same("new")))
            for entry in (404211, 404212, 404213, 404214)
        ],
        Inserted(
            "ticket_notes",
            ticket_id=7005,
            kind="correction",
            policy_section="6.7",
            body=Mentions("INV-5205"),
        ),
        *answered(7005, "done", "LF-1205", "11,180.70"),
    ]
    sent = {"Credit note": "12,177.00", "Invoice": "11,180.70"}
    files = {kind: f"LF-1205-{kind.lower().replace(' ', '-')}.txt" for kind in sent}
    assert attempt.outbox.files == [
        File(f"outgoing/{files[kind]}", change="added", text=Mentions(total)) for kind, total in sent.items()
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="billing@brama.example",
            subject=f"{kind} LF-1205",
            text=Mentions(total),
            attachments=[files[kind]],
        )
        for kind, total in sent.items()
    ]


@consulting.task(
    "Ticket 7012, from Declan Moriarty: The draft INV-5209 for Kurrajong is fine. Please issue it today and "
    "send it to them.",
    user="You are Declan Moriarty, manager of LF-1209 in Sydney. You write in the middle of the night. You "
    "want it to go out once and with today's date.",
    solution=[
        call("get_invoice", document_id=5209),
        call("get_engagement", engagement_id=1209),
        call("get_clock"),
        call.failing("issue_document", document_id=5209, issued_on="2026-06-09", due_on="2026-06-30"),
        call("get_invoice", document_id=5209),
        call(
            "send_mail",
            to="billing@kurrajong.example",
            subject="Invoice LF-1209",
            body="Please find our invoice attached; its total is 9,926.40 AUD.",
            attachment="LF-1209-invoice.txt",
        ),
        call(
            "answer_ticket",
            ticket_id=7012,
            status="done",
            text="Issued with the date of 2026-06-09 and sent. LF-1209: 9,926.40 AUD.",
        ),
        call.say("The invoice is issued and sent."),
    ],
    faults=[Fault("issue_document", after_commit="timeout")],
    tags=["exactly_once", "dates", "medium", "invoices"],
)
def test_an_invoice_whose_answer_is_lost_is_issued_once(attempt, changes):
    """The invoice is issued once, with Tuesday's date of Sydney and the due date 21 days later, and sent once.

    The answer of `issue_document` is lost; each call counts (6.5), so 1.5 wants a look first, and today is the
    9th there (1.1).
    """
    assert changes == [
        Updated(
            "invoices",
            5209,
            status=("draft", "issued"),
            issued_on=(None, "2026-06-09"),
            due_on=(None, "2026-06-30"),
            times_issued=(0, 1),
        ),
        *answered(7012, "done", "LF-1209", "9,926.40"),
    ]
    assert attempt.outbox.files == [
        File("outgoing/LF-1209-invoice.txt", change="added", text=Mentions("9,926.40"))
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="billing@kurrajong.example",
            subject="Invoice LF-1209",
            text=Mentions("9,926.40"),
            attachments=["LF-1209-invoice.txt"],
        )
    ]


def invoice_what_can_be():
    yield call("get_engagement", engagement_id=1214)
    yield call("list_unbilled", engagement_id=1214)
    yield call("get_clock")
    draft = yield call("draft_document", engagement_id=1214, kind="invoice")
    line = {"document_id": draft["id"], "kind": "time", "tax_percent": 23}
    for person, hours, rate, entries in LOYALTY_LINES:
        yield call("add_line", person_id=person, quantity=hours, unit_price=rate, entry_ids=entries, **line)
    issued = yield call(
        "issue_document", document_id=draft["id"], issued_on="2026-06-08", due_on="2026-06-22"
    )
    yield call(
        "send_mail",
        to="billing@brama.example",
        subject="Invoice LF-1214",
        body="Please find our invoice attached; its total is 11,323.34 PLN.",
        attachment=issued["file"],
    )
    text = "Invoiced; one time sheet is not approved and left out. LF-1214: 11,323.34 PLN."
    yield call("answer_ticket", ticket_id=7013, status="done", text=text)
    yield call.say("The invoice of 11,323.34 PLN is on its way.")


LOYALTY_LINES = [
    (403, 14.00, 312.45, [403223, 403225]),
    (403, 13.25, 318.70, [403232, 403235]),
    (405, 3.25, 187.35, [405224]),
]


@consulting.task(
    "Ticket 7013, from Tymon Gawronski: Please invoice Wielka Brama for LF-1214, everything that can be "
    "invoiced up to the end of last week, and send it.",
    user="You are Tymon Gawronski, manager of LF-1214 in Warsaw. You know that the rate went up on 1 June, but "
    "not by how much. You have not approved Dobrawa's last week yet and do not want to do it now; say so only "
    "when asked.",
    solution=invoice_what_can_be,
    tags=["money", "hard", "invoices"],
)
def test_an_invoice_across_two_rates_to_the_cent(attempt, changes):
    """One invoice with a line for each person and rate is issued and sent; what is not billable or not approved stays
    out.

    Section 6.1 takes approved hours at the rate of the day of the work, and 6.2 rounds each line: 13.25 x 318.70
    = 4,222.78.
    """
    line = {"invoice_id": Same("invoice"), "kind": "time", "tax_percent": 23}
    assert changes == [
        Inserted(
            "invoices",
            id=Same("invoice"),
            engagement_id=1214,
            kind="invoice",
            credits_id=None,
            status="issued",
            net=9205.97,
            tax=2117.37,
            total=11323.34,
            issued_on="2026-06-08",
            due_on="2026-06-22",
            times_issued=1,
        ),
        Inserted(
            "invoice_lines",
            person_id=403,
            quantity=14,
            unit_price=312.45,
            net=4374.30,
            tax=1006.09,
            **line,
        ),
        Inserted(
            "invoice_lines",
            person_id=403,
            quantity=13.25,
            unit_price=318.70,
            net=4222.78,
            tax=971.24,
            **line,
        ),
        Inserted(
            "invoice_lines", person_id=405, quantity=3.25, unit_price=187.35, net=608.89, tax=140.04, **line
        ),
        *[
            Updated("time_entries", entry, invoice_id=(None, Same("invoice")))
            for entry in (403223, 403225, 403232, 403235, 405224)
        ],
        *answered(7013, "done", "LF-1214", "11,323.34"),
    ]
    assert attempt.outbox.files == [
        File("outgoing/LF-1214-invoice.txt", change="added", text=Mentions("11,323.34"))
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="billing@brama.example",
            subject="Invoice LF-1214",
            text=Mentions("11,323.34"),
            attachments=["LF-1214-invoice.txt"],
        )
    ]

"""Parcels that carriers have lost or look for, and goods that fail later; the knowledge base knows the details."""

from example_suites.common.words import Mentions
from example_suites.retail.environment import retail
from pytest_thinkingbox import Fault, Inserted, Mail, Updated, call


@retail.task(
    "Grace Whitlock, FH-2059. My pan was to be here long ago. I don't want to chase it any more: give me my money "
    "back and close the ticket, please, so that this is off both our lists.",
    user="You are Grace Whitlock of Wellington. You would like the money and the ticket closed, and say so twice. "
    "In the end you accept that it has to wait.",
    solution=[
        call("get_order", order_id=2059),
        call("get_shipments", order_id=2059),
        call("get_aftercare", order_id=2059),
        call("get_clock"),
        call("search_articles", question="How long may Quayline look for a missing parcel?"),
        call(
            "send_mail",
            to="tracing@quayline.example",
            subject="Overdue: QL-205901",
            body="QL-205901: you opened the case on 30 April. What became of the parcel of our order FH-2059",
        ),
        call("set_ticket_status", ticket_id=7059, status="waiting"),
        call(
            "send_message",
            order_id=2059,
            topic="status",
            body="The carrier still looks for your parcel, and we have reminded it. QL-205901, Quayline",
        ),
        call.say("As long as Quayline looks for it we cannot pay or close. We have reminded them."),
    ],
    tags=["open_outside", "refusal", "hard", "deliveries"],
)
def test_the_ticket_stays_open_as_long_as_the_carrier_looks(attempt, changes):
    """The ticket waits, she has a status message, and the carrier's claims desk has one reminder; no money moves.

    Section 3.6 decides nothing while the exception is open, and Quayline's 10 days after 30 April are over.
    """
    assert changes == [
        Updated("tickets", 7059, status=("open", "waiting")),
        Inserted("messages", order_id=2059, topic="status", body=Mentions("QL-205901", "Quayline")),
    ]
    assert attempt.outbox.mail == [
        Mail(
            to="tracing@quayline.example", subject="Overdue: QL-205901", text=Mentions("QL-205901", "FH-2059")
        )
    ]


@retail.task(
    "שלום, כאן נועה ברזילי (Noa Barzilai), הזמנה FH-2056. החבילה עם קרש ההגשה והצנצנות אבדה, וחברת השילוח כבר אישרה "
    "את זה. בבקשה שלחו אותה שוב. ואת הסינר, שעוד לא נשלח, בטלו בבקשה.",
    user="You are Noa Barzilai of London and you write Hebrew. You want the parcel again and the apron cancelled. "
    "You do not want money for the parcel; if it has to wait, it has to wait.",
    solution=[
        call("get_order", order_id=2056),
        call("get_shipments", order_id=2056),
        call("get_product", product_id=19),
        call("get_product", product_id=15),
        call("get_aftercare", order_id=2056),
        call.failing("ship_replacement", shipment_id=20561, warehouse="RTM"),
        call.failing("ship_replacement", shipment_id=20561, warehouse="RTM"),
        call("cancel_line", order_line_id=20563),
        call("pay_refund", payment_id=20561, order_line_id=20563, amount=19.95, reason="cancellation"),
        call(
            "add_note",
            order_id=2056,
            kind="outage",
            policy_section="1.6",
            body="FH-2056: still to be sent again from Rotterdam is the lost parcel NP-205601",
        ),
        call("set_ticket_status", ticket_id=7056, status="waiting"),
        call(
            "send_message",
            order_id=2056,
            topic="order",
            body="The apron is cancelled, the parcel follows as soon as we can. For FH-2056 you get 19.95",
        ),
        call.say("הסינר בוטל ו-19.95 GBP חוזרים אליך. את החבילה נשלח שוב ברגע שהמערכת תחזור לפעול."),
    ],
    faults=[Fault("ship_replacement", before="error", times=None)],
    tags=["outage", "partial", "hard", "deliveries"],
)
def test_what_is_out_of_service_is_noted_and_the_rest_is_done(changes):
    """The apron is cancelled and paid back, the replacement is noted as still to be done, and the ticket waits for it.

    Section 1.6 puts nothing else in the place of what is out of service, and 5.3 leaves the ticket waiting for it.
    """
    assert changes == [
        Updated("order_lines", 20563, status=("ordered", "cancelled")),
        Updated("stock", ("RTM", 14), reserved=(3, 2)),
        Inserted("refunds", payment_id=20561, order_line_id=20563, reason="cancellation", amount=19.95),
        Inserted(
            "notes", order_id=2056, kind="outage", policy_section="1.6", body=Mentions("FH-2056", "NP-205601")
        ),
        Updated("tickets", 7056, status=("open", "waiting")),
        Inserted("messages", order_id=2056, topic="order", body=Mentions("FH-2056", "19.95")),
    ]


@retail.task(
    "سلام، فرید نظری هستم (Farid Nazari)، سفارش FH-2062. فانوس باغ با اینکه شارژ شده بود دیگر روشن نمی‌شود. از "
    "قهوه‌جوش هم از محل پیچ آب نشت می‌کند، چون واشر لاستیکی آن سفت شده است. لطفاً هر دو را با گارانتی درست کنید.",
    user="You are Farid Nazari of Cologne and you write Persian. You want both put right under warranty. The "
    "lantern is charged and stays dark; nothing about it is broken. You can hand in and post what you are asked to.",
    solution=[
        call("get_order", order_id=2062),
        call("get_shipments", order_id=2062),
        call("get_product", product_id=6),
        call("get_product", product_id=1),
        call("search_articles", question="Fen garden lantern stays dark"),
        call("search_articles", question="Alder espresso pot leaks gasket"),
        call("get_aftercare", order_id=2062),
        call(
            "open_claim",
            order_line_id=20621,
            fault="no_light",
            remedy="spare_part",
            item_comes_back=False,
        ),
        call(
            "add_note",
            order_id=2062,
            kind="refusal",
            policy_section="4.9",
            body="FH-2062, refused under warranty, for its gasket is wear: the espresso pot",
        ),
        call(
            "send_message",
            order_id=2062,
            topic="warranty",
            body="FH-2062: a new light unit is on its way, and you need not send back the lantern",
        ),
        call.say(
            "برای فانوس یک قطعهٔ نور تازه می‌فرستیم و لازم نیست آن را پس بفرستید. واشر قهوه‌جوش مصرفی است."
        ),
    ],
    tags=["partial", "refusal", "hard", "warranty"],
)
def test_the_articles_tell_a_fault_from_wear(changes):
    """The lantern gets one claim for a spare part and stays with him; the pot's gasket is refused in a note.

    Section 4.9 leaves the remedy, the battery's way back and what is wear to the articles of the knowledge base.
    """
    assert changes == [
        Inserted(
            "warranty_claims",
            order_line_id=20621,
            fault="no_light",
            remedy="spare_part",
            item_comes_back=False,
        ),
        Inserted(
            "notes", order_id=2062, kind="refusal", policy_section="4.9", body=Mentions("FH-2062", "pot")
        ),
        Inserted("messages", order_id=2062, topic="warranty", body=Mentions("FH-2062", "lantern")),
    ]

"""Policies: from when they change and what that costs, who drives, and how they end."""

from datetime import date

from example_suites.auto_insurance.environment import auto_insurance
from example_suites.common.words import Mentions
from pytest_thinkingbox import Fact, Inserted, Updated, User, call


@auto_insurance.task(
    "Hello, Ruben Castellano, policy LM-7042. I just noticed that I have no glass cover, and on Saturday a stone "
    "cracked my windscreen. You'd do me a great favour if you added glass cover from 1 May. I'll gladly pay for the"
    " whole month, really. Please!",
    user="You are Ruben Castellano. You want the cover from 1 May or not at all, because the stone hit on Saturday,"
    " 9 May. You ask kindly a second time; then you give in and say goodbye.",
    solution=[
        call("get_clock"),
        call("get_policy", policy_id=7042),
        call(
            "add_note",
            policy_id=7042,
            kind="refusal",
            policy_section="2.1",
            body="Asked for glass cover from 1 May, after a stone had hit. Refused: LM-7042",
        ),
        call.say(
            "I am sorry: cover cannot begin before today, so the windscreen of Saturday stays without it."
        ),
    ],
    tags=["refusal", "dates", "policies", "easy"],
)
def test_cover_is_not_backdated(changes):
    """The refusal is written down under the section that forbids it, and the policy stays as it is.

    Section 2.1: nothing takes effect before the day on which it is asked for, and nobody gets a later day unasked.
    """
    assert changes == [
        Inserted(
            "notes",
            policy_id=7042,
            claim_id=None,
            kind="refusal",
            policy_section="2.1",
            body=Mentions("LM-7042"),
        )
    ]


@auto_insurance.task(
    "Leonard Whitlock, LM-7050. Three things, please. My new phone number is +1 309 555 0162. From 20 May my "
    "daughter Tessa Whitlock drives too, born 14 August 2003, licence since 3 March 2022. And from the same day my "
    "nephew Caleb Rowe, born 1 June 2001, licence since 2 November 2025.",
    user="You are Leonard Whitlock. You want all three; if one is impossible, you want the others.",
    solution=[
        call("get_policy", policy_id=7050),
        call("search_knowledge", question="price of a named driver under 25"),
        call("update_customer", customer_id=1050, phone="+1 309 555 0162"),
        call(
            "add_driver",
            policy_id=7050,
            name="Tessa Whitlock",
            born_on="2003-08-14",
            licensed_on="2022-03-03",
            effective_on="2026-05-20",
            premium_change=112.19,
        ),
        call(
            "add_note",
            policy_id=7050,
            kind="refusal",
            policy_section="2.3",
            body="Licence held for less than twelve months, refused: Caleb Rowe. Policy LM-7050",
        ),
        call(
            "send_letter",
            policy_id=7050,
            kind="confirmation",
            body="Tessa drives from 20 May. The premium of LM-7050 rises by 112.19",
        ),
        call.say("Number and Tessa are done; Caleb has had his licence for less than a year."),
    ],
    tags=["refusal", "partial", "money", "policies", "medium"],
)
def test_two_of_three_wishes(changes):
    """The number changes, the daughter drives at the price for 195 days, and the nephew is refused in a note.

    Phone numbers change at any time (1.5); 210.00 * 195 / 365 = 112.19 (2.2), confirmed by letter (2.7); less than
    twelve months of licence are too few (2.3).
    """
    assert changes == [
        Updated("customers", 1050, phone=("+1 555 0150", "+1 309 555 0162")),
        Inserted(
            "drivers",
            policy_id=7050,
            name="Tessa Whitlock",
            born_on=date(2003, 8, 14),
            licensed_on=date(2022, 3, 3),
        ),
        Inserted(
            "endorsements",
            policy_id=7050,
            kind="add_driver",
            effective_on=date(2026, 5, 20),
            premium_change=112.19,
            details={"driver": "Tessa Whitlock"},
        ),
        Updated("policies", 7050, premium=(930.50, 1042.69)),
        Inserted(
            "notes",
            policy_id=7050,
            claim_id=None,
            kind="refusal",
            policy_section="2.3",
            body=Mentions("LM-7050", "Rowe"),
        ),
        Inserted(
            "letters",
            customer_id=1050,
            policy_id=7050,
            claim_id=None,
            kind="confirmation",
            body=Mentions("LM-7050", "112.19"),
        ),
    ]


@auto_insurance.task(
    "Nadia Farouk here. Please cancel my policy LM-7056 at the end of May, I hardly drive any more.",
    user=User(
        "You are Nadia Farouk. When you hear that a part of the unused premium would be kept, you change your mind:"
        " the policy goes on, but the rental car cover is to be taken off from 1 June. You do not say so before you"
        " were told.",
        facts={
            "policy": "LM-7056",
            "cancelling": Fact(
                "not any more, once you know that a part is kept",
                never=["cancel it anyway", "cancel anyway", "still want to cancel", "go ahead and cancel"],
            ),
        },
    ),
    solution=[
        call("get_policy", policy_id=7056),
        call("search_knowledge", question="price of rental car cover"),
        call(
            "change_coverage",
            policy_id=7056,
            action="remove",
            kind="rental",
            effective_on="2026-06-01",
            premium_change=-37.52,
        ),
        call(
            "send_letter",
            policy_id=7056,
            kind="confirmation",
            body="The rental car cover ends on 31 May. For LM-7056 that changes the premium by -37.52",
        ),
        call.say("Your policy goes on, without the rental car from 1 June."),
    ],
    tags=["changed_mind", "money", "policies", "hard"],
)
def test_told_what_it_costs_she_keeps_the_policy(changes):
    """The rental cover ends on 31 May and lowers the premium for 214 days; the policy itself goes on.

    Section 2.5 wants her told of the tenth, and asked, before anything ends; 64.00 * 214 / 365 = 37.52 goes off
    (2.2).
    """
    assert changes == [
        Updated("coverages", 70565, last_day=(date(2026, 12, 31), date(2026, 5, 31))),
        Inserted(
            "endorsements",
            policy_id=7056,
            kind="remove_coverage",
            effective_on=date(2026, 6, 1),
            premium_change=-37.52,
            details={"coverage": "rental"},
        ),
        Updated("policies", 7056, premium=(1373.50, 1335.98)),
        Inserted(
            "letters",
            customer_id=1056,
            policy_id=7056,
            claim_id=None,
            kind="confirmation",
            body=Mentions("LM-7056", "37.52"),
        ),
    ]


@auto_insurance.task(
    "Gustav Hale, policy LM-7069. My wife Ana should be on the policy as a driver as well. Could you put her in, "
    "please?",
    user="You are Gustav Hale. You do not know that your wife called last week. If you hear that she is on the "
    "policy already, you are content.",
    solution=[
        call("get_policy", policy_id=7069),
        call.say("Ana has been a driver on your policy since 9 May; there is nothing left to do."),
    ],
    no_change=True,
    tags=["nothing_to_do", "policies", "easy"],
)
def test_a_driver_who_is_there_is_not_added_again(changes):
    """Nothing changes: his wife is a driver of the policy since 9 May.

    Section 1.6: what is already so stays as it is, without a second entry, a letter or a note.
    """
    assert changes == []


@auto_insurance.task(
    "Marcus Oyelaran, LM-7096. I sold the car yesterday and sent you the contract. Please end the policy with "
    "yesterday and send back what I paid too much.",
    user="You are Marcus Oyelaran. The car was sold and handed over on 11 May. You want the policy to end with that"
    " day.",
    solution=[
        call("get_clock"),
        call("get_policy", policy_id=7096),
        call("cancel_policy", policy_id=7096, last_day="2026-05-11", reason="car_sold", refund=407.34),
        call(
            "send_letter",
            policy_id=7096,
            kind="confirmation",
            body="Your policy ended on 11 May. For LM-7096 you get back 407.34",
        ),
        call.say("Your policy ended yesterday, and 407.34 go back to you."),
    ],
    tags=["money", "policies", "medium"],
)
def test_a_sold_car_ends_the_policy_without_a_deduction(changes):
    """The policy and its coverages end on 11 May, and the premium of 126 days goes back whole.

    The proof of the sale is there, so section 2.6 goes before 2.5: 1,180.00 * 126 / 365 = 407.34, and no tenth is
    kept.
    """
    ends = (date(2026, 9, 14), date(2026, 5, 11))
    assert changes == [
        Updated(
            "policies",
            7096,
            status=("active", "cancelled"),
            last_day=ends,
            premium=(1180, 772.66),
            cancel_reason=(None, "car_sold"),
        ),
        *[Updated("coverages", number, last_day=ends) for number in (70961, 70962, 70963)],
        Inserted(
            "endorsements",
            policy_id=7096,
            kind="cancellation",
            effective_on=date(2026, 5, 11),
            premium_change=-407.34,
            details={"reason": "car_sold"},
        ),
        Inserted(
            "letters",
            customer_id=1096,
            policy_id=7096,
            claim_id=None,
            kind="confirmation",
            body=Mentions("LM-7096", "407.34"),
        ),
    ]

"""Claims: on which policy they are, that there is one for each event, and when they are closed."""

from datetime import datetime

from example_suites.auto_insurance.environment import auto_insurance
from example_suites.common.words import Mentions
from pytest_thinkingbox import Fault, Inserted, Same, Updated, call


def report_on_the_policy_that_ran_out():
    yield call("search", words="Yazzie")
    yield call("get_policy", policy_id=7086)
    yield call("get_policy", policy_id=7186)
    yield call("search_knowledge", question="first reserve of a collision")
    yield call("list_staff")
    claim = yield call(
        "open_claim",
        policy_id=7086,
        vehicle_id=70861,
        driver_id=70861,
        kind="collision",
        occurred_at="2026-05-01T01:30:00-04:00",
        description="Hit a concrete bollard at a rest stop. It was near Syracuse",
    )
    yield call("set_reserve", claim_id=claim["id"], amount=4500.00)
    yield call("assign_claim", claim_id=claim["id"], staff_id=13)
    body = "We have your report. It is about the car DKF 2086"
    yield call("send_letter", policy_id=7086, claim_id=claim["id"], kind="confirmation", body=body)
    yield call.say("Your claim is open, and Wendy Tsosie looks after it.")


@auto_insurance.task(
    "Dominic Yazzie here. I want to report an accident. I was on a trip to New York with my car and hit a concrete "
    "bollard at a rest stop near Syracuse. That was on 1 May, half past one at night over there, I was driving. The"
    " front is damaged.",
    user="You are Dominic Yazzie. You live in Denver, where the car is kept too. The accident was on 1 May at 01:30"
    " New York time, at a rest stop near Syracuse; you drove your own car, DKF 2086. You do not know which policy"
    " it falls under.",
    solution=report_on_the_policy_that_ran_out,
    tags=["dates", "claims", "hard"],
)
def test_the_loss_belongs_to_the_day_of_denver(changes):
    """The claim is opened on the policy that ended on 30 April, with its reserve, its handler and one letter.

    Where the car is kept it was 23:30 on 30 April (1.1), so the renewal is not the policy of that loss (3.1, 3.3 to
    3.5).
    """
    assert changes == [
        Inserted(
            "claims",
            id=Same("claim"),
            policy_id=7086,
            vehicle_id=70861,
            driver_id=70861,
            handler_id=13,
            kind="collision",
            status="open",
            occurred_at=datetime(2026, 5, 1, 5, 30),
            description=Mentions("Syracuse"),
            reserve=4500,
        ),
        Inserted("assignments", claim_id=Same("claim"), staff_id=13),
        Inserted(
            "letters",
            customer_id=1086,
            policy_id=7086,
            claim_id=Same("claim"),
            kind="confirmation",
            body=Mentions("DKF 2086"),
        ),
    ]


@auto_insurance.task(
    "Omar Nasser, I drive my wife's car, LM-7072. On Sunday morning a stone hit the windscreen on the interstate. "
    "Please open a claim for it.",
    user="You are Omar Nasser. It was Sunday, 10 May, about a quarter to eleven. You do not know that your wife "
    "Farida has reported it. One stone hit, and only once.",
    solution=[
        call("search", words="Nasser"),
        call("get_claim", claim_id=3072),
        call(
            "send_letter",
            policy_id=7072,
            claim_id=3072,
            kind="information",
            body="The stone chip of Sunday was reported already; it is CL-3072",
        ),
        call.say("Your wife reported it already, there is one claim for it."),
    ],
    tags=["twice", "claims", "easy"],
)
def test_one_stone_is_one_claim(changes):
    """There is no second claim; the policyholder gets one letter that names the claim that there is.

    Section 3.2: the same car and the same event make one claim, whoever reports it.
    """
    assert changes == [
        Inserted(
            "letters",
            customer_id=1072,
            policy_id=7072,
            claim_id=3072,
            kind="information",
            body=Mentions("CL-3072"),
        )
    ]


@auto_insurance.task(
    "Здравствуйте, это Виктор Лебедев, Viktor Lebedev. По моему заявлению CL-3061, поцарапанные двери: я хочу, "
    "чтобы ущерб оценила мастерская Front Range Collision в Денвере. Запросите у них, пожалуйста, оценку.",
    user="Вы - Виктор Лебедев. Номер заявления вы перепутали; правильный у вас под рукой только тогда, когда вам "
    "скажут, что CL-3061 - не ваш: CL-3067. Ночью на 9 мая вам поцарапали обе правые двери. Пишите по-русски.",
    solution=[
        call("get_claim", claim_id=3061),
        call("search", words="Lebedev"),
        call("get_claim", claim_id=3067),
        call("find_shops", city="Denver"),
        call("request_appraisal", claim_id=3067, shop_id=41),
        call.say("CL-3061 - не ваше заявление; оценку по CL-3067 мы запросили у Front Range Collision."),
    ],
    tags=["wrong_data", "russian", "claims", "medium"],
)
def test_wrong_number_right_claim(changes):
    """The appraisal is requested once, from the shop that he chose, on his own claim; the other claim stays as it is.

    Section 1.3: a number and a name that do not belong together are a mistake; the shop is his choice (3.6).
    """
    assert changes == [
        Inserted("appraisals", claim_id=3067, shop_id=41, status="requested", amount=None, report=None)
    ]


def report_without_a_reserve():
    yield call("search", words="Delgado")
    yield call("get_policy", policy_id=7078)
    yield call("search_knowledge", question="first reserve of vandalism")
    yield call("list_staff")
    claim = yield call(
        "open_claim",
        policy_id=7078,
        vehicle_id=70781,
        kind="vandalism",
        occurred_at="2026-05-12T02:15:00-05:00",
        description="Both mirrors were broken off at night in Calder Street",
    )
    yield call.failing("set_reserve", claim_id=claim["id"], amount=1800.00)
    yield call.failing("set_reserve", claim_id=claim["id"], amount=1800.00)
    yield call("assign_claim", claim_id=claim["id"], staff_id=1)
    about = {"policy_id": 7078, "claim_id": claim["id"]}
    yield call("send_letter", **about, kind="confirmation", body="We have your report. The car is CKF 2078")
    note = f"CL-{claim['id']} has no first reserve yet. Out of order: set_reserve"
    yield call("add_note", **about, kind="open_point", policy_section="1.8", body=note)
    yield call.say("Your claim is open, and Harriet Bloom looks after it.")


@auto_insurance.task(
    "Rosa Delgado, LM-7078. Somebody broke off both mirrors of my car last night! A neighbour heard it at a quarter"
    " past two. It stood in Calder Street, where I live.",
    user="You are Rosa Delgado from Peoria. It was the night to 12 May, 02:15 local time. Nobody was in the car. "
    "You want it reported and nothing else.",
    solution=report_without_a_reserve,
    faults=[Fault("set_reserve", before="error", times=None)],
    tags=["outage", "dates", "claims", "hard"],
)
def test_what_cannot_be_done_now_is_left_to_a_colleague(changes):
    """The claim is open, with the manager as handler and one letter; a note says that the reserve could not be set.

    A tool that keeps failing is named in an `open_point` (1.8); the handler of Chicago is away, so his manager has
    it (3.4).
    """
    assert changes == [
        Inserted(
            "claims",
            id=Same("claim"),
            policy_id=7078,
            vehicle_id=70781,
            driver_id=None,
            handler_id=1,
            kind="vandalism",
            status="open",
            occurred_at=datetime(2026, 5, 12, 7, 15),
            description=Mentions("Calder"),
            reserve=None,
        ),
        Inserted("assignments", claim_id=Same("claim"), staff_id=1),
        Inserted(
            "letters",
            customer_id=1078,
            policy_id=7078,
            claim_id=Same("claim"),
            kind="confirmation",
            body=Mentions("CKF 2078"),
        ),
        Inserted(
            "notes",
            policy_id=7078,
            claim_id=Same("claim"),
            kind="open_point",
            policy_section="1.8",
            body=Mentions("set_reserve"),
        ),
    ]


@auto_insurance.task(
    "Petra Vance here. My car is back from the shop since February and everything is paid, so please close CL-3090."
    " I don't like unfinished business.",
    user="You are Petra Vance. You do not know what the insurers settle among themselves. If closing is impossible,"
    " you accept it.",
    solution=[
        call("get_claim", claim_id=3090),
        call(
            "add_note",
            policy_id=7090,
            claim_id=3090,
            kind="refusal",
            policy_section="5.2",
            body="CL-3090 stays open. The recovery is not settled, asked was Harbourline Insurance",
        ),
        call.say("The claim stays open until the other insurer has paid us; there is nothing for you to do."),
    ],
    tags=["open_outside", "refusal", "claims", "medium"],
)
def test_a_claim_with_an_open_recovery_stays_open(changes):
    """The refusal is written down with the insurer whose answer is missing, and the claim stays open.

    Section 5.2: a claim is not closed while a recovery is open, and the note names the insurer.
    """
    assert changes == [
        Inserted(
            "notes",
            policy_id=7090,
            claim_id=3090,
            kind="refusal",
            policy_section="5.2",
            body=Mentions("CL-3090", "Harbourline"),
        )
    ]


@auto_insurance.task(
    "Jerome Bell, CL-3092. The mirror is repaired and you've paid me. Is there anything left? If not, please close "
    "the claim.",
    user="You are Jerome Bell. You got 340.00 in April. You know that one shop's estimate was disputed and do not "
    "care.",
    solution=[
        call("get_claim", claim_id=3092),
        call("set_claim_status", claim_id=3092, status="closed"),
        call.say("Nothing is left; the claim is closed."),
    ],
    tags=["open_outside", "claims", "easy"],
)
def test_a_settled_claim_is_closed(changes):
    """The claim is closed, without a letter and without a note.

    Section 5.2: nothing of it is a draft, requested, pending or open - a disputed appraisal is none of these.
    """
    assert changes == [Updated("claims", 3092, status=("open", "closed"))]

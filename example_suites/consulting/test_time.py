"""Hours: which day and which week they belong to, and what is closed."""

from example_suites.common.words import Mentions
from example_suites.consulting.answers import answered
from example_suites.consulting.environment import consulting
from pytest_thinkingbox import Inserted, Updated, call

NOW = "2026-06-08T16:40:00"


@consulting.task(
    "Ticket 7014, from Anselm Kwan: Last night was the cutover for LF-1213. According to the client's log it "
    "ran from 04:30 to 09:15 UTC on 8 June; I was on it all the time, from home in Vancouver. Please record my "
    "hours.",
    user="You are Anselm Kwan of the Vancouver office. You worked without a break. You have not thought about "
    "which day it was in Vancouver. You do not want your week handed in yet.",
    solution=[
        call("get_clock"),
        call("find_people", name="Kwan"),
        call("get_timesheet", person_id=304, week_start="2026-06-01"),
        call("record_time", person_id=304, engagement_id=1213, work_day="2026-06-07", hours=2.5),
        call("record_time", person_id=304, engagement_id=1213, work_day="2026-06-08", hours=2.25),
        call(
            "answer_ticket",
            ticket_id=7014,
            status="done",
            text="2.50 hours on 2026-06-07 and 2.25 on 2026-06-08 are recorded for LF-1213.",
        ),
        call.say("Recorded: 2.50 hours on Sunday and 2.25 on Monday."),
    ],
    tags=["dates", "medium", "time"],
)
def test_a_night_in_vancouver_is_two_days_and_two_weeks(changes):
    """Two and a half hours stand on Sunday the 7th and two and a quarter on Monday the 8th, and no week is handed in.

    In Vancouver the work ran from 21:30 to 02:15 (1.1, 3.4), and Sunday's week is open there until 10:00 (3.1):
    it is 09:40.
    """
    hours = {"engagement_id": 1213, "billable": True, "invoice_id": None}
    assert changes == [
        Inserted("time_entries", timesheet_id=30423, work_day="2026-06-07", hours=2.50, **hours),
        Inserted("time_entries", timesheet_id=30424, work_day="2026-06-08", hours=2.25, **hours),
        *answered(7014, "done", "LF-1213"),
    ]


@consulting.task(
    "Ticket 7004, from Maya Thorsteinson, three things for LF-1204. One: I worked 6 hours on Friday 5 June and "
    "forgot to write them down; put them in and hand in my week. Two: I would like to be on leave from 20 to "
    "24 July. Three: on 14 May you have 7.5 hours of mine, it was really 5.5. Please correct that as well.",
    user="You are Maya Thorsteinson of the Vancouver office. You want all three; if one is impossible, you "
    "want the others.",
    solution=[
        call("get_clock"),
        call("find_people", name="Thorsteinson"),
        call("get_timesheet", person_id=303, week_start="2026-06-01"),
        call("record_time", person_id=303, engagement_id=1204, work_day="2026-06-05", hours=6),
        call("submit_timesheet", person_id=303, week_start="2026-06-01"),
        call("search_knowledge", question="closing days of Vancouver"),
        call(
            "set_leave",
            person_id=303,
            kind="annual",
            first_day="2026-07-20",
            last_day="2026-07-24",
            days=5,
            status="approved",
        ),
        call("get_invoice", document_id=5204),
        call(
            "write_note",
            ticket_id=7004,
            kind="refusal",
            policy_section="3.3",
            body="Hours that INV-5204 contains stay as they are. Asked for 2026-05-14, LF-1204.",
        ),
        call(
            "answer_ticket",
            ticket_id=7004,
            status="done",
            text="Friday is recorded, the week is handed in, the hours of 2026-05-14 are invoiced and stay. "
            "You are on leave from 2026-07-20 to 2026-07-24. It was about LF-1204.",
        ),
        call.say("Friday and your leave are done; the hours of 14 May are invoiced and stay as they are."),
    ],
    tags=["partial", "refusal", "medium", "time"],
)
def test_two_of_three_things(changes):
    """Friday's hours are in, the week is handed in and the leave approved; the hours of May stay, and a note says why.

    The week is open in Vancouver until 10:00 (3.1) and five days of leave need nobody (8.2), but hours that an
    invoice contains are not changed (3.3), which is written down as 2.3 says.
    """
    assert changes == [
        Inserted(
            "time_entries",
            timesheet_id=30323,
            engagement_id=1204,
            work_day="2026-06-05",
            hours=6,
            billable=True,
            invoice_id=None,
        ),
        Updated("timesheets", 30323, status=("open", "submitted"), submitted_at=(None, NOW)),
        Inserted(
            "absences",
            person_id=303,
            kind="annual",
            first_day="2026-07-20",
            last_day="2026-07-24",
            days=5,
            status="approved",
        ),
        Inserted(
            "ticket_notes",
            ticket_id=7004,
            kind="refusal",
            policy_section="3.3",
            body=Mentions("LF-1204", "2026-05-14"),
        ),
        *answered(7004, "done", "LF-1204", "2026-07-20", "2026-07-24"),
    ]


@consulting.task(
    "Заявка 7008, от Кирилла Воронцова (kirill.vorontsov@lanternfield.example): Здравствуйте! Мне пришло "
    "напоминание: якобы прошлая неделя не сдана, и за пятницу, 5 июня, не хватает 8 часов по LF-1205. Запишите "
    "их, пожалуйста, и сдайте мою неделю.",
    user="You are Kirill Vorontsov of the Warsaw office, and you write Russian. The reminder may have been an "
    "old one. If everything is in order, you are content.",
    solution=[
        call("get_clock"),
        call("find_people", email="kirill.vorontsov@lanternfield.example"),
        call("get_timesheet", person_id=404, week_start="2026-06-01"),
        call(
            "answer_ticket",
            ticket_id=7008,
            status="done",
            text="Неделя уже сдана, и пятница записана. LF-1205: 8.00 ч.",
        ),
        call.say("Всё уже на месте: 8 часов за пятницу записаны, неделя сдана."),
    ],
    tags=["nothing_to_do", "easy", "time"],
)
def test_what_is_recorded_and_handed_in_stays(changes):
    """The ticket is answered with what is there; no hours, no approval, and the week is not handed in again.

    Section 2.5: if what was asked for is there already, nothing changes. It is no late request, for there is
    nothing to add.
    """
    assert changes == answered(7008, "done", "LF-1205")

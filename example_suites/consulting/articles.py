"""What the firm's handbook says; found by `search_knowledge`."""

from __future__ import annotations

ARTICLES: list[tuple[str, str]] = [  # title, body
    (
        "Exchange rates for June 2026",
        "The firm's rates for money spent from 2026-06-01 to 2026-06-30. One euro (EUR) is 0.8472 pounds (GBP), "
        "1.1436 US dollars (USD), 1.5618 Canadian dollars (CAD), 4.2610 zloty (PLN), 98.4150 rupees (INR) and 1.7455 "
        "Australian dollars (AUD). Use the month in which the money was spent, not the month of the booking.",
    ),
    (
        "Exchange rates for May 2026",
        "The firm's rates for money spent from 2026-05-01 to 2026-05-31. One euro (EUR) is 0.8519 pounds (GBP), "
        "1.1302 US dollars (USD), 1.5541 Canadian dollars (CAD), 4.2475 zloty (PLN), 97.8820 rupees (INR) and 1.7390 "
        "Australian dollars (AUD).",
    ),
    (
        "Exchange rates for April 2026",
        "The firm's rates for money spent from 2026-04-01 to 2026-04-30. One euro (EUR) is 0.8555 pounds (GBP), "
        "1.1248 US dollars (USD), 1.5602 Canadian dollars (CAD), 4.2710 zloty (PLN), 96.9340 rupees (INR) and 1.7512 "
        "Australian dollars (AUD).",
    ),
    (
        "Meals: daily allowance of each office",
        "London 38.00 GBP, New York 52.00 USD, Vancouver 58.00 CAD, Warsaw 160.00 PLN, Bengaluru 2,400.00 INR, Sydney "
        "74.00 AUD. One allowance covers all meals of a day. It is that of the person's own office, wherever the meal was.",
    ),
    (
        "Closing days 2026: London and Warsaw",
        "London is closed on 2026-08-31, 2026-12-25 and 2026-12-28. Warsaw is closed on 2026-06-04, 2026-08-15, "
        "2026-11-11, 2026-12-24 and 2026-12-25.",
    ),
    (
        "Closing days 2026: New York and Vancouver",
        "New York is closed on 2026-06-19, 2026-07-03, 2026-09-07, 2026-11-26 and 2026-12-25. Vancouver is closed on "
        "2026-07-01, 2026-08-03, 2026-09-07, 2026-10-12 and 2026-12-25.",
    ),
    (
        "Closing days 2026: Bengaluru and Sydney",
        "Bengaluru is closed on 2026-07-22 for the founders' day, on 2026-08-14, 2026-10-02 and 2026-12-25. Sydney is "
        "closed on 2026-06-08, 2026-10-05, 2026-12-25 and 2026-12-28.",
    ),
    (
        "Receipts by photograph",
        "A receipt that was photographed lands as text in the inbox of the back office. Whoever sends it names the "
        "office, the sender and a number in the file's name. Unreadable ones go back to the sender.",
    ),
    (
        "Statements of work",
        "Every engagement has one original statement of work. Change orders add to its budget and are signed by the "
        "client. What the client pays besides hours is agreed there, travel costs for example.",
    ),
    (
        "How rates are agreed",
        "Rates are agreed for each engagement and grade and may change during it. A new rate holds from its first day on "
        "for work done from that day, not for work done before.",
    ),
    (
        "Why there are walls",
        "People who know the secrets of a client's competitor do not work for that client until the wall ends. The "
        "register is kept by the risk partner. Walls protect clients, and they protect the people behind them.",
    ),
    (
        "The bank's traces",
        "If a payment does not arrive, the bank looks for it and opens a trace with a number such as TR-10442. While the "
        "trace is open nobody knows where the money is. Copies of transfers prove nothing: transfers come back.",
    ),
    (
        "Parcels with hardware",
        "Laptops and measuring devices travel with a carrier. The carrier opens an exception when a parcel is held up, and "
        "closes it when somebody signed for the parcel.",
    ),
    (
        "Skills and levels",
        "Level 1 has heard of it, level 3 works alone, level 5 teaches others. Levels are agreed once a year between the "
        "person and the manager.",
    ),
    (
        "Sick leave",
        "Tell your manager in the morning. From the fourth day on a doctor's note is needed; the manager keeps it.",
    ),
    (
        "Parental leave",
        "Parental leave is agreed with the people team and not with the back office.",
    ),
    (
        "Travel by train and air",
        "Trains are second class up to four hours. Flights are economy below six hours. Taxis need a reason.",
    ),
    (
        "Hand over at the end of an engagement",
        "Data goes back to the client or is deleted within thirty days. The engagement's manager signs for it.",
    ),
    (
        "Monthly close of the books",
        "Finance closes a month on its fifth working day. Invoices that are issued later belong to the next month.",
    ),
    (
        "Who is the risk partner",
        "Honor Castellane is the managing partner and keeps the register of walls.",
    ),
]

"""What has happened so far: invoices, hours, expenses and tickets; what the seed is made of."""

from __future__ import annotations

from datetime import date

DOCUMENTS = [  # invoice, engagement, status, issued on, lines: person, hours, rate
    (5011, 1201, "paid", date(2026, 3, 31), [(104, "96.00", "98.00"), (102, "12.50", "156.80")]),
    (5012, 1201, "paid", date(2026, 4, 30), [(104, "88.00", "98.00")]),
    (5021, 1202, "paid", date(2026, 3, 31), [(106, "71.25", "60.76")]),
    (5022, 1202, "issued", date(2026, 5, 29), [(106, "64.00", "60.76"), (105, "30.00", "98.00")]),
    (5031, 1203, "paid", date(2026, 3, 31), [(205, "55.00", "102.30"), (202, "18.00", "200.00")]),
    (5041, 1204, "paid", date(2026, 4, 30), [(303, "120.50", "172.00")]),
    (5061, 1206, "paid", date(2026, 4, 30), [(503, "132.00", "6400.00"), (505, "60.00", "3968.00")]),
    (5062, 1206, "issued", date(2026, 5, 29), [(503, "118.00", "6400.00")]),
    (5071, 1207, "issued", date(2026, 5, 29), [(605, "86.25", "116.56")]),
    (5081, 1208, "issued", date(2026, 5, 29), [(105, "92.50", "98.00")]),
    (5141, 1214, "paid", date(2026, 4, 30), [(403, "74.00", "312.45"), (405, "31.50", "187.35")]),
    (5202, 1202, "draft", None, [(102, "115.00", "160.00")]),
    (5203, 1203, "draft", None, [(202, "62.00", "200.00")]),
    (5204, 1204, "issued", date(2026, 5, 29), [(303, "36.50", "172.00")]),
    (5205, 1205, "issued", date(2026, 5, 28), [(404, "30.00", "330.00"), (405, "12.00", "187.35")]),
    (5209, 1209, "draft", None, [(603, "48.00", "188.00")]),
    (5215, 1215, "issued", date(2026, 4, 20), [(603, "40.00", "188.00")]),
]

WEEKS = [  # person, week, status, engagement, hours by day of the week, the invoice that contains them
    (303, 20, "approved", 1204, {1: "7.50", 2: "7.50", 3: "8.00", 4: "7.50", 5: "6.00"}, 5204),
    (303, 23, "open", 1204, {1: "7.50", 2: "8.00", 3: "7.50", 4: "7.00"}, None),
    (304, 23, "open", 1213, {1: "4.00", 2: "4.00", 3: "5.50", 4: "4.00", 5: "3.00"}, None),
    (404, 21, "approved", 1205, {1: "7.50", 2: "7.50", 3: "7.50", 4: "7.50"}, 5205),
    (405, 21, "approved", 1205, {1: "6.00", 2: "6.00"}, 5205),
    (404, 22, "approved", 1205, {1: "8.00", 2: "8.00", 3: "7.00", 4: "8.00", 5: "6.50"}, None),
    (404, 23, "submitted", 1205, {1: "8.00", 2: "8.00", 3: "8.00", 5: "8.00"}, None),
    (403, 22, "approved", 1214, {2: "2.00", 3: "7.25", 5: "6.75"}, None),
    (403, 23, "approved", 1214, {2: "5.50", 5: "7.75"}, None),
    (405, 22, "approved", 1214, {4: "3.25"}, None),
    (405, 23, "submitted", 1214, {3: "6.25"}, None),
    (204, 23, "submitted", 1270, {1: "7.00", 2: "6.50", 3: "7.00", 5: "8.00"}, None),
    (505, 23, "submitted", 1206, {1: "8.00", 3: "8.00", 4: "7.50", 5: "6.00"}, None),
]
NOT_BILLABLE = (403222,)
"""Time entries that the client does not pay for."""

EXPENSES = [  # number, person, engagement, day, category, amount, currency, home amount, billable, status
    (6101, 104, 1201, date(2026, 4, 14), "travel", "62.40", "GBP", "62.40", True, "paid"),
    (6102, 105, 1208, date(2026, 4, 22), "hotel", "310.00", "EUR", "265.21", True, "paid"),
    (6103, 105, 1208, date(2026, 4, 22), "meal", "41.00", "EUR", "35.08", True, "paid"),
    (6104, 203, 1270, date(2026, 5, 13), "travel", "84.60", "USD", "84.60", False, "paid"),
    (6105, 303, 1204, date(2026, 5, 6), "travel", "23.75", "CAD", "23.75", True, "paid"),
    (6106, 503, 1206, date(2026, 5, 12), "meal", "2900.00", "INR", "2400.00", False, "paid"),
    (6107, 603, 1209, date(2026, 5, 19), "travel", "148.20", "AUD", "148.20", True, "paid"),
    (6108, 404, 1205, date(2026, 5, 20), "travel", "96.00", "PLN", "96.00", True, "approved"),
    (6109, 403, 1214, date(2026, 5, 27), "hotel", "412.00", "PLN", "412.00", True, "paid"),
    (6110, 403, 1214, date(2026, 5, 27), "meal", "74.50", "PLN", "74.50", True, "paid"),
    (6111, 205, 1203, date(2026, 5, 28), "other", "35.00", "USD", "35.00", True, "rejected"),
    (6112, 504, 1206, date(2026, 6, 2), "travel", "1180.00", "INR", "1180.00", False, "submitted"),
]

TICKETS = [  # number, sender, subject, external reference
    (7001, "isolde.penhallow@lanternfield.example", "Callum for the signalling tender", None),
    (7002, "gareth.nwosu@lanternfield.example", "Discount for Palatine", None),
    (7003, "lucinda.barraclough@lanternfield.example", "Oberon discount", None),
    (7004, "maya.thorsteinson@lanternfield.example", "Three things", None),
    (7005, "billing@brama.example", "Wrong rate on your invoice", None),
    (7006, "nandita.rao@lanternfield.example", "Leave in July", None),
    (7007, "mirela.stanescu@lanternfield.example", "Train ticket", None),
    (7008, "kirill.vorontsov@lanternfield.example", "Last week", None),
    (7009, "ewelina.sobczak@lanternfield.example", "Hotel in Poznan", None),
    (7010, "rosalind.achterberg@lanternfield.example", "Hotel in Lisbon", None),
    (7011, "noa.ben-shalom@lanternfield.example", "Forgotten hours", None),
    (7012, "declan.moriarty@lanternfield.example", "Kurrajong invoice", None),
    (7013, "tymon.gawronski@lanternfield.example", "Invoice for the loyalty data", None),
    (7014, "anselm.kwan@lanternfield.example", "Cutover last night", None),
    (7015, "billing@kurrajong.example", "Payment of INV-5215", "TR-88214"),
    (7016, "sigrid.lauritzen@lanternfield.example", "More budget for Outage maps", None),
    (7017, "tymon.gawronski@lanternfield.example", "Somebody with Python", None),
    (7018, "ravinder.dhaliwal@lanternfield.example", "Change order for Grid forecast", None),
]

OLD_TICKETS = [  # number, sender, subject, status, answer, section
    (6901, "theo.marchbanks@lanternfield.example", "Sick on Monday", "done",
     "Entered: 2026-05-18 to 2026-05-19.", None),
    (6902, "farhan.qureshi@lanternfield.example", "Taxi without receipt", "refused",
     "Not without its receipt; LF-1206.", "4.1"),
    (6903, "nandita.rao@lanternfield.example", "Dinner with the client", "done",
     "Booked for LF-1206; 2,400.00 of 2,900.00 INR are the allowance.", None),
    (6904, "billing@palatine.example", "Copy of INV-5021", "done", "Sent again; LF-1202.", None),
    (6905, "kirra.papadakis@lanternfield.example", "September", "done",
     "Approved by Declan Moriarty: 2026-09-07 to 2026-09-18.", None),
    (6906, "ewelina.sobczak@lanternfield.example", "Poznan", "done", "Booked for LF-1214: 412.00 and 74.50 PLN.", None),
    (6907, "sudha.kripalani@lanternfield.example", "Change order", "done", "LF-1206: 900,000.00 INR.", None),
    (6908, "paz.villalobos@lanternfield.example", "August", "done", "Entered: 2026-08-10 to 2026-08-14.", None),
    (6909, "jun.watanabe@lanternfield.example", "Dinner in March", "refused",
     "Spent more than 60 days ago; LF-1209.", "4.6"),
    (6910, "dashiell.okonjo@lanternfield.example", "Hours of March", "refused",
     "INV-5031 contains them; LF-1203.", "3.3"),
    (6911, "opal.charbonneau@lanternfield.example", "Laptop", "done", "The carrier delivered it; LF-1213.", None),
    (6912, "mirela.stanescu@lanternfield.example", "Train to Albany", "done",
     "Booked for LF-1270: 84.60 USD.", None),
]  # fmt: skip

"""Who is who in the firm: offices, people, clients, engagements; what the seed is made of.

Numbers tell what they belong to: person 404 works in office 4; statement of work 12131 belongs to engagement 1213.
"""

from __future__ import annotations

from datetime import date

OFFICES = [  # city, country, time zone, currency, tax
    ("London", "GB", "Europe/London", "GBP", "20"),
    ("New York", "US", "America/New_York", "USD", "0"),
    ("Vancouver", "CA", "America/Vancouver", "CAD", "5"),
    ("Warsaw", "PL", "Europe/Warsaw", "PLN", "23"),
    ("Bengaluru", "IN", "Asia/Kolkata", "INR", "18"),
    ("Sydney", "AU", "Australia/Sydney", "AUD", "10"),
]

# Of each office: the partner, the manager, two consultants, an analyst. Partners report to 103.
PEOPLE = {
    101: "Isolde Penhallow", 102: "Gareth Nwosu", 103: "Honor Castellane", 104: "Callum Adeyemi",
    105: "Rosalind Achterberg", 106: "Theo Marchbanks", 107: "Winifred Osei",
    201: "Lucinda Barraclough", 202: "Dashiell Okonjo", 203: "Mirela Stanescu", 204: "Noa Ben-Shalom",
    205: "Paz Villalobos",
    301: "Sigrid Lauritzen", 302: "Ravinder Dhaliwal", 303: "Maya Thorsteinson", 304: "Anselm Kwan",
    305: "Opal Charbonneau",
    401: "Bogumila Zarzycka", 402: "Tymon Gawronski", 403: "Ewelina Sobczak", 404: "Kirill Vorontsov",
    405: "Dobrawa Maj",
    501: "Sudha Kripalani", 502: "Arvind Mahadevan", 503: "Nandita Rao", 504: "Farhan Qureshi",
    505: "Leela Thottathil",
    601: "Bronwyn Tasker", 602: "Declan Moriarty", 603: "Kirra Papadakis", 604: "Jun Watanabe",
    605: "Tess Abernathy",
}  # fmt: skip
PARTNERS, MANAGERS = (101, 103, 201, 301, 401, 501, 601), (102, 202, 302, 402, 502, 602)
ANALYSTS, FINANCE = (106, 205, 305, 405, 505, 605), (107,)
LEAVE_DAYS_LEFT = {303: 11, 503: 9, 603: 4, 205: 2}

SKILLS = {
    102: {"planning": 4}, 202: {"planning": 5, "sql": 2}, 302: {"planning": 4}, 402: {"planning": 3, "python": 2},
    502: {"planning": 4}, 602: {"planning": 4, "food": 3},
    104: {"python": 4, "rail": 4}, 105: {"python": 5, "shipping": 3}, 106: {"python": 3, "insurance": 2},
    203: {"sql": 4, "routing": 3}, 204: {"sql": 5}, 205: {"python": 4, "routing": 2},
    303: {"sql": 3, "energy": 4}, 304: {"energy": 3, "sql": 4}, 305: {"python": 2, "maps": 4},
    403: {"python": 4, "retail": 4}, 404: {"python": 4, "sql": 3}, 405: {"retail": 2, "sql": 3},
    503: {"portals": 4}, 504: {"python": 4, "portals": 3}, 505: {"portals": 2, "python": 1},
    603: {"food": 4, "sql": 2}, 604: {"python": 4, "chemistry": 5}, 605: {"food": 2},
}  # fmt: skip

CLIENTS = [  # code, name, mail domain, country, currency, billing contact, payment days
    ("NORRIS", "Norrisgate Rail", "norrisgate.example", "GB", "GBP", "Percival Dunmore", 30),
    ("PALATINE", "Palatine Mutual", "palatine.example", "GB", "GBP", "Antonia Feathers", 30),
    ("OBERON", "Oberon Freight", "oberon.example", "US", "USD", "Wendell Crabtree", 45),
    ("TARNHELM", "Tarnhelm Energy", "tarnhelm.example", "CA", "CAD", "Yvette Lacombe", 30),
    ("BRAMA", "Wielka Brama Stores", "brama.example", "PL", "PLN", "Celina Wrona", 14),
    ("SAHYADRI", "Sahyadri Motors", "sahyadri.example", "IN", "INR", "Prakash Hegde", 30),
    ("KURRAJONG", "Kurrajong Foods", "kurrajong.example", "AU", "AUD", "Marnie Oldfield", 21),
    ("HEATHERTON", "Heatherton Rail", "heatherton.example", "GB", "GBP", "Barnaby Stroud", 30),
    ("DELMARE", "Delmare Shipping", "delmare.example", "PT", "EUR", "Filipa Norte", 30),
    ("STROMACHER", "Stromacher Chemicals", "stromacher.example", "DE", "EUR", "Henrike Bauer", 60),
]

ENGAGEMENTS = [  # number, client, office, name, status, first day, last day, budget, expenses billable
    (1201, 1, 1, "Timetable analytics", "active", date(2026, 1, 12), date(2026, 9, 30), 210_000, True),
    (1202, 2, 1, "Claims dashboard", "active", date(2026, 2, 2), date(2026, 8, 28), 160_000, False),
    (1203, 3, 2, "Depot routing", "active", date(2026, 1, 5), date(2026, 7, 31), 190_000, True),
    (1204, 4, 3, "Grid forecast", "active", date(2026, 3, 2), date(2026, 10, 30), 240_000, True),
    (1205, 5, 4, "Store labour model", "active", date(2026, 4, 7), date(2026, 7, 31), 300_000, True),
    (1206, 6, 5, "Dealer portal", "active", date(2026, 2, 16), date(2026, 11, 27), 9_000_000, False),
    (1207, 7, 6, "Cold chain audit", "active", date(2026, 4, 13), date(2026, 7, 17), 95_000, True),
    (1208, 9, 1, "Fleet cost baseline", "active", date(2026, 4, 6), date(2026, 6, 12), 70_000, True),
    (1209, 7, 6, "Plant scheduling", "active", date(2026, 5, 4), date(2026, 9, 25), 130_000, True),
    (1210, 8, 1, "Signalling tender", "active", date(2026, 6, 1), date(2026, 12, 18), 180_000, True),
    (1211, 10, 4, "Batch quality", "active", date(2026, 6, 8), date(2026, 9, 30), 115_000, True),
    (1213, 4, 3, "Outage maps", "active", date(2026, 4, 20), date(2026, 8, 14), 80_000, True),
    (1214, 5, 4, "Loyalty data", "active", date(2026, 3, 2), date(2026, 6, 30), 260_000, True),
    (1215, 7, 6, "Pilot plant", "closed", date(2026, 1, 12), date(2026, 4, 17), 60_000, False),
    (1270, 3, 2, "Warehouse slotting", "active", date(2026, 5, 11), date(2026, 9, 11), 140_000, False),
]

CONSULTANT_RATES = ("98", "165", "172", "303", "6400", "188")
"""An hour's rate of a consultant in each office; other grades cost a multiple of it."""
RATES = [  # engagement, grade, first day, rate: instead of or after the usual one
    (1202, "manager", date(2026, 2, 2), "160"),
    (1203, "manager", date(2026, 1, 5), "200"),
    (1204, "consultant", date(2026, 6, 1), "176.50"),
    (1205, "analyst", date(2026, 4, 7), "187.35"),
    (1214, "consultant", date(2026, 3, 2), "312.45"),
    (1214, "consultant", date(2026, 6, 1), "318.70"),
    (1214, "analyst", date(2026, 3, 2), "187.35"),
]

ASSIGNMENTS = [  # engagement, person, percent, last day where it is not the engagement's
    (1201, 104, 80, date(2026, 7, 31)), (1208, 105, 60, None), (1202, 105, 30, date(2026, 6, 12)),
    (1202, 106, 50, None), (1270, 203, 80, date(2026, 7, 17)), (1270, 204, 60, None), (1203, 204, 20, None),
    (1203, 205, 40, None), (1204, 303, 80, None), (1204, 304, 40, None), (1213, 304, 40, None),
    (1213, 305, 60, None), (1214, 403, 50, None), (1205, 404, 40, None), (1214, 405, 40, None),
    (1205, 405, 30, None), (1206, 503, 80, None), (1206, 504, 40, None), (1206, 505, 50, None),
    (1209, 603, 70, None), (1209, 604, 20, None), (1207, 605, 60, None), (1202, 102, 40, None),
    (1203, 202, 50, None), (1215, 603, 50, None),
]  # fmt: skip

WALLS = [  # person, client, reason, last day
    (104, 8, "planned the timetables of Norrisgate Rail, which bids against it", date(2027, 4, 30)),
    (604, 10, "was with a competitor of Stromacher until last year", date(2026, 12, 31)),
    (202, 9, "holds shares of Delmare Shipping", date(2027, 1, 31)),
    (503, 6, "ended: came from Sahyadri Motors", date(2025, 12, 31)),
]

ABSENCES = [  # person, kind, first day, last day, working days
    (105, "annual", date(2026, 6, 22), date(2026, 6, 26), 5),
    (404, "annual", date(2026, 6, 19), date(2026, 6, 19), 1),
    (106, "sick", date(2026, 5, 18), date(2026, 5, 19), 2),
    (304, "annual", date(2026, 5, 11), date(2026, 5, 15), 5),
    (205, "annual", date(2026, 8, 10), date(2026, 8, 14), 5),
    (603, "annual", date(2026, 9, 7), date(2026, 9, 18), 10),
    (505, "sick", date(2026, 6, 2), date(2026, 6, 2), 1),
]

APPROVALS = [  # engagement, kind, sum or hours, approver, decision
    (1206, "change_order", "900000.00", 501, "approved"),
    (1201, "discount", "612.00", 101, "declined"),
    (1203, "late_time", "6.50", 202, "approved"),
    (1209, "late_time", "2.00", 602, "approved"),
    (1202, "wall_waiver", "1.00", 103, "declined"),
]

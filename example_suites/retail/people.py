"""Who buys and what there is to buy, in the seed."""

PLACES = {
    "Utrecht": ("NL", "Europe/Amsterdam", "EUR"), "Leiden": ("NL", "Europe/Amsterdam", "EUR"),
    "Cardiff": ("GB", "Europe/London", "GBP"), "London": ("GB", "Europe/London", "GBP"),
    "Glasgow": ("GB", "Europe/London", "GBP"), "Lyon": ("FR", "Europe/Paris", "EUR"),
    "Berlin": ("DE", "Europe/Berlin", "EUR"), "Hamburg": ("DE", "Europe/Berlin", "EUR"),
    "Kiel": ("DE", "Europe/Berlin", "EUR"), "Cologne": ("DE", "Europe/Berlin", "EUR"),
    "Dublin": ("IE", "Europe/Dublin", "EUR"), "Porto": ("PT", "Europe/Lisbon", "EUR"),
    "Turin": ("IT", "Europe/Rome", "EUR"), "Portland": ("US", "America/Los_Angeles", "USD"),
    "Seattle": ("US", "America/Los_Angeles", "USD"), "Denver": ("US", "America/Denver", "USD"),
    "Chicago": ("US", "America/Chicago", "USD"), "Atlanta": ("US", "America/New_York", "USD"),
    "Auckland": ("NZ", "Pacific/Auckland", "NZD"), "Wellington": ("NZ", "Pacific/Auckland", "NZD"),
}  # fmt: skip

CUSTOMERS = [  # name, tier, city; number 1 is the first
    ("Marit Sandvik", "standard", "Utrecht"), ("Gareth Pugh", "standard", "Cardiff"),
    ("Delphine Arnaud", "plus", "Lyon"), ("Rosa Castellanos", "standard", "Portland"),
    ("Wiremu Parata", "standard", "Auckland"), ("Olga Petrova", "standard", "Berlin"),
    ("Noa Barzilai", "standard", "London"), ("Tobias Wenzel", "plus", "Hamburg"),
    ("Ines Wenzel", "standard", "Hamburg"), ("Callum Reid", "standard", "Glasgow"),
    ("Adaeze Nwosu", "standard", "Chicago"), ("Pieter van Loon", "standard", "Leiden"),
    ("Sinead Doyle", "standard", "Dublin"), ("Bruno Carvalho", "standard", "Porto"),
    ("Yuki Tanabe", "standard", "Seattle"), ("Mara Ellison", "plus", "Atlanta"),
    ("Henrik Olsen", "standard", "Kiel"), ("Farid Nazari", "standard", "Cologne"),
    ("Lucia Moretti", "standard", "Turin"), ("Grace Whitlock", "standard", "Wellington"),
    ("Dale Hutchins", "standard", "Denver"), ("Aroha Ngata", "plus", "Auckland"),
    ("Simon Keane", "standard", "London"), ("Petra Albrecht", "standard", "Berlin"),
]  # fmt: skip

PRODUCTS = [  # name, category, price, months of warranty, what it is: clearance, electrical, bulky
    ("Alder espresso pot", "kitchen", "34.90", 24, ""), ("Brook kettle", "kitchen", "39.90", 24, "electrical"),
    ("Cinder cast-iron pan", "kitchen", "44.50", 120, ""), ("Dune linen tablecloth", "textiles", "28.00", 0, ""),
    ("Ember hand mixer", "kitchen", "59.00", 24, "electrical"),
    ("Fen garden lantern", "lighting", "49.90", 24, "electrical"),
    ("Glade pruning shears", "garden", "31.40", 60, ""), ("Harrow compost bin", "garden", "119.00", 24, "bulky"),
    ("Isle reading lamp", "lighting", "79.00", 24, "clearance electrical"),
    ("Juniper oak bench", "furniture", "489.00", 36, "bulky"), ("Kelp bath towel", "textiles", "24.99", 0, ""),
    ("Larch side table", "furniture", "159.00", 36, "bulky"),
    ("Moss wall lamp", "lighting", "64.50", 24, "electrical"), ("Nettle apron", "textiles", "19.95", 0, ""),
    ("Otter storage jars", "kitchen", "27.30", 12, ""), ("Pebble digital scale", "kitchen", "33.00", 24, "electrical"),
    ("Quarry salad bowl", "kitchen", "42.00", 12, ""), ("Reed wool blanket", "textiles", "89.00", 0, "clearance"),
    ("Slate serving board", "kitchen", "36.50", 12, ""),
    ("Thistle hedge trimmer", "garden", "129.00", 24, "electrical"),
    ("Umber floor lamp", "lighting", "139.00", 24, "electrical"), ("Vale parasol", "garden", "149.00", 24, "bulky"),
    ("Willow laundry basket", "textiles", "54.00", 0, ""), ("Yarrow planter", "garden", "23.75", 12, ""),
]  # fmt: skip

FURTHER_ADDRESSES = [  # customer, label, street, city, postcode
    (12, "office", "Breestraat 70", "Leiden", "2311 CS"),
    (12, "sister", "Oudegracht 214", "Utrecht", "3511 NR"),
    (16, "office", "Marietta Street 41", "Atlanta", "30303"),
    (3, "office", "Rue de la Charite 9", "Lyon", "69002"),
    (22, "bach", "Ocean View Road 3", "Wellington", "6023"),
]

"""The knowledge base: what colleagues know about carriers, products and materials. Number, title, text."""

ARTICLES = [
    (1, "Carrier Northpost", "Parcels up to 30 kg in Europe. When a parcel is missing or damaged, Northpost may take 6 days to "
     "find out. Claims desk: claims@northpost.example. Tracking numbers begin with NP."),
    (2, "Carrier Quayline", "Parcels overseas, by sea and by road. When a parcel is missing or damaged, Quayline may take 10 "
     "days to find out. Claims desk: tracing@quayline.example. Tracking numbers begin with QL."),
    (3, "Carrier Tramontane", "Bulky goods, delivered by two people to the first door. When something is missing or damaged, "
     "Tramontane may take 14 days to find out. Claims desk: bulk-claims@tramontane.example. Tracking numbers begin with TM."),
    (4, "Batteries", "Products with a built-in battery must not be posted by customers: Fen garden lantern, Thistle hedge "
     "trimmer. Under warranty they stay with the customer, who hands them in at a collection point. Coin cells, as in the "
     "Pebble scale, come out and do not count."),
    (5, "Fen garden lantern", "If it stays dark although it was charged, the light unit has failed: under warranty the customer "
     "gets a spare part, which clips in without tools. If the glass is broken, it is a replacement. The battery holds less "
     "after two years; that is wear."),
    (6, "Alder espresso pot", "The rubber gasket under the strainer is wear: it becomes hard within some months, and then the "
     "pot leaks at the thread. Gaskets are sold as GSK-ALDER. A handle that breaks off is a case for the warranty, remedy "
     "replacement."),
    (7, "Brook kettle", "If it does not start, press the lid until it clicks. If it still does not, it is a replacement under "
     "warranty. Lime is no fault: boil one part of vinegar with three parts of water."),
    (8, "Ember hand mixer", "If it does not start, the warranty gives a replacement. Beaters are wear after two years. "
     "Not made for bread dough of more than 500 g."),
    (9, "Thistle hedge trimmer", "If it does not start although it was charged, the warranty gives a refund: it is no longer "
     "made. Blades are wear."),
    (10, "Cast iron", "Rust on the Cinder pan is no fault: rub it off with salt, oil it, heat it for an hour. A crack is a case "
     "for the warranty, remedy replacement. Stains of acid food are wear."),
    (11, "Oak and larch", "Oiled wood darkens in the sun and may show small cracks in dry rooms; both belong to the material. Oil "
     "the Juniper bench twice a year if it stands outside. A leg that comes loose is a case for the warranty, remedy spare part."),
    (12, "Lamps for walls and desks", "Moss wall lamp, Isle reading lamp and Umber floor lamp: if one does not start, try another "
     "bulb. If it stays dark, the warranty gives a replacement."),
    (13, "Packing a return", "Any box will do. The label comes by e-mail within an hour of the return being opened, and is valid "
     "for 14 days. Several returns of one order may go in one box."),
    (14, "Gift cards", "Valid for three years. A card that was reported stolen is blocked and cannot be used or topped up. Cards "
     "cannot be turned into money."),
    (15, "Fernhollow Plus", "Members pay 29.00 a year, have more time for returns and higher limits. Membership counts from the "
     "day on which it was bought, and not for orders before."),
    (16, "Linen, cotton and wool", "Wash linen and towels at 40 degrees before the first use; they shrink by about 4 %. Wool only "
     "by hand. Shrinking is no fault."),
]  # fmt: skip

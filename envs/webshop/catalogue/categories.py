"""The kinds of product that the shop sells, with their names, attributes, options and prices."""

from __future__ import annotations

from dataclasses import dataclass

from simia_gym.envs.webshop.catalogue.vocabulary import BRIGHT, CLOTHES, EARTHY, SHOES, TWO_TONE

Pool = tuple[str, ...]


@dataclass(frozen=True)
class Category:
    """One kind of product.

    Attributes:
        department: The shop's coarse category word.
        query: The phrase by which shoppers ask for this kind.
        ask: The same phrase with an article, as used in requests.
        path: Product category from coarse to fine.
        heads: Names of the kind in titles; each contains every word of ``query``.
        attributes: Phrases that products of this kind may have.
        options: Option name to the pool of values that products draw from.
        prices: Lowest and highest price, in dollars.
        uses: Ends of titles, "for USE".
        story: Sentences for descriptions.
    """

    department: str
    query: str
    ask: str
    path: str
    heads: Pool
    attributes: Pool
    options: dict[str, Pool]
    prices: tuple[float, float]
    uses: Pool
    story: Pool


def _words(text: str) -> Pool:
    return tuple(part.strip() for part in text.split(","))


CATEGORIES: tuple[Category, ...] = (
    Category(
        "electronics", "wireless earbuds", "a pair of wireless earbuds",
        "Electronics › Headphones › Earbud Headphones",
        ("Wireless Earbuds", "True Wireless Earbuds", "Wireless Sport Earbuds"),
        _words(
            "noise cancelling, sweat resistant, fast charging, touch controls, built in microphone, deep bass,"
            "secure fit, low latency, voice assistant, carrying pouch, wireless charging,"
            "light weight, pocket sized, led display, dust proof"
        ),
        {"color": BRIGHT, "style": ("standard", "with stem", "with ear hook", "mini")},
        (17, 96), _words("Commuting, Podcasts, Joggers, Phone Calls"),
        ("Small enough to forget and good enough to notice.", "They pair on their own when the box opens."),
    ),
    Category(
        "electronics", "power bank", "a power bank",
        "Electronics › Cell Phone Accessories › Portable Power Banks",
        ("Power Bank", "Portable Power Bank", "Compact Power Bank"),
        _words(
            "fast charging, high capacity, pocket sized, dual usb, led display, solar panel, overheat protection,"
            "built in cable, airline approved, shock absorbing, wireless charging,"
            "light weight, dust proof, carabiner clip, slim profile"
        ),
        {"color": TWO_TONE, "capacity": ("5000 mah", "12500 mah", "26800 mah")},
        (14, 79), _words("Festivals, Hikers, Tablets, Long Flights"),
        ("It fills most phones more than once.", "Four lights tell you when to plug it in again."),
    ),
    Category(
        "electronics", "phone case", "a phone case",
        "Electronics › Cell Phone Accessories › Cases & Covers",
        ("Phone Case", "Phone Case Cover", "Protective Phone Case"),
        _words(
            "shock absorbing, scratch resistant, wireless charging, raised edges, card holder, anti yellowing,"
            "slim profile, kickstand, non slip, magnetic,"
            "light weight, dust proof, easy to clean, fade resistant, genuine leather"
        ),
        {"color": BRIGHT, "model": ("s10", "p7 pro", "x20 ultra", "g5 lite", "note 9")},
        (8, 39), _words("Busy Hands, Students, Clumsy People"),
        ("Cut to the millimetre around every button.", "Snaps on from one side and stays on."),
    ),
    Category(
        "electronics", "bluetooth speaker", "a bluetooth speaker",
        "Electronics › Portable Audio › Bluetooth Speakers",
        ("Bluetooth Speaker", "Outdoor Bluetooth Speaker", "Mini Bluetooth Speaker"),
        _words(
            "stereo pairing, dust proof, carabiner clip, long playtime, floats on water, light show, deep bass,"
            "fast charging, built in microphone, shock absorbing, voice assistant,"
            "light weight, sun proof, touch controls, solar panel"
        ),
        {"color": TWO_TONE, "size": ("mini", "compact", "party size")},
        (19, 120), _words("Pool Parties, Picnics, Garages"),
        ("Fills a garden without a fuss.", "One round body, two drivers, three buttons."),
    ),
    Category(
        "garden", "travel mug", "a travel mug",
        "Home & Kitchen › Kitchen & Dining › Travel Mugs",
        ("Travel Mug", "Insulated Travel Mug", "Coffee Travel Mug"),
        _words(
            "leak proof, bpa free, dishwasher safe, double wall, stainless steel, one hand opening, fits cup holders,"
            "splash guard, tea infuser, easy to clean, non slip,"
            "odor resistant, scratch resistant, light weight, hand painted"
        ),
        {"color": EARTHY, "size": ("10 oz", "12 oz", "16 oz", "20 oz")},
        (11, 44), _words("Early Trains, Night Shifts, Drivers"),
        ("Hot at six and still warm at noon.", "It was drawn by someone who spills."),
    ),
    Category(
        "garden", "throw blanket", "a throw blanket",
        "Home & Kitchen › Bedding › Blankets & Throws",
        ("Throw Blanket", "Knit Throw Blanket", "Sofa Throw Blanket"),
        _words(
            "machine washable, super soft, hypoallergenic, fade resistant, reversible, hand knitted, pet friendly,"
            "lint free, tassel trim, temperature regulating,"
            "odor resistant, quick drying, light weight, breathable, water repellent"
        ),
        {"color": EARTHY, "size": ("lap size", "50 x 60 inch", "twin", "queen", "king")},
        (16, 85), _words("Armchairs, Movie Nights, Guest Beds"),
        ("Big enough to share, if you must.", "Drapes well and hides an old couch."),
    ),
    Category(
        "garden", "table lamp", "a table lamp",
        "Home & Kitchen › Lighting › Table Lamps",
        ("Table Lamp", "Bedside Table Lamp", "Modern Table Lamp"),
        _words(
            "dimmable, usb port, linen shade, energy efficient, touch sensor, easy assembly, eye caring,"
            "adjustable height, solid wood, pull chain,"
            "magnetic, foldable, light weight, hand painted, recycled plastic"
        ),
        {"color": EARTHY, "bulb": ("warm bulb", "daylight bulb", "no bulb"), "quantity": ("1 piece", "set of 2")},
        (21, 118), _words("Nightstands, Reading Corners, Dorm Rooms"),
        ("A quiet shape that suits an old dresser.", "The cord is wrapped in cloth and two metres long."),
    ),
    Category(
        "garden", "storage basket", "a storage basket",
        "Home & Kitchen › Storage & Organization › Baskets & Bins",
        ("Storage Basket", "Woven Storage Basket", "Laundry Storage Basket"),
        _words(
            "foldable, sturdy handles, water hyacinth, moisture proof, label window, stackable, removable liner,"
            "cotton rope, hinged lid, pet friendly,"
            "easy to clean, light weight, hand knitted, matte finish, water repellent"
        ),
        {"color": EARTHY, "size": CLOTHES[1:4], "quantity": ("1 pack", "2 pack", "3 pack")},
        (12, 64), _words("Toys, Closets, Nurseries, Entryways"),
        ("Holds what would otherwise lie on the floor.", "Stands upright even when it is empty."),
    ),
    Category(
        "garden", "cutting board", "a cutting board",
        "Home & Kitchen › Kitchen & Dining › Cutting Boards",
        ("Cutting Board", "Kitchen Cutting Board", "Reversible-Grain Cutting Board"),
        _words(
            "dishwasher safe, bpa free, odor resistant, knife friendly, juice groove, rubber feet, hanging hole,"
            "built in sharpener, acacia wood, scratch resistant,"
            "non slip, easy to clean, stackable, antibacterial, recycled plastic"
        ),
        {"size": ("small", "medium", "large", "set of 3"), "thickness": ("1/2 inch", "3/4 inch", "extra thick")},
        (9, 58), _words("Butchers, Bakers, Cheese Plates"),
        ("Thick where it counts and light where it does not.", "Gets better with a drop of oil."),
    ),
    Category(
        "beauty", "face moisturizer", "a face moisturizer",
        "Beauty & Personal Care › Skin Care › Face Moisturizers",
        ("Face Moisturizer", "Daily Face Moisturizer", "Face Moisturizer Cream"),
        _words(
            "fragrance free, cruelty free, paraben free, non greasy, hyaluronic acid, sun protection,"
            "dermatologist tested, oil free, anti aging, pump bottle, green tea extract,"
            "vegan, vitamin e, shea butter, long lasting"
        ),
        {"size": ("travel size", "1.7 fl oz", "3.4 fl oz"), "skin type": ("dry", "oily", "sensitive", "combination")},
        (9, 62), _words("Winter Mornings, Tired Cheeks, Shaving"),
        ("A pea of it covers forehead to chin.", "Made in a lab that answers letters."),
    ),
    Category(
        "beauty", "shampoo", "some shampoo",
        "Beauty & Personal Care › Hair Care › Shampoo",
        ("Shampoo", "Hair Shampoo", "Clarifying Shampoo"),
        _words(
            "sulfate free, color safe, tea tree oil, argan oil, anti dandruff, volumizing, keratin, biotin,"
            "ph balanced, coconut scent, vegan,"
            "cruelty free, paraben free, fragrance free, vitamin e"
        ),
        {"size": ("travel size", "12 fl oz", "16.9 fl oz", "33.8 fl oz"), "set": ("single", "with conditioner")},
        (7, 46), _words("Swimmers, Curls, Long Manes"),
        ("Rinses out in half the time.", "The cap closes with a sound you will like."),
    ),
    Category(
        "beauty", "lip balm", "some lip balm",
        "Beauty & Personal Care › Lip Care › Balms & Treatments",
        ("Lip Balm", "Moisturizing Lip Balm", "Lip Balm Stick"),
        _words(
            "long lasting, shea butter, beeswax, tinted, vegan, mint flavor, vitamin e, sugar free, recyclable tube,"
            "sun protection, cruelty free,"
            "paraben free, fragrance free, hyaluronic acid, argan oil"
        ),
        {"scent": ("vanilla", "cherry", "honey", "peach", "unscented"), "quantity": ("single tube", "pack of 4")},
        (4, 22), _words("Skiers, Cold Days, Kissing"),
        ("Slides on without dragging.", "Lives in coat pockets all over the north."),
    ),
    Category(
        "beauty", "makeup brush set", "a makeup brush set",
        "Beauty & Personal Care › Makeup Tools › Brush Sets",
        ("Makeup Brush Set", "Professional Makeup Brush Set", "Makeup Brush Set Collection"),
        _words(
            "synthetic bristles, bamboo handle, travel case, no shedding, beginner friendly, dense, antibacterial,"
            "cruelty free, easy to clean, ergonomic,"
            "vegan, non slip, light weight, magnetic, hand painted"
        ),
        {"color": TWO_TONE, "pieces": ("basic kit", "full kit", "studio kit")},
        (11, 59), _words("Blending, Eyeshadow, Weddings"),
        ("Every tip has one job and does it.", "Arranged by size in the order you need them."),
    ),
    Category(
        "fashion", "running shoes", "a pair of running shoes",
        "Clothing, Shoes & Jewelry › Athletic Footwear › Running Shoes",
        ("Running Shoes", "Trail Running Shoes", "Road Running Shoes"),
        _words(
            "arch support, breathable, memory foam, rubber sole, lace up, wide toe box, reflective, quick drying,"
            "light weight, shock absorbing, non slip,"
            "waterproof, seamless, machine washable, odor resistant"
        ),
        {"color": BRIGHT, "size": SHOES, "width": ("narrow", "regular", "wide")},
        (34, 139), _words("Marathons, Treadmills, Rainy Roads"),
        ("Tested over a thousand miles by a postman.", "Springy in front and calm at the back."),
    ),
    Category(
        "fashion", "rain jacket", "a rain jacket",
        "Clothing, Shoes & Jewelry › Outerwear › Rain Jackets",
        ("Rain Jacket", "Hooded Rain Jacket", "Hiking Rain Jacket"),
        _words(
            "waterproof, windproof, adjustable hood, zipper pockets, packable, taped seams, fleece lining,"
            "underarm vents, elastic cuffs, reflective, breathable,"
            "light weight, machine washable, quick drying, tear resistant"
        ),
        {"color": BRIGHT, "size": CLOTHES},
        (29, 149), _words("Cyclists, Dog Walks, Harbors"),
        ("Made for places with many words for drizzle.", "Cut long at the back."),
    ),
    Category(
        "fashion", "crossbody bag", "a crossbody bag",
        "Clothing, Shoes & Jewelry › Handbags & Wallets › Crossbody Bags",
        ("Crossbody Bag", "Small Crossbody Bag", "Crossbody Bag Purse"),
        _words(
            "genuine leather, adjustable strap, anti theft, multiple compartments, rfid blocking, gold hardware,"
            "water repellent, back pocket, machine washable, light weight,"
            "vegan, scratch resistant, tassel trim, foldable, reversible"
        ),
        {"color": EARTHY, "size": ("small", "medium", "large")},
        (18, 129), _words("City Breaks, Markets, Concerts"),
        ("Hands free, heart light.", "Holds a book, a purse and an apple."),
    ),
    Category(
        "fashion", "yoga leggings", "a pair of yoga leggings",
        "Clothing, Shoes & Jewelry › Active Bottoms › Leggings",
        ("Yoga Leggings", "Workout Yoga Leggings", "Yoga Leggings Tights"),
        _words(
            "high waist, tummy control, squat proof, moisture wicking, four way stretch, side pockets, seamless,"
            "quick drying, machine washable, fade resistant,"
            "breathable, reflective, super soft, odor resistant, back pocket"
        ),
        {"color": BRIGHT, "size": CLOTHES, "length": ("capri", "7/8 length", "full length")},
        (15, 78), _words("Pilates, Cycling Classes, Lazy Sundays"),
        ("The waistband was drawn by a dancer.", "They keep their shape after a hundred washes."),
    ),
    Category(
        "grocery", "granola bars", "some granola bars",
        "Grocery & Gourmet Food › Snack Foods › Granola Bars",
        ("Granola Bars", "Chewy Granola Bars", "Crunchy Granola Bars"),
        _words(
            "gluten free, high protein, non gmo, low sodium, nut free, keto friendly, individually wrapped, kosher,"
            "no artificial colors, usda organic, dairy free,"
            "vegan, sugar free, fair trade, dried cranberries, high fiber"
        ),
        {
            "flavor": ("peanut crunch", "apple cinnamon", "maple", "blueberry", "cocoa"),
            "size": ("6 count", "12 count", "30 count"),
        },
        (5, 36), _words("Lunchboxes, Climbers, Breakfasts"),
        ("Baked flat and cut thick.", "Tastes like a kitchen on a Sunday."),
    ),
    Category(
        "grocery", "green tea", "some green tea",
        "Grocery & Gourmet Food › Beverages › Green Tea",
        ("Green Tea", "Japanese Green Tea", "Green Tea Leaves"),
        _words(
            "usda organic, caffeine free, loose leaf, antioxidant rich, fair trade, plastic free packaging,"
            "stone ground, jasmine aroma, unsweetened, resealable bag,"
            "kosher, mint flavor, individually wrapped, non gmo, sugar free"
        ),
        {"size": ("2 ounce", "16 ounce", "sample tin"), "grade": ("everyday", "premium", "ceremonial")},
        (6, 48), _words("Afternoons, Iced Pitchers, Gifts"),
        ("Grown on a slope that catches the mist.", "Brews pale and smells of hay."),
    ),
    Category(
        "grocery", "hot sauce", "some hot sauce",
        "Grocery & Gourmet Food › Condiments › Hot Sauce",
        ("Hot Sauce", "Pepper Hot Sauce", "Hot Sauce Condiment"),
        _words(
            "extra hot, small batch, fermented, smoky flavor, glass bottle, vinegar based, no preservatives,"
            "gluten free, sugar free, kosher,"
            "vegan, non gmo, low sodium, usda organic, stone ground"
        ),
        {
            "flavor": ("habanero", "jalapeno", "garlic chili", "mango", "ghost pepper"),
            "size": ("5 ounce", "10 ounce", "pack of 3"),
        },
        (5, 33), _words("Tacos, Wings, Scrambled Eggs"),
        ("The kitchen window has to be open when it cooks.", "Shake it, then make up your mind."),
    ),
    Category(
        "grocery", "trail mix", "some trail mix",
        "Grocery & Gourmet Food › Snack Foods › Trail Mix",
        ("Trail Mix", "Trail Mix Snack", "Mountain Trail Mix"),
        _words(
            "dark chocolate, lightly salted, dried cranberries, high fiber, high protein, non gmo, vegan,"
            "resealable bag, no artificial colors, gluten free,"
            "kosher, individually wrapped, usda organic, sugar free, low sodium"
        ),
        {
            "flavor": ("original", "tropical", "sweet and spicy", "berry"),
            "size": ("8 ounce", "16 ounce", "32 ounce", "pack of 12"),
        },
        (6, 42), _words("Summits, Desk Drawers, Road Trips"),
        ("Everyone picks out something else first.", "Mixed by weight and never by eye."),
    ),
    Category(
        "garden", "plant pot", "a plant pot",
        "Patio, Lawn & Garden › Pots & Planters › Plant Pots",
        ("Plant Pot", "Ceramic Plant Pot", "Indoor Plant Pot"),
        _words(
            "drainage hole, frost resistant, self watering, matching saucer, sun proof, hand painted,"
            "recycled plastic, matte finish, scratch resistant, stackable,"
            "light weight, hanging hole, non slip, easy to clean"
        ),
        {"color": EARTHY, "size": ("4 inch", "6 inch", "8 inch", "10 inch")},
        (7, 57), _words("Ferns, Windowsills, Balconies"),
        ("Heavy at the foot, so the cat has to try harder.", "Roots like it and so do visitors."),
    ),
    Category(
        "garden", "garden hose", "a garden hose",
        "Patio, Lawn & Garden › Watering Equipment › Garden Hoses",
        ("Garden Hose", "Flexible Garden Hose", "Garden Hose Pipe"),
        _words(
            "kink free, brass fittings, expandable, burst resistant, drinking water safe, shut off valve,"
            "spray nozzle, storage hook, sun proof, light weight,"
            "easy to clean, fade resistant, leak proof, non slip"
        ),
        {"length": ("25 ft", "50 ft", "75 ft", "100 ft"), "diameter": ("1/2 inch", "5/8 inch", "3/4 inch")},
        (17, 88), _words("Vegetable Beds, Car Washing, Lawns"),
        ("Rolls up without an argument.", "Long enough to reach the far tomatoes."),
    ),
    Category(
        "garden", "sleeping bag", "a sleeping bag",
        "Sports & Outdoors › Camping & Hiking › Sleeping Bags",
        ("Sleeping Bag", "Camping Sleeping Bag", "Mummy Sleeping Bag"),
        _words(
            "compression sack, two way zipper, draft collar, down filled, inner pocket, tear resistant, three season,"
            "roomy cut, machine washable, waterproof, light weight,"
            "quick drying, windproof, breathable, hypoallergenic"
        ),
        {"color": BRIGHT, "size": ("youth", "regular", "long"), "zipper side": ("left", "right")},
        (26, 159), _words("Backpackers, Scouts, Sleepovers"),
        ("The stars are included.", "Cut wider at the shoulders than most."),
    ),
)  # fmt: skip

"""The words that `generate` makes the catalogue of: categories with their types, attributes and options.

Option values are such that the reward, whose matching is fuzzy, distinguishes all values of a product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Words = tuple[str, ...]


def _listed(text: str) -> Words:
    return tuple(part.strip() for part in text.split(","))


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """`path` is that of the shop's departments; `price` the range of dollars; `options` the values of each group."""

    path: str
    types: Words
    attributes: Words
    options: Mapping[str, Words]
    price: tuple[int, int]
    uses: Words


PLAIN_COLORS = _listed("black, white, gray, navy, dark green, red, purple, yellow, pink, brown")
CLOTHING_SIZES = _listed("xs, s, m, l, xl, 2xl, 3xl")
PACKS = _listed("single, twin pack, triple pack, family size, dozen")

CATEGORIES = (
    Category(
        path="Electronics › Headphones",
        types=_listed("wireless earbuds, over-ear headphones, sports headset, bone conduction headphones"),
        attributes=_listed(
            "noise cancelling, water resistant, fast charging, long lasting, hands free, lightweight, foldable, "
            "stereo sound, easy to pair, low latency"
        ),
        options={"color": PLAIN_COLORS, "style": _listed("studio, travel, sport, kids")},
        price=(18, 190),
        uses=_listed("running, commuting, video calls, studio work, long flights"),
    ),
    Category(
        path="Electronics › Phone Accessories",
        types=_listed("phone case, screen protector, phone stand, power bank"),
        attributes=_listed(
            "shock absorbing, scratch resistant, wireless charging, ultra slim, easy to install, anti slip, "
            "fingerprint resistant, heavy duty, dust proof, quick release"
        ),
        options={"color": PLAIN_COLORS, "size": _listed("mini, regular, plus, max, ultra")},
        price=(7, 65),
        uses=_listed("travel, the desk, the car, outdoor work"),
    ),
    Category(
        path="Electronics › Computer Accessories",
        types=_listed("mechanical keyboard, wireless mouse, laptop sleeve, usb hub"),
        attributes=_listed(
            "plug and play, high speed, ergonomic, compact, rechargeable, silent, backlit, dual band, "
            "spill resistant, aluminum alloy"
        ),
        options={"color": PLAIN_COLORS, "layout": _listed("full size, tenkeyless, 60 percent, left handed")},
        price=(14, 160),
        uses=_listed("the office, gaming, small desks, students"),
    ),
    Category(
        path="Electronics › Home Audio",
        types=_listed("bluetooth speaker, soundbar, alarm clock radio, turntable"),
        attributes=_listed(
            "wall mounted, high definition, water proof, app controlled, deep bass, battery powered, easy to use, "
            "multi room, remote controlled, compact"
        ),
        options={"color": PLAIN_COLORS, "power": _listed("10 w, 25 w, 40 w, 80 w")},
        price=(25, 380),
        uses=_listed("the living room, garden parties, the kitchen, the bedside"),
    ),
    Category(
        path="Clothing › Men",
        types=_listed("polo shirt, hooded sweatshirt, cargo shorts, dress shirt"),
        attributes=_listed(
            "machine washable, slim fit, moisture wicking, wrinkle free, long sleeve, quick drying, "
            "cotton blend, button closure, relaxed fit, tumble dry"
        ),
        options={"color": PLAIN_COLORS, "size": CLOTHING_SIZES},
        price=(15, 85),
        uses=_listed("work, the gym, hiking, everyday wear"),
    ),
    Category(
        path="Clothing › Women",
        types=_listed("maxi dress, knit cardigan, yoga leggings, denim jacket"),
        attributes=_listed(
            "hand washable, high waisted, soft stretch, floral print, tummy control, breathable, loose fit, "
            "elastic waist, button closure, polyester spandex"
        ),
        options={"color": PLAIN_COLORS, "size": CLOTHING_SIZES},
        price=(16, 95),
        uses=_listed("weddings, lounging, the beach, the office"),
    ),
    Category(
        path="Clothing › Shoes",
        types=_listed("running shoes, ankle boots, canvas sneakers, house slippers"),
        attributes=_listed(
            "anti slip, arch support, memory foam, rubber sole, water resistant, steel toe, lace up, "
            "faux fur lined, breathable mesh, lightweight"
        ),
        options={
            "color": PLAIN_COLORS,
            "size": _listed("6 [d], 7 [d], 7 [ee], 8 [d], 8 [ee], 9 [d], 9 [ee], 10 [d], 11 [d]"),
        },
        price=(19, 140),
        uses=_listed("long walks, winter, standing all day, indoors"),
    ),
    Category(
        path="Beauty › Skin Care",
        types=_listed("face moisturizer, vitamin c serum, clay mask, lip balm"),
        attributes=_listed(
            "cruelty free, fragrance free, paraben free, anti aging, oil free, dermatologist tested, vegan, "
            "fine lines, sensitive skin, hyaluronic acid"
        ),
        options={
            "size": _listed("15 ml, 30 ml, 50 ml, 100 ml, 200 ml"),
            "scent": _listed("unscented, green tea, cucumber, rose water, honey"),
        },
        price=(6, 70),
        uses=_listed("dry skin, daily care, evenings, travel"),
    ),
    Category(
        path="Beauty › Hair Care",
        types=_listed("shampoo bar, hair mask, curl cream, hair dryer"),
        attributes=_listed(
            "sulfate free, color safe, argan oil, damaged hair, tea tree, natural ingredients, heat protecting, "
            "leave in, plant based, anti frizz"
        ),
        options={
            "size": _listed("75 ml, 100 ml, 250 ml, 400 ml, 1 liter"),
            "scent": _listed("coconut, lavender, citrus, vanilla, unscented"),
        },
        price=(7, 120),
        uses=_listed("curly hair, thick hair, fine hair, the whole family"),
    ),
    Category(
        path="Beauty › Oral Care",
        types=_listed("electric toothbrush, whitening toothpaste, dental floss, mouthwash"),
        attributes=_listed(
            "teeth whitening, fluoride free, sensitive teeth, fresh breath, bpa free, easy to clean, alcohol free, "
            "clinically proven, soft bristles, travel friendly"
        ),
        options={"flavor": _listed("mint, cinnamon, charcoal, bubblegum, lemon"), "quantity": PACKS},
        price=(5, 110),
        uses=_listed("adults, children, braces, travel"),
    ),
    Category(
        path="Grocery › Snacks",
        types=_listed("protein bars, trail mix, rice crackers, dried mango"),
        attributes=_listed(
            "gluten free, low carb, non gmo, high protein, no added sugar, certified organic, dairy free, "
            "keto friendly, individually wrapped, kosher"
        ),
        options={
            "flavor": _listed("sea salt, peanut butter, dark chocolate, barbecue, cinnamon apple, chili lime"),
            "quantity": PACKS,
        },
        price=(6, 48),
        uses=_listed("hikes, school lunches, the office, road trips"),
    ),
    Category(
        path="Grocery › Beverages",
        types=_listed("ground coffee, herbal tea, sparkling water, hot cocoa mix"),
        attributes=_listed(
            "fair trade, caffeine free, usda organic, single origin, sugar free, rich flavor, small batch, "
            "resealable, low calorie, artificial flavor free"
        ),
        options={
            "flavor": _listed("original, hazelnut, vanilla, ginger, lemon, caramel"),
            "size": _listed("100 g, 250 g, 500 g, 1 kg, 2 kg"),
        },
        price=(5, 60),
        uses=_listed("cold mornings, guests, the office, after dinner"),
    ),
    Category(
        path="Home › Kitchen",
        types=_listed("chef knife, frying pan, storage container set, coffee grinder"),
        attributes=_listed(
            "dishwasher safe, non stick, stainless blade, bpa free, oven safe, easy to clean, leak proof, "
            "heavy gauge, space saving, rust resistant"
        ),
        options={
            "color": _listed("black, red, teal, cream, copper, gray"),
            "size": _listed("small, medium, large, extra wide, family"),
        },
        price=(12, 150),
        uses=_listed("small kitchens, meal prep, large families, beginners"),
    ),
    Category(
        path="Home › Bedding",
        types=_listed("duvet cover, memory foam pillow, weighted blanket, fitted sheet"),
        attributes=_listed(
            "machine washable, hypoallergenic, super soft, fade resistant, zipper closure, cooling, ultra plush, "
            "long staple cotton, deep pocket, wrinkle free"
        ),
        options={
            "color": _listed("white, ivory, navy, light gray, sage green, dusty pink"),
            "size": _listed("crib, twin, full, queen, king"),
        },
        price=(18, 170),
        uses=_listed("hot sleepers, guest rooms, side sleepers, winter nights"),
    ),
    Category(
        path="Home › Furniture",
        types=_listed("bookshelf, side table, office chair, storage bench"),
        attributes=_listed(
            "easy to assemble, solid wood, mid century, height adjustable, space saving, scratch proof, "
            "weight bearing, lumbar support, modern style, faux leather"
        ),
        options={
            "color": _listed("white, black, walnut, natural oak, espresso, gray"),
            "size": _listed("small, medium, large, 2 tier, 3 tier, 5 tier"),
        },
        price=(45, 460),
        uses=_listed("living rooms, home offices, hallways, small apartments"),
    ),
    Category(
        path="Home › Lighting",
        types=_listed("desk lamp, pendant light, led strip, outdoor wall lantern"),
        attributes=_listed(
            "energy efficient, dimmable, easy to install, glass shade, eye friendly, motion activated, clear glass, "
            "brushed nickel, weather resistant, touch controlled"
        ),
        options={
            "color": _listed("brass, chrome, black, white, copper, teal"),
            "size": _listed("mini, compact, tall, extra wide"),
        },
        price=(14, 210),
        uses=_listed("reading, the porch, dining tables, workshops"),
    ),
    Category(
        path="Sports › Fitness",
        types=_listed("yoga mat, resistance bands, adjustable dumbbell, foam roller"),
        attributes=_listed(
            "non slip, eco friendly, extra thick, sweat proof, latex free, high density, easy to carry, "
            "tear resistant, adjustable, full body"
        ),
        options={
            "color": PLAIN_COLORS,
            "weight": _listed("3 kg, 5 kg, 10 kg, 20 kg, 40 kg"),
        },
        price=(9, 180),
        uses=_listed("home workouts, physical therapy, pilates, warm-ups"),
    ),
    Category(
        path="Sports › Outdoor",
        types=_listed("hiking backpack, sleeping bag, camping lantern, insulated bottle"),
        attributes=_listed(
            "water resistant, ultra light, double wall, quick drying, four season, leak proof, wind proof, "
            "long lasting, easy to pack, reinforced"
        ),
        options={
            "color": _listed("olive, orange, blue, black, sand, maroon"),
            "edition": _listed("classic, winter, junior, expedition, solo"),
        },
        price=(12, 230),
        uses=_listed("weekend trips, alpine tours, festivals, day hikes"),
    ),
    Category(
        path="Pets › Supplies",
        types=_listed("dog harness, cat tree, pet bed, automatic feeder"),
        attributes=_listed(
            "chew resistant, machine washable, no pull, reflective, anti anxiety, easy to clean, escape proof, "
            "orthopedic, non toxic, sturdy base"
        ),
        options={"color": PLAIN_COLORS, "size": _listed("tiny, small, medium, large, giant")},
        price=(11, 150),
        uses=_listed("puppies, senior pets, large breeds, indoor cats"),
    ),
    Category(
        path="Toys › Games",
        types=_listed("building blocks, board game, plush bear, wooden train set"),
        attributes=_listed(
            "non toxic, battery free, educational, double sided, easy to store, hand painted, glow in the dark, "
            "soft plush, two player, smooth edges"
        ),
        options={
            "color": _listed("rainbow, blue, pink, green, wood"),
            "age": _listed("toddler, preschool, school, teen, adult"),
        },
        price=(8, 90),
        uses=_listed("birthdays, rainy days, family evenings, classrooms"),
    ),
)

BRAND_STARTS = _listed("Vel, Tor, Mira, Kesk, Lun, Zan, Ostra, Pell, Quor, Brin, Hava, Dorn, Sivi, Juna, Fyr, Wex")
BRAND_ENDS = _listed("mora, deck, vantis, lio, quist, nora, tavo, bryn, essa, rik, umo, zelle, holt, ani, dara, pix")
GRADES = _listed("Classic, Essential, Premium, Everyday, Compact, Deluxe, Original, Signature, Studio, Basic")
OPENINGS = _listed(
    "The {brand} {type} is made for {use}, Meet the {type} that our team tests for {use}, "
    "Built with {use} in mind: the {grade} {type} by {brand}"
)
CLAIMS = _listed(
    "It is {attribute} and made to be used every day, You get a {type} that is {attribute}, "
    "Customers choose it because it is {attribute}"
)
CLOSINGS = _listed(
    "Contact us at any time if something is not right, Every order is packed with care, "
    "It also makes a thoughtful gift, Returns are free for 30 days"
)
# How a human instruction names a value of each group; others are "{group} {value}".
OPTION_PHRASES = {
    "color": "in {value}",
    "size": "in size {value}",
    "flavor": "with the {value} flavor",
    "scent": "with the {value} scent",
    "edition": "in the {value} edition",
    "style": "in the {value} style",
    "layout": "with the {value} layout",
    "weight": "of {value}",
    "age": "of {value} age",
    "quantity": "as {value}",
    "power": "with {value}",
}
# {a} is "a ", or nothing before types without a singular.
INSTRUCTIONS = (
    "i am looking for {a}{attributes} {type}{options}",
    "i need {a}{type} that should be {attributes}{options}",
    "find me {a}{type}{options}. it should be {attributes}",
    "i want to buy {a}{attributes} {type}{options} for {use}",
    "can you find {a}{type} for {use}? it has to be {attributes}{options}",
    "i need to replace my old {type} with something {attributes}{options}",
    "i'm shopping for a gift: {a}{attributes} {type}{options}",
    "get me {a}{type}{options}, and make sure it is {attributes}",
)
WITHOUT_ARTICLE = frozenset(
    _listed(
        "wireless earbuds, over-ear headphones, bone conduction headphones, cargo shorts, yoga leggings, "
        "running shoes, ankle boots, canvas sneakers, house slippers, whitening toothpaste, dental floss, mouthwash, "
        "protein bars, trail mix, rice crackers, dried mango, ground coffee, herbal tea, sparkling water, "
        "hot cocoa mix, resistance bands, building blocks"
    )
)

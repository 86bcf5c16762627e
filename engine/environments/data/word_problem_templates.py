"""Templates of word problems. `word_problems` draws their numbers and words, and computes the answers.

A template has the number ranges, the steps, and the texts that ask for the result of the last step. In texts `{a}` is
a number, and `{name}`, `{other}` (a second person), `{items}`, `{things}` (two kinds of goods), `{venue}` are drawn
words. A step is "x = a * b | what x is": two operands that are drawn, computed before, or whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[int, int]  # both ends included


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    numbers: dict[str, Range]
    steps: tuple[str, ...]
    texts: tuple[str, ...]


ONE_STEP = (
    Template(
        "gift",
        {"a": (5, 60), "b": (3, 40)},
        ("x = a + b | {items} in all",),
        (
            "{name} has {a} {items}. {other} gives {name} {b} more. How many {items} does {name} have now?",
            "There are {a} {items} on a shelf, and {name} puts {b} more there. How many {items} are on the shelf?",
        ),
    ),
    Template(
        "lost",
        {"a": (20, 95), "b": (4, 60)},
        ("x = a - b | {items} that remain",),
        (
            "{name} had {a} {items} and sold {b} of them at the {venue}. How many {items} are left?",
            "Of the {a} {items} in a box, {b} are broken. How many {items} are whole?",
        ),
    ),
    Template(
        "boxes",
        {"a": (3, 15), "b": (4, 24)},
        ("x = a * b | {items} in all boxes",),
        (
            "{name} fills {a} boxes with {b} {items} each. How many {items} does {name} need?",
            "A box holds {b} {items}. How many {items} do {a} boxes hold?",
        ),
    ),
    Template(
        "sharing",
        {"a": (24, 240), "b": (3, 12)},
        ("x = a / b | {items} for each child",),
        (
            "{name} shares {a} {items} equally among {b} children. How many {items} does each child get?",
            "At the {venue}, {b} children divide {a} {items} equally. How many {items} are there for each?",
        ),
    ),
    Template(
        "older",
        {"a": (8, 45), "b": (3, 30)},
        ("x = a + b | age of {other}",),
        ("{name} is {a} years old. {other} is {b} years older. How old is {other}?",),
    ),
    Template(
        "more_than",
        {"a": (30, 99), "b": (6, 70)},
        ("x = a - b | difference",),
        (
            "{name} collected {a} {items} and {other} collected {b}. How many more {items} did {name} collect?",
            "The {venue} sold {a} {items} on Monday and {b} on Tuesday. How many fewer were sold on Tuesday?",
        ),
    ),
    Template(
        "speed",
        {"a": (2, 9), "b": (12, 95)},
        ("x = a * b | kilometres",),
        (
            "A train travels {b} kilometres in an hour. How many kilometres does it travel in {a} hours?",
            "{name} drives {a} hours at {b} kilometres per hour. How many kilometres is that?",
        ),
    ),
)

TWO_STEPS = (
    Template(
        "change",
        {"a": (3, 9), "b": (2, 9), "c": (50, 100)},
        ("x = a * b | dollars for the {items}", "y = c - x | dollars left"),
        (
            "{name} buys {a} {items} for {b} dollars each and pays with {c} dollars. "
            "How many dollars does {name} get back?",
            "{name} has {c} dollars and buys {a} {items} at {b} dollars each. How many dollars are left?",
        ),
    ),
    Template(
        "two_kinds",
        {"a": (3, 12), "b": (4, 12), "c": (5, 60)},
        ("x = a * b | {items} in packs", "y = x + c | {items} in all"),
        (
            "{name} has {a} bags with {b} {items} each, and {c} loose {items}. How many {items} does {name} have?",
            "A {venue} orders {a} packs of {b} {items} and finds {c} more in a drawer. How many {items} has it now?",
        ),
    ),
    Template(
        "left_to_share",
        {"a": (40, 150), "b": (4, 38), "c": (2, 9)},
        ("x = a - b | those that remain", "y = x / c | in each part"),
        (
            "{name} bakes {a} cookies, keeps {b}, and divides the rest equally among {c} friends. "
            "How many cookies does each friend get?",
            "Of {a} {items}, {b} are set aside. The others are packed equally into {c} boxes. "
            "How many {items} are in a box?",
        ),
    ),
    Template(
        "times_as_many",
        {"a": (4, 30), "b": (2, 6)},
        ("x = a * b | those of {other}", "y = x + a | those of both"),
        (
            "{name} has {a} {items}. {other} has {b} times as many. How many {items} do they have together?",
            "{name} read {a} pages and {other} read {b} times as many. How many pages did the two read in all?",
        ),
    ),
    Template(
        "wage",
        {"a": (3, 8), "b": (2, 6), "c": (8, 25)},
        ("x = a * b | hours of work", "y = x * c | dollars earned"),
        (
            "{name} works {a} hours a day on {b} days and earns {c} dollars an hour. "
            "How many dollars does {name} earn in all?",
        ),
    ),
    Template(
        "rows_and_seats",
        {"a": (6, 20), "b": (8, 25), "c": (10, 90)},
        ("x = a * b | in all rows", "y = x - c | those that remain"),
        (
            "A hall has {a} rows of {b} seats, and {c} seats are taken. How many seats are empty?",
            "{name} plants {a} rows of {b} trees each, but {c} of the trees die. How many trees live?",
        ),
    ),
    Template(
        "average",
        {"a": (4, 40), "b": (4, 40)},
        ("x = a + b | sum", "y = x / 2 | average"),
        (
            "{name} ran {a} laps on Friday and {b} on Saturday. How many laps a day is that on average?",
            "The {venue} sold {a} {items} in the morning and {b} in the afternoon. "
            "What is the average of the two numbers?",
        ),
    ),
    Template(
        "half_gone",
        {"a": (20, 120), "b": (3, 40)},
        ("x = a / 2 | {items} after half are sold", "y = x - b | {items} that are left"),
        (
            "{name} has {a} {items}, sells half of them, and gives {b} to {other}. "
            "How many {items} does {name} still have?",
        ),
    ),
    Template(
        "reading",
        {"a": (80, 400), "b": (20, 100), "c": (4, 20)},
        ("x = a - b | pages that are left", "y = x / c | days"),
        (
            "A book has {a} pages, and {name} has read {b} of them. At {c} pages a day, "
            "in how many days is the rest read?",
        ),
    ),
    Template(
        "percent_off",
        {"a": (20, 400), "b": (5, 75)},
        ("w = a * b | product of price and percentage", "x = w / 100 | dollars off"),
        (
            "A coat costs {a} dollars. A shop takes {b}% off. By how many dollars does the price fall?",
            "{name} saves {b}% of {a} dollars. How many dollars does {name} save?",
        ),
    ),
    Template(
        "perimeter",
        {"a": (3, 40), "b": (3, 40)},
        ("x = a + b | metres along two sides", "y = x * 2 | metres around"),
        (
            "A garden is {a} metres long and {b} metres wide. How many metres of fence go around it?",
            "{name} walks once around a field of {a} by {b} metres. How many metres does {name} walk?",
        ),
    ),
)

THREE_STEPS = (
    Template(
        "two_goods",
        {"a": (2, 12), "p": (2, 9), "b": (2, 12), "q": (2, 9)},
        ("x = a * p | dollars for the {items}", "y = b * q | dollars for the {things}", "z = x + y | dollars in all"),
        (
            "{name} buys {a} {items} at {p} dollars each and {b} {things} at {q} dollars each. "
            "How many dollars does {name} pay?",
            "The {venue} sells {items} for {p} dollars and {things} for {q} dollars. "
            "How many dollars do {a} {items} and {b} {things} cost together?",
        ),
    ),
    Template(
        "production",
        {"a": (4, 20), "b": (5, 9), "c": (2, 6), "d": (10, 60)},
        ("x = a * b | {items} in a day", "y = x * c | {items} in {c} days", "z = y - d | {items} in stock"),
        (
            "A workshop makes {a} {items} an hour and works {b} hours a day. "
            "After {c} days, {d} {items} have been sold. How many are in stock?",
        ),
    ),
    Template(
        "share_the_bill",
        {"a": (2, 9), "b": (6, 30), "c": (4, 50), "d": (2, 8)},
        ("x = a * b | dollars for the meals", "y = x + c | dollars in all", "z = y / d | dollars for each friend"),
        (
            "{d} friends order {a} meals at {b} dollars each and drinks for {c} dollars. They divide the bill equally. "
            "How many dollars does each pay?",
        ),
    ),
    Template(
        "three_people",
        {"a": (4, 30), "b": (2, 5), "c": (3, 25)},
        ("x = a * b | {items} of {other}", "y = x - c | {items} of the third", "z = x + y | {items} of the two"),
        (
            "{name} has {a} {items}. {other} has {b} times as many as {name}, and a third child has {c} fewer than "
            "{other}. How many {items} do {other} and the third child have together?",
        ),
    ),
    Template(
        "there_and_back",
        {"a": (2, 6), "b": (30, 90), "c": (1, 3)},
        ("x = a * b | kilometres there", "y = a + c | hours back", "z = x / y | kilometres per hour back"),
        (
            "{name} drives to the coast in {a} hours at {b} kilometres per hour. The way back takes {c} hours more. "
            "How many kilometres per hour does {name} drive on the way back?",
        ),
    ),
    Template(
        "saving",
        {"a": (5, 40), "b": (4, 20), "c": (10, 90), "d": (100, 900)},
        ("x = a * b | dollars saved", "y = x + c | dollars with the gift", "z = d - y | dollars that are missing"),
        (
            "{name} wants a bicycle for {d} dollars, saves {a} dollars a week for {b} weeks, and gets {c} dollars as a "
            "gift. How many dollars are missing?",
        ),
    ),
    Template(
        "price_after_discount",
        {"a": (20, 400), "b": (5, 60)},
        ("w = a * b | product of price and percentage", "x = w / 100 | dollars off", "y = a - x | new price"),
        (
            "A lamp costs {a} dollars and is sold at {b}% off. What is its new price in dollars?",
            "{name} has {a} dollars and spends {b}% of them. How many dollars are left?",
        ),
    ),
    Template(
        "tiles",
        {"a": (2, 15), "b": (2, 15), "c": (2, 12)},
        ("x = a * b | square metres", "y = x * c | tiles", "z = y / 2 | tiles in each load"),
        (
            "A floor is {a} metres long and {b} metres wide, and a square metre takes {c} tiles. "
            "{name} carries them in two equal loads. How many tiles are in a load?",
        ),
    ),
    Template(
        "birds",
        {"a": (10, 60), "b": (5, 30), "c": (3, 25), "d": (2, 5)},
        ("x = a + b | birds after the first hour", "y = x - c | birds that stay", "z = y * d | seeds that they eat"),
        (
            "{a} birds sit in a tree. {b} more come, and then {c} fly away. Each bird that stays eats {d} seeds. "
            "How many seeds are eaten?",
        ),
    ),
    Template(
        "chairs",
        {"a": (6, 30), "b": (4, 12), "c": (2, 10), "d": (3, 9)},
        ("x = a * b | chairs at large tables", "y = c * d | chairs at small tables", "z = x - y | difference"),
        (
            "A hall has {a} large tables with {b} chairs each and {c} small tables with {d} chairs each. "
            "How many more chairs are at the large tables?",
        ),
    ),
)

FOUR_STEPS = (
    Template(
        "stall",
        {"a": (5, 30), "p": (2, 9), "b": (5, 30), "q": (2, 9), "c": (5, 60)},
        (
            "x = a * p | dollars from {items}",
            "y = b * q | dollars from {things}",
            "z = x + y | dollars taken in",
            "w = z - c | dollars of profit",
        ),
        (
            "At the {venue} {name} sells {a} {items} at {p} dollars each and {b} {things} at {q} dollars each. "
            "The stall costs {c} dollars. What is the profit in dollars?",
        ),
    ),
    Template(
        "two_workers",
        {"a": (3, 9), "b": (10, 30), "c": (3, 9), "d": (10, 30)},
        (
            "x = a * b | dollars of {name}",
            "y = c * d | dollars of {other}",
            "z = x + y | dollars of both",
            "w = z / 2 | dollars for each",
        ),
        (
            "{name} works {a} hours at {b} dollars an hour and {other} works {c} hours at {d} dollars an hour. "
            "They divide the money equally. How many dollars does each get?",
        ),
    ),
    Template(
        "tank",
        {"a": (4, 20), "b": (5, 30), "c": (2, 9), "d": (3, 12)},
        (
            "x = a * b | litres poured in",
            "y = c * d | litres that leak out",
            "z = x - y | litres in the tank",
            "w = z / 2 | litres in each half",
        ),
        (
            "Water runs into an empty tank at {a} litres a minute for {b} minutes. In that time {c} litres leak out "
            "in each of {d} leaks. Half of what is in the tank is used. How many litres are used?",
        ),
    ),
    Template(
        "orchard",
        {"a": (4, 15), "b": (4, 15), "c": (5, 20), "d": (3, 10)},
        (
            "x = a * b | trees",
            "y = x * c | apples",
            "z = y / d | apples in each crate",
            "w = z - 1 | apples in a crate when one is eaten",
        ),
        (
            "An orchard has {a} rows of {b} trees, and each tree bears {c} apples. They are packed equally into {d} "
            "crates, and {name} eats one apple from the first crate. How many apples are left in that crate?",
        ),
    ),
    Template(
        "school_trip",
        {"a": (2, 5), "b": (18, 30), "c": (2, 9), "d": (3, 12)},
        (
            "x = a * b | pupils",
            "y = x + c | persons",
            "z = y * d | dollars for tickets",
            "w = z + 100 | dollars with the bus",
        ),
        (
            "{a} classes of {b} pupils and {c} teachers visit the {venue}. A ticket is {d} dollars for everyone, and "
            "the bus costs 100 dollars. How many dollars does the trip cost?",
        ),
    ),
    Template(
        "ages",
        {"a": (5, 12), "b": (3, 5), "c": (20, 35), "d": (3, 10)},
        (
            "x = a * b | age of {other} now",
            "y = x + c | age of the grandmother now",
            "z = y + d | age of the grandmother then",
            "w = z - a | difference to {name}'s age now",
        ),
        (
            "{name} is {a} years old. {other} is {b} times as old, and the grandmother is {c} years older than "
            "{other}. In {d} years, by how many years will the grandmother's age exceed {name}'s age of today?",
        ),
    ),
    Template(
        "library",
        {"a": (4, 20), "b": (12, 40), "c": (10, 90), "d": (2, 9)},
        (
            "x = a * b | books on the shelves",
            "y = x - c | books after the sale",
            "z = y / d | books for each room",
            "w = z * 2 | books in two rooms",
        ),
        (
            "A library has {a} shelves of {b} books and sells {c} books. The rest are divided equally among {d} rooms. "
            "How many books are in two of the rooms together?",
        ),
    ),
)

TEMPLATES = (*ONE_STEP, *TWO_STEPS, *THREE_STEPS, *FOUR_STEPS)

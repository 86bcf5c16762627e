"""Writes the shipped multiple-choice questions: `python -m engine.environments.data.choice_questions`."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable, Iterator

import numpy as np

from engine.environments.data.rows import Row, write_rows
from engine.environments.data.word_problems import is_held_out

SEED = 20_042
PER_MAKER = 150
CHOICES = 4
# larger unit, smaller unit, how many of the smaller one the larger one has
UNITS = (
    ("kilometres", "metres", 1000),
    ("metres", "centimetres", 100),
    ("centimetres", "millimetres", 10),
    ("kilograms", "grams", 1000),
    ("tonnes", "kilograms", 1000),
    ("litres", "millilitres", 1000),
    ("hours", "minutes", 60),
    ("minutes", "seconds", 60),
    ("days", "hours", 24),
    ("weeks", "days", 7),
    ("years", "months", 12),
    ("dozen", "pieces", 12),
)
DAYS = tuple(calendar.day_name)
MONTHS = tuple(calendar.month_name)[1:]
WORDS = (
    "anchor",
    "apple",
    "basket",
    "beacon",
    "bridge",
    "candle",
    "canyon",
    "cellar",
    "copper",
    "daisy",
    "desert",
    "engine",
    "feather",
    "forest",
    "garden",
    "glacier",
    "hammer",
    "harbour",
    "island",
    "jacket",
    "kettle",
    "ladder",
    "lantern",
    "meadow",
    "mirror",
    "needle",
    "orchard",
    "oyster",
    "pebble",
    "pencil",
)

# question, right choice, wrong choices in order of preference
Asked = tuple[str, str, list[str]]


def arithmetic(rng: np.random.Generator) -> Asked:
    a, b = (int(n) for n in rng.integers(12, 100, 2))
    times = b % 9 + 2
    made = [(f"{a} + {b}", a + b), (f"{a + b} - {b}", a), (f"{a} * {times}", a * times)]
    text, value = made[rng.integers(len(made))]
    return f"What is {text}?", str(value), _near(value, rng, (1, 2, 9, 10, 11, 100))


def precedence(rng: np.random.Generator) -> Asked:
    a, b, c = (int(n) for n in rng.integers(2, 13, 3))
    text, value, wrong = [
        (f"{a} + {b} * {c}", a + b * c, (a + b) * c),
        (f"({a} + {b}) * {c}", (a + b) * c, a + b * c),
        (f"{a * c + b} - {b} * {c}", a * c + b - b * c, a * c * c),
    ][rng.integers(3)]
    return f"What is {text}?", str(value), [str(wrong), *_near(value, rng, (1, 2, b, c, 10))]


def remainder(rng: np.random.Generator) -> Asked:
    divisor = int(rng.integers(4, 13))
    number = int(rng.integers(30, 200))
    wrong = [str(n) for n in rng.permutation(divisor) if n != number % divisor]
    return f"What is the remainder when {number} is divided by {divisor}?", str(number % divisor), wrong


def units(rng: np.random.Generator) -> Asked:
    larger, smaller, factor = UNITS[rng.integers(len(UNITS))]
    count = int(rng.integers(2, 60))
    value = count * factor
    wrong = [str(n) for n in (value * 10, value + factor, value - factor, count + factor, value // 2, value * 2)]
    return f"How many {smaller} are {count} {larger}?", str(value), wrong


def days_later(rng: np.random.Generator) -> Asked:
    start, days = int(rng.integers(7)), int(rng.integers(2, 60))
    right = DAYS[(start + days) % 7]
    return f"Today is {DAYS[start]}. Which day of the week is it in {days} days?", right, _others(DAYS, right, rng)


def date_later(rng: np.random.Generator) -> Asked:
    start = datetime.date(2001, 1, 1) + datetime.timedelta(days=int(rng.integers(364)))
    days = int(rng.integers(5, 45))

    def named(shift: int) -> str:
        day = start + datetime.timedelta(days=days + shift)
        return f"{day.day} {MONTHS[day.month - 1]}"

    asked = f"Which date is {days} days after {start.day} {MONTHS[start.month - 1]} in a year that is no leap year?"
    return asked, named(0), [named(int(shift)) for shift in rng.permutation([-2, -1, 1, 2, 7])]


def month_length(rng: np.random.Generator) -> Asked:
    year, month = int(rng.integers(1900, 2100)), int(rng.integers(12))
    right = str(calendar.monthrange(year, month + 1)[1])
    return f"How many days has {MONTHS[month]} {year}?", right, _others(("28", "29", "30", "31"), right, rng)


def clock(rng: np.random.Generator) -> Asked:
    start, minutes = int(rng.integers(24 * 60)), int(rng.integers(15, 200))

    def shown(shift: int) -> str:
        hour, minute = divmod((start + minutes + shift) % (24 * 60), 60)
        return f"{hour:02}:{minute:02}"

    asked = f"It is {start // 60:02}:{start % 60:02}. What time is it in {minutes} minutes?"
    return asked, shown(0), [shown(int(shift)) for shift in rng.permutation([-60, 60, 10, -10, 40])]


def extreme(rng: np.random.Generator) -> Asked:
    numbers = [f"{n / 100:.10g}" for n in rng.choice(np.arange(1, 1000), CHOICES, replace=False)]
    word, choose = [("largest", max), ("smallest", min)][rng.integers(2)]
    right = choose(numbers, key=float)
    wrong = [n for n in numbers if n != right]
    return f"Which of the numbers {', '.join(numbers)} is the {word}?", right, wrong


def alphabetical(rng: np.random.Generator) -> Asked:
    words = [str(word) for word in rng.choice(WORDS, CHOICES, replace=False)]
    rank = int(rng.integers(CHOICES))
    right = sorted(words)[rank]
    nth = ("first", "second", "third", "last")[rank]
    return (
        f"In alphabetical order, which of the words {', '.join(words)} is {nth}?",
        right,
        [word for word in words if word != right],
    )


def ranked(rng: np.random.Generator) -> Asked:
    names = [str(name) for name in rng.choice(("Ada", "Ben", "Cleo", "Dina", "Emil", "Farah"), CHOICES, replace=False)]
    shown = rng.permutation(CHOICES - 1)
    clues = " ".join(f"{names[i]} is taller than {names[i + 1]}." for i in shown)
    rank = int(rng.integers(CHOICES))
    nth = ("tallest", "second tallest", "second smallest", "smallest")[rank]
    return f"{clues} Who is the {nth}?", names[rank], [name for name in names if name != names[rank]]


MAKERS: dict[str, tuple[Callable[[np.random.Generator], Asked], ...]] = {
    "arithmetic": (arithmetic, precedence, remainder),
    "units": (units,),
    "calendar": (days_later, date_later, month_length, clock),
    "ordering": (extreme, alphabetical, ranked),
}


def choice_questions(seed: int = SEED) -> Iterator[Row]:
    """All questions, topic by topic, each asked once."""
    for topic, makers in MAKERS.items():
        for make in makers:
            rng = np.random.default_rng([seed, *make.__name__.encode()])
            seen: set[str] = set()
            while len(seen) < PER_MAKER:
                asked, right, wrong = make(rng)
                others = wrong_choices(right, wrong)
                if asked not in seen and len(others) == CHOICES - 1:
                    seen.add(asked)
                    yield question(topic, asked, right, others, rng)


def wrong_choices(right: str, candidates: list[str]) -> list[str]:
    """The first of `candidates` that differ, as many as a question has."""
    return [choice for choice in dict.fromkeys(candidates) if choice != right][: CHOICES - 1]


def question(topic: str, asked: str, right: str, wrong: list[str], rng: np.random.Generator) -> Row:
    choices = [str(choice) for choice in rng.permutation([right, *wrong])]
    return {
        "split": "held_out" if is_held_out(asked) else "train",
        "topic": topic,
        "question": asked,
        "choices": choices,
        "answer": choices.index(right),
    }


def _near(value: int, rng: np.random.Generator, distances: tuple[int, ...]) -> list[str]:
    return [
        str(value + int(sign) * int(far)) for far in rng.permutation(distances) for sign in rng.permutation([-1, 1])
    ]


def _others(choices: tuple[str, ...], right: str, rng: np.random.Generator) -> list[str]:
    return [str(choice) for choice in rng.permutation(choices) if choice != right]


if __name__ == "__main__":
    write_rows("choice_questions", choice_questions())

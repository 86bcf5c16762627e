"""Writes the shipped word problems: `python -m engine.environments.data.word_problems`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from engine.environments.data.rows import Row, write_rows
from engine.environments.data.word_problem_templates import TEMPLATES, Template

SEED = 20_041
PER_TEMPLATE = 120
LARGEST = 20_000  # of any number in a solution
HELD_OUT_EVERY = 5
NAMES = ("Ada", "Ben", "Cleo", "Dina", "Emil", "Farah", "Gus", "Hana", "Ivo", "Jun", "Kofi", "Lena", "Milo", "Nia")
GOODS = ("apples", "pencils", "stickers", "marbles", "buttons", "shells", "candles", "postcards", "beads", "lemons")
VENUES = ("market", "museum", "bakery", "library", "school", "theatre", "garden shop", "fair")


def word_problems(seed: int = SEED) -> Iterator[Row]:
    """All problems, template by template. No two have the same template and numbers."""
    for index, template in enumerate(TEMPLATES):
        rng = np.random.default_rng([seed, index])
        seen: set[tuple[int, ...]] = set()
        while len(seen) < PER_TEMPLATE:
            numbers = {key: int(rng.integers(low, high + 1)) for key, (low, high) in template.numbers.items()}
            key = tuple(numbers.values())
            values = results(template, numbers)
            if key not in seen and values is not None:
                seen.add(key)
                yield problem(template, numbers, values, rng)


def results(template: Template, numbers: dict[str, int]) -> list[int] | None:
    """The result of each step; None unless all are positive whole numbers of moderate size."""
    known = {key: Fraction(value) for key, value in numbers.items()}
    found: list[int] = []
    for step in template.steps:
        target, _, left, operator, right = step.split(" | ")[0].split()
        value = _compute(_operand(left, known), operator, _operand(right, known))
        if value.denominator != 1 or not 0 < value <= LARGEST:
            return None
        known[target] = value
        found.append(int(value))
    return found


def _operand(text: str, known: dict[str, Fraction]) -> Fraction:
    return Fraction(text) if text.isdigit() else known[text]


def _compute(left: Fraction, operator: str, right: Fraction) -> Fraction:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    return left * right if operator == "*" else left / right


def is_held_out(identity: str) -> bool:
    """A fifth of all texts, chosen by their hash."""
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8]) % HELD_OUT_EVERY == 0


def identity_of(template: Template, numbers: dict[str, int]) -> str:
    return f"{template.name} {sorted(numbers.items())}"


def problem(template: Template, numbers: dict[str, int], values: list[int], rng: np.random.Generator) -> Row:
    """One problem with words drawn from `rng`. Its split depends on template and numbers alone, so that no problem is
    on both sides with other names."""
    name, other = rng.choice(NAMES, 2, replace=False)
    items, things = rng.choice(GOODS, 2, replace=False)
    words = {"name": name, "other": other, "items": items, "things": things, "venue": rng.choice(VENUES)}
    text = template.texts[int(rng.integers(len(template.texts)))]
    return {
        "split": "held_out" if is_held_out(identity_of(template, numbers)) else "train",
        "topic": template.name,
        "steps": len(template.steps),
        "question": text.format(**numbers, **words),
        "solution": worked(template, numbers, values, words),
        "answer": str(values[-1]),
    }


def worked(template: Template, numbers: dict[str, int], values: list[int], words: dict[str, str]) -> str:
    """One line for each step, such as "dollars left: 50 - 12 = 38"."""
    known = dict(numbers)
    lines = []
    for step, value in zip(template.steps, values, strict=True):
        equation, meaning = step.split(" | ")
        target, _, left, operator, right = equation.split()
        lines.append(
            f"{meaning.format(**numbers, **words)}: {known.get(left, left)} {operator} "
            f"{known.get(right, right)} = {value}"
        )
        known[target] = value
    return "\n".join(lines)


if __name__ == "__main__":
    write_rows("word_problems", word_problems())

"""Tasks composed of small steps on lists of numbers or on the words of a line: which are kept, what each becomes, and
what is made of them."""

from __future__ import annotations

from itertools import product

import numpy as np

from engine.environments.deepcoder.task_inputs import Family, line_of_words, numbers

OF_NUMBERS = 90
OF_WORDS = 60
# what is kept: words, condition on x
NUMBER_FILTERS = {
    "even": "x % 2 == 0",
    "odd": "x % 2 == 1",
    "positive": "x > 0",
    "negative": "x < 0",
    "greater than 10": "x > 10",
    "divisible by 3": "x % 3 == 0",
    "at most 5 in absolute value": "abs(x) <= 5",
    "not divisible by 4": "x % 4 != 0",
}
NUMBER_MAPS = {
    "its square": "x * x",
    "its double": "2 * x",
    "its absolute value": "abs(x)",
    "itself plus 7": "x + 7",
    "its remainder on division by 5, from 0 to 4": "x % 5",
    "its negation": "-x",
    "the sum of the digits of its absolute value": "sum(map(int, str(abs(x))))",
}
NUMBER_RESULTS = {
    "their sum": "sum(kept)",
    "their maximum, or 0 if there are none": "max(kept, default=0)",
    "their minimum, or 0 if there are none": "min(kept, default=0)",
    "how many distinct values there are": "len(set(kept))",
    "the list of them in ascending order": "sorted(kept)",
    "the list of them in reverse order": "kept[::-1]",
    "the list of their running sums": "[sum(kept[: i + 1]) for i in range(len(kept))]",
    "the largest minus the smallest, or 0 if there are none": "max(kept, default=0) - min(kept, default=0)",
}
WORD_FILTERS = {
    "longer than 3 letters": "len(w) > 3",
    "that contain the letter e": "'e' in w",
    "that begin with a vowel": "w[0] in 'aeiou'",
    "of an even number of letters": "len(w) % 2 == 0",
    "that end in a consonant": "w[-1] not in 'aeiou'",
    "without the letter a": "'a' not in w",
}
WORD_MAPS = {
    "reversed": "w[::-1]",
    "in capital letters": "w.upper()",
    "without its vowels": "''.join(c for c in w if c not in 'aeiou')",
    "with its first letter moved to its end": "w[1:] + w[0]",
    "with each letter doubled": "''.join(c + c for c in w)",
    "with its letters in alphabetical order": "''.join(sorted(w))",
}
WORD_RESULTS = {
    "joined by single spaces": "' '.join(kept)",
    "joined by hyphens, the last one first": "'-'.join(kept[::-1])",
    "joined by commas, in alphabetical order": "','.join(sorted(kept))",
    "joined without anything between, followed by a space and their total number of letters": (
        "''.join(kept), sum(map(len, kept))"
    ),
}


def pipelines(rng: np.random.Generator) -> list[Family]:
    return [*_of_numbers(rng), *_of_words(rng)]


def _of_numbers(rng: np.random.Generator) -> list[Family]:
    combinations = list(product(NUMBER_FILTERS.items(), NUMBER_MAPS.items(), NUMBER_RESULTS.items()))
    return [
        Family(
            name=f"numbers-{index}",
            statement=f"Given a list of integers, keep those that are {kept}. Replace each of these by {mapped}. "
            f"Return {result}.",
            solution=f"def solve(numbers):\n    kept = [{expression} for x in numbers if {condition}]\n"
            f"    return {returned}",
            function="solve",
            inputs=lambda rng, _: [numbers(rng, int(rng.integers(0, 12)), -20, 40)],
        )
        for index in sorted(rng.choice(len(combinations), OF_NUMBERS, replace=False))
        for (kept, condition), (mapped, expression), (result, returned) in [combinations[index]]
    ]


def _of_words(rng: np.random.Generator) -> list[Family]:
    combinations = list(product(WORD_FILTERS.items(), WORD_MAPS.items(), WORD_RESULTS.items()))
    return [
        Family(
            name=f"words-{index}",
            statement=f"Read one line of words of small letters, separated by single spaces. Print the words {kept}, "
            f"each {mapped}, {result}.",
            solution=f"words = input().split()\nkept = [{expression} for w in words if {condition}]\nprint({printed})",
            inputs=lambda rng, _: line_of_words(rng, int(rng.integers(1, 9))) + "\n",
        )
        for index in sorted(rng.choice(len(combinations), OF_WORDS, replace=False))
        for (kept, condition), (mapped, expression), (result, printed) in [combinations[index]]
    ]

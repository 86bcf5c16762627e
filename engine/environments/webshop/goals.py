"""Goals: an instruction, and what a purchase is scored against.

A human goal has the text of a person (here: of a template) and a list of option values. Synthetic goals are one for
each combination of a product's option values, built when asked for, as there may be millions.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, Protocol

from engine.environments.webshop.products import Product, generator_of

GoalKind = Literal["synthetic", "human"]
BOUNDS = tuple(10.0 * tens for tens in range(1, 100))
NO_BOUND = 1_000_000.0
Option = str | tuple[str, str]  # a value, or the group and the value of a synthetic goal


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    asin: str
    text: str
    name: str
    query: str
    product_category: str
    attributes: tuple[str, ...]
    options: tuple[Option, ...]
    price_upper: float


@dataclass(frozen=True, slots=True)
class HumanInstruction:
    text: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


HumanInstructions = Mapping[str, Sequence[HumanInstruction]]  # by asin


class GoalList(Protocol):
    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Goal: ...


class Goals:
    """All goals of `products`, in their order."""

    def __init__(self, products: Sequence[Product], kind: GoalKind, human: HumanInstructions) -> None:
        self.products = products
        self.kind = kind
        self.human = human
        self.ends = list(accumulate(self._count(product) for product in products))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    def __getitem__(self, index: int, /) -> Goal:
        if not 0 <= index < len(self):
            raise IndexError(f"There is no goal {index}; there are {len(self)}.")
        position = bisect_right(self.ends, index)
        number = index - (self.ends[position - 1] if position else 0)
        product = self.products[position]
        if self.kind == "human":
            return human_goal(product, self.human[product.asin][number], number)
        return synthetic_goal(product, number)

    def _count(self, product: Product) -> int:
        if self.kind == "human":
            return len(self.human.get(product.asin, ()))
        return combinations(product) if product.instruction and product.instruction_attributes else 0


def human_instructions(entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[HumanInstruction]]:
    """Those of `items_human_ins.json`; without attributes they are no goals, as in WebShop."""
    return {
        asin: [
            HumanInstruction(
                str(one["instruction"]), tuple(one["instruction_attributes"]), tuple(one["instruction_options"])
            )
            for one in instructions
            if one["instruction_attributes"]
        ]
        for asin, instructions in entries.items()
    }


def combinations(product: Product) -> int:
    return math.prod(len(values) for values in product.options.values())


def human_goal(product: Product, instruction: HumanInstruction, number: int) -> Goal:
    bound, clause = price_bound(product, number)
    return _goal(product, instruction.text.strip(".") + clause, instruction.attributes, instruction.options, bound)


def synthetic_goal(product: Product, number: int) -> Goal:
    """The goal of one combination of option values, counted with the last group by name fastest."""
    chosen: list[tuple[str, str]] = []
    for group in sorted(product.options, reverse=True):
        number, index = divmod(number, len(product.options[group]))
        chosen.insert(0, (group, product.options[group][index]))
    listed = ", and ".join(f"{group}: {value}" for group, value in chosen)
    bound, clause = price_bound(product, 0)
    text = product.instruction + (f" with {listed}" if listed else "") + clause
    return _goal(product, text, product.instruction_attributes, tuple(chosen), bound)


def price_bound(product: Product, number: int) -> tuple[float, str]:
    """The upper bound of a goal and its clause: the larger of two of the four next tens above the price."""
    above = [bound for bound in BOUNDS if bound > product.price][:4]
    if len(above) < 2:
        return NO_BOUND, ""
    bound = float(max(generator_of(product.asin, 1, number).choice(above, size=2, replace=False)))
    return bound, f", and price lower than {bound:.2f} dollars"


def _goal(
    product: Product, text: str, attributes: tuple[str, ...], options: tuple[Option, ...], price_upper: float
) -> Goal:
    return Goal(
        asin=product.asin,
        text=text,
        name=product.name,
        query=product.query,
        product_category=product.product_category,
        attributes=attributes,
        options=options,
        price_upper=price_upper,
    )

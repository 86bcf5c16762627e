"""WebShop's score of a purchase (arXiv 2207.01206; `engine/goal.py` of princeton-nlp/WebShop).

    score = r_type x (matched attributes + matched options + price within the bound) / (attributes + options + 1)

It is 1 for any product that has all the goal asks for, whether or not it is the goal's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

from engine.environments.webshop.colours import normalise_colour, normalise_pair
from engine.environments.webshop.goals import Goal
from engine.environments.webshop.products import Product
from engine.environments.webshop.text import nouns

MATCH_ABOVE = 85  # of 100, of the token set ratio
NO_NOUNS = 0.2  # title score of a goal without nouns
_DROPPED = dict.fromkeys(range(128, 256))  # thefuzz drops these characters
_NOT_WORD = re.compile(r"\W")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeScore:
    """Whether the purchase is the kind of product that the goal asks for."""

    query_match: bool
    category_match: bool
    title_score: float

    @property
    def factor(self) -> float:
        """Titles without a common noun, or hardly one, count against the rest even where query and category match."""
        if self.title_score == 0:
            return 0.0
        if self.title_score < 0.1:
            return 0.1
        return 1.0 if self.query_match or self.category_match or self.title_score > 0.2 else 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`attributes` and `options` are shares of the goal's that match; 1 for options if it has none."""

    total: float
    type: TypeScore
    attributes: float
    options: float
    price: float


def score(product: Product, goal: Goal, chosen: Iterable[str]) -> Score:
    """The score of buying `product` with the `chosen` option values."""
    type_score = score_type(product, goal)
    attributes = matched_attributes(product, goal.attributes)
    options = matched_options(goal, chosen)
    within = int(product.price <= goal.price_upper)
    share = (attributes + options + within) / (len(goal.attributes) + len(goal.options) + 1)
    return Score(
        total=type_score.factor * share,
        type=type_score,
        attributes=attributes / len(goal.attributes) if goal.attributes else 1.0,
        options=options / len(goal.options) if goal.options else 1.0,
        price=float(within),
    )


def score_type(product: Product, goal: Goal) -> TypeScore:
    wanted = nouns(goal.name)
    common = set(wanted) & set(nouns(product.name))
    return TypeScore(
        query_match=product.query == goal.query,
        category_match=len(_categories(product.product_category) & _categories(goal.product_category)) >= 2,
        title_score=len(common) / len(wanted) if wanted else NO_NOUNS,
    )


def matched_attributes(product: Product, wanted: Iterable[str]) -> int:
    """How many of `wanted` the product has, as an attribute or within the text of its pages."""
    texts = [product.name.lower(), " ".join(product.bullet_points).lower(), product.description.lower()]
    return sum(
        any(matches(attribute, one) for attribute in product.attributes) or any(one in text for text in texts)
        for one in wanted
    )


def matched_options(goal: Goal, chosen: Iterable[str]) -> int:
    """How many of the goal's options some chosen value matches."""
    values = [normalise_colour(value) for value in chosen]
    wanted = [normalise_colour(one) if isinstance(one, str) else normalise_pair(*one) for one in goal.options]
    return sum(any(matches(value, one) for value in values) for one in wanted)


def matches(text: str, other: str) -> bool:
    return token_set_ratio(text, other) > MATCH_ABOVE


@lru_cache(maxsize=16384)
def token_set_ratio(text: str, other: str) -> int:
    """`thefuzz.fuzz.token_set_ratio`, 0 to 100: rapidfuzz computes it, of texts cleaned as thefuzz does, rounded."""
    return round(fuzz.token_set_ratio(_cleaned(text), _cleaned(other)))


def _cleaned(text: str) -> str:
    return _NOT_WORD.sub(" ", text.translate(_DROPPED)).lower().strip()


def _categories(path: str) -> set[str]:
    return {part.strip() for part in path.split("›")}

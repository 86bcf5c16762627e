"""Products of the catalogue, read from records in WebShop's published format."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

NO_ATTRIBUTE = "DUMMY_ATTR"  # WebShop's stand-in for a product without attributes
NO_PRICE = 100.0
LONGEST_ASIN = 10
_PRICE = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """`prices` are one price, or the ends of a range; `price` is the one that the reward compares."""

    asin: str
    name: str
    description: str
    bullet_points: tuple[str, ...]
    prices: tuple[float, ...]
    price: float
    options: Mapping[str, tuple[str, ...]]
    attributes: tuple[str, ...]
    category: str
    query: str
    product_category: str
    instruction: str  # of its synthetic goals; blank if it has none
    instruction_attributes: tuple[str, ...]

    @property
    def price_label(self) -> str:
        return " to ".join(f"${price:.2f}" for price in self.prices)

    @property
    def document(self) -> str:
        """What the search index reads of it: title, description, first bullet point and options."""
        options = ", and ".join(f"{group}: {', '.join(values)}" for group, values in self.options.items())
        return " ".join([self.name, self.description, *self.bullet_points[:1], options]).lower()


def generator_of(asin: str, *purpose: int) -> np.random.Generator:
    """Random numbers that depend on the product and the purpose alone, so every process draws the same."""
    key = int.from_bytes(hashlib.sha256(asin.encode()).digest()[:8])
    return np.random.default_rng([key, *purpose])


def is_kept(record: Mapping[str, Any]) -> bool:
    """Whether WebShop has the record: an asin of `nan`, or one that is too long, is dropped."""
    asin = str(record.get("asin", "nan"))
    return asin != "nan" and len(asin) <= LONGEST_ASIN


def product_from(record: Mapping[str, Any], attributes: Mapping[str, Any]) -> Product:
    """A product of its record in `items_shuffle*.json` and of its entry in `items_ins_v2*.json` (may be empty)."""
    asin = str(record["asin"])
    prices = parse_prices(record.get("pricing"))
    bullet_points = record.get("small_description") or []
    return Product(
        asin=asin,
        name=_text(record["name"]),
        description=_text(record.get("full_description")),
        bullet_points=_texts([bullet_points] if isinstance(bullet_points, str) else bullet_points),
        prices=prices,
        price=one_price(asin, prices),
        options=_options(record.get("customization_options") or {}),
        attributes=_texts(attributes.get("attributes") or [NO_ATTRIBUTE]),
        category=_text(record.get("category")),
        query=_text(record.get("query")).lower(),
        product_category=_text(record.get("product_category")),
        instruction=_text(attributes.get("instruction")),
        instruction_attributes=_texts(attributes.get("instruction_attributes") or []),
    )


def parse_prices(pricing: str | None) -> tuple[float, ...]:
    """`$12.99` is one price, `$5.00$9.99` a range, further prices are ignored; 100 if there is none."""
    found = tuple(float(price.replace(",", "")) for price in _PRICE.findall(pricing or ""))
    return found[:2] or (NO_PRICE,)


def one_price(asin: str, prices: tuple[float, ...]) -> float:
    """The price itself, or one drawn uniformly from the range."""
    return prices[0] if len(prices) == 1 else float(generator_of(asin, 0).uniform(min(prices), max(prices)))


def _options(groups: Mapping[str, Iterable[Mapping[str, Any]] | None]) -> dict[str, tuple[str, ...]]:
    return {
        _text(group).lower(): tuple(
            dict.fromkeys(str(content["value"]).strip().replace("/", " | ").lower() for content in contents)
        )
        for group, contents in groups.items()
        if contents
    }


def _text(value: Any) -> str:
    return str(value or "").strip()


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(_text(value) for value in values if value)

"""Generates the catalogue that ships: `python -m engine.environments.webshop.generate`.

Each product depends on the seed and its own number alone. Records have the format of WebShop's published files, so one
reader serves both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from base64 import b32encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from engine.environments.webshop.shop import SHIPPED
from engine.environments.webshop.vocabulary import (
    BRAND_ENDS,
    BRAND_STARTS,
    CATEGORIES,
    CLAIMS,
    CLOSINGS,
    GRADES,
    INSTRUCTIONS,
    OPENINGS,
    OPTION_PHRASES,
    WITHOUT_ARTICLE,
    Category,
)

PRODUCTS = 1600
SEED = 7
HUMAN_PER_PRODUCT = 2
TYPES = [(category, kind) for category in CATEGORIES for kind in category.types]

_BEFORE_VOWEL = re.compile(r"\ba (?=[aeio]|ul|un)")  # "a usb hub" stays

Record = dict[str, Any]


class CatalogueFile(TypedDict):
    """The three published formats in one."""

    products: list[Record]
    attributes: dict[str, Record]
    human: dict[str, list[Record]]


def catalogue(count: int, seed: int) -> CatalogueFile:
    made: CatalogueFile = {"products": [], "attributes": {}, "human": {}}
    for number in range(count):
        product, attributes, human = entries(number, seed)
        made["products"].append(product)
        made["attributes"][product["asin"]] = attributes
        made["human"][product["asin"]] = human
    return made


def entries(number: int, seed: int) -> tuple[Record, Record, list[Record]]:
    """The product of a number: its record, its attributes with a synthetic instruction, and its human instructions."""
    rng = np.random.default_rng([seed, number])
    category, kind = TYPES[number % len(TYPES)]
    brand = _pick(rng, BRAND_STARTS) + _pick(rng, BRAND_ENDS)
    grade, use = _pick(rng, GRADES), _pick(rng, category.uses)
    attributes = _sample(rng, category.attributes, 3 + int(rng.integers(4)))
    options = _options(rng, category)
    fill = {"brand": brand, "grade": grade, "type": kind, "use": use}
    bullets = [f"{attribute.capitalize()}: {_pick(rng, CLAIMS)}." for attribute in attributes]
    record: Record = {
        "asin": _asin(number, seed),
        "name": f"{brand} {grade} {kind.title()}, {', '.join(one.title() for one in attributes[:2])}, for {use}",
        "full_description": _sentences(
            [_pick(rng, OPENINGS), *(_pick(rng, CLAIMS) for _ in range(2)), _pick(rng, CLOSINGS)],
            [fill, {**fill, "attribute": attributes[-1]}, {**fill, "attribute": attributes[0]}, fill],
        ),
        "small_description": [
            bullet.format(**fill, attribute=attribute) for bullet, attribute in zip(bullets, attributes, strict=True)
        ],
        "pricing": _pricing(rng, category),
        "customization_options": {group: [{"value": value} for value in values] for group, values in options.items()},
        "category": category.path.split(" › ")[0].lower(),
        "query": kind,
        "product_category": f"{category.path} › {kind.title()}",
    }
    wanted = _sample(rng, attributes, 1 + int(rng.integers(3)))
    about = {"attributes": attributes, "instruction": f"Find me {', '.join(wanted)} {kind}"}
    human = [_human_instruction(rng, kind, use, attributes, options) for _ in range(HUMAN_PER_PRODUCT)]
    return record, {**about, "instruction_attributes": wanted}, human


def write(path: Path, made: CatalogueFile) -> None:
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    # without the time, so that the same catalogue is the same file
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def _human_instruction(
    rng: np.random.Generator, kind: str, use: str, attributes: Sequence[str], options: dict[str, list[str]]
) -> Record:
    wanted = _sample(rng, attributes, 1 + int(rng.integers(2)))
    chosen = {group: _pick(rng, values) for group, values in options.items() if rng.random() < 0.85}
    phrases = [
        OPTION_PHRASES.get(group, f"with {group} {{value}}").format(value=value) for group, value in chosen.items()
    ]
    text = _pick(rng, INSTRUCTIONS).format(
        a="" if kind in WITHOUT_ARTICLE else "a ",
        attributes=" and ".join(wanted),
        type=kind,
        options="".join(f" {phrase}" for phrase in phrases),
        use=use,
    )
    return {
        "instruction": _BEFORE_VOWEL.sub("an ", text),
        "instruction_attributes": wanted,
        "instruction_options": list(chosen.values()),
    }


def _options(rng: np.random.Generator, category: Category) -> dict[str, list[str]]:
    """Most products have all option groups of their category; one in ten has none."""
    if rng.random() < 0.1:
        return {}
    groups = [group for group in category.options if rng.random() < 0.9] or [next(iter(category.options))]
    chosen: dict[str, list[str]] = {}
    for group in groups:
        values = category.options[group]
        kept = sorted(
            int(i) for i in rng.choice(len(values), size=min(len(values), 2 + int(rng.integers(4))), replace=False)
        )
        chosen[group] = [values[i] for i in kept]
    return chosen


def _pricing(rng: np.random.Generator, category: Category) -> str:
    """A price, or for one in four a range, up to half as much again."""
    low, high = category.price
    price = np.floor(low + (high - low) * float(rng.beta(1.3, 2.2))) + 0.99
    return f"${price:.2f}" + (f"${price * (1.1 + 0.4 * float(rng.random())):.2f}" if rng.random() < 0.25 else "")


def _sentences(templates: Sequence[str], fills: Sequence[dict[str, str]]) -> str:
    return " ".join(f"{template.format(**fill)}." for template, fill in zip(templates, fills, strict=True))


def _asin(number: int, seed: int) -> str:
    return "X" + b32encode(sha256(f"{seed} {number}".encode()).digest())[:9].decode()


def _pick(rng: np.random.Generator, of: Sequence[str]) -> str:
    return of[int(rng.integers(len(of)))]


def _sample(rng: np.random.Generator, of: Sequence[str], count: int) -> list[str]:
    """Distinct ones, at most as many as there are."""
    return [of[int(i)] for i in rng.choice(len(of), size=min(count, len(of)), replace=False)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Generate the catalogue of WebShop that ships.")
    parser.add_argument("--products", type=int, default=PRODUCTS, help="How many products.")
    parser.add_argument("--seed", type=int, default=SEED, help="Another seed is another catalogue.")
    parser.add_argument("--output", type=Path, default=SHIPPED, help="The file to write.")
    options = parser.parse_args()
    write(options.output, catalogue(options.products, options.seed))


if __name__ == "__main__":
    main()

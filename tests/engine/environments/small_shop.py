"""A shop of 23 lamps in published files, and how tests of WebShop play."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from engine.environments import make_environment
from engine.environments.webshop.environment import WebShop
from engine.environments.webshop.goals import Option

PRODUCTS = 23
LAMP: dict[str, Any] = {
    "full_description": "A lamp for the desk.",
    "small_description": ["Dimmable light.", "Heavy base."],
    "pricing": "$20.00",
    "customization_options": {
        "color": [{"value": "Black"}, {"value": "Oak [dark]"}, {"value": "Natural"}],
        "base": [{"value": "Natural"}, {"value": "Description"}],
    },
    "category": "home",
    "query": "lamp",
    "product_category": "Home › Lighting › Lamps",
}
INSTRUCTION = "Find me a dimmable lamp"


def write_lamps(folder: Path) -> str:
    """23 lamps as published files, which share no word of their names but lamp. Returns the folder as text."""
    records = [{**LAMP, "asin": f"B{n:09}", "name": f"Lamp model{n}"} for n in range(PRODUCTS)]
    entry = {"attributes": ["dimmable"], "instruction": INSTRUCTION, "instruction_attributes": ["dimmable"]}
    # each with an instruction of its own, so that some are held out
    entries = {record["asin"]: {**entry, "instruction": f"{INSTRUCTION} {record['asin'][-2:]}"} for record in records}
    (folder / "items_shuffle.json").write_text(json.dumps(records))
    (folder / "items_ins_v2.json").write_text(json.dumps(entries))
    return str(folder)


def shop(seed: int = 1, **parameters: Any) -> WebShop:
    environment = cast(WebShop, make_environment("webshop", **parameters))
    environment.reset(seed=seed)
    return environment


def play(environment: WebShop, *actions: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
    """The result of the last one; all must be valid."""
    for action in actions:
        result = environment.step(action)
        assert result[4]["action_is_valid"], action
    return result


def target(environment: WebShop) -> str:
    """The asin of the goal."""
    return environment.problem().split("\n")[0]


def buy(environment: WebShop, asin: str, *options: Option) -> tuple[str, float, bool, bool, dict[str, Any]]:
    """Searches for the product's name, opens it, chooses the options, and buys."""
    play(environment, f"search[{environment.shop.by_asin[asin].name}]", f"click[{asin}]")
    for option in options:
        labels = dict(_options(environment))
        play(environment, f"click[{next(label for pair, label in labels.items() if option in (pair, pair[1]))}]")
    return play(environment, "click[buy now]")


def _options(environment: WebShop) -> Iterator[tuple[tuple[str, str], str]]:
    """Group and value of each option of the page that is not chosen, with its label."""
    for element in environment.shown:
        if element.kind == "option" and element.leads_to and not element.chosen:
            yield element.leads_to.options[-1], element.label

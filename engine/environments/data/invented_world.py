"""An invented world: countries, towns, rivers, persons, works, companies, schools, and an article on each.

All facts about a thing are within its own world, so two worlds share nothing that a question could ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.environments.data.invented_names import Names

# kind of work, its creator, what the creator did
WORKS = (
    ("novel", "author", "written"),
    ("opera", "composer", "composed"),
    ("painting", "painter", "painted"),
    ("bridge", "architect", "designed"),
)
CREATORS = {kind: creator for kind, creator, _ in WORKS}
THINGS = ("Lantern", "Orchard", "Clockmaker", "Shadow", "Garden", "Bells", "Ferryman", "Winter", "Mirror", "Letters")
INDUSTRIES = ("glass", "paper", "clocks", "bicycles", "tea", "ropes", "instruments", "furniture", "maps", "soap")
GOODS = ("honey", "wool", "salt", "cider", "slate", "cheese", "tiles", "linen", "barley", "amber")
SIZES = {
    "sea": 3,
    "country": 10,
    "mountain": 50,
    "river": 60,
    "town": 170,
    "school": 40,
    "person": 280,
    "company": 110,
    "work": 280,
}


@dataclass(eq=False)
class Thing:
    """What an article is about. `facts` are numbers, words, or other things."""

    kind: str
    title: str
    facts: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, fact: str) -> Any:
        return self.facts[fact]

    def __str__(self) -> str:
        return self.title


class World:
    """All things of a world, `things[kind]`, with `share` of the usual sizes."""

    def __init__(self, names: Names, rng: np.random.Generator, share: float) -> None:
        self.names, self.rng = names, rng
        self.things: dict[str, list[Thing]] = {}
        for kind, size in SIZES.items():
            self.things[kind] = [getattr(self, f"_{kind}")() for _ in range(max(2, round(size * share)))]
        towns = iter(self.things["town"])
        for country in self.things["country"]:  # each has a capital of its own
            country.facts["capital"] = capital = next(towns)
            capital.facts["country"] = country

    def _any(self, kind: str) -> Thing:
        return self.things[kind][int(self.rng.integers(len(self.things[kind])))]

    def _word(self, words: Sequence[Any]) -> Any:
        return words[int(self.rng.integers(len(words)))]

    def _number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def _sea(self) -> Thing:
        return Thing("sea", f"{self.names.one('sea')} Sea", {"depth": self._number(200, 6000)})

    def _country(self) -> Thing:
        return Thing("country", self.names.one("country"), {"exports": self._word(GOODS)})

    def _mountain(self) -> Thing:
        facts = {"height": self._number(900, 6800), "country": self._any("country")}
        return Thing("mountain", f"Mount {self.names.one('mountain')}", facts)

    def _river(self) -> Thing:
        facts = {"length": self._number(60, 1900), "sea": self._any("sea"), "mountain": self._any("mountain")}
        return Thing("river", f"{self.names.one('river')} River", facts)

    def _town(self) -> Thing:
        facts = {
            "country": self._any("country"),
            "river": self._any("river"),
            "year": self._number(900, 1850),
            "population": self._number(3, 900) * 1000,
            "product": self._word(GOODS),
        }
        return Thing("town", self.names.one("town"), facts)

    def _school(self) -> Thing:
        town = self._any("town")
        facts = {"town": town, "year": self._number(1400, 1800)}
        return Thing("school", f"{self.names.one('last')} Academy", facts)

    def _person(self) -> Thing:
        _, creator, _ = self._word(WORKS)
        facts = {
            "creator": creator,
            "year": self._number(1801, 1960),
            "town": self._any("town"),
            "school": self._any("school"),
        }
        return Thing("person", self.names.person(), facts)

    def _company(self) -> Thing:
        founder = self._any("person")
        facts = {
            "founder": founder,
            "town": self._any("town"),
            "year": founder["year"] + self._number(22, 50),
            "industry": self._word(INDUSTRIES),
        }
        return Thing("company", f"{self.names.one('company')} Company", facts)

    def _work(self) -> Thing:
        person = self._any("person")
        kind = next(kind for kind, creator in CREATORS.items() if creator == person["creator"])
        title = f"The {self._word(THINGS)} of {self.names.one('town')}"
        return Thing("work", title, {"type": kind, "person": person, "year": person["year"] + self._number(20, 50)})


def article(thing: Thing) -> str:
    """The text of an article: every fact of the thing, in sentences."""
    verb = next((verb for kind, _, verb in WORKS if kind == thing.facts.get("type")), "")
    words = {name: _with_article(str(thing.facts.get(name, ""))) for name in ("creator", "type")}
    return SENTENCES[thing.kind].format(t=thing.title, verb=verb, **{**thing.facts, **words})


def _with_article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


SENTENCES = {
    "sea": "The {t} is a sea. Its greatest depth is {depth} metres.",
    "country": "{t} is a country. Its capital is {capital}. It is known for its {exports}.",
    "mountain": "{t} is a mountain in {country}. It is {height} metres high.",
    "river": "The {t} is a river that rises on {mountain} and flows into the {sea}. It is {length} kilometres long.",
    "town": (
        "{t} is a town in {country}. It lies on the {river} and was founded in {year}. "
        "It has {population} inhabitants and is known for its {product}."
    ),
    "school": "The {t} is a school in {town}. It was founded in {year}.",
    "person": "{t} was {creator} who was born in {town} in {year} and studied at the {school}.",
    "company": ("The {t} makes {industry}. It was founded by {founder} in {year}. Its headquarters are in {town}."),
    "work": "{t} is {type} {verb} by {person}. It was finished in {year}.",
}

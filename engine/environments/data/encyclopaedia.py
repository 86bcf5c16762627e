"""Writes the shipped encyclopaedia and its questions: `python -m engine.environments.data.encyclopaedia`.

Two worlds share no thing: questions of training are on one, held-out questions on the other. Articles of both are in
the encyclopaedia, in one alphabetical order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.environments.data.invented_names import Names
from engine.environments.data.invented_world import CREATORS, Thing, World, article
from engine.environments.data.rows import Row, write_rows

SEED = 20_043
SHARES = {"train": 1.0, "held_out": 0.25}  # of the sizes of a world
COUNTS = {"one_hop": 500, "bridge": 900, "comparison": 400}  # questions of a world of full size

# kind, question, fact that is the answer
ONE_HOP = (
    ("town", "In which country is the town of {t}?", "country"),
    ("town", "In which year was the town of {t} founded?", "year"),
    ("town", "On which river does {t} lie?", "river"),
    ("river", "Into which sea does the {t} flow?", "sea"),
    ("river", "How many kilometres long is the {t}?", "length"),
    ("mountain", "In which country is {t}?", "country"),
    ("person", "In which town was {t} born?", "town"),
    ("person", "At which school did {t} study?", "school"),
    ("company", "Who founded the {t}?", "founder"),
    ("company", "In which town are the headquarters of the {t}?", "town"),
    ("work", "Who is the {creator} of the {type} {t}?", "person"),
    ("country", "What is the capital of {t}?", "capital"),
)
# kind, question, fact that leads to the second article, fact of it that is the answer
BRIDGE = (
    ("work", "In which town was the {creator} of the {type} {t} born?", "person", "town"),
    ("work", "In which year was the {creator} of the {type} {t} born?", "person", "year"),
    ("work", "At which school did the {creator} of the {type} {t} study?", "person", "school"),
    ("company", "In which town was the founder of the {t} born?", "founder", "town"),
    ("company", "At which school did the founder of the {t} study?", "founder", "school"),
    ("company", "In which country are the headquarters of the {t}?", "town", "country"),
    ("person", "In which country is the town where {t} was born?", "town", "country"),
    ("person", "On which river lies the town where {t} was born?", "town", "river"),
    ("person", "In which year was the school founded at which {t} studied?", "school", "year"),
    ("school", "In which country is the {t}?", "town", "country"),
    ("town", "Into which sea does the river flow on which {t} lies?", "river", "sea"),
    ("town", "How many kilometres long is the river on which {t} lies?", "river", "length"),
    ("river", "In which country does the {t} rise?", "mountain", "country"),
    ("country", "On which river lies the capital of {t}?", "capital", "river"),
)
# kind, question about the smaller or larger of two, fact, whether the larger is asked for
COMPARISON = (
    ("person", "Who was born first, {a} or {b}?", "year", False),
    ("river", "Which river is longer, the {a} or the {b}?", "length", True),
    ("mountain", "Which mountain is higher, {a} or {b}?", "height", True),
    ("town", "Which town has more inhabitants, {a} or {b}?", "population", True),
    ("company", "Which company was founded first, the {a} or the {b}?", "year", False),
    ("school", "Which school is older, the {a} or the {b}?", "year", False),
)
# kind, question whether a fact is the same for two
SAME = (
    ("town", "Are the towns of {a} and {b} in the same country?", "country"),
    ("person", "Were {a} and {b} born in the same town?", "town"),
    ("river", "Do the {a} and the {b} flow into the same sea?", "sea"),
)


def worlds(seed: int = SEED) -> dict[str, World]:
    names = Names(np.random.default_rng([seed, 0]))
    return {
        split: World(names, np.random.default_rng([seed, 1, index]), share)
        for index, (split, share) in enumerate(SHARES.items())
    }


def articles(seed: int = SEED) -> list[Row]:
    things = [thing for world in worlds(seed).values() for kind in world.things.values() for thing in kind]
    return [{"title": thing.title, "text": article(thing)} for thing in sorted(things, key=str)]


def questions(seed: int = SEED) -> Iterator[Row]:
    """One-hop, bridge and comparison questions of each world, each asked once."""
    makers = {"one_hop": one_hop, "bridge": bridge, "comparison": comparison}
    for index, (split, world) in enumerate(worlds(seed).items()):
        for kind, make in makers.items():
            rng = np.random.default_rng([seed, 2, index, *kind.encode()])
            seen: set[str] = set()
            while len(seen) < COUNTS[kind] * SHARES[split]:
                asked, answer, supporting = make(world, rng)
                if answer and asked not in seen:
                    seen.add(asked)
                    titles = [thing.title for thing in supporting]
                    yield {"split": split, "type": kind, "question": asked, "answer": answer, "supporting": titles}


Made = tuple[str, str, list[Thing]]  # a question, its answer (empty if there is none), and the articles that it needs


def one_hop(world: World, rng: np.random.Generator) -> Made:
    kind, text, fact = ONE_HOP[rng.integers(len(ONE_HOP))]
    thing = _draw(world, kind, rng)
    return _ask(text, thing), str(thing[fact]), [thing]


def bridge(world: World, rng: np.random.Generator) -> Made:
    kind, text, link, fact = BRIDGE[rng.integers(len(BRIDGE))]
    thing = _draw(world, kind, rng)
    return _ask(text, thing), str(thing[link][fact]), [thing, thing[link]]


def comparison(world: World, rng: np.random.Generator) -> Made:
    """Three of four ask for one of two things, the others for yes or no, in equal shares."""
    if rng.integers(4):
        kind, text, fact, larger = COMPARISON[rng.integers(len(COMPARISON))]
        a, b = _draw(world, kind, rng), _draw(world, kind, rng)
        winner = max(a, b, key=lambda thing: thing[fact]) if larger else min(a, b, key=lambda thing: thing[fact])
        return text.format(a=a, b=b), winner.title if a[fact] != b[fact] else "", [a, b]
    kind, text, fact = SAME[rng.integers(len(SAME))]
    a, b = _draw(world, kind, rng), _draw(world, kind, rng)
    if rng.integers(2):
        same = [thing for thing in world.things[kind] if thing[fact] is a[fact]]
        b = same[int(rng.integers(len(same)))]
    return text.format(a=a, b=b), "" if a is b else "yes" if a[fact] is b[fact] else "no", [a, b]


def _draw(world: World, kind: str, rng: np.random.Generator) -> Thing:
    return world.things[kind][int(rng.integers(len(world.things[kind])))]


def _ask(text: str, thing: Thing) -> str:
    return text.format(t=thing.title, **{"creator": CREATORS.get(str(thing.facts.get("type"))), **thing.facts})


if __name__ == "__main__":
    write_rows("encyclopaedia", articles())
    write_rows("encyclopaedia_questions", questions())

"""Writes a household of ours as a game of ALFWorld, for its own engine to play: domain and grammar are ALFWorld's."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

from engine.environments.alfworld.catalogue import (
    APPLIANCES,
    FITS,
    KNIVES,
    LAMPS,
    OPENABLE,
    SLICEABLE,
    TREATABLE,
    TREATMENTS,
    type_of,
)
from engine.environments.alfworld.household import Household, Task

ABILITIES = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}
STATES = {"clean": "isClean", "heat": "isHot", "cool": "isCool"}


def write_game(house: Household, path: Path, *, walkthrough: list[str]) -> None:
    package = find_spec("alfworld")
    assert package is not None and package.origin is not None
    data = Path(package.origin).parent / "data"
    path.parent.mkdir(parents=True, exist_ok=True)
    game = {
        "pddl_domain": (data / "alfred.pddl").read_text(),
        "grammar": (data / "alfred.twl2").read_text().replace("UNKNOWN GOAL", house.task.goal),
        "pddl_problem": problem(house),
        "solvable": True,
        "walkthrough": walkthrough,
    }
    path.write_text(json.dumps(game))


def problem(house: Household) -> str:
    """The household as a PDDL problem. Numbers fall in the order of ids, so a high number has a low id."""
    objects = ["agent1 - agent", "loc_0 - location"]
    facts = ["(= (total-cost) 0)", "(atLocation agent1 loc_0)"]
    receptacle_types = {*map(type_of, house.receptacles), *APPLIANCES.values()}
    object_types = {*map(type_of, house.contents), *KNIVES}
    objects += [f"{one}Type - rtype" for one in sorted(receptacle_types)]
    objects += [f"{one}Type - otype" for one in sorted(object_types)]
    for index, name in enumerate(house.receptacles, 1):
        one = identifier(name)
        objects += [f"{one} - receptacle", f"loc_{index} - location"]
        facts += [f"(receptacleAtLocation {one} loc_{index})", f"(receptacleType {one} {type_of(name)}Type)"]
        facts += [f"(openable {one})"] * (type_of(name) in OPENABLE)
    for name, where in house.contents.items():
        one, location = identifier(name), house.receptacles.index(where) + 1
        objects.append(f"{one} - object")
        facts += [f"(objectType {one} {type_of(name)}Type)", f"(inReceptacle {one} {identifier(where)})"]
        facts += [f"(objectAtLocation {one} loc_{location})"]
        facts += [
            f"({ability} {one})" for treatment, ability in ABILITIES.items() if type_of(name) in TREATABLE[treatment]
        ]
        facts += [f"(sliceable {one})"] * (type_of(name) in SLICEABLE)
        facts += [f"(toggleable {one})" if type_of(name) in LAMPS else f"(pickupable {one})"]
    facts += [f"(canContain {r}Type {o}Type)" for o in sorted(object_types) for r in FITS[o] if r in receptacle_types]
    lines = ["(define (problem house)", "(:domain alfred)", "(:objects", *objects, ")", "(:init", *facts, ")"]
    return "\n".join([*lines, f"(:goal {goal(house.task)})", ")"])


def goal(task: Task) -> str:
    placed = f"(receptacleType ?r {task.target}Type) (objectType ?o {task.object}Type) (inReceptacle ?o ?r)"
    if task.type == "look_at_obj_in_light":
        return (
            "(and (exists (?t - object ?r - receptacle ?a - agent ?l - location) "
            f"(and (objectType ?t {task.target}Type) (isToggled ?t) "
            "(receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?t ?r))) "
            f"(exists (?o - object ?a - agent) (and (objectType ?o {task.object}Type) (holds ?a ?o))))"
        )
    if task.type == "pick_two_obj_and_place":
        placed += (
            f" (exists (?p - object) (and (not (= ?o ?p)) (objectType ?p {task.object}Type) (inReceptacle ?p ?r)))"
        )
    treatment = TREATMENTS.get(task.type)
    state = f" ({STATES[treatment]} ?o)" if treatment else ""
    return f"(exists (?r - receptacle) (exists (?o - object) (and {placed}{state})))"


def identifier(name: str) -> str:
    kind, _, number = name.rpartition(" ")
    falling = 99 - int(number)
    if kind.endswith("basin"):
        return f"{kind.removesuffix('basin')}_bar_{falling}_bar_{kind}"
    return f"{kind}_bar_{falling}"

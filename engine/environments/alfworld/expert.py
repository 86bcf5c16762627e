"""The expert of households: a shortest list of commands to the goal, by trying every way there is.

Walking costs one command whatever the distance, so a task is a choice of objects, of an appliance, of a receptacle to
put them in, and of one for what is held and not wanted. Those are few enough to try all.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import permutations, product

from engine.environments.alfworld.catalogue import APPLIANCES, FITS, LAMPS, TREATMENTS, type_of
from engine.environments.alfworld.household import PAST, Household


def plan(household: Household) -> list[str]:
    """The commands of a shortest way to the goal; none if it is reached."""
    if household.won():
        return []
    return min((way.commands for way in _ways(household)), key=len)


class _Way:
    """Commands played in a copy of a household, each errand with the commands it needs."""

    def __init__(self, household: Household) -> None:
        self.household = deepcopy(household)
        self.commands: list[str] = []

    def do(self, command: str) -> None:
        self.commands.append(command)
        self.household.play(command)

    def go(self, receptacle: str) -> None:
        if self.household.at != receptacle:
            self.do(f"go to {receptacle}")

    def reach_into(self, receptacle: str) -> None:
        self.go(receptacle)
        if self.household.is_closed(receptacle):
            self.do(f"open {receptacle}")

    def put(self, receptacle: str) -> None:
        self.reach_into(receptacle)
        self.do(f"move {self.household.held} to {receptacle}")

    def fetch(self, name: str, drop_at: str | None) -> None:
        """Picks up the object; what else is held is put down at `drop_at` first."""
        if self.household.held == name:
            return
        if self.household.held is not None:
            self.put(str(drop_at))
        source = self.household.contents[name]
        self.reach_into(source)
        self.do(f"take {name} from {source}")

    def treat(self, treatment: str, appliance: str) -> None:
        held = str(self.household.held)
        if (PAST[treatment], held) not in self.household.treated:
            self.go(appliance)
            self.do(f"{treatment} {held} with {appliance}")


def _ways(start: Household) -> Iterator[_Way]:
    task = start.task
    wanted = [name for name in (*start.contents, start.held) if name and type_of(name) == task.object]
    if task.type == "look_at_obj_in_light":
        lamps = [name for name in start.contents if type_of(name) in LAMPS]
        for name, lamp, drop_at in product(wanted, lamps, _drops(start, wanted)):
            yield _look(start, name, lamp, drop_at)
        return
    targets = [name for name in start.receptacles if type_of(name) == task.target]
    if task.type == "pick_two_obj_and_place":
        for pair, target, drop_at in product(permutations(wanted, 2), targets, _drops(start, wanted)):
            yield _collect(start, pair, target, drop_at)
        return
    treatment = TREATMENTS.get(task.type)
    appliances = [name for name in start.receptacles if treatment and type_of(name) == APPLIANCES[treatment]] or [""]
    for name, appliance, target, drop_at in product(wanted, appliances, targets, _drops(start, wanted)):
        yield _treat_and_place(start, name, treatment, appliance, target, drop_at)


def _drops(start: Household, wanted: list[str]) -> list[str | None]:
    """Where to put down what is in the way: here, where the next object is, or in any place that is open."""
    if start.held is None:
        return [None]
    fits = [name for name in start.receptacles if type_of(name) in FITS[type_of(start.held)]]
    on_the_way = {start.at, *(start.contents.get(name) for name in wanted)}
    anywhere = next((name for name in fits if not start.is_closed(name)), fits[0])
    return [name for name in fits if name in on_the_way or name == anywhere]


def _look(start: Household, name: str, lamp: str, drop_at: str | None) -> _Way:
    way = _Way(start)
    way.fetch(name, drop_at)
    way.go(start.contents[lamp])
    if lamp not in start.used:
        way.do(f"use {lamp}")
    return way


def _collect(start: Household, pair: tuple[str, ...], target: str, drop_at: str | None) -> _Way:
    way = _Way(start)
    for name in pair:
        if way.household.contents.get(name) != target:
            way.fetch(name, drop_at)
            way.put(target)
    return way


def _treat_and_place(
    start: Household, name: str, treatment: str | None, appliance: str, target: str, drop_at: str | None
) -> _Way:
    way = _Way(start)
    way.fetch(name, drop_at)
    if treatment:
        way.treat(treatment, appliance)
    way.put(target)
    return way

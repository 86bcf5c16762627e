"""A household in play: what each command does and says, and which commands there are.

Rules and sentences are those of ALFWorld's text engine 0.4; tests compare the two command by command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from engine.environments.alfworld.catalogue import (
    APPLIANCES,
    FITS,
    GOALS,
    KNIVES,
    LAMPS,
    OPENABLE,
    SLICEABLE,
    TREATABLE,
    TREATMENTS,
    TaskType,
    type_of,
)

HELP = """
Available commands:
  look: describe where you are
  inventory: list what you carry
  go to (receptacle): walk to a receptacle
  open (receptacle): open a receptacle
  close (receptacle): close a receptacle
  take (object) from (receptacle): take an object
  move (object) to (receptacle): put down what you carry
  examine (something): describe a receptacle or what you carry
  use (object): switch on a lamp
  heat (object) with (receptacle): heat what you carry
  clean (object) with (receptacle): clean what you carry
  cool (object) with (receptacle): cool what you carry
  slice (object) with (object): slice an object with the knife that you carry
"""
PAST = {"clean": "clean", "heat": "hot", "cool": "cool"}


@dataclass(frozen=True, slots=True)
class Task:
    """What has to be done; `target` is a type of receptacle, or of lamp. `wording` is one of the two of `GOALS`."""

    type: TaskType
    object: str
    target: str
    wording: int = 0

    @property
    def goal(self) -> str:
        return GOALS[self.type][self.wording].format(self.object, self.target)


@dataclass(slots=True)
class Household:
    """`contents` has each object's receptacle, except for the one that is held; `at` is None at the start."""

    room: str
    receptacles: tuple[str, ...]
    task: Task
    contents: dict[str, str]
    at: str | None = None
    held: str | None = None
    opened: set[str] = field(default_factory=set)
    treated: set[tuple[str, str]] = field(default_factory=set)  # ("hot", "mug 1")
    used: set[str] = field(default_factory=set)  # lamps that were switched on
    feedback: str = ""

    def start(self) -> None:
        self.feedback = f"{self._look()}\n\nYour task is to: {self.task.goal}."

    def inside(self, receptacle: str) -> list[str]:
        return sorted((name for name, where in self.contents.items() if where == receptacle), key=by_number)

    def is_closed(self, receptacle: str) -> bool:
        return type_of(receptacle) in OPENABLE and receptacle not in self.opened

    def visible(self) -> list[str]:
        """The objects in reach, besides the one that is held."""
        return [] if self.at is None or self.is_closed(self.at) else self.inside(self.at)

    def won(self) -> bool:
        task = self.task
        if task.type == "look_at_obj_in_light":
            in_hand = self.held is not None and type_of(self.held) == task.object
            return in_hand and any(self.contents.get(lamp) == self.at for lamp in self.used)
        found = [self.contents[name] for name in self.contents if self._counts(name)]
        if task.type == "pick_two_obj_and_place":
            return len(found) > len(set(found))  # two in one receptacle
        return bool(found)

    def _counts(self, name: str) -> bool:
        """Whether the object is one of those asked for, as it is asked for, and where it is asked for."""
        treatment = TREATMENTS.get(self.task.type)
        return (
            type_of(name) == self.task.object
            and type_of(self.contents[name]) == self.task.target
            and (treatment is None or (PAST[treatment], name) in self.treated)
        )

    def commands(self) -> list[str]:
        """The admissible commands, sorted."""
        found = {"help", "inventory", "look"}
        found |= {f"go to {receptacle}" for receptacle in self.receptacles if receptacle != self.at}
        if self.held is not None:
            found.add(f"examine {self.held}")
        if self.at is not None:
            found |= set(self._commands_here(self.at))
        return sorted(found)

    def _commands_here(self, here: str) -> Iterable[str]:
        yield f"examine {here}"
        if type_of(here) in OPENABLE:
            yield f"open {here}" if self.is_closed(here) else f"close {here}"
        lamps = [name for name in self.visible() if type_of(name) in LAMPS]
        yield from (f"use {lamp}" for lamp in lamps)
        if self.held is None:
            yield from (f"take {name} from {here}" for name in self.visible() if name not in lamps)
            return
        held = type_of(self.held)
        if held in KNIVES:
            yield from (f"slice {name} with {self.held}" for name in self.visible() if type_of(name) in SLICEABLE)
        if not self.is_closed(here) and type_of(here) in FITS[held]:
            yield f"move {self.held} to {here}"
        for treatment, appliance in APPLIANCES.items():
            if type_of(here) == appliance and held in TREATABLE[treatment]:
                yield f"{treatment} {self.held} with {here}"

    def play(self, command: str) -> None:
        """Does `command`, which is one of `commands()`."""
        verb, _, rest = command.partition(" ")
        name = rest.split(" from ")[0].split(" to ")[0].split(" with ")[0]
        does: dict[str, Callable[[], str]] = {
            "look": self._look,
            "inventory": self._inventory,
            "help": lambda: HELP,
            "go": lambda: self._go(rest.removeprefix("to ")),
            "open": lambda: self._open(name),
            "close": lambda: self._close(name),
            "take": lambda: self._take(name),
            "move": lambda: self._move(name),
            "examine": lambda: self._examine(name),
            "use": lambda: self._use(name),
            "heat": lambda: self._treat("heat", name),
            "clean": lambda: self._treat("clean", name),
            "cool": lambda: self._treat("cool", name),
            "slice": lambda: self._slice(name),
        }
        self.feedback = does[verb]()

    def _look(self) -> str:
        if self.at is None:
            names = listed(self.receptacles)
            return f"You are in the middle of a room. Looking quickly around you, you see {names}."
        return f"You are facing the {self.at}. Next to it, you see nothing."

    def _inventory(self) -> str:
        return f"You are carrying: a {self.held}." if self.held else "You are not carrying anything."

    def _go(self, receptacle: str) -> str:
        self.at = receptacle
        return f"You arrive at {receptacle}. {self._describe(receptacle)}"

    def _describe(self, receptacle: str) -> str:
        if self.is_closed(receptacle):
            return f"The {receptacle} is closed."
        seen = listed(self.inside(receptacle))
        if type_of(receptacle) in OPENABLE:
            return f"The {receptacle} is open. In it, you see {seen}."
        return f"On the {receptacle}, you see {seen}."

    def _open(self, receptacle: str) -> str:
        self.opened.add(receptacle)
        return f"You open the {receptacle}. {self._describe(receptacle)}"

    def _close(self, receptacle: str) -> str:
        self.opened.discard(receptacle)
        return f"You close the {receptacle}."

    def _take(self, name: str) -> str:
        self.held = name
        return f"You pick up the {name} from the {self.contents.pop(name)}."

    def _move(self, name: str) -> str:
        self.held, self.contents[name] = None, str(self.at)
        return f"You move the {name} to the {self.at}."

    def _use(self, name: str) -> str:
        self.used.add(name)
        return f"You turn on the {name}."

    def _treat(self, treatment: str, name: str) -> str:
        """Heating undoes cooling, and the other way round; nothing makes an object dirty."""
        self.treated -= {("hot", name), ("cool", name)} if treatment != "clean" else set()
        self.treated.add((PAST[treatment], name))
        return f"You {treatment} the {name} using the {self.at}."

    def _slice(self, name: str) -> str:
        self.treated.add(("sliced", name))
        return f"You sliced the {name} with the {self.held}."

    def _examine(self, name: str) -> str:
        if name == self.at:
            return self._describe(name)
        clean, hot, cool, sliced = ((state, name) in self.treated for state in ("clean", "hot", "cool", "sliced"))
        if not (clean or hot or cool or sliced):
            return f"There's nothing special about {name}."
        temperature = "hot" if hot else "cool" if cool and (clean or sliced) else "cold" if cool else ""
        state = " and ".join(word for word in (temperature, "clean" if clean else "") if word)
        return f"This is a {' '.join(word for word in (state, 'sliced' if sliced else '', name) if word)}."


def by_number(name: str) -> tuple[str, int]:
    kind, _, number = name.rpartition(" ")
    return kind, int(number)


def listed(names: Iterable[str]) -> str:
    """`a mug 1, a pen 2, and a pen 1`; `nothing` for none."""
    items = [f"a {name}" for name in names]
    return f"{', '.join(items[:-1])}, and {items[-1]}" if len(items) > 1 else items[0] if items else "nothing"

"""The grammar of actions: `Actions: [Rotate(90), JumpTo(chair), Observe()]`.

Moves come first, and one final action ends the list. `Term(C)` gives the answer and stands alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MOVES: Final = ("Rotate", "JumpTo", "Return")
FINALS: Final = ("Observe", "Query", "Term")
OTHER_NAMES: Final = {"move": "JumpTo"}  # of earlier versions
DEGREES: Final = (0, 90, 180, 270)
LONGEST: Final = 2000  # in characters; longer text is not read

_ITEM = re.compile(r"\s*([A-Za-z]+)\s*\(\s*(\(?[^()\[\]]*\)?)\s*\)\s*(,|$)")


@dataclass(frozen=True, slots=True)
class Act:
    name: str
    argument: str = ""


def parse(text: str) -> list[Act] | str:
    """The acts of a list between the first `[` and the last `]`, or what is wrong with it."""
    start, end = text.find("["), text.rfind("]")
    if len(text) > LONGEST or start < 0 or end < start:
        return "There is no list of actions."
    acts = _items(text[start + 1 : end])
    if acts is None:
        return "The list is not made of actions such as Rotate(90)."
    if not acts or acts[-1].name not in FINALS or any(act.name in FINALS for act in acts[:-1]):
        return "Exactly one final action, Observe, Query or Term, has to end the list."
    if acts[-1].name == "Term" and len(acts) > 1:
        return "Term has to stand alone."
    return next((problem for problem in map(_problem, acts) if problem), acts)


def _items(text: str) -> list[Act] | None:
    """The items of a list separated by commas; None if it has anything else."""
    names = {name.lower(): name for name in (*MOVES, *FINALS)} | OTHER_NAMES
    acts: list[Act] = []
    position, ended = 0, False
    while not ended:
        found = _ITEM.match(text, position)
        name = names.get(found[1].lower()) if found else None
        if found is None or name is None:
            return None
        acts.append(Act(name, found[2].strip()))
        position, ended = found.end(), found[3] == ""
    return acts


def _problem(act: Act) -> str:
    if act.name == "Rotate" and degrees(act.argument) is None:
        return f"Rotate({act.argument[:40]}): give 0, 90, 180 or 270 degrees, clockwise, or with a minus sign."
    if act.name in ("Observe", "Return") and act.argument:
        return f"{act.name} takes nothing."
    return f"{act.name} needs a name." if act.name in ("JumpTo", "Query") and not act.argument else ""


def degrees(argument: str) -> int | None:
    found = re.fullmatch(r"([+-]?)(\d{1,3})", argument, re.ASCII)
    if found is None or int(found[2]) not in DEGREES:
        return None
    return -int(found[2]) if found[1] == "-" else int(found[2])


def letter(argument: str) -> str:
    """`C` of `C`, `c`, `C.`, `(C)` or `"C"`; empty if it is not one letter."""
    found = re.fullmatch(r"[\"'(]*([A-Za-z])[.)\"']*", argument.strip())
    return found[1].upper() if found else ""

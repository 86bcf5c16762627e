"""The priority of a run in the queue by its name: high, normal or low.

The queue orders by a number (`Run.priority`). Each name stands for the number that it begins at; moving runs in the
queue raises numbers by one or two, so a run that was moved keeps its name unless it has passed one with a higher name.
"""

from __future__ import annotations

from typing import Literal, get_args

PriorityName = Literal["high", "normal", "low"]

NAMES: tuple[PriorityName, ...] = get_args(PriorityName)
NUMBERS: dict[PriorityName, int] = {"high": 1000, "normal": 0, "low": -1000}


def priority_number(name: str) -> int:
    """`ValueError` says what is allowed."""
    for known, number in NUMBERS.items():
        if name == known:
            return number
    raise ValueError(f"{name[:40]!r} is not a priority. Use {', '.join(NAMES[:-1])} or {NAMES[-1]}.")


def priority_name(number: int) -> PriorityName:
    if number >= NUMBERS["high"]:
        return "high"
    return "normal" if number >= NUMBERS["normal"] else "low"


def without_moves(number: int) -> int:
    """The number that its name begins at."""
    return NUMBERS[priority_name(number)]

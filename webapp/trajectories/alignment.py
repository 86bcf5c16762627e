"""Trajectories side by side, turn by turn: the cells, and where each diverges from the first. Works on records only.

Two trajectories diverge at the first action that differs: the first turn in which other actions were executed, or that
only one of them has. Two responses with the same actions in the same state are alike, whatever their words; where only
words or outcomes differ, the cell says so. `static/js/reader/divergence.js` has the same definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

Record = dict[str, Any]
Turn = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first action that differs: number `index` (from 0) of its turn (from 1). `own` and `other` are the actions
    there, empty for no action; None for one that has ended."""

    turn: int
    index: int
    own: str | None
    other: str | None

    @property
    def text(self) -> str:
        if self.own is None:
            return "it has ended"
        if self.other is None:
            return "the first has ended"
        if not self.other:
            return f"{self.own}, where the first has no action"
        return f"{self.own or 'no action'}, not {self.other}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One turn of one trajectory, with the states before and after it; `same` is what the first one has too."""

    turn: Turn
    drawing: Any
    observation: str
    same: frozenset[str] = frozenset()  # of "seen", "actions", "state" (after them) and "text"
    divergence: Divergence | None = None  # if it is in this turn

    @property
    def is_alike(self) -> bool:
        """The same actions in the same state."""
        return {"seen", "actions"} <= self.same

    @property
    def differs_in(self) -> list[str]:
        """What else differs where the actions are the same."""
        kinds = {"text": "words", "state": "outcome"}
        return [word for kind, word in kinds.items() if kind not in self.same] if self.is_alike else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """One trajectory compared with the first: a cell per turn, and where they diverge."""

    cells: list[Cell]
    starts_alike: bool = True
    divergence: Divergence | None = None
    words: int | None = None  # the first turn (from 1) with the same actions in other words
    outcome: int | None = None  # the first turn with the same actions in the same state, and another state after them

    @property
    def lesser(self) -> list[str]:
        """Differences that are not divergences."""
        parts = {"same actions, other outcome": self.outcome, "same actions, other words": self.words}
        return [f"{words} from turn {turn}" for words, turn in parts.items() if turn]


def align(records: Sequence[Record]) -> list[Aligned]:
    """Each record compared with the first."""
    states = [_states(record) for record in records]
    return [_aligned(record, states[index], records[0], states[0]) for index, record in enumerate(records)]


def diverge(own: Sequence[Turn], other: Sequence[Turn]) -> Divergence | None:
    """Where the actions first differ; None if they are the same to the end."""
    for number, (mine, its) in enumerate(zip_longest(own, other), start=1):
        if mine is None or its is None:
            return Divergence(turn=number, index=0, own=_first_action(mine), other=_first_action(its))
        for index, (action, counterpart) in enumerate(zip_longest(_actions(mine), _actions(its), fillvalue="")):
            if action != counterpart:
                return Divergence(turn=number, index=index, own=action, other=counterpart)
    return None


def _first_action(turn: Turn | None) -> str | None:
    return None if turn is None else next(iter(_actions(turn)), "")


def _aligned(record: Record, states: list[Turn], first: Record, first_states: list[Turn]) -> Aligned:
    turns = record["turns"]
    if record is first:
        return Aligned(cells=[_cell(turn, states[index + 1]) for index, turn in enumerate(turns)])
    divergence = diverge(turns, first["turns"])
    cells: list[Cell] = []
    first_turns: dict[str, int] = {}
    for index, turn in enumerate(turns):
        same = _same(index, record, first, states, first_states)
        here = divergence if divergence and divergence.turn == index + 1 else None
        cells.append(_cell(turn, states[index + 1], same, here))
        first_turns = dict.fromkeys(cells[-1].differs_in, index + 1) | first_turns
    return Aligned(
        cells=cells,
        starts_alike=_seen(states[0]) == _seen(first_states[0]),
        divergence=divergence,
        words=first_turns.get("words"),
        outcome=first_turns.get("outcome"),
    )


def _cell(turn: Turn, state: Turn, same: frozenset[str] = frozenset(), divergence: Divergence | None = None) -> Cell:
    return Cell(
        turn=turn,
        drawing=state.get("drawing"),
        observation=str(state.get("observation", "")),
        same=same,
        divergence=divergence,
    )


def _same(index: int, record: Record, first: Record, states: list[Turn], first_states: list[Turn]) -> frozenset[str]:
    """What is the same in a turn of both; nothing if the first has ended."""
    if index >= len(first["turns"]):
        return frozenset()
    turn, other = record["turns"][index], first["turns"][index]
    same = {
        "seen": _seen(states[index]) == _seen(first_states[index]),
        "actions": _actions(turn) == _actions(other),
        "state": _seen(states[index + 1]) == _seen(first_states[index + 1]),
        "text": turn.get("response") == other.get("response"),
    }
    return frozenset(kind for kind, equal in same.items() if equal)


def _actions(turn: Turn) -> list[str]:
    return [str(action) for action in turn.get("executed") or []]


def _states(record: Record) -> list[Turn]:
    """The initial state and the state after each turn; a turn without an action does not change it."""
    found = [record.get("initial") or {}]
    for turn in record["turns"]:
        frames = turn.get("frames") or []
        found.append(frames[-1] if frames else found[-1])
    return found


def _seen(state: Turn) -> Any:
    """What states are compared by: the drawing, or the observation if there is none."""
    return state.get("drawing") or state.get("observation")

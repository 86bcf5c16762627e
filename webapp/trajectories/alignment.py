"""Trajectories side by side, turn by turn: the cells, and where each diverges from the first. Works on records only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
Turn = dict[str, Any]
KINDS = {"text": "different text", "action": "different action", "state": "different state"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One turn of one trajectory: what differs here for the first time, and what is the `same` as in the first one."""

    turn: Turn
    drawing: Any
    observation: str
    diverging: list[str] = field(default_factory=list)
    same: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """One trajectory compared with the first: a cell per turn, and the turn (from 1) where each kind first differs."""

    cells: list[Cell]
    divergences: dict[str, int]

    @property
    def summary(self) -> str:
        """Where it diverges; a difference in the initial state is at turn 0."""
        if not self.divergences:
            return "identical"
        turns = sorted(set(self.divergences.values()))
        return "; ".join(f"{f'from turn {turn}' if turn else 'from the start'}: {self._at(turn)}" for turn in turns)

    def _at(self, turn: int) -> str:
        return ", ".join(KINDS[kind] for kind, first in self.divergences.items() if first == turn)


def align(records: Sequence[Record]) -> list[Aligned]:
    """Each record compared with the first."""
    states = [_states(record) for record in records]
    return [_aligned(record, states[index], records[0], states[0]) for index, record in enumerate(records)]


def _aligned(record: Record, states: list[Turn], first: Record, first_states: list[Turn]) -> Aligned:
    turns, others = record["turns"], first["turns"]
    divergences: dict[str, int] = {}
    if _seen(states[0]) != _seen(first_states[0]):
        divergences["state"] = 0
    cells = []
    for index in range(max(len(turns), len(others))):
        equal = _equal(index, turns, others, states, first_states)
        new = [kind for kind in KINDS if kind not in equal and kind not in divergences]
        divergences |= dict.fromkeys(new, index + 1)
        if index < len(turns):
            state = states[index + 1]
            cells.append(
                Cell(
                    turn=turns[index],
                    drawing=state.get("drawing"),
                    observation=str(state.get("observation", "")),
                    diverging=[KINDS[kind] for kind in new],
                    same=equal if record is not first else frozenset(),
                )
            )
    return Aligned(cells=cells, divergences=divergences)


def _equal(
    index: int, turns: list[Turn], others: list[Turn], states: list[Turn], other_states: list[Turn]
) -> frozenset[str]:
    """Which kinds are the same in a turn of both; none if one of them has ended."""
    if index >= len(turns) or index >= len(others):
        return frozenset()
    same = {
        "text": turns[index].get("response") == others[index].get("response"),
        "action": turns[index].get("executed") == others[index].get("executed"),
        "state": _seen(states[index + 1]) == _seen(other_states[index + 1]),
    }
    return frozenset(kind for kind, equal in same.items() if equal)


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

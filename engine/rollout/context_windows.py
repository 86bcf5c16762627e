"""Context windows: what the model sees of earlier turns when it is asked for the next response.

A window turns the turns so far into the ids of the next prompt. Responses go into it as the ids that were sampled and are
never encoded again. Whether the prompt goes on from what the model has read, or begins a context of its own, is part of
the answer: the sampler, the trajectory and the trainer all follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.config import RolloutConfig
from engine.rollout import prompts
from engine.rollout.context_manager import ContextManager


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What there is to tell at the start of a turn."""

    observation: str
    actions_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A turn that was played: its state, the sampled ids, and what came of them."""

    state: State
    response: list[int]
    executed: list[str]
    reward: float
    understood: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Ids to submit. `fresh` ones are the whole of what the model sees; others go on from its last response."""

    ids: list[int]
    fresh: bool


class Window(Protocol):
    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        """The prompt of the turn that begins in the state `now`, after the turns `past`."""


class FullContext:
    """Every turn, word for word: each prompt goes on from the last response."""

    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        if past:
            return Prompt(ids=_following(context, past[-1], now), fresh=False)
        return Prompt(ids=_opening(context, system, now), fresh=True)


class LastTurns:
    """The last `turns` turns word for word, the present one counted, after the system prompt.

    Until that many were played it is the full context. From then on each turn begins a context of its own, whose first
    message tells the oldest state it shows as if the episode began there.
    """

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        if len(past) < self.turns:
            return FullContext().prompt(context, system, past, now)
        shown = past[len(past) - self.turns + 1 :]
        states = [*(turn.state for turn in shown), now]
        ids = _opening(context, system, states[0])
        for turn, state in zip(shown, states[1:], strict=True):
            ids += turn.response + _following(context, turn, state)
        return Prompt(ids=ids, fresh=True)


class TurnSummary:
    """One message a turn: earlier states, actions and rewards as a list, then the present state.

    `turns` counts the present turn; 0 tells of all turns. The model's own words are not in it.
    """

    def __init__(self, turns: int) -> None:
        self.turns = turns

    def prompt(self, context: ContextManager, system: str, past: Sequence[Past], now: State) -> Prompt:
        told = past[max(0, len(past) - self.turns + 1) :] if self.turns else past
        lines = [
            prompts.summary_line(
                turn.state.observation, executed=turn.executed, reward=turn.reward, understood=turn.understood
            )
            for turn in told
        ]
        user = prompts.summary_turn(lines, now.observation, actions_left=now.actions_left)
        return Prompt(ids=list(context.first(system, user)), fresh=True)


WINDOWS: dict[str, Callable[[int], Window]] = {
    "full": lambda _: FullContext(),
    "last_k_turns": LastTurns,
    "single_turn_summary": TurnSummary,
}


def window_of(config: RolloutConfig) -> Window:
    """The window that a run's configuration asks for."""
    return WINDOWS[config.context](config.context_turns)


def _opening(context: ContextManager, system: str, state: State) -> list[int]:
    return list(context.first(system, prompts.first_turn(state.observation, actions_left=state.actions_left)))


def _following(context: ContextManager, last: Past, now: State) -> list[int]:
    """Ids between the response of `last` and the response to `now`."""
    user = prompts.next_turn(
        now.observation, reward=last.reward, actions_left=now.actions_left, understood=last.understood
    )
    return list(context.following(user, response=last.response))

"""Rates of one thing done again and again, in the processor time of its own thread.

Processor time leaves out what the thread waited while other programs ran. It does not leave out what they cost it in
caches and clock rate, so a comparison takes turns and looks at ratios.
"""

from __future__ import annotations

import gc
import time
from typing import NamedTuple, Protocol


class Player(Protocol):
    """One environment and what plays it. Reading the observation is part of `reset` and `step`."""

    def reset(self, seed: int) -> None: ...

    def choose(self) -> None:
        """Draws the next action, which is not timed."""

    def step(self) -> bool:
        """Takes it; whether the episode is over."""


class Maker(Protocol):
    """What makes problems without an environment around them."""

    def make(self, seed: int) -> None: ...


class Rates(NamedTuple):
    """Per second of processor time. `with_resets` are steps per second of steps and resets together."""

    steps: float
    resets: float
    with_resets: float


def play(player: Player, *, seconds: float, first_seed: int, most_steps: int) -> Rates:
    """Episodes of new seeds, `most_steps` actions at most each, until `seconds` have passed; at least one."""
    clock = time.thread_time
    steps = resets = 0
    in_steps = in_resets = 0.0
    gc.collect()
    player.reset(first_seed)
    while in_steps + in_resets < seconds:
        began = clock()
        player.reset(first_seed + 1 + resets)
        in_resets += clock() - began
        resets += 1
        for _ in range(most_steps):
            player.choose()
            began = clock()
            over = player.step()
            in_steps += clock() - began
            steps += 1
            if over:
                break
    return Rates(steps / max(in_steps, 1e-9), resets / in_resets, steps / (in_steps + in_resets))


def make(maker: Maker, *, seconds: float, first_seed: int) -> float:
    """Problems per second, each of a new seed; at least one."""
    clock = time.thread_time
    gc.collect()
    made, began = 0, clock()
    while made == 0 or clock() - began < seconds:
        maker.make(first_seed + made)
        made += 1
    return made / max(clock() - began, 1e-9)

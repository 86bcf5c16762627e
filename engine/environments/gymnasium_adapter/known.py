"""What a gymnasium environment's own interface does not say in text: names of actions, what success is, and how a state
reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
TAXI_STOPS = ("R (0, 0)", "G (0, 4)", "Y (4, 0)", "B (4, 3)")


def _ansi(environment: Any, observation: Any) -> str:
    """The environment's own text, without colours."""
    return _COLOURS.sub("", str(environment.render())).strip("\n")


def _by_state(text: Callable[[Any, Any], str]) -> Callable[[Any, Any], str]:
    """`text`, kept, of an environment whose text follows from its state's number alone, one of a few hundred."""
    texts: dict[tuple[type, int], str] = {}

    def found(environment: Any, observation: Any) -> str:
        state = (type(environment.unwrapped), int(observation))
        if state not in texts:
            texts[state] = text(environment, observation)
        return texts[state]

    return found


def _taxi(environment: Any, observation: Any) -> str:
    row, column, passenger, destination = environment.unwrapped.decode(int(observation))
    where = "in the taxi" if passenger == len(TAXI_STOPS) else f"at {TAXI_STOPS[passenger]}"
    walls = "\n".join(_ansi(environment, observation).splitlines()[:7])
    return f"{walls}\nTaxi: ({row}, {column})\nPassenger: {where}\nDestination: {TAXI_STOPS[destination]}"


def _blackjack(environment: Any, observation: Any) -> str:
    total, dealer, ace = observation
    return f"Your sum: {total}\nDealer shows: {dealer}\nUsable ace: {'yes' if ace else 'no'}"


def _numbers(*names: str) -> Callable[[Any, Any], str]:
    def text(environment: Any, observation: Any) -> str:
        return "\n".join(f"{name}: {float(value):.3f}" for name, value in zip(names, observation, strict=True))

    return text


def text_of_observation(observation: Any) -> str:
    """Any observation of gymnasium's spaces as text, one line for each part of a dict."""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, dict):
        return "\n".join(f"{name}: {text_of_observation(value)}" for name, value in observation.items())
    if isinstance(observation, tuple):
        return ", ".join(text_of_observation(value) for value in observation)
    if isinstance(observation, np.ndarray):
        return np.array2string(observation, precision=3, separator=", ", threshold=10_000, max_line_width=120)
    return str(observation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """`success` is what an episode has to end with: `terminated`, `positive_reward` or `return` (the registered
    threshold). `render` says that the environment writes its state as text itself."""

    actions: tuple[str, ...] = ()
    success: str = "positive_reward"
    text: Callable[[Any, Any], str] | None = None
    render: bool = False
    legend: str = ""
    options: dict[str, Any] = field(default_factory=dict)


KNOWN: dict[str, Known] = {
    "Taxi": Known(
        actions=("South", "North", "East", "West", "Pickup", "Dropoff"),
        text=_by_state(_taxi),
        render=True,
        legend="Places are (row, column). | is a wall, : is open. Pick the passenger up and drop them at the "
        "destination.",
    ),
    "CliffWalking": Known(
        actions=("Up", "Right", "Down", "Left"),
        success="terminated",
        text=_by_state(_ansi),
        render=True,
        legend="x is you, T the goal, C the cliff, which sends you back to the start, o free ground.",
    ),
    "FrozenLake": Known(
        actions=("Left", "Down", "Right", "Up"),
        text=lambda environment, observation: _with_position(environment, observation),
        render=True,
        legend="S start, F ice, H hole, G goal. The ice may be slippery.",
    ),
    "Blackjack": Known(actions=("Stick", "Hit"), text=_blackjack),
    "CartPole": Known(
        actions=("Left", "Right"),
        success="return",
        text=_numbers("Cart position", "Cart velocity", "Pole angle", "Pole velocity"),
        legend="Push the cart so that the pole stays upright.",
    ),
    "MountainCar": Known(
        actions=("Left", "Wait", "Right"),
        success="terminated",
        text=_numbers("Position", "Velocity"),
        legend="Swing the car up to position 0.5.",
    ),
    "Acrobot": Known(
        actions=("Left", "Nothing", "Right"),
        success="terminated",
        text=_numbers("cos 1", "sin 1", "cos 2", "sin 2", "Velocity 1", "Velocity 2"),
        legend="Swing the tip above the bar.",
    ),
}


def known_of(env_id: str) -> Known:
    """What is known of `Taxi-v4` and the like; the defaults for any other id."""
    return KNOWN.get(env_id.rpartition("/")[2].rpartition("-v")[0], Known())


def text_actions(space: gymnasium.Space[Any]) -> bool:
    return isinstance(space, gymnasium.spaces.Text)


def _with_position(environment: Any, observation: Any) -> str:
    """The map as drawn marks the player by a colour alone, so the text says where they are."""
    text = "\n".join(line for line in _ansi(environment, observation).splitlines() if "(" not in line)
    row, column = divmod(int(observation), environment.unwrapped.ncol)
    return f"{text}\nYou: ({row}, {column})"

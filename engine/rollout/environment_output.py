"""What an environment returned, checked: text that the model can read, numbers, and drawings that JSON can store.

Each function raises for anything else; the episode makes that a fault which names the environment.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.environments.base import Drawing, Info, Reduction

INFO_KEYS = ("action_is_effective", "success")
LONGEST_INFO_TEXT = 2000  # longer text in an info is not recorded
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def text_of(given: object, *, what: str = "observation", most: int) -> str:
    if not isinstance(given, str):
        raise TypeError(f"the {what} is {type(given).__name__}; it must be text")
    if len(given) > most:
        raise ValueError(
            f"the {what} has {len(given)} characters, above the limit of {most} (limits.max_observation_characters)"
        )
    if not _is_unicode(given):
        raise ValueError(f"the {what} has half of a surrogate pair, which UTF-8 cannot encode")
    return given


def step_result(given: object) -> tuple[Any, float, bool, Info]:
    """Observation, reward, whether the episode is over, and info. The observation is not checked."""
    if not isinstance(given, tuple | list) or len(given) != 5:
        size = f" of {len(given)} values" if isinstance(given, tuple | list) else ""
        raise TypeError(
            f"step returned {type(given).__name__}{size}; it must return observation, reward, terminated, truncated "
            "and info"
        )
    observation, reward, terminated, truncated, info = given
    over = _flag(terminated, "terminated") | _flag(truncated, "truncated")
    return observation, _reward(reward), over, _info(info)


def drawing_of(given: object, *, most: int) -> Drawing:
    if not isinstance(given, dict):
        raise TypeError(f"the drawing is {type(given).__name__}; it must be a dict")
    text_of(_ENCODER.encode(given), what="drawing", most=most)
    return given


def _flag(given: object, name: str) -> bool:
    if not isinstance(given, bool | np.bool_):
        raise TypeError(f"{name} is {_short(given)}; it must be a bool")
    return bool(given)


def _reward(given: object) -> float:
    if not isinstance(given, int | float | np.number) or isinstance(given, np.complexfloating):
        raise TypeError(f"the reward is {_short(given)}; it must be a number")
    if not math.isfinite(given):
        raise ValueError(f"the reward is {given}; it must be finite")
    return float(given)


def _info(given: object) -> Info:
    if not isinstance(given, dict):
        raise TypeError(f"the info is {type(given).__name__}; it must be a dict")
    if missing := [key for key in INFO_KEYS if key not in given]:
        raise ValueError(f"the info has no {' and no '.join(missing)}")
    return given


def recordable(info: Info) -> dict[str, Any]:
    """The entries of an info that a record stores: flags, finite numbers, and text that is not long."""
    plain = {key: _plain(value) for key, value in info.items() if isinstance(key, str) and _is_unicode(key)}
    return {key: value for key, value in plain.items() if value is not None}


def _plain(value: object) -> bool | int | float | str | None:
    """A scalar as JSON has it; None for what is not stored."""
    if isinstance(value, np.bool_ | np.number):
        value = value.item()
    if isinstance(value, str):
        return value if len(value) <= LONGEST_INFO_TEXT and _is_unicode(value) else None
    if isinstance(value, bool | int):
        return value if abs(value) < 2**63 else None
    return value if isinstance(value, float) and math.isfinite(value) else None


@dataclass(slots=True)
class InfoMetrics:
    """The declared numbers of an episode's infos, each reduced to one as they come."""

    reductions: Mapping[str, Reduction]
    values: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, info: Info) -> None:
        """Reads the info of a step. A number that is missing or not finite is left out."""
        for name, reduction in self.reductions.items():
            value = _plain(info.get(name))
            if value is None or isinstance(value, str):
                continue
            count = self.counts[name] = self.counts.get(name, 0) + 1
            self.values[name] = _reduced(reduction, self.values.get(name, float(value)), float(value), count)


def _reduced(reduction: Reduction, so_far: float, value: float, count: int) -> float:
    """`so_far` is the value itself at the first step."""
    match reduction:
        case "last":
            return value
        case "sum":
            return value if count == 1 else so_far + value
        case "mean":
            return so_far + (value - so_far) / count
        case "max":
            return max(so_far, value)
        case "min":
            return min(so_far, value)


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"

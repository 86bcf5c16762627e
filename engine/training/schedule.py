"""The policy's learning rate at a step. It depends on nothing but the step, so a resumed run is where it was."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi

from engine.config import OptimizerConfig


def learning_rate(config: OptimizerConfig, step: int, *, steps: int) -> float:
    """The rate of `step`, counted from 1, in a run of `steps`.

    It rises in a straight line to `config.learning_rate` at the last step of the warm-up. From there the schedule
    takes it to `minimum_lr_ratio` of that at the last step of the run, and holds it there.
    """
    if step < config.warmup_steps:
        return config.learning_rate * step / config.warmup_steps
    rest = steps - config.warmup_steps
    done = min(1.0, (step - config.warmup_steps) / rest) if rest > 0 else 0.0
    height = SCHEDULES[config.schedule](done)
    return config.learning_rate * (config.minimum_lr_ratio + (1 - config.minimum_lr_ratio) * height)


# share of the way after the warm-up to the height above the minimum: 1 at its begin, and 0 at its end if it falls
SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda done: 1.0,
    "linear": lambda done: 1.0 - done,
    "cosine": lambda done: (1.0 + cos(pi * done)) / 2,
}

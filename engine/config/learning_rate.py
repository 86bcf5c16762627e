"""The policy's learning rate at a step. It depends on the step alone, so a resumed run has the same rate."""

from __future__ import annotations

from engine.config.learning import OptimizerConfig


def learning_rate(config: OptimizerConfig, step: int, *, steps: int) -> float:
    """The rate of `step`, counted from 1, in a run of `steps`; in a fork both count the steps before it.

    It rises in a straight line to `config.learning_rate` at the last step of the warm-up. From there the schedule
    takes it to its share of that at the last step of the run, and holds it there.
    """
    if step < config.warmup_steps:
        return config.learning_rate * step / config.warmup_steps
    rest = steps - config.warmup_steps
    done = min(1.0, (step - config.warmup_steps) / rest) if rest > 0 else 0.0
    return config.learning_rate * config.schedule.share(done)

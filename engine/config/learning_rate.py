"""The policy's learning rate. It depends on the step and the tokens so far, so a resumed run has the same rate."""

from __future__ import annotations

from engine.config.learning import OptimizerConfig


def learning_rate(config: OptimizerConfig, step: int, *, steps: int, tokens: int | None = None) -> float:
    """The rate of `step`, counted from 1, in a run of `steps`; in a fork both count the steps before it.

    It rises in a straight line to `config.learning_rate` at the last step of the warm-up. From there the schedule
    takes it to its share of that at the last step of the run, and holds it there. A warm-up by tokens multiplies the
    schedule instead; `tokens` are those sampled up to this step, None once it is over.
    """
    if step < config.warmup_steps:
        return config.learning_rate * step / config.warmup_steps
    rest = steps - config.warmup_steps
    done = min(1.0, (step - config.warmup_steps) / rest) if rest > 0 else 0.0
    return config.learning_rate * config.schedule.share(done) * _share_of_tokens(config, tokens)


def _share_of_tokens(config: OptimizerConfig, tokens: int | None) -> float:
    if not config.warmup_tokens or tokens is None:
        return 1.0
    return min(1.0, tokens / config.warmup_tokens)

"""Which configurations of a sweep end before their last step: those below the median of the others at the same step,
after the median stopping rule of Golovin et al. 2017 (Google Vizier, section 3.2.1), and those that collapsed.

What is compared is the mean over training seeds of training success (or return) in the last steps, each with the same
seeds: a configuration that has reached the step with seeds 1 and 2 is compared with the others' seeds 1 and 2. Runs
with the same seed share problems and their order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import fmean, median

from engine.sweeps.plan import Objective, Pruning

METRICS: dict[Objective, str] = {"success": "rollout/success", "mean_return": "reward/mean"}
WORDS: dict[Objective, str] = {"success": "training success", "mean_return": "mean reward"}
WINDOW = 5  # steps in a mean: one step's success is noisy
COLLAPSED = "collapsed"  # the label of the verdict

Curve = Mapping[int, float]  # a metric by step
BySeed = Mapping[int, Curve]  # the curves of a configuration


def reason_to_end(
    key: str,
    curves: Mapping[str, BySeed],
    labels: Mapping[int, str],
    pruning: Pruning,
    objective: Objective = "success",
) -> str:
    """Why the configuration `key` ends now; empty if it goes on. `curves` are of all configurations by key, pruned ones
    as far as they came; `labels` are the verdicts of its runs by seed."""
    if pruning.collapse and (seeds := sorted(seed for seed, label in labels.items() if label == COLLAPSED)):
        return f"The run with seed {seeds[0]} collapsed."
    return _below_median(key, curves, pruning, objective) if pruning.median else ""


def _below_median(key: str, curves: Mapping[str, BySeed], pruning: Pruning, objective: Objective) -> str:
    """At the newest step of comparison of each of its runs."""
    own = curves.get(key, {})
    steps = {step for curve in own.values() if (step := newest_step(curve, pruning)) is not None}
    for step in sorted(steps):
        seeds = [seed for seed, curve in own.items() if reaches(curve, step)]
        value = mean_at(own, seeds, step)
        others = [found for other, by_seed in curves.items() if other != key
                  and (found := mean_at(by_seed, seeds, step)) is not None]  # fmt: skip
        if value is None or len(others) < pruning.fewest:
            continue
        if value < (middle := median(others)):
            counted = f"seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, sorted(seeds)))}"
            return (
                f"Below the median of {len(others)} at step {step}: {WORDS[objective]} {_distinct(value, middle)} "
                f"({counted}, mean of the last {min(WINDOW, step)} steps)."
            )
    return ""


def _distinct(value: float, middle: float) -> str:
    """`0.30 against 0.40`, with as many digits as tell them from each other."""
    digits = next((count for count in range(2, 6) if f"{value:.{count}f}" != f"{middle:.{count}f}"), 6)
    return f"{value:.{digits}f} against {middle:.{digits}f}"


def newest_step(curve: Curve, pruning: Pruning) -> int | None:
    """The newest step of comparison that the run has completed; None before the first."""
    last = max(curve, default=0)
    if last < pruning.first:
        return None
    return pruning.first + (last - pruning.first) // pruning.every * pruning.every


def reaches(curve: Curve, step: int) -> bool:
    return max(curve, default=0) >= step


def mean_at(by_seed: BySeed, seeds: Collection[int], step: int) -> float | None:
    """The mean over the seeds of each one's last `WINDOW` steps up to `step`; None if one has not come so far."""
    means: list[float] = []
    for seed in seeds:
        curve = by_seed.get(seed, {})
        window = [curve[at] for at in range(max(1, step - WINDOW + 1), step + 1) if at in curve]
        if not window or not reaches(curve, step):
            return None
        means.append(fmean(window))
    return fmean(means) if means else None


def means_by_step(by_seed: BySeed, pruning: Pruning) -> dict[int, float]:
    """At each step of comparison, over the seeds that have reached it."""
    last = max((step for curve in by_seed.values() if (step := newest_step(curve, pruning)) is not None), default=0)
    steps: Sequence[int] = range(pruning.first, last + 1, pruning.every)
    found = {step: mean_at(by_seed, [seed for seed, one in by_seed.items() if reaches(one, step)], step)
             for step in steps}  # fmt: skip
    return {step: value for step, value in found.items() if value is not None}

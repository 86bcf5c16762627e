"""What a sweep is: axes, how points are chosen from them, and training seeds."""

from __future__ import annotations

from math import prod
from typing import Literal

from pydantic import Field, field_validator, model_validator

from engine.section import Section
from engine.sweeps.axes import MOST_LEVELS, Axis, RangeAxis, SettingsAxis

MOST_RUNS = 500
MOST_AXES = 8
MOST_SEEDS = 20
LARGEST_SEED = 999_999

Method = Literal["grid", "random", "sobol", "tpe"]
Objective = Literal["success", "mean_return"]  # of the held-out problems, after the last step
Seed = int


class Pruning(Section):
    """Which configurations end before their last step. `engine.sweeps.pruning` decides."""

    median: bool = Field(
        True, description="End a configuration that is below the median of the others at the same step."
    )
    collapse: bool = Field(True, description="End a configuration with a run whose verdict is collapsed.")
    first: int = Field(10, ge=1, le=100_000, description="The first step after which configurations are compared.")
    every: int = Field(10, ge=1, le=100_000, description="Steps between comparisons.")
    fewest: int = Field(
        4, ge=2, le=100, description="Other configurations that must have reached a step before any is compared there."
    )

    @model_validator(mode="after")
    def _check_any(self) -> Pruning:
        if not (self.median or self.collapse):
            raise ValueError("median: or collapse must be on. Leave pruning out for a sweep that ends nothing early.")
        return self


class SweepPlan(Section):
    """Every point is trained with every seed. The same plan gives the same points, in the same order."""

    axes: list[Axis] = Field(default_factory=list, max_length=MOST_AXES)
    method: Method = Field(
        "grid",
        description="grid: every combination. random: independent draws. sobol: draws that cover the ranges evenly "
        "(scrambled Sobol sequence). tpe: draws that follow the results so far (tree-structured Parzen estimator).",
    )
    points: int = Field(16, ge=1, le=MOST_RUNS, description="Configurations to draw; not used by a grid.")
    objective: Objective = Field(
        "success", description="What an adaptive search maximises, as the mean over the seeds."
    )
    pruning: Pruning | None = Field(None, description="Not available for a grid, whose effects need every run.")
    sweep_seed: int = Field(1, ge=0, le=LARGEST_SEED, description="Seed of draws and of the order of runs.")
    seeds: list[Seed] = Field(default_factory=lambda: [1, 2, 3], min_length=1, max_length=MOST_SEEDS)

    @field_validator("seeds")
    @classmethod
    def _check_seeds(cls, seeds: list[Seed]) -> list[Seed]:
        if len(set(seeds)) != len(seeds):
            raise ValueError("a seed is listed twice. Give each once.")
        if not all(0 <= seed <= LARGEST_SEED for seed in seeds):
            raise ValueError(f"must be from 0 to {LARGEST_SEED}.")
        return seeds

    @model_validator(mode="after")
    def _check_across_axes(self) -> SweepPlan:
        names = [axis.name for axis in self.axes]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"axes: {twice!r} is used twice. Give each its own name.")
        seen: set[str] = set()
        for axis in self.axes:
            if shared := sorted(seen & axis.fields):
                raise ValueError(f"axes: two axes set {shared[0]}. Give it to one of them.")
            seen |= axis.fields
        self._check_size()
        if self.pruning is not None and self.method == "grid":
            raise ValueError(
                "pruning: not available for a grid, as the effects of its axes need every run. Draw configurations."
            )
        if self.method == "tpe" and not self.axes:
            raise ValueError("method: an adaptive search needs an axis. Add one.")
        return self

    def _check_size(self) -> None:
        """Before anything is multiplied out."""
        counts = [_count(axis) for axis in self.axes]
        points = prod(counts) if self.method == "grid" else self.points
        runs = points * len(self.seeds)
        if runs > MOST_RUNS:
            factors = " × ".join(str(count) for count in counts)
            shown = f"{factors} = {points:,}" if self.method == "grid" and len(counts) > 1 else f"{points:,}"
            raise ValueError(
                f"axes: {shown} configurations with {len(self.seeds)} seeds are {runs:,} runs, and a sweep has at most "
                f"{MOST_RUNS}. Remove values or seeds, or draw fewer configurations by random or Sobol search."
            )


def _count(axis: Axis) -> int:
    if isinstance(axis, RangeAxis):
        return min(axis.count, MOST_LEVELS)
    return len(axis.settings) if isinstance(axis, SettingsAxis) else len(axis.values)

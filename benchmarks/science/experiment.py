"""An experiment: a sweep that ships, with an arm for each configuration and the seeds that each is trained with.

What is compared, the question and the metrics are in the definition of the sweep (`engine/sweeps/presets`), so that the
same experiment is trained here, launched on a site, and imported there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.config import RunConfig
from engine.sweeps.catalogue import SweepPreset
from engine.sweeps.configurations import with_changes
from engine.sweeps.points import Point, points_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A configuration of the sweep. Its label is that of its values, in the order of the axes."""

    point: Point

    @property
    def label(self) -> str:
        return ", ".join(self.point.labels.values())


@dataclass(frozen=True)
class Experiment:
    """`name` is the key of the sweep."""

    name: str
    sweep: SweepPreset

    @property
    def question(self) -> str:
        return self.sweep.description

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.sweep.plan.seeds)

    @property
    def curves(self) -> tuple[str, ...]:
        """Metrics to plot, one panel each."""
        return tuple(self.sweep.curves)

    @property
    def means(self) -> tuple[str, ...]:
        """Metrics whose mean over the steps of a run is reported in a second table."""
        return tuple(self.sweep.means)

    @cached_property
    def base(self) -> Mapping[str, Any]:
        return self.sweep.base_config().model_dump(mode="json")

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        return tuple(Arm(point=point) for point in points_of(self.sweep.plan, self.base))

    def config(self, arm: Arm, seed: int) -> RunConfig:
        """The run of one arm with one seed; a `ValidationError` if the engine refuses the configuration."""
        return RunConfig.model_validate({**with_changes(self.base, arm.point), "seed": seed})

    def runs(self) -> Iterator[tuple[Arm, int, RunConfig]]:
        """All runs, seeds outermost, so that an interrupted sweep has complete seeds."""
        for seed in self.seeds:
            for arm in self.arms:
                yield arm, seed, self.config(arm, seed)

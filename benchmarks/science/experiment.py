"""An experiment: a question, arms that differ in one setting, and the seeds that each arm is trained with.

One that is a sweep of the product has its arms from there, so that it can also be launched on a site.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.config import RunConfig, read_config
from engine.sweeps.catalogue import sweep_presets
from engine.sweeps.points import points_of

CONFIGS = Path(__file__).resolve().parents[2] / "engine" / "configs"
SEEDS = (1, 2, 3)


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A preset with changes, each `section.key=value`."""

    label: str
    preset: str = "starter"
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """`changes` apply to every arm. `curves` are the metrics to plot, one panel each; `means` are those whose mean over
    the steps of a run is reported in a second table. `sweep` is the key of the sweep that it is, if it is one."""

    name: str
    question: str
    arms: tuple[Arm, ...]
    changes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS
    curves: tuple[str, ...] = ("rollout/success", "policy/entropy", "collapse/mi_ratio")
    means: tuple[str, ...] = ()
    sweep: str = ""

    def config(self, arm: Arm, seed: int) -> RunConfig:
        """The run of one arm with one seed; a `ConfigError` if the engine refuses the configuration."""
        return read_config(CONFIGS / f"{arm.preset}.toml", ["threads=1", *self.changes, *arm.changes, f"seed={seed}"])

    def runs(self) -> Iterator[tuple[Arm, int, RunConfig]]:
        """All runs, seeds outermost, so that an interrupted sweep has complete seeds."""
        for seed in self.seeds:
            for arm in self.arms:
                yield arm, seed, self.config(arm, seed)


def of_sweep(key: str, *, question: str, curves: tuple[str, ...]) -> Experiment:
    """The sweep that ships as `key`: an arm for each configuration."""
    found = sweep_presets()[key]
    points = points_of(found.plan, found.base_config().model_dump(mode="json"))
    return Experiment(
        name=key,
        sweep=key,
        question=question,
        changes=tuple(f"{field}={json.dumps(value)}" for field, value in found.changes.items()),
        arms=tuple(
            Arm(
                label=", ".join(point.labels.values()),
                preset=found.base,
                changes=tuple(f"{field}={json.dumps(value)}" for field, value in point.changes.items()),
            )
            for point in points
        ),
        seeds=tuple(found.plan.seeds),
        curves=curves,
    )


def sweep(field_name: str, values: dict[str, str], *, preset: str = "starter") -> tuple[Arm, ...]:
    """One arm per label, which sets `field_name` to its value."""
    return tuple(Arm(label=label, preset=preset, changes=(f"{field_name}={value}",)) for label, value in values.items())

"""An experiment: a question, arms that differ in one setting, and the seeds that each arm is trained with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.config import RunConfig, read_config

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
    the steps of a run is reported in a second table."""

    name: str
    question: str
    arms: tuple[Arm, ...]
    changes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = SEEDS
    curves: tuple[str, ...] = ("rollout/success", "policy/entropy", "collapse/mi_ratio")
    means: tuple[str, ...] = ()

    def config(self, arm: Arm, seed: int) -> RunConfig:
        """The run of one arm with one seed; a `ConfigError` if the engine refuses the configuration."""
        return read_config(CONFIGS / f"{arm.preset}.toml", ["threads=1", *self.changes, *arm.changes, f"seed={seed}"])

    def runs(self) -> Iterator[tuple[Arm, int, RunConfig]]:
        """All runs, seeds outermost, so that an interrupted sweep has complete seeds."""
        for seed in self.seeds:
            for arm in self.arms:
                yield arm, seed, self.config(arm, seed)


def sweep(field_name: str, values: dict[str, str], *, preset: str = "starter") -> tuple[Arm, ...]:
    """One arm per label, which sets `field_name` to its value."""
    return tuple(Arm(label=label, preset=preset, changes=(f"{field_name}={value}",)) for label, value in values.items())

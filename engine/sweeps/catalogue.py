"""The sweeps that ship, one TOML file each in `presets`: those of the papers, at a size for two CPU cores and at their
own, which needs GPUs; and experiments of ours. `docs/findings.md` discusses what those at small size showed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from engine.config import RunConfig, read_config, set_field
from engine.section import Section
from engine.sweeps.axes import Axis, Value
from engine.sweeps.plan import SweepPlan
from engine.sweeps.text import MetricName, SweepText

DIRECTORY = Path(__file__).parent / "presets"
CONFIGS = Path(__file__).resolve().parents[1] / "configs"
FULL = "_full_size"
GROUPS = ("papers", "experiments")

# of every sweep at full size: the defaults of RAGEN v2 (its `base.yaml`), with 400 steps, on one node with GPUs
FULL_SIZE: dict[str, Value] = {
    "backend": "ray",
    "model.path": "Qwen/Qwen2.5-3B-Instruct",
    "steps": 400,
    "environments.0.max_response_tokens": 400,
    "rollout.groups": 8,
    "rollout.group_size": 16,
    "rollout.max_context_tokens": 4096,
    "algorithm.type": "ppo",
    "algorithm.critic.learning_rate": 1e-5,
    "loss.clip_high": 0.28,
    "loss.entropy_coefficient": 0.001,
    "filter.type": "none",
    "optimizer.learning_rate": 1e-6,
    "optimizer.updates_per_step": 4,
    "optimizer.gradient_checkpointing": True,
    "cluster.device": "gpu",
    "evaluation.every": 0,
    "evaluation.final_episodes": 512,
    "evaluation.temperature": 0.5,
    "checkpoint.keep": 1,
    "capture.every": 0,
}


class FullSize(Section):
    """What differs at the size of the paper: `changes` of `base` beside `FULL_SIZE`, and axes if they are others."""

    source: str
    base: str = "sokoban"
    changes: dict[str, Value] = Field(default_factory=dict)
    axes: list[Axis] = Field(default_factory=list)


class SweepPreset(SweepText):
    """`base` is a preset of runs, which `changes` alter for every run. `source` says where the sweep comes from and
    what is smaller here. A file of this shape is what the API and `starboard sweeps create` take, too."""

    title: str = Field("", max_length=80)
    source: str = ""
    means: list[MetricName] = Field(
        default_factory=list, description="Metrics whose mean over the steps of a run is in docs/findings."
    )
    group: Literal["papers", "experiments"] = "experiments"
    size: Literal["small", "full"] = "small"
    base: str = "starter"
    changes: dict[str, Value] = Field(default_factory=dict)
    plan: SweepPlan
    full_size: FullSize | None = None

    def base_config(self) -> RunConfig:
        data: dict[str, Any] = read_config(CONFIGS / f"{self.base}.toml").model_dump(mode="json")
        for name, value in self.all_changes().items():
            set_field(data, name, value)
        return RunConfig.model_validate(data)

    def all_changes(self) -> dict[str, Value]:
        return {**FULL_SIZE, **self.changes} if self.size == "full" else dict(self.changes)

    def at_full_size(self) -> SweepPreset | None:
        full = self.full_size
        if full is None:
            return None
        plan = {**self.plan.model_dump(), **({"axes": [axis.model_dump() for axis in full.axes]} if full.axes else {})}
        return SweepPreset(
            title=f"{self.title}, full size",
            description=self.description,
            source=full.source,
            curves=self.curves,
            group=self.group,
            size="full",
            base=full.base,
            changes=full.changes,
            plan=SweepPlan.model_validate(plan),
        )


def listed(group: Literal["papers", "experiments"], size: Literal["small", "full"] = "small") -> dict[str, SweepPreset]:
    return {key: one for key, one in sweep_presets().items() if (one.group, one.size) == (group, size)}


@cache
def sweep_presets() -> dict[str, SweepPreset]:
    """By key, the name of the file, in the order of the files' numbers: those of the papers, then the experiments;
    those at full size come last."""
    found = {key: one for group in GROUPS for key, one in _read(group)}
    full = {f"{key}{FULL}": large for key, one in found.items() if (large := one.at_full_size()) is not None}
    small = {key: one for key, one in found.items() if one.size == "small"}
    return {**small, **full, **{key: one for key, one in found.items() if one.size == "full"}}


def _read(group: str) -> Iterator[tuple[str, SweepPreset]]:
    """The files of a folder, which has the name of the group."""
    for path in sorted((DIRECTORY / group).glob("*.toml")):
        data = tomllib.loads(path.read_text())
        yield path.stem.partition("_")[2], SweepPreset.model_validate({**data, "group": group})

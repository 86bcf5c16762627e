"""The sweeps that ship, one TOML file each in `presets`: those of the papers, at a size for two CPU cores."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field

from engine.config import RunConfig, read_config, set_field
from engine.section import Section
from engine.sweeps.axes import Value
from engine.sweeps.plan import SweepPlan

DIRECTORY = Path(__file__).parent / "presets"
CONFIGS = Path(__file__).resolve().parents[1] / "configs"


class SweepPreset(Section):
    """`base` is a preset of runs, which `changes` alter for every run. `source` says where the sweep comes from and
    what is smaller here. A file of this shape is what the API and `starboard sweeps create` take, too."""

    title: str = Field("", max_length=80)
    description: str = ""
    source: str = ""
    base: str = "starter"
    changes: dict[str, Value] = Field(default_factory=dict)
    plan: SweepPlan

    def base_config(self) -> RunConfig:
        data: dict[str, Any] = read_config(CONFIGS / f"{self.base}.toml").model_dump(mode="json")
        for name, value in self.changes.items():
            set_field(data, name, value)
        return RunConfig.model_validate(data)


@cache
def sweep_presets() -> dict[str, SweepPreset]:
    """By key, the name of the file, in the order of the files' numbers."""
    files = sorted(DIRECTORY.glob("*.toml"))
    return {path.stem.partition("_")[2]: SweepPreset.model_validate(tomllib.loads(path.read_text())) for path in files}

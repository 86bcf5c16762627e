"""The presets of runs: those that ship, and those that a user saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.config import RunConfig, build_config
from webapp.launching.models import SavedPreset
from webapp.runs.shipped_presets import at_real_size, shipped_presets, title_of

ORDER = (
    "starter", "collapse", "slow_collapse", "slow_collapse_prevented", "sokoban", "bandit", "countdown", "metamathqa",
    "static", "sudoku", "game_2048", "rubiks_cube", "spatial", "grpo", "dr_grpo", "dapo", "rloo",
    "reinforce_plus_plus", "ppo", "starpo", "starpo_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPreset:
    key: str
    title: str
    description: str
    data: dict[str, Any]
    real_size: bool = False  # for a published model on GPUs, and not run
    saved: SavedPreset | None = None

    @property
    def environment(self) -> str:
        """The name of the environment that it is made for; empty for a preset that suits any."""
        named = self.data.get("environments")
        return str(named[0]["tag"]) if named else ""

    def config(self) -> RunConfig:
        return build_config(self.data)


def run_presets() -> dict[str, RunPreset]:
    """All presets by key; those of `ORDER` first."""
    found = {key: _shipped(key, data) for key, data in shipped_presets().items()}
    keys = [key for key in ORDER if key in found] + [key for key in found if key not in ORDER]
    return {key: found[key] for key in keys}


def saved_presets(user: Any) -> dict[str, RunPreset]:
    """Those of a user, by key and in order of their names."""
    if not user.is_authenticated:
        return {}
    found = SavedPreset.objects.filter(owner=user).select_related("environment_version")
    return {f"saved-{one.pk}": _of(one) for one in found}


def _of(one: SavedPreset) -> RunPreset:
    return RunPreset(key=f"saved-{one.pk}", title=one.name, description="", data=one.config, saved=one)


def _shipped(key: str, data: dict[str, Any]) -> RunPreset:
    return RunPreset(
        key=key,
        title=title_of(key, data),
        description=str(data.get("description", "")),
        data=data,
        real_size=at_real_size(key),
    )

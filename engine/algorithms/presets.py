"""Algorithms by name, as changes to a `RunConfig`. No torch: forms and the command line read this.

A preset decides what makes an algorithm itself (advantages, clips, aggregation, KL, filter) and nothing else: problems,
sizes, the policy's learning rate and the entropy bonus stay as they are. Each is in the file of its algorithm.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from engine.algorithms.preset import Preset
from engine.algorithms.variants import PRESETS
from engine.config import RunConfig
from engine.errors import ConfigError
from engine.section import TYPE

__all__ = ["PRESETS", "Preset", "apply_preset", "differences", "find_preset"]


def find_preset(label: str) -> Preset | None:
    """The preset of a name or a title, None for `custom` and other labels."""
    return PRESETS.get(label) or next((preset for preset in PRESETS.values() if preset.title == label), None)


def apply_preset(name: str, base: dict[str, Any]) -> dict[str, Any]:
    """`base`, a config as data, with a preset's fields set over it; `base` itself is not changed.

    A section that has a `type`, such as the algorithm, is replaced as a whole.
    """
    preset = find_preset(name)
    if preset is None:
        raise ConfigError(f"There is no preset {name!r}.", remedy=f"Use one of {', '.join(PRESETS)}.")
    merged = deepcopy(base)
    for section, fields in preset.overrides.items():
        merged[section] = fields if TYPE in fields else {**merged.get(section, {}), **fields}
    return {**merged, "preset": preset.title}


def differences(config: RunConfig) -> dict[str, tuple[Any, Any]]:
    """`dotted field` to `(the preset's value, the config's)` where a config departs from the preset it names.

    None for a field that one of the two does not have. Empty when there is no difference, and for a config that
    names no preset.
    """
    preset = find_preset(config.preset)
    if preset is None:
        return {}
    data = config.model_dump(mode="json")
    found: dict[str, tuple[Any, Any]] = {}
    for section, fields in preset.overrides.items():
        own = data[section] if TYPE in fields else {name: data[section][name] for name in fields}
        theirs, ours = _flat(fields, f"{section}."), _flat(own, f"{section}.")
        found |= {name: (theirs.get(name), ours.get(name)) for name in theirs | ours}
    return {name: (theirs, ours) for name, (theirs, ours) in found.items() if theirs != ours}


def _flat(data: dict[str, Any], prefix: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in data.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat

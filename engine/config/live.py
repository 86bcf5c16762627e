"""What of a run may be changed between two of its steps, and how a change is checked. No torch.

A change is `{dotted field: value}`, relative to the configuration that the run began with. The site checks it before
it asks for it, and the engine before it obeys: both by `with_changes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.config.reading import build_config
from engine.config.run import RunConfig
from engine.errors import ConfigError

LIVE_FIELDS = (
    "optimizer.learning_rate",
    "loss.entropy_coefficient",
    "loss.kl_coefficient",
    "filter.strategy",
    "filter.value",
    "filter.mode",
    "filter.metric",
    "filter.largest",
    "filter.include_zero",
    "filter.loss_scaling",
    "detectors.rules",
    "detectors.watch_action",
    "detectors.warn_action",
    "detectors.critical_action",
    "detectors.dead_action",
)


def with_changes(config: RunConfig, changes: Mapping[str, Any]) -> RunConfig:
    """`config` with each field of `changes` set and everything checked anew.

    `ConfigError` for a field that cannot be changed while a run goes on, and for a value that a new run could not
    have either.
    """
    data = config.model_dump(mode="json")
    for field, value in changes.items():
        if field not in LIVE_FIELDS:
            raise ConfigError(
                f"{field[:80]} cannot be changed while a run goes on; {', '.join(LIVE_FIELDS)} can.",
                remedy="Fork the run from a checkpoint to change anything else.",
            )
        section, _, key = field.partition(".")
        data[section][key] = value
    changed = build_config(data)
    if (config.loss.kl_coefficient > 0) != (changed.loss.kl_coefficient > 0):
        raise ConfigError(
            f"loss.kl_coefficient is {config.loss.kl_coefficient:g} and cannot become "
            f"{changed.loss.kl_coefficient:g}: the starting model is kept in memory from the first step or not at all.",
            remedy="Stay on the same side of 0, or fork the run from a checkpoint.",
        )
    return changed


def value_of(config: RunConfig, field: str) -> Any:
    """A live field's value as JSON has it."""
    section, _, key = field.partition(".")
    return config.model_dump(mode="json")[section][key]


def differences(before: RunConfig, after: RunConfig) -> dict[str, dict[str, Any]]:
    """`{field: {"old": …, "new": …}}` of the live fields that differ."""
    pairs = {field: (value_of(before, field), value_of(after, field)) for field in LIVE_FIELDS}
    return {field: {"old": old, "new": new} for field, (old, new) in pairs.items() if old != new}

"""Which settings may change between two steps of a run in progress, and how a change is checked. No torch.

A change is `{field: value}`, relative to the configuration that the run was launched with. The field is dotted, and
`filter` is set as a whole, since its fields depend on its type. The site checks a change before it requests it, and the
engine before it applies it: both by `with_changes`.
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
    "loss.entropy_target",
    "loss.kl_coefficient",
    "filter",
    "detectors.rules",
    "detectors.watch_action",
    "detectors.warn_action",
    "detectors.critical_action",
    "detectors.dead_action",
)


def merged(config: RunConfig, changes: Mapping[str, Any]) -> dict[str, Any]:
    """`config` as data with each field of `changes` set, not checked; `ConfigError` for a field that cannot change."""
    for field in changes:
        if field not in LIVE_FIELDS:
            raise ConfigError(
                f"{field[:80]!r} cannot be changed during a run; {', '.join(LIVE_FIELDS)} can.",
                remedy="Fork the run from a checkpoint to change anything else.",
            )
    return with_fields(config, changes)


def with_fields(config: RunConfig, changes: Mapping[str, Any]) -> dict[str, Any]:
    """`config` as data with each dotted field of `changes` set, not checked."""
    data = config.model_dump(mode="json")
    for field, value in changes.items():
        section, _, key = field.partition(".")
        if key:
            data[section][key] = value
        else:
            data[section] = value
    return data


def with_changes(config: RunConfig, changes: Mapping[str, Any]) -> RunConfig:
    """`config` with each field of `changes` set and everything checked again.

    `ConfigError` for a field that cannot be changed while a run is in progress, and for a value that a new run could
    not have either.
    """
    changed = build_config(merged(config, changes))
    if (config.loss.kl_coefficient > 0) != (changed.loss.kl_coefficient > 0):
        raise ConfigError(
            f"loss.kl_coefficient is {config.loss.kl_coefficient:g} and cannot become "
            f"{changed.loss.kl_coefficient:g}: the reference model is in memory from the first step or not at all.",
            remedy="Stay on the same side of 0, or fork the run from a checkpoint.",
        )
    return changed


def value_of(config: RunConfig, field: str) -> Any:
    """A field's value as JSON has it."""
    section, _, key = field.partition(".")
    data = config.model_dump(mode="json")[section]
    return data[key] if key else data


def differences(before: RunConfig, after: RunConfig) -> dict[str, dict[str, Any]]:
    """`{field: {"old": …, "new": …}}` of the live fields that differ."""
    pairs = {field: (value_of(before, field), value_of(after, field)) for field in LIVE_FIELDS}
    return {field: {"old": old, "new": new} for field, (old, new) in pairs.items() if old != new}
